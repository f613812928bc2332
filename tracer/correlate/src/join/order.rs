//! In which order a reader gets the messages of one sender.
//!
//! A reliable DDS reader hands its messages on in the order of their numbers (DDSI-RTPS 2.5 §8.4.12): what
//! it has waits for what was sent before it and is missing.

use super::assembly::{Assembly, Taker};
use super::source_time::ClaimHistory;
use slab::Slab;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Pid, SocketId};
use wirelap_flow::AssemblyId;
use wirelap_limits::deliveries::SILENT_READER;

/// Readers of one direction that are remembered; a multicast group rarely has more on one host.
const MAX_TAKERS: usize = 64;

/// The messages of one sender in one direction.
#[derive(Debug, Default)]
pub struct DeliveryOrder {
    /// Readers get them in the order of their numbers.
    pub is_kept: bool,
    /// The participant that the last one was for, if that names one.
    pub reader: Option<[u8; 12]>,
    /// Events lost until something was taken last.
    pub lost: u64,
    /// History of the times at which messages say that the sender's library was given them.
    pub claims: ClaimHistory,
    /// Times from and until which messages were lost and not yet there, the last time.
    missing: Option<(Nanos, Nanos)>,
    takers: Vec<Seen>,
    /// Messages that not every reader has, by number.
    lacking: VecDeque<(u64, AssemblyId)>,
    /// Messages that a reader has and gets only with something that was sent before them.
    held: Vec<(u64, AssemblyId, SocketId)>,
}

/// A reader, and when it took something first and last.
#[derive(Debug)]
struct Seen {
    socket: SocketId,
    pid: Option<Pid>,
    first: Nanos,
    last: Nanos,
}

impl DeliveryOrder {
    pub fn is_idle(&self) -> bool {
        self.lacking.is_empty() && self.held.is_empty()
    }

    pub fn begin(&mut self, number: u64, id: AssemblyId) {
        let place = self.lacking.partition_point(|(other, _)| *other < number);
        self.lacking.insert(place, (number, id));
    }

    /// Nobody lacks it any more, or nobody will have it.
    pub fn end(&mut self, id: AssemblyId) {
        if let Some(index) = self.lacking.iter().rposition(|(_, other)| *other == id) {
            self.lacking.remove(index);
        }
    }

    /// Gives up the messages before this number; true if any of them was waited for.
    pub fn skip(&mut self, first: u64) -> bool {
        let gone = self.lacking.partition_point(|(number, _)| *number < first);
        self.lacking.drain(..gone);
        gone > 0
    }

    pub fn missing(&self) -> Option<(Nanos, Nanos)> {
        self.missing
    }

    /// A message, or a part of it, that was sent first at `lost` came at `there`.
    pub fn note_missing(&mut self, lost: Nanos, there: Nanos) {
        self.missing = Some(match self.missing {
            Some((from, to)) if lost <= to => (from.min(lost), to.max(there)),
            _ => (lost, there),
        });
    }

    /// A reader takes something of a message that went in this direction.
    pub fn see(&mut self, by: Taker) {
        if let Some(seen) = self.takers.iter_mut().find(|seen| seen.socket == by.socket) {
            seen.last = by.at;
        } else if self.takers.len() < MAX_TAKERS {
            self.takers.push(Seen { socket: by.socket, pid: by.pid, first: by.at, last: by.at });
        }
    }

    /// True if this socket was seen to take something that went in this direction.
    pub fn is_taken_by(&self, socket: SocketId) -> bool {
        self.takers.iter().any(|seen| seen.socket == socket)
    }

    /// True if everybody who reads here has this message.
    pub fn have_all(&self, message: &Assembly) -> bool {
        let lacks = |seen: &Seen| {
            seen.first <= message.began
                && seen.last + SILENT_READER >= message.began
                && !message.has(seen.socket, seen.pid)
        };
        message.lacking() == 0 && !self.takers.iter().any(lacks)
    }

    /// Number of readers that have taken something later, and nothing of this message.
    pub fn passed(&self, message: &Assembly) -> usize {
        let passed = |seen: &&Seen| {
            seen.first <= message.began
                && seen.last > message.touched
                && !message.is_read_by(seen.socket, seen.pid)
        };
        self.takers.iter().filter(passed).count()
    }

    /// True if `socket` lacks something that was sent before this number.
    pub fn holds(&self, open: &Slab<Assembly>, number: u64, socket: SocketId) -> bool {
        let seen = self.takers.iter().find(|seen| seen.socket == socket);
        let before = self.lacking.iter().take_while(|(other, _)| *other < number);
        self.is_kept
            && before.filter_map(|(_, id)| open.get(id.0)).any(|message| {
                let pid = seen.and_then(|seen| seen.pid);
                let is_here = seen.is_some_and(|seen| seen.first <= message.began)
                    || message.is_read_by(socket, pid);
                // It may have been taken where events were lost.
                is_here && message.lost == self.lost && !message.has(socket, pid)
            })
    }

    /// A reader has this message and does not get it yet.
    pub fn hold(&mut self, number: u64, id: AssemblyId, socket: SocketId) {
        self.held.push((number, id, socket));
    }

    /// Takes a message, with its reader's socket, that is held for nothing that is missing.
    pub fn next_free(&mut self, open: &Slab<Assembly>) -> Option<(AssemblyId, SocketId)> {
        let is_free =
            |(number, _, socket): &(u64, AssemblyId, SocketId)| !self.holds(open, *number, *socket);
        let index = self.held.iter().position(is_free)?;
        let (_, id, socket) = self.held.swap_remove(index);
        Some((id, socket))
    }
}
