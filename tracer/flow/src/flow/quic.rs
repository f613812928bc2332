//! QUIC connections whose keys are known: their streams are read like the bytes of TCP connections.
//!
//! ```text
//!  datagrams ─▶ wirelap_tls: packets, frames ─▶ a stream's bytes in order ─▶ the conversation's decoder
//!                                                       ╰─ lie in the datagram that carried them first
//! ```
//!
//! What is found in a stream lies in the datagrams that carried it. What waited for a hole to be filled can be used with the
//! datagram that filled it. The conversation has one decoder for all streams, and what cuts a stream into PDUs, and tells where
//! its bytes lie, for each: those of the stream that was read last stand in the conversation, and are exchanged when another one
//! is read.

#[cfg(test)]
mod tests;

use super::attempts::Attempts;
use super::conversation::{Conversation, State};
use super::output::DecoderOutput;
use super::quic_layer::QuicLayer;
use super::quic_stream::{CarriedBytes, CarriedPart, QuicStream, StreamEntry, StreamReading};
use super::quic_streams::{MAX_STREAMS, QuicStreams};
use super::reassembly::{Piece, Reassembly};
use std::mem::{swap, take};
use wirelap_events::{ByteRange, Nanos, Offset, Saturate, Transport};
use wirelap_protocols::Side;
use wirelap_protocols::foreign::datagram;
use wirelap_tls::{QuicFound, QuicSession, TlsEvent, TlsRole};

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
    /// The place of the next bytes that are found in the datagram: behind those before, so that no two messages have the same place.
    fn take(&mut self, len: u64) -> ByteRange {
        let last = Offset(self.range.end.0.saturating_sub(1));
        let start = self.range.start.min(last);
        let end = start.plus(len.max(1)).min(self.range.end);
        self.range.start = end;
        ByteRange { start, end }
    }
}

