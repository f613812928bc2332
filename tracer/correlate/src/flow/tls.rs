//! Text is read in place of the TLS records that it is in (`tls_text.rs`).

use super::attempts::Attempts;
use super::conversation::{Conversation, State};
use super::head::FirstBytes;
use super::output::DecoderOutput;
use super::reassembly::Piece;
use super::tls_text::{RecordPlace, WaitingRecord};
use wirelap_events::{Offset, PlainText};
use wirelap_protocols::Side;

/// How much decoders had found before a text.
struct FoundBefore {
    all: usize,
    fragments: usize,
    released: usize,
    has_asked: bool,
}

impl Conversation {
    /// A record starts at `start` of what one side sends.
    pub fn add_text(&mut self, side: Side, start: Offset, plain: &PlainText<'_>) {
        if self.tls.is_none() {
            self.begin_text();
        }
        if let Some(tls) = &mut self.tls
            && !matches!(self.state, State::Ignored)
        {
            tls.lane_mut(side).add(start, plain);
        }
    }

    /// From now on the text is read. What the records looked like says nothing of it.
    pub(super) fn begin_text(&mut self) {
        self.tls = Some(Box::default());
        self.name = self.foreign_name().cloned().map(Box::new);
        (self.observer, self.pending, self.is_final) = (None, None, false);
        let was_ignored = matches!(self.state, State::Ignored);
        for flow in &mut self.flows {
            flow.head = FirstBytes::default();
            flow.stream = None;
            flow.writes.clear();
            flow.boundary = None;
            if was_ignored {
                flow.interrupted = true;
                flow.forget_seen();
            }
        }
        // A protocol that the user has named is that of the text.
        match self.state {
            State::Decoding(protocol, _) => self.decide(protocol),
            _ => self.state = State::Undecided(Attempts::default()),
        }
    }

    /// Reads the text of the records that have come, now that the flow's bytes before `upto` have.
    pub(super) fn read_texts(&mut self, side: Side, upto: Offset, found: &mut DecoderOutput) {
        while let Some(WaitingRecord { place, text }) =
            self.tls.as_mut().and_then(|tls| tls.lane_mut(side).take(upto))
        {
            self.read_text(side, place, &text, found);
        }
    }

    /// Reads the text of a record, as far as it is known.
    pub(super) fn read_text(
        &mut self,
        side: Side,
        place: RecordPlace,
        text: &[u8],
        found: &mut DecoderOutput,
    ) {
        let before = FoundBefore {
            all: found.all.len(),
            fragments: found.fragments.len(),
            released: found.released.len(),
            has_asked: self.control.asked.is_some(),
        };
        let missing = place.text.len().saturating_sub(text.len() as u64);
        let piece = Piece::Bytes { at: place.text.start, bytes: text, missing };
        self.read(side, piece, found);
        self.place_found(side, &before, found);
    }

    /// Moves what was found in the text to where it lies in the flow.
    fn place_found(&mut self, side: Side, before: &FoundBefore, found: &mut DecoderOutput) {
        let Some(tls) = &self.tls else { return };
        let lane = |side: Side| tls.lane(side);
        for message in found.all.iter_mut().skip(before.all) {
            message.extent = lane(message.side).range(message.extent);
            message.usable_at = message.usable_at.map(|end| lane(message.side).end(end));
            message.topic.iter().for_each(|&topic| found.topics.hide(topic));
        }
        for fragments in found.fragments.iter_mut().skip(before.fragments) {
            fragments.at = lane(fragments.side).start(fragments.at);
        }
        for released in found.released.iter_mut().skip(before.released) {
            released.message = lane(released.side).start(released.message);
            released.end = lane(released.side).end(released.end);
        }
        if !before.has_asked {
            self.control.asked = self.control.asked.map(|end| lane(side).end(end));
        }
    }
}
