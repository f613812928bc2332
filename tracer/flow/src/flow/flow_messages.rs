//! The messages of a flow: those that wait, how many there were, and whether they went on.

use super::found::Found;
use super::framed::between;
use super::output::DecoderOutput;
use super::places::AwaitedPlaces;
use crate::ids::{AssemblyId, Direction};
use crate::marks::Marks;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Nanos, Offset, Saturate};
use wirelap_limits::causes::LONGEST_HANDING_ON;

/// The messages that were found on a flow.
#[derive(Debug, Default)]
pub struct FlowMessages {
    /// Legs that wait for their stages: indices and serial numbers of the message table.
    pub pending: VecDeque<(usize, u64)>,
    /// Messages in fragments of which something was sent here, in the order of their first bytes.
    pub assembling: VecDeque<AssemblyId>,
    /// Messages that wait for their places in the receiver's log; most flows have none.
    pub awaited_places: Option<Box<AwaitedPlaces>>,
    /// The number of messages.
    pub count: u64,
    /// Time at which the first of them was found.
    pub first_at: Option<Nanos>,
    /// The messages that went on from their receiver; most flows have none.
    pub forwarded: Option<Box<ForwardedMessages>>,
    /// The topic of the last message that tells when it was made, and that time.
    pub made: Option<(u64, Nanos)>,
    /// TCP: bytes that no packet brought, from the end of a PDU on.
    pub hole: Option<ByteRange>,
    /// TCP: the last message.
    last: Option<Box<Found>>,
    /// The start of the message that was numbered last, and its number among those that start there.
    numbered: Option<(Offset, u32)>,
}

/// Messages that were seen to go on from their receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForwardedMessages {
    /// Their number.
    pub count: u64,
    /// Time at which the newest of them was found.
    pub newest_at: Nanos,
    /// The direction on which that one went on.
    pub by: Option<Direction>,
    /// The last of them, the last one first.
    last: [PassedMessage; PASSED],
}

/// Messages of which it is remembered when they went on: those that are looked up were read a moment ago.
const PASSED: usize = 16;

/// A message that its receiver has passed on.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassedMessage {
    /// Time at which it was found.
    pub at: Nanos,
    /// Time at which its receiver had read it.
    pub read: Nanos,
    /// Time at which it was passed on first.
    pub passed_on: Nanos,
}

impl FlowMessages {
    /// Adds a message whose leg waits for its stages.
    pub fn add(&mut self, leg: (usize, u64), at: Nanos) {
        self.pending.push_back(leg);
        self.count.grow(1);
        self.first_at.get_or_insert(at);
    }

    /// The number, from 0, of the next message among successive ones that start at the same place.
    pub fn number_at(&mut self, start: Offset) -> u32 {
        let before = self.numbered.filter(|&(place, _)| place == start);
        let number = before.map_or(0, |(_, number)| number.saturating_add(1));
        self.numbered = Some((start, number));
        number
    }

    /// Notes that a message went on.
    pub fn note_forwarded(&mut self, message: PassedMessage, by: Option<Direction>) {
        let forwarded = self.forwarded.get_or_insert_default();
        forwarded.count.grow(1);
        forwarded.newest_at = forwarded.newest_at.max(message.at);
        forwarded.by = by;
        if forwarded.last.iter().all(|known| known.at != message.at) {
            forwarded.last.rotate_right(1);
            forwarded.last[0] = message;
        }
    }

    /// For how long, between two moments, the receiver had a message before the one that was found at `at`, and had not passed it on: then it
    /// reads on only when it has done so. Another thread may write it a moment later.
    pub fn at_earlier(&self, at: Nanos, (from, to): (Nanos, Nanos)) -> Nanos {
        let all = self.forwarded.iter().flat_map(|forwarded| &forwarded.last);
        let earlier = all.filter(|message| message.at < at && message.read < to);
        let last = earlier.max_by_key(|message| message.passed_on);
        let last = last.filter(|message| message.passed_on <= to + LONGEST_HANDING_ON);
        last.map_or(Nanos(0), |message| message.passed_on.min(to) - message.read.max(from))
    }

    /// Adds, after the packet behind a `hole`, of which the messages from number `first` on were found, the one in the hole,
    /// if one send call and its neighbours frame it.
    pub fn add_framed(
        &mut self,
        marks: &Marks,
        hole: Option<ByteRange>,
        first: usize,
        serial: u64,
        found: &mut DecoderOutput,
    ) {
        let (Marks::Tcp(marks), Some(last)) =
            (marks, found.all.get(first..).and_then(<[Found]>::last))
        else {
            return;
        };
        let framed = match (hole, &self.last, found.all.get(first)) {
            (Some(hole), Some(before), Some(after)) if marks.is_one_send(hole) => {
                between(before, hole, after, serial)
            }
            _ => None,
        };
        match &mut self.last {
            Some(place) => (**place).clone_from(last),
            None => self.last = Some(Box::new(last.clone())),
        }
        if let Some(message) = framed {
            found.all.insert(first, message);
        }
    }

    /// Frees what is kept for speed.
    pub fn shrink(&mut self) {
        self.pending.shrink_to_fit();
        self.assembling.shrink_to_fit();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(at: u64, read: u64, passed_on: u64) -> PassedMessage {
        let [at, read, passed_on] = [at, read, passed_on].map(Nanos::from_millis);
        PassedMessage { at, read, passed_on }
    }

    #[test]
    fn messages_that_start_at_one_place_are_numbered_in_their_order() {
        let mut messages = FlowMessages::default();
        let numbers = [7, 7, 7, 90, 120, 120].map(|start| messages.number_at(Offset(start)));
        assert_eq!(numbers, [0, 1, 2, 0, 0, 1]);
    }

    #[test]
    fn a_receiver_is_at_an_earlier_message_until_it_has_passed_that_on() {
        let mut messages = FlowMessages::default();
        let at = |all: &FlowMessages, at: u64, from: u64, to: u64| {
            let [at, from, to] = [at, from, to].map(Nanos::from_millis);
            all.at_earlier(at, (from, to)).0 / 1_000_000
        };
        assert_eq!(at(&messages, 50, 55, 90), 0);
        messages.note_forwarded(message(10, 12, 80), None);
        messages.note_forwarded(message(10, 12, 95), None);
        assert_eq!(at(&messages, 50, 55, 90), 25);
        assert_eq!(at(&messages, 50, 55, 79), 24, "another thread passes it on");
        assert_eq!(at(&messages, 50, 55, 70), 0, "it reads on before it passes on");
        assert_eq!(at(&messages, 50, 85, 90), 0);
        assert_eq!(at(&messages, 10, 5, 90), 0, "itself");
        // The reader got the next two at once, and this is the second one.
        messages.note_forwarded(message(20, 90, 91), None);
        assert_eq!(at(&messages, 50, 55, 90), 25);
        // Both were there, and it read the first one late.
        messages.note_forwarded(message(30, 85, 88), None);
        assert_eq!(at(&messages, 50, 55, 90), 3);
        (100..200).for_each(|n| messages.note_forwarded(message(n, n, n + 1), None));
        assert_eq!(at(&messages, 50, 55, 90), 0, "long ago");
    }
}
