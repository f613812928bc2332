//! Captured packets in any order → the flow's bytes in order, once each.
//!
//! ```text
//!            next                     parked, sorted by start
//!   handed on  |   hole   [####····]      [######]   [####]
//!              ^ waits for a copy, or for proof that none will come
//! ```
//!
//! A hole is given up when the receiver is known to have its bytes (then only the event was lost),
//! when it has been open for too long, or when too much is parked behind it.

use crate::config::ParkingLimits;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Offset, Saturate, Total};

/// A piece of the output, in the order of the flow's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes of one packet.
    Bytes {
        /// The offset of `bytes[0]`.
        at: Offset,
        /// The bytes.
        bytes: &'a [u8],
        /// Bytes of the packet after them that were not captured.
        missing: u64,
    },
    /// Bytes that will never come.
    Gap {
        /// The first of them.
        at: Offset,
        /// Number of bytes.
        len: u64,
    },
}

impl Piece<'_> {
    /// One past its last byte.
    pub fn end(&self) -> Offset {
        let (Piece::Bytes { at, .. } | Piece::Gap { at, .. }) = *self;
        at.plus(self.size())
    }

    /// Number of its bytes.
    pub fn size(&self) -> u64 {
        match *self {
            Piece::Bytes { bytes, missing, .. } => (bytes.len() as u64).saturating_add(missing),
            Piece::Gap { len, .. } => len,
        }
    }
}

/// A packet that waits behind a hole.
#[derive(Debug)]
struct Parked {
    at: Offset,
    bytes: Vec<u8>,
    missing: u64,
    since: Nanos,
}

impl Parked {
    fn end(&self) -> Offset {
        self.at.plus((self.bytes.len() as u64).saturating_add(self.missing))
    }
}

/// One direction's bytes in order.
#[derive(Debug, Default)]
pub struct Reassembly {
    next: Option<Offset>,
    parked: VecDeque<Parked>,
    parked_bytes: usize,
    limits: ParkingLimits,
    /// Emptied buffers, to be filled again.
    spare: Vec<Vec<u8>>,
    gaps: u64,
}

/// Emptied buffers that are kept.
const SPARE_BUFFERS: usize = 8;

impl Reassembly {
    /// Nothing seen yet.
    pub fn new(limits: ParkingLimits) -> Reassembly {
        Reassembly { limits, ..Reassembly::default() }
    }

    /// Another one of which nothing was seen yet, with the same limits.
    #[must_use]
    pub fn emptied(&self) -> Reassembly {
        Reassembly::new(self.limits)
    }

    /// The flow's bytes start at `at`, whatever packet comes first. Does nothing once bytes came.
    pub fn start_at(&mut self, at: Offset) {
        self.next.get_or_insert(at);
    }

    /// The next byte to be handed on.
    pub fn next(&self) -> Option<Offset> {
        self.next
    }

    /// Holes that were given up.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// True if packets wait behind a hole.
    pub fn is_waiting(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        let spare = self.spare.iter().map(Vec::capacity).total();
        let parked = self.parked.len().saturating_mul(size_of::<Parked>());
        self.parked_bytes.saturating_add(parked).saturating_add(spare)
    }

    /// Frees the buffers that nothing waits in.
    pub fn shrink(&mut self) {
        self.spare = Vec::new();
        self.parked.shrink_to_fit();
    }

    /// Captured bytes that wait behind a hole; never more than the limit.
    pub fn parked_bytes(&self) -> usize {
        self.parked_bytes
    }

    /// True if `len` bytes at `at` are the next ones, and none wait behind a hole: then they need only be handed on, and the bytes
    /// after them are the next ones from now on.
    pub fn goes_on(&mut self, at: Offset, len: u64) -> bool {
        let is_next = self.next.is_none_or(|next| next == at) && self.parked.is_empty() && len > 0;
        if is_next {
            self.next = Some(at.plus(len));
        }
        is_next
    }

