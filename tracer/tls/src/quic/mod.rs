//! QUIC (RFC 9000, RFC 9001, RFC 9369) read with keys: datagrams of a connection in, bytes of its streams out.
//!
//! ```text
//!  datagram ─▶ packet ─▶ Initial ─▶ crypto: hello messages ─▶ random number, cipher suite
//!                │                                                    │
//!                │                            key log ─▶ secrets ─────┤
//!                └─────▶ short header ─▶ application: keys ◀──────────┘ ─▶ frames ─▶ bytes of streams
//! ```
//!
//! Packets of the handshake are not opened: all that is needed of it is in the Initial packets, whose keys anybody can compute.
//! Bytes of streams are handed out as they come, in any order and perhaps twice.

mod application;
mod crypto;
mod frames;
mod keys;
mod numbers;
mod packet;
#[cfg(test)]
mod tests;

use crate::hello::{Hello, ServerHello};
use crate::key_log::{KeyLog, Random, Secrets};
use crate::keys::TlsEvent;
use crate::role::TlsRole;
use crate::suite::Suite;
use application::{ApplicationPackets, Effort};
use arrayvec::ArrayVec;
use crypto::CryptoReader;
use frames::{QuicFrame, read_frames};
use keys::{InitialKey, initial_secrets};
use packet::{MAX_ID_LEN, PacketKind, ProtectedPacket, QuicVersion, packets};
use std::ops::Range;
use wirelap_events::{Nanos, Saturate, Size};

/// Packets that nothing opens until the connection is given up.
const MAX_FAILED: u64 = 32;

/// Keys of first packets that may be made in vain, in a row.
const MAX_VAIN_KEYS: u64 = 64;

/// Bytes of the longest packet that is tried with all keys and numbers. Longer ones are rather several.
const LONGEST_ALONE: usize = 1500;

const TLS13: u16 = 0x0304;

/// A finding in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicFound<'a> {
    /// Bytes of a stream.
    Stream {
        /// Number of the stream.
        id: u64,
        /// Position of the first byte in the stream.
        at: u64,
        /// The bytes.
        bytes: &'a [u8],
        /// True if the stream ends with them.
        is_last: bool,
        /// The number of their packet.
        number: u64,
    },
    /// The end of a stream of which not all bytes come.
    Reset {
        /// Number of the stream.
        id: u64,
    },
    /// Bytes of the datagram that were not read, although there are keys.
    Unread {
        /// Their number.
        bytes: u64,
    },
    /// Packets that are not in the capture, and that their receiver has got, or may have.
    Missing {
        /// The end that sent them.
        from: TlsRole,
        /// Their number.
        packets: u64,
    },
    /// Something that is counted.
    Event(TlsEvent),
    /// Another connection between the same addresses begins: its streams are others.
    Restart,
}

/// A QUIC connection, read with keys as far as there are some.
#[derive(Debug)]
pub struct QuicSession {
    version: QuicVersion,
    /// The id that the client sent to first: keys of first packets are made of it, in each version.
    original: ArrayVec<u8, MAX_ID_LEN>,
    /// Keys of first packets that were made in vain since something was opened.
    vain_keys: u64,
    initial: [InitialPackets; 2],
    application: [ApplicationPackets; 2],
    hello: HelloState,
}

/// The Initial packets of one direction.
#[derive(Debug)]
struct InitialPackets {
    key: InitialKey,
    largest: Option<u64>,
    crypto: CryptoReader,
}

/// State of a connection, from the hello messages.
#[derive(Debug, Default)]
struct HelloState {
    client: Option<Random>,
    secrets: Option<Secrets>,
    has_server: bool,
    has_text: bool,
    /// True if nothing more is read of the connection.
    is_given_up: bool,
}

impl QuicSession {
    /// The connection that a client opens with this datagram; `None` if that does not begin with a client's Initial packet.
    pub fn begin(datagram: &[u8], scratch: &mut Vec<u8>) -> Option<QuicSession> {
        let packet =
            packets(datagram).next().filter(|packet| packet.kind == PacketKind::Initial)?;
        let initial = initial_packets(packet.version, packet.destination)?;
        initial[TlsRole::Client as usize].key.open(&packet, None, scratch)?;
        Some(QuicSession {
            version: packet.version,
            original: packet.destination.iter().copied().collect(),
            vain_keys: 0,
            initial,
            application: Default::default(),
            hello: HelloState::default(),
        })
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        let parked = self.initial.iter().map(|initial| initial.crypto.held_bytes());
        Size(parked.fold(size_of::<QuicSession>(), usize::saturating_add))
    }

    /// True if nothing more is read of the connection.
    pub fn is_given_up(&self) -> bool {
        self.hello.is_given_up
    }

    /// True if packets are missing of which it is not known what became of them.
    pub fn is_waiting(&self) -> bool {
        self.application.iter().any(|one| one.numbers.is_waiting())
    }

