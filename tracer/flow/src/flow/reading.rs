//! The bytes of a conversation, from packets to its decoder.

use super::collector::Collector;
use super::conversation::{Conversation, State};
use super::output::DecoderOutput;
use super::quic::Carrier;
use super::reassembly::{Piece, Reassembly};
use wirelap_events::{ByteRange, Nanos, Offset, Packet, PacketKind, Saturate};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Pdu, Side};

/// A write so many bytes away is waited for, to begin with it. The socket of a receiver that is behind has megabytes before
/// its last write, and they may take for ever.
const SOON: u64 = 64 << 10;

impl Conversation {
    /// Payload of a packet, in any order.
    pub fn packet(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        now: Nanos,
        found: &mut DecoderOutput,
    ) {
        let missing = range.len().saturating_sub(bytes.len() as u64);
        self.hidden.uncaptured.grow(missing);
        let flow = self.flow_mut(side);
        let interrupted = std::mem::take(&mut flow.interrupted);
        let skipped = match (flow.bytes.next(), flow.start.boundary.take()) {
            // Found open: begin where a write begins, if that is in or after this packet.
            (None, Some(boundary))
                if boundary >= range.end && range.start.plus(SOON) >= boundary =>
            {
                flow.start.boundary = Some(boundary);
                return;
            }
            (None, Some(boundary)) if boundary < range.end => {
                boundary.0.saturating_sub(range.start.0)
            }
            _ => 0,
        };
        let start = range.start.plus(skipped);
        let skipped_bytes = usize::try_from(skipped).unwrap_or(usize::MAX).min(bytes.len());
        let missing = missing.saturating_sub(skipped.saturating_sub(skipped_bytes as u64));
        let bytes = bytes.get(skipped_bytes..).unwrap_or_default();
        if interrupted {
            self.resume(side, start, found);
        }
        // Almost every packet follows the one before it.
        if self.flow_mut(side).bytes.goes_on(start, (bytes.len() as u64).saturating_add(missing)) {
            return self.piece(side, Piece::Bytes { at: start, bytes, missing }, found);
        }
        self.reassemble(side, found, |flow, out| {
            flow.packet(start, bytes, missing, now, out);
        });
    }

    /// Goes on at `at` after a pause on purpose: the bytes in between are nobody's failure, nor are the messages in them of a
    /// batch that had begun before.
    fn resume(&mut self, side: Side, at: Offset, found: &mut DecoderOutput) {
        let (before, unread) = (self.undecoded_bytes(), found.gaps.unread);
        self.reassemble(side, found, |flow, out| {
            flow.interrupt(out);
            flow.resume_at(at, out);
        });
        self.hidden.add_paused(self.undecoded_bytes().saturating_sub(before));
        found.gaps.unread = unread;
    }

