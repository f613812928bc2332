//! Times in which a sender's socket had bytes that had not left it.

use std::collections::VecDeque;
use wirelap_events::{EarlierBytes, Nanos, TxState};
use wirelap_limits::causes::NOTICEABLE_TIME;
use wirelap_limits::network::FULL_WINDOW_GAP;

/// The most spans that are kept: those of a connection that is always full are one.
const SPANS: usize = 64;

/// A span of time in which the socket always had bytes that had not left it.
#[derive(Clone, Copy, Debug)]
struct OccupiedSpan {
    from: Nanos,
    to: Nanos,
    /// The longest time that a send's first byte took to leave, TCP's state at that send, and its length.
    longest: (Nanos, TxState, u32),
}

/// The last spans, in order.
#[derive(Debug, Default)]
pub struct Occupied {
    spans: VecDeque<OccupiedSpan>,
    /// Times in which the receiver was seen to have no room; without an end, it has none yet.
    closed: VecDeque<(Nanos, Option<Nanos>)>,
}

impl Occupied {
    /// A byte that was written at `written`, by a send of `len` bytes, has left at `left`.
    pub fn leaves(&mut self, written: Nanos, left: Nanos, tx: Option<TxState>, len: u64) {
        let took = left - written.min(left);
        let Some(tx) = tx.filter(|_| took >= NOTICEABLE_TIME) else { return };
        let this = (took, tx, u32::try_from(len).unwrap_or(u32::MAX));
        match self.spans.back_mut() {
            Some(last) if written <= last.to => {
                last.to = last.to.max(left);
                if took > last.longest.0 {
                    last.longest = this;
                }
            }
            _ => {
                if self.spans.len() >= SPANS {
                    self.spans.pop_front();
                }
                self.spans.push_back(OccupiedSpan { from: written, to: left, longest: this });
            }
        }
    }

    /// The receiver says that it has no room.
    pub fn closes(&mut self, at: Nanos) {
        if self.closed.back().is_none_or(|(_, until)| until.is_some()) {
            self.close((at, None));
        }
    }

    /// The receiver has room again.
    pub fn opens(&mut self, at: Nanos) {
        if let Some((_, until @ None)) = self.closed.back_mut() {
            *until = Some(at);
        }
    }

    /// A send finds no room at the receiver.
    pub fn finds_full(&mut self, at: Nanos) {
        match self.closed.back_mut() {
            Some((_, None)) => {}
            Some((_, Some(until))) if at < *until + FULL_WINDOW_GAP => *until = at.max(*until),
            _ => self.close((at, Some(at))),
        }
    }

    fn close(&mut self, closed: (Nanos, Option<Nanos>)) {
        if self.closed.len() >= SPANS {
            self.closed.pop_front();
        }
        self.closed.push_back(closed);
    }

    /// True if the receiver was seen to have no room at some time between two moments.
    pub fn was_closed(&self, from: Nanos, to: Nanos) -> bool {
        let mut closed = self.closed.iter().rev();
        closed.any(|&(since, until)| since < to && until.is_none_or(|until| until >= from))
    }

    /// The longest time between two moments in which the socket had bytes that were written before the second.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<EarlierBytes> {
        let within = self.spans.iter().rev().take_while(|span| span.to > from).map(|span| {
            let since = span.from.max(from);
            let (_, tx, send_len) = span.longest;
            let time = span.to.min(to) - since.min(to);
            EarlierBytes { since, time, tx, send_len, no_room: false }
        });
        let longest = within.max_by_key(|earlier| earlier.time);
        let earlier = longest.filter(|earlier| earlier.time >= NOTICEABLE_TIME)?;
        let no_room = self.was_closed(earlier.since, earlier.since + earlier.time);
        Some(EarlierBytes { no_room, ..earlier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn tx(in_flight: u32) -> TxState {
        TxState { in_flight, ..TxState::default() }
    }

    /// The longest span: since when, how long, and what TCP's state was then.
    fn seen(occupied: &Occupied, from: u64, to: u64) -> Option<(Nanos, Nanos, u32)> {
        let seen = occupied.between(at(from), at(to))?;
        Some((seen.since, seen.time, seen.tx.in_flight))
    }

    #[test]
    fn what_was_there_between_is_one_span_as_long_as_something_is_there() {
        let mut occupied = Occupied::default();
        occupied.leaves(at(10), at(20), Some(tx(1)), 5);
        occupied.leaves(at(15), at(40), Some(tx(2)), 5);
        occupied.leaves(at(50), at(60), Some(tx(3)), 5);
        assert_eq!(seen(&occupied, 0, 100), Some((at(10), at(30), 2)));
        assert_eq!(seen(&occupied, 36, 58), Some((at(50), at(8), 3)));
        assert_eq!(seen(&occupied, 30, 55), Some((at(30), at(10), 2)));
        assert_eq!(seen(&occupied, 40, 50), None);
        assert_eq!(seen(&occupied, 60, 90), None);
    }

    #[test]
    fn a_receiver_without_room_is_remembered_with_the_bytes_that_wait_for_it() {
        let mut occupied = Occupied::default();
        for n in [10, 30, 50, 70] {
            occupied.leaves(at(n), at(n + 10), Some(tx(1)), 5);
        }
        occupied.closes(at(12));
        occupied.closes(at(13));
        occupied.opens(at(18));
        occupied.opens(at(33));
        occupied.finds_full(at(55));
        occupied.closes(at(90));
        let no_room = |from, to| occupied.between(at(from), at(to)).unwrap().no_room;
        assert!(no_room(0, 25));
        assert!(!no_room(19, 25), "room came before");
        assert!(!no_room(25, 45));
        assert!(no_room(45, 65));
        assert!(!no_room(65, 85), "it is closed later");
    }

    #[test]
    fn what_leaves_at_once_keeps_nothing_waiting() {
        let mut occupied = Occupied::default();
        occupied.leaves(at(10), at(10) + Nanos(20_000), Some(tx(1)), 5);
        assert_eq!(seen(&occupied, 0, 100), None);
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut occupied = Occupied::default();
        for n in 0..1_000 {
            occupied.leaves(at(n * 10), at(n * 10 + 1), Some(tx(1)), 5);
        }
        assert_eq!(occupied.spans.len(), SPANS);
        (0..1_000).for_each(|n| occupied.finds_full(at(n * 10)));
        assert_eq!(occupied.closed.len(), SPANS);
        assert_eq!(seen(&occupied, 0, 10_000).map(|(_, time, _)| time), Some(at(1)));
    }
}