    /// The first number that is missing of what one end sends, and may yet come.
    pub fn first_missing(&self, from: TlsRole) -> Option<u64> {
        self.application[from as usize].numbers.first_missing()
    }

    /// Observation of what one end sends was interrupted: packets that are missing now are no loss.
    pub fn interrupt(&mut self, from: TlsRole) {
        self.application[from as usize].numbers.interrupt();
    }

    /// Waits no longer for packets that have been missing since before `limit`; for none, without a limit.
    pub fn give_up_packets(&mut self, limit: Option<Nanos>, out: &mut dyn FnMut(QuicFound<'_>)) {
        for application in &mut self.application {
            application.numbers.settle(limit);
        }
        self.tell_missing(out);
    }

    fn tell_missing(&mut self, out: &mut dyn FnMut(QuicFound<'_>)) {
        for from in [TlsRole::Client, TlsRole::Server] {
            let application = &mut self.application[from as usize];
            let packets = application.numbers.take_lost();
            if packets > 0 && application.has_keys() {
                out(QuicFound::Missing { from, packets });
            }
        }
    }

    /// The next datagram, as far as it was captured. `log` has the secrets, and `scratch` is any buffer.
    pub fn datagram(
        &mut self,
        (from, at): (TlsRole, Nanos),
        bytes: &[u8],
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        for packet in packets(bytes) {
            match packet.kind {
                PacketKind::Initial => self.initial(from, &packet, (log, &mut *scratch), out),
                PacketKind::Early => {
                    if !self.is_given_up() && self.hello.secrets.is_some() {
                        out(QuicFound::Unread { bytes: packet.bytes.len() as u64 });
                    }
                }
                PacketKind::OtherLong => {}
                PacketKind::Short => self.short((from, at), packet.bytes, scratch, out),
            }
            // With a packet's hello, another connection may have begun.
            if let Some(len) = packet.source_len {
                self.application[other(from)].note_id_len(len);
            }
        }
        self.tell_missing(out);
    }

    fn initial(
        &mut self,
        from: TlsRole,
        packet: &ProtectedPacket<'_>,
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        let Some((number, payload)) = self.open_initial(from, packet, scratch) else { return };
        self.vain_keys = 0;
        let initial = &mut self.initial[from as usize];
        initial.largest = initial.largest.max(Some(number));
        let (crypto, mut hello) = (&mut initial.crypto, None);
        read_frames(scratch.get(payload).unwrap_or_default(), &mut |frame| {
            if let QuicFrame::Crypto { at, bytes } = frame {
                crypto.feed(at, bytes, &mut |found| hello = Some(found));
            }
        });
        match (from, hello) {
            (TlsRole::Client, Some(Hello::Client(random))) => self.client(random, log, out),
            (TlsRole::Server, Some(Hello::Server(hello))) => self.server(&hello, out),
            _ => {}
        }
    }

    /// Opens an Initial packet into `scratch`. Returns its number and where its payload lies.
    fn open_initial(
        &mut self,
        from: TlsRole,
        packet: &ProtectedPacket<'_>,
        scratch: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let InitialPackets { key, largest, .. } = &self.initial[from as usize];
        if let Some(opened) = key.open(packet, *largest, scratch) {
            return Some(opened);
        }
        if self.vain_keys >= MAX_VAIN_KEYS {
            return None;
        }
        // A server may choose another version than the client began with (RFC 9368 §2.3).
        if packet.version != self.version
            && let Some(others) = initial_packets(packet.version, &self.original)
            && let Some(opened) = others[from as usize].key.open(packet, *largest, scratch)
        {
            if from == TlsRole::Server {
                self.version = packet.version;
                for (initial, other) in self.initial.iter_mut().zip(others) {
                    initial.key = other.key;
                }
            }
            return Some(opened);
        }
        // After a retry, and for another connection, there are other keys.
        if from == TlsRole::Client
            && let Some(others) = initial_packets(packet.version, packet.destination)
            && let Some(opened) = others[from as usize].key.open(packet, None, scratch)
        {
            (self.initial, self.version) = (others, packet.version);
            self.original = packet.destination.iter().copied().collect();
            return Some(opened);
        }
        self.vain_keys.grow(1);
        None
    }

    /// A client's hello: the first one, a second one that the server asked for, or that of another connection.
    fn client(&mut self, random: Random, log: &KeyLog, out: &mut dyn FnMut(QuicFound<'_>)) {
        if self.hello.client == Some(random) {
            return;
        }
        if self.hello.client.is_some() {
            self.application = Default::default();
            out(QuicFound::Restart);
        }
        let secrets = log.find(&random).copied();
        self.hello = HelloState { client: Some(random), secrets, ..HelloState::default() };
        match secrets {
            Some(_) => out(QuicFound::Event(TlsEvent::Found)),
            None => self.give_up(TlsEvent::NoKey, out),
        }
    }

    /// The server's hello says what keys are made of.
    fn server(&mut self, hello: &ServerHello, out: &mut dyn FnMut(QuicFound<'_>)) {
        let Some(secrets) = self.hello.secrets.filter(|_| !self.hello.has_server) else { return };
        self.hello.has_server = true;
        let suite = Suite::of_tls13(hello.suite).filter(|_| hello.version == TLS13);
        let Some(suite) = suite else { return self.give_up(TlsEvent::Cipher, out) };
        for role in [TlsRole::Client, TlsRole::Server] {
            if let Some(secret) = secrets.traffic(role) {
                self.application[role as usize].begin(suite, self.version, &secret);
            }
        }
        if !self.application.iter().any(ApplicationPackets::has_keys) {
            self.give_up(TlsEvent::WrongKey, out);
        }
    }

    /// A packet with a short header, or several.
    fn short(
        &mut self,
        (from, at): (TlsRole, Nanos),
        bytes: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        if self.hello.is_given_up {
            return;
        }
        for effort in [Effort::Usual, Effort::Thorough] {
            let may_be_one = effort == Effort::Usual || bytes.len() <= LONGEST_ALONE;
            if may_be_one && self.is_read((from, at, effort), bytes, scratch, out)
                || self.are_read((from, at, effort), bytes, scratch, out)
            {
                return;
            }
        }
        self.not_read(from, bytes.len(), out);
    }

    /// True if several packets with short headers are read, of one length but for the last one.
    fn are_read(
        &mut self,
        (from, at, effort): (TlsRole, Nanos, Effort),
        bytes: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(QuicFound<'_>),
    ) -> bool {
        for len in self.application[from as usize].segment_lens(bytes) {
            let mut segments = bytes.chunks(len);
            // If the first one is none, the others are not.
            if segments
                .next()
                .is_none_or(|first| !self.is_read((from, at, effort), first, scratch, out))
            {
                continue;
            }
            let mut unread = 0_usize;
            for segment in segments {
                if !self.is_read((from, at, Effort::Usual), segment, scratch, out) {
                    unread = unread.saturating_add(segment.len());
                }
            }
            if unread > 0 {
                self.not_read(from, unread, out);
            }
            return true;
        }
        false
    }

    /// True if a packet with a short header is read.
    fn is_read(
        &mut self,
        (from, at, effort): (TlsRole, Nanos, Effort),
        packet: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(QuicFound<'_>),
    ) -> bool {
        let [client, server] = &mut self.application;
        let (own, back) = match from {
            TlsRole::Client => (client, server),
            TlsRole::Server => (server, client),
        };
        let Some((number, payload)) = own.open(packet, effort, scratch) else { return false };
        own.numbers.came(number, at);
        self.vain_keys = 0;
        if !std::mem::replace(&mut self.hello.has_text, true) {
            out(QuicFound::Event(TlsEvent::Opened));
        }
        let payload = scratch.get(payload).unwrap_or_default();
        let unread = read_frames(payload, &mut |frame| match frame {
            QuicFrame::Stream { id, at, bytes, is_last } => {
                out(QuicFound::Stream { id, at, bytes, is_last, number });
            }
            QuicFrame::Reset { id } => out(QuicFound::Reset { id }),
            QuicFrame::NewId { len } => back.note_id_len(len),
            QuicFrame::Acknowledged { first, last } => {
                back.note_acknowledged(last);
                back.numbers.acknowledged(first..=last, at);
            }
            QuicFrame::Refused { first, last } => back.numbers.refused(first..=last),
            QuicFrame::Crypto { .. } => {}
        });
        if unread > 0 {
            out(QuicFound::Unread { bytes: unread as u64 });
        }
        true
    }

    /// Packets of a datagram are not read.
    fn not_read(&mut self, from: TlsRole, bytes: usize, out: &mut dyn FnMut(QuicFound<'_>)) {
        let application = &mut self.application[from as usize];
        application.failed += 1;
        application.numbers.add_unread();
        let [client, server] = &self.application;
        if self.hello.has_text {
            out(QuicFound::Unread { bytes: bytes as u64 });
        } else if (client.failed + server.failed).0 >= MAX_FAILED {
            let is_known = self.hello.has_server;
            self.give_up(if is_known { TlsEvent::WrongKey } else { TlsEvent::Handshake }, out);
        }
    }

    fn give_up(&mut self, why: TlsEvent, out: &mut dyn FnMut(QuicFound<'_>)) {
        self.hello.is_given_up = true;
        out(QuicFound::Event(why));
    }
}

/// The state before the first packet of a connection whose client sends to this id first.
fn initial_packets(version: QuicVersion, destination: &[u8]) -> Option<[InitialPackets; 2]> {
    let [client, server] = initial_secrets(version, destination)?;
    let of = |secret| {
        let key = InitialKey::new(version, &secret)?;
        Some(InitialPackets { key, largest: None, crypto: CryptoReader::default() })
    };
    Some([of(client)?, of(server)?])
}

/// The index of the other end.
fn other(role: TlsRole) -> usize {
    match role {
        TlsRole::Client => TlsRole::Server as usize,
        TlsRole::Server => TlsRole::Client as usize,
    }
}
