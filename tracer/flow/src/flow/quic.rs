//! QUIC connections whose keys are known: their streams are read like the bytes of TCP connections.
//!
//! ```text
//!  datagrams ─▶ wirelap_tls: packets, frames ─▶ a stream's bytes in order ─▶ the conversation's decoder
//!                                                       ╰─ lie where the datagram lies with which they were complete
//! ```
//!
//! What is found in a stream lies in the datagrams that carried it. The conversation has one decoder for all streams, and what
//! cuts a stream into PDUs, and tells where its bytes lie, for each: those of the stream that was read last stand in the
//! conversation, and are exchanged when another one is read.

use super::attempts::Attempts;
use super::conversation::{Conversation, State};
use super::output::DecoderOutput;
use super::quic_layer::{QuicLayer, QuicStream, StreamReading};
use super::reassembly::Piece;
use std::mem::swap;
use wirelap_events::{ByteRange, Nanos, Offset, Transport};
use wirelap_protocols::Side;
use wirelap_protocols::foreign::datagram;
use wirelap_tls::{QuicFound, QuicSession, TlsEvent};

/// Streams of a connection that are read; of more, the one that carried nothing for longest begins anew.
const MAX_STREAMS: usize = 64;

/// Time for which a stream's bytes wait for those before them, which may be sent again.
const PATIENCE: Nanos = Nanos::from_millis(2000);

/// A datagram with bytes of streams.
#[derive(Clone, Copy)]
pub(super) struct Carrier {
    pub side: Side,
    /// The datagram's place in the flow.
    pub range: ByteRange,
    /// Time at which it was seen.
    pub at: Nanos,
}

impl Carrier {
    /// The place of the next bytes that are found in the datagram, or complete with it: behind those before, so that no two messages
    /// have the same place.
    fn take(&mut self, len: u64) -> ByteRange {
        let last = Offset(self.range.end.0.saturating_sub(1));
        let start = self.range.start.min(last);
        let end = start.plus(len.max(1)).min(self.range.end);
        self.range.start = end;
        ByteRange { start, end }
    }
}

