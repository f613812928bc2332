//! The text of TLS records, where a library was seen to encrypt or to decrypt it, or where keys open them (`decrypt.rs`).
//!
//! ```text
//! flow |5| record, encrypted |tag|5| record … |tag|      text |   message   |  message …
//!      ^ sent with this text ^                ^               ^ lies in the record there
//! ```
//!
//! The text of a sender comes before its record, and waits until the flow's bytes have come so far; then it is read in its
//! place. The text of a reader comes after its record, and is read at once. What is found in the text
//! lies where the record lies: from its first byte, if it begins with the record, to its last, if it ends with it, because
//! nobody can read a record before it is complete.
//!
//! | module | what |
//! |---|---|
//! | `lane` | the text of one direction, and where it lies |
//! | `text` | the text of both directions |
//! | `layer` | the text and the keys of a conversation |
//! | `records` | where the records of one direction end |

mod lane;
pub(super) mod layer;
mod records;
pub(super) mod text;

use super::attempts::Attempts;
use super::conversation::{Conversation, State};
use super::head::FirstBytes;
use super::output::DecoderOutput;
use super::reassembly::Piece;
pub use lane::ReadPlace;
use lane::{Lane, WaitingRecord};
use wirelap_events::{ByteRange, Offset, PlainText};
use wirelap_protocols::Side;
use wirelap_protocols::stream::Stream;

/// Numbers of results that decoders had before a text.
pub(super) struct FoundBefore {
    all: usize,
    fragments: usize,
    released: usize,
    acknowledgements: usize,
    has_asked: bool,
}

impl Conversation {
    /// A record of `record_len` bytes starts at `start` of what one side sends.
    pub fn text_sent(&mut self, side: Side, start: Offset, record_len: u32, plain: &PlainText<'_>) {
        if let Some(lane) = self.text_lane(side) {
            lane.sent(start, record_len, plain);
        }
    }

    /// The reader of what one side sends has got a text. Reads it.
    pub fn text_read(
        &mut self,
        side: Side,
        place: &ReadPlace,
        plain: &PlainText<'_>,
        found: &mut DecoderOutput,
    ) {
        let lane = self.text_lane(side);
        if let Some(range) = lane.and_then(|lane| lane.read(place, plain)) {
            self.read_text(side, range, plain.text, found);
        }
    }

    /// True if the user asks for records in place of their text.
    pub(super) fn stays_encrypted(&self) -> bool {
        matches!(self.state, State::Decoding(protocol, _) if protocol.is_encryption())
    }

    /// The text that one side sends; `None` if it is of no use.
    fn text_lane(&mut self, side: Side) -> Option<&mut Lane> {
        if self.stays_encrypted() {
            return None;
        }
        if self.tls.text.is_none() {
            self.begin_text();
        }
        if matches!(self.state, State::Ignored) {
            return None;
        }
        Some(&mut self.tls.text.as_mut()?.lanes[side as usize])
    }

    /// From now on the text is read. What the records looked like says nothing of it.
    pub(super) fn begin_text(&mut self) {
        self.tls.text = Some(Box::default());
        // What the records looked like as a WebSocket has other positions than the text.
        self.search.restart();
        let was_ignored = matches!(self.state, State::Ignored);
        for flow in &mut self.flows {
            flow.start.head = FirstBytes::default();
            flow.stream = None;
            flow.start.writes = Vec::new();
            flow.start.boundary = None;
            if was_ignored {
                flow.interrupted = true;
                flow.packets.forget_seen();
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
            self.tls.text.as_mut().and_then(|tls| tls.lanes[side as usize].take(upto))
        {
            self.read_text(side, place.text, &text, found);
        }
    }

    /// Reads a text, as far as it was captured, and moves what is found in it to where it lies in the flow.
    pub(super) fn read_text(
        &mut self,
        side: Side,
        range: ByteRange,
        text: &[u8],
        found: &mut DecoderOutput,
    ) {
        let before = self.found_before(found);
        let missing = range.len().saturating_sub(text.len() as u64);
        let piece = Piece::Bytes { at: range.start, bytes: text, missing };
        found.ros.pause(true);
        self.read(side, piece, found);
        found.ros.pause(false);
        self.note_open(side);
        self.place_found(side, &before, found);
    }

    /// Numbers of results that decoders have now.
    pub(super) fn found_before(&self, found: &DecoderOutput) -> FoundBefore {
        FoundBefore {
            all: found.all.len(),
            fragments: found.fragments.len(),
            released: found.released.len(),
            has_asked: self.control.asked.is_some(),
            acknowledgements: self.control.acknowledgements.iter().flatten().count(),
        }
    }

    /// Notes where the PDU begins that is not complete.
    pub(super) fn note_open(&mut self, side: Side) {
        let open = self.flow(side).stream.as_ref().and_then(Stream::open_from);
        if let Some(text) = &mut self.tls.text {
            text.lanes[side as usize].set_open(open);
        }
    }

    /// Moves what was found in the text to where it lies in the flow.
    pub(super) fn place_found(
        &mut self,
        side: Side,
        before: &FoundBefore,
        found: &mut DecoderOutput,
    ) {
        let Some(tls) = &self.tls.text else { return };
        let lane = |side: Side| &tls.lanes[side as usize];
        for message in found.all.iter_mut().skip(before.all) {
            let lane = lane(message.side);
            let told = message.usable_at;
            let usable = lane.usable(told.unwrap_or(message.extent.end));
            message.extent = lane.range(message.extent);
            let is_later = told.is_some() || usable > message.extent.end;
            message.usable_at = is_later.then_some(usable);
            message.topic.id.iter().for_each(|&topic| found.topics.hide(topic));
        }
        for fragments in found.fragments.iter_mut().skip(before.fragments) {
            fragments.at = lane(fragments.side).start(fragments.at);
        }
        for released in found.released.iter_mut().skip(before.released) {
            released.message = lane(released.side).start(released.message);
            released.end = lane(released.side).usable(released.end);
            let back = lane(released.side.other());
            released.receipt = released.receipt.map(|end| back.usable(end));
        }
        for found in
            self.control.acknowledgements.iter_mut().skip(before.acknowledgements).flatten()
        {
            found.end = lane(side).usable(found.end);
            found.message = found.message.map(|end| lane(side.other()).end(end));
            found.full_with = found.full_with.map(|end| lane(side.other()).end(end));
        }
        if !before.has_asked {
            self.control.asked = self.control.asked.map(|end| lane(side).usable(end));
        }
    }
}