    /// Runs the reassembly of one side, reading what comes out.
    pub fn reassemble(
        &mut self,
        side: Side,
        found: &mut DecoderOutput,
        step: impl FnOnce(&mut Reassembly, &mut dyn FnMut(Piece<'_>)),
    ) {
        let mut bytes = std::mem::take(&mut self.flow_mut(side).bytes);
        step(&mut bytes, &mut |piece| self.piece(side, piece, found));
        self.flow_mut(side).bytes = bytes;
    }

    /// The next bytes of one direction.
    fn piece(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        if self.is_decrypted(side, &piece) {
            self.decrypt(side, piece, found);
        } else if let Some(tls) = &mut self.tls.text {
            tls.passes(side, piece);
            self.read_texts(side, piece.end(), found);
        } else {
            self.read(side, piece, found);
        }
    }

    /// The next bytes of one direction, or of the text in them.
    pub(super) fn read(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let undecoded = self.undecoded_bytes();
        match self.state {
            State::Decoding(..) => self.read_piece(side, piece, found),
            State::Undecided(_) => self.recognise_piece(side, piece, found),
            State::Ignored => {}
        }
        let is_absent = !matches!(piece, Piece::Bytes { missing: 0, .. });
        match self.state {
            State::Decoding(..) if is_absent || self.undecoded_bytes() > undecoded => {
                found.gaps.missed[side as usize] = true;
            }
            State::Undecided(_) if self.flow(side).start.isn.is_none() => {
                found.gaps.unknown[side as usize] = true;
            }
            State::Decoding(..) | State::Undecided(_) | State::Ignored => {}
        }
    }

    pub(super) fn read_piece(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let State::Decoding(protocol, connection) = &mut self.state else { return };
        let flow = &mut self.flows[side as usize];
        let (control, ledger) = (&mut self.control, &mut self.ledger);
        let mut out = Collector::new(control, side, *protocol, ledger, found);
        let from_start = flow.start.isn.is_some();
        let at = match piece {
            Piece::Bytes { at, .. } | Piece::Gap { at, .. } => at,
        };
        let mid_stream = !from_start || at != Offset::START;
        let stream = flow.stream.get_or_insert_with(|| Stream::new(side, mid_stream));
        match piece {
            Piece::Bytes { at, bytes, missing } => {
                let first = out.found.all.len();
                stream.feed(at, bytes, missing, connection.as_mut(), &mut out);
                let hole = flow.messages.hole.take().filter(|hole| hole.end == at);
                flow.messages.add_framed(&flow.marks, hole, first, self.serial, found);
            }
            Piece::Gap { at, len } => {
                let is_between = stream.is_in_sync() && stream.pending_bytes() == 0;
                flow.messages.hole = is_between.then(|| ByteRange::new(at, len));
                stream.gap(at, len, connection.as_mut(), &mut out);
            }
        }
    }

    /// A packet with a datagram of these bytes, or with a fragment of it.
    pub fn datagram_packet(
        &mut self,
        side: Side,
        range: ByteRange,
        (packet, at): (&Packet<'_>, Nanos),
        found: &mut DecoderOutput,
    ) {
        let carrier = Carrier { side, range, at };
        let pieces = &mut self.flow_mut(side).pieces;
        let PacketKind::Fragment { start, .. } = packet.kind else {
            if !pieces.is_empty() {
                self.put_together(carrier, found);
            }
            self.datagram(carrier, packet.payload, found);
            return;
        };
        if start == 0 && !pieces.is_empty() {
            self.put_together(carrier, found);
        }
        let pieces = &mut self.flow_mut(side).pieces;
        pieces.add(range, u64::from(start), packet.payload);
        if pieces.is_whole() {
            self.put_together(carrier, found);
        }
    }

    /// Reads the fragments so far as one datagram.
    fn put_together(&mut self, last: Carrier, found: &mut DecoderOutput) {
        let mut pieces = std::mem::take(&mut self.flow_mut(last.side).pieces);
        self.datagram(Carrier { range: pieces.range, ..last }, &pieces.bytes, found);
        pieces.clear();
        self.flow_mut(last.side).pieces = pieces;
    }

    /// A datagram, as far as it was captured.
    fn datagram(&mut self, carrier: Carrier, bytes: &[u8], found: &mut DecoderOutput) {
        let Carrier { side, range, .. } = carrier;
        self.hidden.uncaptured.grow(range.len().saturating_sub(bytes.len() as u64));
        if self.read_quic(carrier, bytes, found) {
            return;
        }
        if matches!(self.state, State::Undecided(_)) {
            self.recognise_datagram(side, range, bytes, found);
        }
        self.read_datagram(side, range, bytes, found);
    }

    pub(super) fn read_datagram(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        found: &mut DecoderOutput,
    ) {
        if let State::Decoding(protocol, connection) = &mut self.state {
            let (control, ledger) = (&mut self.control, &mut self.ledger);
            let mut out = Collector::new(control, side, *protocol, ledger, found);
            connection.pdu(side, Pdu { range, bytes }, &mut out);
        }
    }
}
