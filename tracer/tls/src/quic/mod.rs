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
mod packet;
#[cfg(test)]
mod tests;

use crate::hello::{Hello, ServerHello};
use crate::key_log::{KeyLog, Random, Secrets};
use crate::keys::TlsEvent;
use crate::role::TlsRole;
use crate::suite::Suite;
use application::ApplicationPackets;
use crypto::CryptoReader;
use frames::{QuicFrame, read_frames};
use keys::{InitialKey, initial_secrets};
use packet::{PacketKind, ProtectedPacket, QuicVersion, packets};
use wirelap_events::Size;

/// Packets that nothing opens until the connection is given up.
const MAX_FAILED: u64 = 32;

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
        let initial = initial_packets(&packet)?;
        initial[TlsRole::Client as usize].key.open(&packet, None, scratch)?;
        Some(QuicSession {
            version: packet.version,
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

    /// The next datagram, as far as it was captured. `log` has the secrets, and `scratch` is any buffer.
    pub fn datagram(
        &mut self,
        from: TlsRole,
        bytes: &[u8],
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        for packet in packets(bytes) {
            if let Some(len) = packet.source_len {
                self.application[other(from)].note_id_len(len);
            }
            match packet.kind {
                PacketKind::Initial => self.initial(from, &packet, (log, &mut *scratch), out),
                PacketKind::OtherLong => {}
                PacketKind::Short => self.short(from, packet.bytes, scratch, out),
            }
        }
    }

    fn initial(
        &mut self,
        from: TlsRole,
        packet: &ProtectedPacket<'_>,
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        let known = &mut self.initial[from as usize];
        let mut opened = known.key.open(packet, known.largest, scratch);
        // After a retry, and for another connection, there are other keys.
        if opened.is_none()
            && from == TlsRole::Client
            && let Some(others) = initial_packets(packet)
            && let Some(found) = others[from as usize].key.open(packet, None, scratch)
        {
            (self.initial, self.version) = (others, packet.version);
            opened = Some(found);
        }
        let Some((number, payload)) = opened else { return };
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
        from: TlsRole,
        bytes: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(QuicFound<'_>),
    ) {
        if self.hello.is_given_up || self.is_read(from, bytes, scratch, out) {
            return;
        }
        for len in self.application[from as usize].segment_lens() {
            let mut segments = bytes.chunks(len).take_while(|_| bytes.len() > len);
            // If the first one is none, the others are not.
            if segments.next().is_none_or(|first| !self.is_read(from, first, scratch, out)) {
                continue;
            }
            for segment in segments {
                if !self.is_read(from, segment, scratch, out) {
                    self.not_read(out);
                }
            }
            return;
        }
        self.not_read(out);
    }

    /// True if a packet with a short header is read.
    fn is_read(
        &mut self,
        from: TlsRole,
        packet: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(QuicFound<'_>),
    ) -> bool {
        let [client, server] = &mut self.application;
        let (own, back) = match from {
            TlsRole::Client => (client, server),
            TlsRole::Server => (server, client),
        };
        let Some(payload) = own.open(packet, scratch) else { return false };
        if !std::mem::replace(&mut self.hello.has_text, true) {
            out(QuicFound::Event(TlsEvent::Opened));
        }
        read_frames(scratch.get(payload).unwrap_or_default(), &mut |frame| match frame {
            QuicFrame::Stream { id, at, bytes } => out(QuicFound::Stream { id, at, bytes }),
            QuicFrame::NewId { len } => back.note_id_len(len),
            QuicFrame::Crypto { .. } => {}
        });
        true
    }

    /// A packet is not read.
    fn not_read(&mut self, out: &mut dyn FnMut(QuicFound<'_>)) {
        let [client, server] = &self.application;
        if self.hello.has_text {
            out(QuicFound::Event(TlsEvent::Unread));
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

/// The state before the first packet of a connection whose client sends this one.
fn initial_packets(packet: &ProtectedPacket<'_>) -> Option<[InitialPackets; 2]> {
    let [client, server] = initial_secrets(packet.version, packet.destination)?;
    let of = |secret| {
        let key = InitialKey::new(packet.version, &secret)?;
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
