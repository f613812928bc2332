//! What a decoder hands over: messages for the joins, bytes for the ledger, and frames that bear on messages.

use super::found::{Found, FoundFragments};
use super::identity::{content, identify};
use super::output::DecoderOutput;
use super::requests::Released;
use super::round_trips::FoundExchange;
use crate::bytes::Ledger;
use wirelap_events::{ByteRange, Frame, FrameClass, Offset, RequestLimits};
use wirelap_protocols::{Fragments, FrameSink, Protocol, Side};

/// Kinds of frames that bear on messages and are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFrames {
    /// A keep-alive or discovery frame.
    pub upkeep: bool,
    /// A request for messages, and its end.
    pub asked: Option<Offset>,
    /// What that said of how long it may be kept waiting.
    pub ask: Option<RequestLimits>,
    /// Messages that their receiver is given once their transaction is committed.
    pub committed: bool,
    /// An acknowledgement before which its receiver may not have been allowed to send more.
    pub room: bool,
}

/// What a decoder hands over.
pub struct Collector<'a> {
    control: &'a mut ControlFrames,
    side: Side,
    protocol: &'static dyn Protocol,
    ledger: &'a mut Ledger,
    pub found: &'a mut DecoderOutput,
    /// What was told of the frame that comes next.
    fragments: Option<Fragments>,
    /// Where the message begins that the frame that comes next releases.
    releases: Option<Offset>,
    /// Bytes of what was compressed, and what became of them, for the messages that follow.
    packed: (u64, u64),
    /// From which byte on the messages that follow can be used.
    usable_at: Option<Offset>,
    /// The payload of the message in the frame that comes next may start earlier.
    is_unsure: bool,
}

impl<'a> Collector<'a> {
    pub fn new(
        control: &'a mut ControlFrames,
        side: Side,
        protocol: &'static dyn Protocol,
        ledger: &'a mut Ledger,
        found: &'a mut DecoderOutput,
    ) -> Collector<'a> {
        Collector {
            control,
            side,
            protocol,
            ledger,
            found,
            fragments: None,
            releases: None,
            packed: (0, 0),
            usable_at: None,
            is_unsure: false,
        }
    }
}

impl FrameSink for Collector<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.ledger.frame(self.side, frame);
        let fragments = self.fragments.take();
        let is_unsure = std::mem::take(&mut self.is_unsure);
        if let Some(fragments) = fragments {
            self.ledger.repeated(self.side, fragments.repeated_bytes);
            let (side, at) = (self.side, frame.range.start);
            self.found.fragments.push(FoundFragments { side, at, fragments });
        }
        self.control.upkeep |= matches!(frame.class, FrameClass::KeepAlive | FrameClass::Discovery);
        if let Some(message) = self.releases.take() {
            self.found.released.push(Released { side: self.side, message, end: frame.range.end });
        }
        if frame.asks_for_messages() {
            self.control.asked = Some(frame.range.end);
        }
        if let Some(data) = &frame.data {
            let shared = frame.is_in_shared_memory();
            let topic = self.found.topics.id_of_topic(data.topic, self.protocol.name());
            let assembly = fragments.map(|fragments| fragments.message);
            let mut found = Found { shared, topic, assembly, ..identify(self.side, data) };
            if self.protocol.numbers_topics() {
                found.content = content(found.stamp, data, is_unsure);
            }
            found.usable_at = self.usable_at.filter(|&end| end > data.extent.end);
            if frame.range.is_empty() {
                let (bytes, opened) = self.packed;
                let share = u128::from(data.payload_len).saturating_mul(u128::from(bytes));
                found.wire_payload =
                    u64::try_from(share.checked_div(u128::from(opened.max(1))).unwrap_or(0))
                        .unwrap_or(u64::MAX);
            }
            self.found.all.push(found);
        }
    }

    fn client(&mut self, side: Side, name: &[u8]) {
        if let Some(id) = self.found.client_names.id_of(name) {
            self.found.clients.push((side, id));
        }
    }

    fn fragments(&mut self, fragments: &Fragments) {
        self.fragments = Some(*fragments);
    }

    fn asks(&mut self, ask: RequestLimits) {
        self.control.ask = Some(ask);
    }

    fn awaits_commit(&mut self) {
        self.control.committed = true;
    }

    fn releases(&mut self, start: Offset) {
        self.releases = Some(start);
    }

    fn makes_room(&mut self) {
        self.control.room = true;
    }

    fn unpacked(&mut self, bytes: u64, opened: u64) {
        self.packed = (bytes, opened);
    }

    fn uncertain_start(&mut self) {
        self.is_unsure = true;
    }

    fn usable_at(&mut self, end: Offset) {
        self.usable_at = Some(end);
    }

    fn unread_messages(&mut self, messages: u64) {
        let unread = &mut self.found.unread[self.side as usize];
        *unread = unread.saturating_add(messages);
    }

    fn discarded(&mut self, messages: u64) {
        self.found.thrown_away = self.found.thrown_away.saturating_add(messages);
    }

    fn read_twice(&mut self, messages: u64) {
        self.found.read_twice = self.found.read_twice.saturating_add(messages);
    }

    fn in_order(&mut self, origin: [u8; 16], first: u64) {
        self.found.ordered.push((self.side, origin, first));
    }

    fn requests(&mut self, number: u64, extent: ByteRange) {
        let found = FoundExchange { side: self.side, number, extent, is_reply: false };
        self.found.exchanges.push(found);
    }

    fn replies(&mut self, number: u64, extent: ByteRange) {
        let found = FoundExchange { side: self.side, number, extent, is_reply: true };
        self.found.exchanges.push(found);
    }
}