    /// A packet whose first payload byte is at `at`; `missing` bytes after `bytes` were not captured.
    pub fn packet(
        &mut self,
        at: Offset,
        bytes: &[u8],
        missing: u64,
        now: Nanos,
        out: &mut dyn FnMut(Piece<'_>),
    ) {
        let next = *self.next.get_or_insert(at);
        if at > next {
            self.park(at, bytes, missing, now);
            while self.is_full() {
                self.skip_hole(out);
            }
            return;
        }
        self.hand_on(at, bytes, missing, out);
        self.unpark(out);
    }

    /// The receiver has everything before `upto`: holes below it are events lost, not packets.
    pub fn passed(&mut self, upto: Offset, out: &mut dyn FnMut(Piece<'_>)) {
        while self.parked.front().is_some_and(|first| first.at <= upto) {
            self.skip_hole(out);
        }
    }

    /// Gives up holes behind which a packet has waited since before `limit`.
    pub fn give_up(&mut self, limit: Nanos, out: &mut dyn FnMut(Piece<'_>)) {
        while self.parked.iter().any(|parked| parked.since < limit) {
            self.skip_hole(out);
        }
    }

    /// Observation was interrupted: whatever is missing up to the next packet is a gap.
    pub fn interrupt(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while self.is_waiting() {
            self.skip_hole(out);
        }
    }

    /// The flow goes on at `at`: what is missing before it is a gap.
    pub fn resume_at(&mut self, at: Offset, out: &mut dyn FnMut(Piece<'_>)) {
        let Some(next) = self.next else { return };
        if at > next {
            self.gap(next, at, out);
            self.unpark(out);
        }
    }

    fn is_full(&self) -> bool {
        self.parked_bytes > self.limits.bytes || self.parked.len() > self.limits.packets
    }

    fn hand_on(&mut self, at: Offset, bytes: &[u8], missing: u64, out: &mut dyn FnMut(Piece<'_>)) {
        let next = self.next.unwrap_or(at);
        let old = next.0.saturating_sub(at.0);
        if old >= (bytes.len() as u64).saturating_add(missing) {
            return;
        }
        let old_bytes = usize::try_from(old).unwrap_or(usize::MAX).min(bytes.len());
        let missing = missing.saturating_sub(old.saturating_sub(old_bytes as u64));
        let bytes = bytes.get(old_bytes..).unwrap_or_default();
        self.next = Some(next.plus((bytes.len() as u64).saturating_add(missing)));
        out(Piece::Bytes { at: next, bytes, missing });
    }

    fn park(&mut self, at: Offset, bytes: &[u8], missing: u64, since: Nanos) {
        let mut index = self.parked.len();
        while index > 0 && self.parked[index.saturating_sub(1)].at > at {
            index.shrink(1);
        }
        let end = at.plus((bytes.len() as u64).saturating_add(missing));
        if index > 0 && self.parked[index.saturating_sub(1)].end() >= end {
            return;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        self.parked_bytes.grow(buffer.len());
        self.parked.insert(index, Parked { at, bytes: buffer, missing, since });
    }

    /// Hands on what is parked at or below `next`.
    fn unpark(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while let Some(first) = self.parked.front()
            && self.next.is_none_or(|next| first.at <= next)
        {
            let Some(mut parked) = self.parked.pop_front() else { return };
            self.parked_bytes.shrink(parked.bytes.len());
            self.hand_on(parked.at, &parked.bytes, parked.missing, out);
            if self.spare.len() < SPARE_BUFFERS {
                parked.bytes.clear();
                self.spare.push(parked.bytes);
            }
        }
    }

    fn skip_hole(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        if let Some(first) = self.parked.front() {
            let at = first.at;
            if let Some(next) = self.next
                && at > next
            {
                self.gap(next, at, out);
            }
            self.unpark(out);
        }
    }

    fn gap(&mut self, from: Offset, to: Offset, out: &mut dyn FnMut(Piece<'_>)) {
        self.gaps.grow(1);
        self.next = Some(to);
        out(Piece::Gap { at: from, len: to.0.saturating_sub(from.0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds packets `(at, text)` and writes what comes out, gaps as `_`.
    fn run(limits: ParkingLimits, packets: &[(u64, &str)]) -> (String, Reassembly) {
        let mut reassembly = Reassembly::new(limits);
        reassembly.start_at(Offset(0));
        let mut text = String::new();
        for &(at, bytes) in packets {
            reassembly.packet(Offset(at), bytes.as_bytes(), 0, Nanos(at), &mut write(&mut text));
        }
        (text, reassembly)
    }

    fn write(text: &mut String) -> impl FnMut(Piece<'_>) + '_ {
        |piece| match piece {
            Piece::Bytes { bytes, missing, .. } => {
                text.push_str(std::str::from_utf8(bytes).unwrap());
                (0..missing).for_each(|_| text.push('.'));
            }
            Piece::Gap { len, .. } => (0..len).for_each(|_| text.push('_')),
        }
    }

    #[test]
    fn order_overlap_and_copies_do_not_matter() {
        let packets =
            [(0, "ab"), (4, "ef"), (0, "ab"), (6, "gh"), (4, "efg"), (1, "bcd"), (3, "def")];
        let (text, reassembly) = run(ParkingLimits::default(), &packets);
        assert_eq!(text, "abcdefgh");
        assert!(!reassembly.is_waiting());
    }

    #[test]
    fn too_much_behind_a_hole_gives_it_up() {
        let limits = ParkingLimits { bytes: 4, packets: 10 };
        let (text, reassembly) = run(limits, &[(0, "a"), (3, "de"), (8, "ijk")]);
        assert_eq!(text, "a__de");
        assert_eq!(reassembly.parked_bytes(), 3);
    }

    #[test]
    fn what_the_receiver_has_is_not_waited_for() {
        let (mut text, mut reassembly) = run(ParkingLimits::default(), &[(2, "cd"), (8, "ij")]);
        reassembly.passed(Offset(4), &mut write(&mut text));
        assert_eq!(text, "__cd");
        reassembly.passed(Offset(7), &mut write(&mut text));
        assert_eq!(text, "__cd");
        reassembly.give_up(Nanos(9), &mut write(&mut text));
        assert_eq!(text, "__cd____ij");
        assert_eq!(reassembly.gaps(), 2);
    }

    #[test]
    fn uncaptured_tails_are_trimmed_like_bytes() {
        let mut reassembly = Reassembly::default();
        let mut text = String::new();
        reassembly.packet(Offset(5), b"ab", 4, Nanos(0), &mut write(&mut text));
        reassembly.packet(Offset(9), b"", 6, Nanos(0), &mut write(&mut text));
        assert_eq!(text, "ab........");
        assert_eq!(reassembly.next(), Some(Offset(15)));
    }

    #[test]
    fn after_an_interruption_the_flow_resumes_where_it_is() {
        let (mut text, mut reassembly) = run(ParkingLimits::default(), &[(0, "a"), (3, "d")]);
        reassembly.interrupt(&mut write(&mut text));
        reassembly.resume_at(Offset(6), &mut write(&mut text));
        assert_eq!(text, "a__d__");
    }
}
