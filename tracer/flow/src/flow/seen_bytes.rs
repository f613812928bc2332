//! Bytes of a direction that a packet hook saw, and how far the stack's own numbers prove that bytes went.
//!
//! ```text
//!        base                     to        proven
//!  ?      |#########|    |########|···········|
//!                    hole          beyond what was seen
//! ```
//!
//! Bytes below `proven` that no packet event brought were carried all the same: the hook was not run for their packet, or its
//! event was lost. Bytes before `base` passed before observation began, and nothing is claimed of them.

use crate::bytes::Unseen;
use wirelap_events::{ByteRange, Offset, Saturate};

/// Holes that are remembered, which later packets may fill. An older one is settled.
const HOLES: usize = 8;

/// Bytes of one direction of a TCP connection that one hook saw.
#[derive(Clone, Debug, Default)]
pub struct SeenBytes {
    /// The first byte that the hook had to see.
    base: Option<Offset>,
    /// One past the farthest byte that it saw; `base` before it saw any.
    to: Offset,
    /// Most flows never have one.
    holes: Vec<ByteRange>,
    /// The stack has passed everything before.
    proven: Offset,
    /// A packet of this direction was seen: the hook is in its way.
    in_the_way: bool,
    /// The highest acknowledgement of these bytes in a packet that the hook saw.
    acked: Option<Offset>,
    /// Unseen packets with data when that was.
    unseen_then: u64,
    /// Holes that can no longer be filled.
    settled: Unseen,
    /// Packets without data that were not seen.
    bare: u64,
}

impl SeenBytes {
    /// The hook has to see everything from `at` on, unless it is known to since before.
    pub fn start_at(&mut self, at: Offset) {
        if self.base.is_none() {
            (self.base, self.to) = (Some(at), at);
        }
    }

    /// A packet with these payload bytes; one without any shows that the hook is in the way.
    pub fn packet(&mut self, range: ByteRange) {
        self.in_the_way = true;
        if range.is_empty() {
            return;
        }
        self.start_at(range.start);
        // Only what leads to nothing: bytes that waited when observation began.
        if self.base == Some(self.to) && range.start < self.to {
            (self.base, self.to) = (Some(range.start), range.start);
        }
        if range.start < self.to && !self.holes.is_empty() {
            self.fill(range);
        }
        if range.start > self.to {
            if self.holes.len() >= HOLES {
                let oldest = self.holes.remove(0);
                self.settled += self.unseen_of(oldest);
            }
            self.holes.push(ByteRange { start: self.to, end: range.start });
        }
        self.to = self.to.max(range.end);
    }

    fn fill(&mut self, range: ByteRange) {
        let mut left = Vec::new();
        for &hole in &self.holes {
            let before = ByteRange { start: hole.start, end: hole.end.min(range.start) };
            let after = ByteRange { start: hole.start.max(range.end), end: hole.end };
            for rest in [before, after] {
                // A hole that was split and finds no room is forgotten.
                if rest.start < rest.end && left.len() < HOLES {
                    left.push(rest);
                }
            }
        }
        self.holes = left;
    }

    /// The stack says that everything before `upto` has passed.
    pub fn prove_passed(&mut self, upto: Offset) {
        self.proven = self.proven.max(upto);
    }

    /// A packet that the hook saw acknowledges everything before `upto`.
    pub fn acknowledged(&mut self, upto: Offset) {
        self.acked = Some(self.acked.map_or(upto, |acked| acked.max(upto)));
    }

    /// The sender's socket has heard that everything before `upto` arrived. Returns whether no packet that said so was seen;
    /// `carried` are the unseen packets with data of the other direction, which acknowledge as well.
    pub fn note_acknowledged(&mut self, upto: Offset, carried: u64) -> bool {
        let is_unseen = self.acked.is_some_and(|acked| upto > acked) && carried <= self.unseen_then;
        self.unseen_then = carried;
        if self.acked.is_some() {
            self.acknowledged(upto);
        }
        is_unseen
    }

    /// A packet without data was not seen.
    pub fn missed_bare(&mut self) {
        self.bare.grow(1);
    }

    /// Observation was interrupted on purpose: what passes meanwhile is not asked for.
    pub fn restart(&mut self) {
        self.settled = self.data();
        self.holes = Vec::new();
        (self.base, self.acked, self.proven) = (None, None, Offset(0));
    }

    /// Packets and bytes that passed unseen so far. A hole counts as one packet: more are not certain.
    pub fn unseen(&self) -> Unseen {
        let mut sum = self.data();
        sum.packets.grow(self.bare);
        sum
    }

