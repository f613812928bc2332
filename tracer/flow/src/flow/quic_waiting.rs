//! Bytes that wait in a QUIC connection: behind holes, for the rest of their PDU, or for their protocol.

use super::conversation::{Conversation, State};
use super::output::DecoderOutput;
use super::quic_layer::QuicLayer;
use super::quic_stream::CarriedBytes;
use super::reassembly::{Piece, Reassembly};
use super::tls::text::TlsText;
use wirelap_events::{Nanos, Offset, Saturate};
use wirelap_protocols::Side;

impl Conversation {
    /// True if something waits in its streams for packets that may yet come.
    pub fn awaits_streams(&self) -> bool {
        let Some(quic) = &self.tls.quic else { return false };
        let mut all = quic.streams.open.iter().flat_map(|stream| &stream.bytes);
        quic.session.is_waiting() || all.any(Reassembly::is_waiting)
    }

    /// Gives up the holes in what one side sends in streams, behind which bytes have waited since before `limit`, and packets that have
    /// been missing for so long; all, without a limit. True if anything waited: then messages may have been found.
    pub fn give_up_streams(
        &mut self,
        side: Side,
        limit: Option<Nanos>,
        found: &mut DecoderOutput,
    ) -> bool {
        if !self.awaits_streams() {
            return false;
        }
        let Some(mut quic) = self.tls.quic.take() else { return false };
        let QuicLayer { session, client, streams } = &mut *quic;
        self.give_up_holes_of((streams, *client), side, found, |ordered, out| match limit {
            Some(limit) => ordered.give_up(limit, out),
            None => ordered.interrupt(out),
        });
        session.give_up_packets(limit, &mut |one| {
            self.take_missing(one, *client, found);
        });
        self.tls.quic = Some(quic);
        true
    }

    /// True if streams are read in place of datagrams. Messages are found in another order than that of their datagrams then.
    pub fn has_streams(&self) -> bool {
        self.tls.has_streams
    }

    /// Start of the oldest datagram of one side with bytes of a message, or behind a hole, that is not complete.
    pub fn oldest_in_streams(&self, side: Side) -> Option<Offset> {
        let quic = self.tls.quic.as_ref()?;
        let open = |text: &TlsText| text.open_from(side);
        let texts = quic.streams.open.iter().filter_map(|stream| stream.reading.text.as_ref());
        let waiting = quic.streams.open.iter().map(|stream| &stream.carried[side as usize]);
        let waiting = waiting.filter_map(CarriedBytes::oldest);
        let texts = texts.chain(&self.tls.text).filter_map(|text| open(text));
        texts.chain(waiting).min()
    }

    /// Reads bytes of one side, of which those that are missing are nobody's failure.
    pub(super) fn read_paused(
        &mut self,
        found: &mut DecoderOutput,
        read: impl FnOnce(&mut Conversation, &mut DecoderOutput),
    ) {
        let (before, unread) = (self.undecoded_bytes(), found.gaps.unread);
        read(self, found);
        self.hidden.add_paused(self.undecoded_bytes().saturating_sub(before));
        found.gaps.unread = unread;
    }

    /// Reads what was kept of the stream that is read, if its protocol has become known meanwhile.
    pub(super) fn read_kept_text(&mut self, found: &mut DecoderOutput) {
        let State::Decoding(protocol, _) = self.state else { return };
        let heads = self.flows.iter().any(|flow| !flow.start.head.bytes.is_empty());
        if !heads && self.search.pending.is_none() {
            return;
        }
        (self.search.websocket, self.search.observer) = (None, None);
        let before = self.found_before(found);
        // Of a head, all bytes are kept.
        self.read_heads(Side::A, Piece::Gap { at: Offset::START, len: 0 }, found);
        if let Some(pending) = self.search.pending.take() {
            self.read_kept(Side::A, Offset::START, *pending, protocol, found);
        }
        for side in [Side::A, Side::B] {
            self.note_open(side);
        }
        self.place_found(Side::A, &before, found);
    }

    /// Gives up what was followed on a guess in streams that are not read now.
    pub(super) fn give_up_guesses_aside(&mut self) {
        let (State::Decoding(_, connection), Some(quic)) = (&mut self.state, &mut self.tls.quic)
        else {
            return;
        };
        let aside = quic.streams.open.iter_mut().flat_map(|one| &mut one.reading.streams);
        for stream in aside.flatten().filter(|stream| !stream.is_in_sync()) {
            let before = stream.undecoded_bytes();
            stream.finish(&mut **connection);
            self.hidden.elsewhere.grow(stream.undecoded_bytes().saturating_sub(before));
        }
    }
}