impl Conversation {
    /// Reads a datagram of a QUIC connection with keys. Returns false if it is none that can be read with them.
    pub(super) fn read_quic(
        &mut self,
        mut carrier: Carrier,
        bytes: &[u8],
        found: &mut DecoderOutput,
    ) -> bool {
        if self.tls.quic.is_none() {
            self.tls.quic = self.begin_quic(carrier.side, bytes, &mut found.scratch);
        }
        let Some(mut quic) = self.tls.quic.take() else { return false };
        let role = quic.role(carrier.side);
        let keys = self.tls.keys.clone();
        let log = keys.log();
        let mut scratch = std::mem::take(&mut found.scratch);
        let QuicLayer { session, client, streams } = &mut *quic;
        let mut take = |one: QuicFound<'_>| match one {
            QuicFound::Stream { id, at, bytes } => {
                self.turn_to(streams, id);
                if let Some(stream) = streams.last_mut() {
                    self.read_stream(stream, &mut carrier, (at, bytes), found);
                }
            }
            QuicFound::Event(event) => self.quic_event(event, *client),
            QuicFound::Restart => self.forget_streams(streams),
        };
        session.datagram(role, bytes, (&*log, &mut scratch), &mut take);
        drop(log);
        found.scratch = scratch;
        if quic.session.is_given_up() {
            self.ignore_named();
        } else if !matches!(self.state, State::Ignored) {
            self.tls.quic = Some(quic);
        }
        true
    }

    /// The connection that a client opens with this datagram, if it is one of QUIC, and there are any keys.
    fn begin_quic(
        &mut self,
        side: Side,
        bytes: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<Box<QuicLayer>> {
        let is_open = matches!(self.state, State::Undecided(_)) || self.search.is_named;
        if !is_open || self.tls.keys.is_empty() {
            return None;
        }
        let name = datagram(bytes).filter(|name| name.protocol == "QUIC")?;
        let Some(session) = QuicSession::begin(bytes, scratch) else {
            self.tls.keys.count(TlsEvent::Missed);
            return None;
        };
        self.search.set_name(name);
        Some(Box::new(QuicLayer { session, client: side, streams: Vec::new() }))
    }

    /// The transport that the decoder sees: a stream of QUIC is what a connection of TCP is.
    pub(super) fn decoded_transport(&self) -> Transport {
        if self.tls.has_streams { Transport::Tcp } else { self.flows[0].key.transport }
    }

    fn quic_event(&mut self, event: TlsEvent, client: Side) {
        self.tls.keys.count(event);
        if event == TlsEvent::Opened {
            self.server = self.server.or(Some(client.other()));
            self.search.note_decrypted();
            self.tls.has_streams = true;
            // A protocol that the user has named is that of the streams.
            if let State::Decoding(protocol, _) = self.state {
                self.decide(protocol);
            }
        }
    }

    /// Another connection between the same addresses begins.
    fn forget_streams(&mut self, streams: &mut Vec<QuicStream>) {
        if let Some(mut last) = streams.pop() {
            self.exchange_reading(&mut last.reading);
        }
        streams.clear();
        match self.state {
            State::Decoding(protocol, _) => self.decide(protocol),
            _ => self.state = State::Undecided(Attempts::default()),
        }
    }

    /// Makes a stream the last one, whose reading the conversation has.
    fn turn_to(&mut self, streams: &mut Vec<QuicStream>, id: u64) {
        if streams.last().is_some_and(|last| last.id == id) {
            return;
        }
        if let Some(last) = streams.last_mut() {
            self.exchange_reading(&mut last.reading);
        }
        let index = streams.iter().position(|stream| stream.id == id);
        if index.is_none() && streams.len() >= MAX_STREAMS {
            streams.remove(0);
        }
        let known = index.map(|index| streams.remove(index));
        let mut stream = known.unwrap_or_else(|| QuicStream::new(id));
        self.exchange_reading(&mut stream.reading);
        streams.push(stream);
    }

    /// Exchanges the reading that the conversation has.
    fn exchange_reading(&mut self, reading: &mut StreamReading) {
        swap(&mut self.tls.text, &mut reading.text);
        swap(&mut self.search.pending, &mut reading.pending);
        swap(&mut self.search.websocket, &mut reading.websocket);
        swap(&mut self.search.observer, &mut reading.observer);
        for (side, flow) in self.flows.iter_mut().enumerate() {
            swap(&mut flow.stream, &mut reading.streams[side]);
            swap(&mut flow.start, &mut reading.starts[side]);
        }
    }

    /// Bytes of a stream whose reading the conversation has.
    fn read_stream(
        &mut self,
        stream: &mut QuicStream,
        carrier: &mut Carrier,
        (at, bytes): (u64, &[u8]),
        found: &mut DecoderOutput,
    ) {
        let ordered = &mut stream.bytes[carrier.side as usize];
        let seen = carrier.at;
        let mut read = |piece: Piece<'_>| self.read_stream_piece(carrier, piece, found);
        ordered.give_up(seen - PATIENCE, &mut read);
        let at = Offset::START.plus(at);
        if ordered.goes_on(at, bytes.len() as u64) {
            read(Piece::Bytes { at, bytes, missing: 0 });
        } else {
            ordered.packet(at, bytes, 0, seen, &mut read);
        }
    }

    /// The next bytes of a stream, or a hole. Their last one came with this datagram.
    fn read_stream_piece(
        &mut self,
        carrier: &mut Carrier,
        piece: Piece<'_>,
        found: &mut DecoderOutput,
    ) {
        let (bytes, len) = match piece {
            Piece::Bytes { bytes, missing, .. } => {
                (bytes, missing.saturating_add(bytes.len() as u64))
            }
            Piece::Gap { len, .. } => (&[][..], len),
        };
        let side = carrier.side;
        let text = self.tls.text.as_mut().filter(|_| len > 0);
        if let Some(range) =
            text.map(|text| text.opened(side, carrier.take(bytes.len() as u64), len))
        {
            self.read_text(side, range, bytes, found);
        }
    }
}