    /// The unseen packets with data.
    pub fn unseen_with_data(&self) -> u64 {
        self.data().packets
    }

    fn data(&self) -> Unseen {
        let mut sum = self.settled;
        if !self.in_the_way || self.base.is_none() {
            return sum;
        }
        for &hole in &self.holes {
            sum += self.unseen_of(hole);
        }
        let beyond = self.proven.0.saturating_sub(self.to.0);
        // One more than was seen is a FIN, which counts as a byte and is none.
        sum +=
            Unseen { packets: u64::from(beyond > 0), bytes: if beyond == 1 { 0 } else { beyond } };
        sum
    }

    fn unseen_of(&self, hole: ByteRange) -> Unseen {
        let end = hole.end.min(self.proven);
        let bytes = end.0.saturating_sub(hole.start.0);
        Unseen { packets: u64::from(bytes > 0), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start: Offset(start), end: Offset(end) }
    }

    fn seen(ranges: &[(u64, u64)]) -> SeenBytes {
        let mut seen = SeenBytes::default();
        for &(start, end) in ranges {
            seen.packet(range(start, end));
        }
        seen
    }

    fn unseen(seen: &SeenBytes) -> (u64, u64) {
        let unseen = seen.unseen();
        (unseen.packets, unseen.bytes)
    }

    #[test]
    fn only_what_the_stack_proves_is_missing() {
        let mut seen = seen(&[(100, 200), (300, 400)]);
        assert_eq!(unseen(&seen), (0, 0), "it may still come");
        seen.prove_passed(Offset(250));
        assert_eq!(unseen(&seen), (1, 50));
        seen.prove_passed(Offset(464));
        assert_eq!(unseen(&seen), (2, 164), "the hole, and what came after all that was seen");
        seen.packet(range(200, 300));
        seen.packet(range(400, 464));
        assert_eq!(unseen(&seen), (0, 0), "it had only been overtaken");
    }

    #[test]
    fn what_passed_before_observation_began_is_not_asked_for() {
        let mut early = seen(&[(500, 600)]);
        early.prove_passed(Offset(600));
        assert_eq!(unseen(&early), (0, 0));
        let mut waited = SeenBytes::default();
        waited.start_at(Offset(500));
        waited.packet(range(400, 500));
        waited.packet(range(500, 600));
        waited.prove_passed(Offset(600));
        assert_eq!(unseen(&waited), (0, 0), "bytes that waited when the probes were attached");
    }

    #[test]
    fn a_first_packet_that_was_not_seen_is_found_by_its_send() {
        let mut seen = SeenBytes::default();
        seen.start_at(Offset(500));
        seen.packet(range(600, 700));
        seen.prove_passed(Offset(700));
        assert_eq!(unseen(&seen), (1, 100));
    }

    #[test]
    fn a_hook_that_sees_nothing_of_a_flow_is_not_in_its_way() {
        let mut seen = SeenBytes::default();
        seen.start_at(Offset(1));
        seen.prove_passed(Offset(1000));
        assert_eq!(unseen(&seen), (0, 0));
    }

    #[test]
    fn a_fin_is_no_byte() {
        let mut seen = seen(&[(0, 100)]);
        seen.prove_passed(Offset(101));
        assert_eq!(unseen(&seen), (1, 0));
    }

    #[test]
    fn settled_holes_stay() {
        let mut seen = seen(&[(0, 10)]);
        for number in 1..=20 {
            seen.packet(range(number * 20, number * 20 + 10));
            seen.prove_passed(Offset(number * 20 + 10));
        }
        assert_eq!(unseen(&seen), (20, 200));
        seen.restart();
        assert_eq!(unseen(&seen), (20, 200));
        seen.packet(range(9_000, 9_010));
        seen.prove_passed(Offset(9_010));
        assert_eq!(unseen(&seen), (20, 200), "a pause on purpose is no loss");
    }

    #[test]
    fn an_acknowledgement_that_no_packet_brought() {
        let mut seen = seen(&[(0, 10), (10, 20)]);
        assert!(!seen.note_acknowledged(Offset(5), 0), "none was seen so far: nothing is known");
        seen.acknowledged(Offset(10));
        assert!(!seen.note_acknowledged(Offset(10), 0));
        assert!(seen.note_acknowledged(Offset(20), 0));
        assert!(!seen.note_acknowledged(Offset(20), 0), "once");
        assert!(
            !seen.note_acknowledged(Offset(30), 1),
            "a packet with data that was not seen brought it"
        );
        assert!(seen.note_acknowledged(Offset(40), 1));
    }
}
