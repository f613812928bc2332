//! The messages of a flow: those that wait, how many there were, and whether they went on.

use super::found::Found;
use super::framed::between;
use super::output::DecoderOutput;
use super::places::AwaitedPlaces;
use crate::ids::{AssemblyId, Direction};
use crate::marks::Marks;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Nanos, Saturate};

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
    /// TCP: bytes that no packet brought, from the end of a PDU on.
    pub hole: Option<ByteRange>,
    /// TCP: the last message.
    last: Option<Box<Found>>,
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
}

impl FlowMessages {
    /// Adds a message whose leg waits for its stages.
    pub fn add(&mut self, leg: (usize, u64), at: Nanos) {
        self.pending.push_back(leg);
        self.count.grow(1);
        self.first_at.get_or_insert(at);
    }

    /// Notes that a message that was found at `at` went on.
    pub fn note_forwarded(&mut self, at: Nanos, by: Option<Direction>) {
        let forwarded = self.forwarded.get_or_insert_default();
        forwarded.count.grow(1);
        forwarded.newest_at = forwarded.newest_at.max(at);
        forwarded.by = by;
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