/// Bytes of a stream.
#[derive(Clone, Copy)]
struct StreamBytes<'a> {
    id: u64,
    at: u64,
    bytes: &'a [u8],
    is_last: bool,
    /// The number of their packet.
    packet: u64,
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
        let (side, role) = (carrier.side, quic.role(carrier.side));
        if take(&mut self.flow_mut(side).interrupted) {
            quic.session.interrupt(role);
            self.interrupt_streams(&mut quic, side, found);
        }
        let keys = self.tls.keys.clone();
        let log = keys.log();
        let mut scratch = take(&mut found.scratch);
        let QuicLayer { session, client, streams } = &mut *quic;
        let at = carrier.at;
        let mut of =
            |one: QuicFound<'_>| self.take_quic(one, (streams, *client), &mut carrier, found);
        session.datagram((role, at), bytes, (&*log, &mut scratch), &mut of);
        drop(log);
        found.scratch = scratch;
        self.give_up_lost(&mut quic, found);
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
        let is_first = !std::mem::replace(&mut self.tls.has_hello, true);
        let Some(session) = QuicSession::begin(bytes, scratch) else {
            if is_first {
                self.tls.keys.count(TlsEvent::Missed);
            }
            return None;
        };
        self.search.set_name(name);
        Some(Box::new(QuicLayer { session, client: side, streams: QuicStreams::default() }))
    }

    /// The transport that the decoder sees: a stream of QUIC is what a connection of TCP is.
    pub(super) fn decoded_transport(&self) -> Transport {
        if self.tls.has_streams { Transport::Tcp } else { self.flows[0].key.transport }
    }

    /// Takes what was found in a datagram.
    fn take_quic(
        &mut self,
        one: QuicFound<'_>,
        (streams, client): (&mut QuicStreams, Side),
        carrier: &mut Carrier,
        found: &mut DecoderOutput,
    ) {
        match one {
            QuicFound::Stream { id, at, bytes, is_last, number } => {
                let bytes = StreamBytes { id, at, bytes, is_last, packet: number };
                self.read_stream((streams, client), carrier, bytes, found);
            }
            QuicFound::Reset { id } => {
                self.reset_stream((streams, client), id, carrier.side, found);
            }
            QuicFound::Event(event) => self.quic_event(event, client),
            QuicFound::Restart => self.forget_streams((streams, client), found),
            QuicFound::Unread { bytes } => {
                self.tls.keys.count(TlsEvent::Unread);
                self.hidden.skipped.grow(bytes);
                self.hidden.unread_packets.grow(1);
                self.note_missing(carrier.side, found);
            }
            QuicFound::Missing { .. } => self.take_missing(one, client, found),
        }
    }

    /// Counts packets that are not in the capture.
    pub(super) fn take_missing(
        &mut self,
        one: QuicFound<'_>,
        client: Side,
        found: &mut DecoderOutput,
    ) {
        if let QuicFound::Missing { from, packets } = one {
            self.hidden.unread_packets.grow(packets);
            let side = if from == TlsRole::Client { client } else { client.other() };
            self.note_missing(side, found);
        }
    }

    /// Notes that messages may be in bytes that were not read.
    fn note_missing(&self, side: Side, found: &mut DecoderOutput) {
        match self.state {
            State::Decoding(..) => found.gaps.missed[side as usize] = true,
            State::Undecided(_) => found.gaps.unknown[side as usize] = true,
            State::Ignored => {}
        }
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
    fn forget_streams(
        &mut self,
        (streams, client): (&mut QuicStreams, Side),
        found: &mut DecoderOutput,
    ) {
        for side in [Side::A, Side::B] {
            self.give_up_holes_of((streams, client), side, found, Reassembly::interrupt);
        }
        self.set_reading_aside(streams);
        while let Some(stream) = streams.evict(client) {
            self.count_evicted(&stream, found);
        }
        *streams = QuicStreams::default();
        match self.state {
            State::Decoding(protocol, _) => self.decide(protocol),
            _ => self.state = State::Undecided(Attempts::default()),
        }
    }

    /// Makes a stream the last one, whose reading the conversation has. Returns false for one that has finished before.
    fn turn_to(
        &mut self,
        (streams, client): (&mut QuicStreams, Side),
        id: u64,
        found: &mut DecoderOutput,
    ) -> bool {
        if streams.open.last().is_some_and(|last| last.id == id) {
            return true;
        }
        let index = streams.open.iter().rposition(|stream| stream.id == id);
        let entry = if index.is_none() { streams.known.take(id) } else { StreamEntry::New };
        if matches!(entry, StreamEntry::Known(known) if known.is_finished) {
            return false;
        }
        self.set_reading_aside(streams);
        let mut stream = match index {
            Some(index) => streams.open.remove(index),
            None => QuicStream::new(id, entry, &self.flows[0].bytes),
        };
        if streams.open.len() >= MAX_STREAMS
            && let Some(evicted) = streams.evict(client)
        {
            self.count_evicted(&evicted, found);
        }
        self.exchange_reading(&mut stream.reading);
        self.hidden.elsewhere.shrink(self.undecoded_by_streams());
        streams.open.push(stream);
        self.read_kept_text(found);
        true
    }

    /// Puts the reading that the conversation has back to its stream.
    fn set_reading_aside(&mut self, streams: &mut QuicStreams) {
        if let Some(last) = streams.open.last_mut() {
            self.hidden.elsewhere.grow(self.undecoded_by_streams());
            self.exchange_reading(&mut last.reading);
        }
    }

    /// Counts what waits in a stream that is forgotten.
    fn count_evicted(&mut self, stream: &QuicStream, found: &mut DecoderOutput) {
        for side in [Side::A, Side::B] {
            let waiting = stream.waiting_bytes(side);
            if waiting > 0 {
                self.hidden.elsewhere.grow(waiting);
                self.note_missing(side, found);
            }
        }
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

    /// Bytes of a stream.
    fn read_stream(
        &mut self,
        (streams, client): (&mut QuicStreams, Side),
        carrier: &mut Carrier,
        frame: StreamBytes<'_>,
        found: &mut DecoderOutput,
    ) {
        let StreamBytes { id, bytes, is_last, packet, .. } = frame;
        let (side, seen) = (carrier.side, carrier.at);
        if !self.turn_to((streams, client), id, found) {
            return;
        }
        let was_decided = matches!(self.state, State::Decoding(..));
        let Some(stream) = streams.open.last_mut() else { return };
        let at = Offset::START.plus(frame.at);
        let range = ByteRange::new(at, bytes.len() as u64);
        let (ordered, carried) =
            (&mut stream.bytes[side as usize], &mut stream.carried[side as usize]);
        if is_last {
            stream.ends[side as usize] = Some(range.end);
        }
        carried.add(CarriedPart { bytes: range, datagram: carrier.take(range.len()), packet });
        if take(&mut stream.resumes[side as usize]) {
            self.read_paused(found, |one, found| {
                ordered
                    .resume_at(at, &mut |piece| one.read_stream_piece(side, carried, piece, found));
            });
        }
        let mut read = |piece: Piece<'_>| self.read_stream_piece(side, carried, piece, found);
        if ordered.goes_on(at, range.len()) {
            read(Piece::Bytes { at, bytes, missing: 0 });
        } else {
            ordered.packet(at, bytes, 0, seen, &mut read);
        }
        carried.forget_before(ordered.next());
        if !was_decided && matches!(self.state, State::Decoding(..)) {
            // Others may have what was not decoded so far.
            for id in streams.ids() {
                self.turn_to((streams, client), id, found);
            }
        }
    }

    /// A stream of which not all bytes come.
    fn reset_stream(
        &mut self,
        (streams, client): (&mut QuicStreams, Side),
        id: u64,
        side: Side,
        found: &mut DecoderOutput,
    ) {
        if !streams.open.iter().any(|stream| stream.id == id) {
            return;
        }
        self.turn_to((streams, client), id, found);
        self.step_stream(streams, side, found, Reassembly::interrupt);
        if let Some(stream) = streams.open.last_mut() {
            stream.bytes[side as usize].start_at(Offset::START);
            stream.ends[side as usize] = stream.bytes[side as usize].next();
        }
    }

    /// The next bytes of a stream, or a hole.
    fn read_stream_piece(
        &mut self,
        side: Side,
        carried: &mut CarriedBytes,
        piece: Piece<'_>,
        found: &mut DecoderOutput,
    ) {
        let (bytes, len, (datagram, usable)) = match piece {
            Piece::Bytes { at, bytes, missing } => {
                (bytes, missing.saturating_add(bytes.len() as u64), carried.place(at))
            }
            Piece::Gap { len, .. } => (&[][..], len, carried.place_of_gap(piece.end())),
        };
        let text = self.tls.text.as_mut().filter(|_| len > 0);
        if let Some(range) = text.map(|text| text.carried(side, (datagram, usable), len)) {
            self.read_text(side, range, bytes, found);
        }
    }

    /// Runs the reassembly of one side of the stream that is read.
    fn step_stream(
        &mut self,
        streams: &mut QuicStreams,
        side: Side,
        found: &mut DecoderOutput,
        step: impl FnOnce(&mut Reassembly, &mut dyn FnMut(Piece<'_>)),
    ) {
        let Some(stream) = streams.open.last_mut() else { return };
        let (ordered, carried) =
            (&mut stream.bytes[side as usize], &mut stream.carried[side as usize]);
        step(ordered, &mut |piece| self.read_stream_piece(side, carried, piece, found));
        carried.forget_before(ordered.next());
    }

    /// Runs the reassembly of one side of all streams in which bytes wait behind holes.
    pub(super) fn give_up_holes_of(
        &mut self,
        (streams, client): (&mut QuicStreams, Side),
        side: Side,
        found: &mut DecoderOutput,
        step: impl Fn(&mut Reassembly, &mut dyn FnMut(Piece<'_>)),
    ) {
        let waiting = streams.open.iter().filter(|one| one.bytes[side as usize].is_waiting());
        for id in waiting.map(|stream| stream.id).collect::<Vec<_>>() {
            self.turn_to((streams, client), id, found);
            self.step_stream(streams, side, found, &step);
        }
    }

    /// Gives up holes whose bytes were in packets that their receiver has got: they do not come again.
    fn give_up_lost(&mut self, quic: &mut QuicLayer, found: &mut DecoderOutput) {
        for side in [Side::A, Side::B] {
            let missing = quic.session.first_missing(quic.role(side));
            let upto = |stream: &QuicStream| {
                let waits = stream.bytes[side as usize].is_waiting();
                stream.carried[side as usize].last_before(missing).filter(|_| waits)
            };
            let all = quic.streams.open.iter();
            let lost = all.filter_map(|stream| Some((stream.id, upto(stream)?)));
            for (id, upto) in lost.collect::<Vec<_>>() {
                self.turn_to((&mut quic.streams, quic.client), id, found);
                self.step_stream(&mut quic.streams, side, found, |ordered, out| {
                    ordered.passed(upto, out);
                });
            }
        }
    }

    /// Observation of one side was interrupted: what is missing up to the next bytes of each stream is a pause.
    fn interrupt_streams(&mut self, quic: &mut QuicLayer, side: Side, found: &mut DecoderOutput) {
        let of = (&mut quic.streams, quic.client);
        self.read_paused(found, |one, found| {
            one.give_up_holes_of(of, side, found, Reassembly::interrupt);
        });
        for stream in &mut quic.streams.open {
            stream.resumes[side as usize] = true;
        }
    }
}
