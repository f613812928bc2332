//! When a receiver had messages that it had not acknowledged, while its sender may have waited for that.
//!
//! ```text
//! sender    ─ message ┐                    ┌ sends more ─▶
//! receiver            └ had │ acknowledges ┘
//!                           └── its own ───┘ is not: that is the acknowledgement's way
//! ```

use std::collections::VecDeque;
use wirelap_events::{Credit, Nanos};

/// Consumers or channels of a connection that are remembered.
const LINES: usize = 64;

/// The most spans that are kept of each; the oldest are added up.
const SPANS: usize = 64;

/// Spans that are so close to each other are one.
const CLOSE: Nanos = Nanos::from_micros(50);

/// What an acknowledgement tells of the time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The receiver had the message at the first time, and sent the acknowledgement at the second.
    Within(Nanos, Nanos),
    /// The message was not seen, or one of the two; the acknowledgement was, at this time.
    By(Nanos),
}

/// The consumers or channels of one connection.
#[derive(Debug, Default)]
pub struct Rooms(Vec<Room>);

/// What one of them has acknowledged.
#[derive(Debug)]
struct Room {
    line: u64,
    /// The last time that its sender might send more again.
    last: Option<Nanos>,
    /// Before, it is not known how long it took itself, unless there is a span.
    unknown_until: Nanos,
    /// In order, and apart from each other.
    spans: VecDeque<Span>,
}

/// A span of time in which it had messages that it had not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Nanos,
    to: Nanos,
    /// How long it had some: less than the whole where spans were added up.
    held: Nanos,
}

impl Rooms {
    /// The last time that the sender might send more of a consumer or channel.
    pub fn last_of(&self, line: u64) -> Option<Nanos> {
        self.of(line)?.last
    }

    /// The last time that it might send more of any.
    pub fn last(&self) -> Option<Nanos> {
        self.0.iter().filter_map(|room| room.last).max()
    }

    /// An acknowledgement was seen at `at`; `makes_room` if the sender may send more from then on.
    pub fn acknowledged(&mut self, line: u64, at: Nanos, answered: Answered, makes_room: bool) {
        let known = self.0.iter().position(|room| room.line == line);
        let index = known.unwrap_or_else(|| {
            if self.0.len() >= LINES {
                self.0.remove(0);
            }
            self.0.push(Room { line, last: None, unknown_until: Nanos(0), spans: VecDeque::new() });
            self.0.len().saturating_sub(1)
        });
        let Some(room) = self.0.get_mut(index) else { return };
        match answered {
            Answered::Within(had, sent) => room.add(had, sent),
            Answered::By(at) => room.unknown_until = room.unknown_until.max(at),
        }
        if makes_room {
            room.last = Some(at);
        }
    }

    /// What is known of the time from when the sender `had` a message until the acknowledgement at `at`.
    pub fn credit(&self, line: u64, had: Nanos, at: Nanos) -> Credit {
        let Some(room) = self.of(line) else { return Credit { at, ..Credit::default() } };
        let had = had.min(at);
        let until = room.unknown_until.clamp(had, at);
        let (mut own, mut known) = (Nanos(0), Nanos(0));
        let mut longest: Option<(Nanos, &Span)> = None;
        // Most messages wait for less time than is remembered: the last spans come first.
        for span in room.spans.iter().rev().take_while(|span| span.to > had) {
            let held = span.within(had, at);
            own += held;
            known += span.within(had, until);
            if held > longest.map_or(Nanos(0), |(longest, _)| longest) {
                longest = Some((held, span));
            }
        }
        Credit {
            at,
            own,
            unknown: until - had - known.min(until - had),
            longest: longest.map(|(_, span)| (span.from.max(had), span.to.min(at))),
        }
    }

    fn of(&self, line: u64) -> Option<&Room> {
        self.0.iter().find(|room| room.line == line)
    }
}

impl Room {
    /// It had a message at `from`, and acknowledged it at `to`.
    fn add(&mut self, from: Nanos, to: Nanos) {
        if from >= to {
            return;
        }
        let mut span = Span { from, to, held: to - from };
        while let Some(last) = self.spans.back().filter(|last| span.from <= last.to + CLOSE) {
            let (begin, end) = (last.from.min(span.from), last.to.max(span.to));
            let between = last.held + (end - begin) - (last.to - last.from);
            span = Span { from: begin, to: end, held: between.min(end - begin) };
            self.spans.pop_back();
        }
        if self.spans.len() >= SPANS
            && let Some(oldest) = self.spans.pop_front()
            && let Some(next) = self.spans.front_mut()
        {
            (next.from, next.held) = (oldest.from, oldest.held + next.held);
        }
        self.spans.push_back(span);
    }
}

impl Span {
    /// How long it had some between two moments.
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let end = self.to.min(to);
        let time = end - self.from.max(from).min(end);
        if self.held == self.to - self.from {
            return time;
        }
        let (whole, held) = ((self.to - self.from).0.max(1), u128::from(self.held.0));
        let part = u128::from(time.0).saturating_mul(held).checked_div(u128::from(whole));
        Nanos(u64::try_from(part.unwrap_or(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// Acknowledgements that make room, each for a message that it had since the first time, in milliseconds.
    fn rooms(answered: &[(u64, u64)]) -> Rooms {
        let mut rooms = Rooms::default();
        for &(had, sent) in answered {
            let answered = Answered::Within(ms(had), ms(sent));
            rooms.acknowledged(1, ms(sent), answered, true);
        }
        rooms
    }

    /// How long it took itself, how long is not known, and the longest span, in milliseconds.
    fn credit(rooms: &Rooms, had: u64, at: u64) -> (u64, u64, Option<(u64, u64)>) {
        let credit = rooms.credit(1, ms(had), ms(at));
        let in_ms = |time: Nanos| time.0 / 1_000_000;
        (
            in_ms(credit.own),
            in_ms(credit.unknown),
            credit.longest.map(|(a, b)| (in_ms(a), in_ms(b))),
        )
    }

    #[test]
    fn a_stop_is_the_receivers_though_it_was_fast_after_that() {
        // It was stopped with five messages, acknowledged them at once, and then one each 20 ms on a slow line.
        let rooms = rooms(&[(10, 900), (11, 901), (12, 901), (920, 921), (940, 941)]);
        assert_eq!(rooms.last_of(1), Some(ms(941)));
        assert_eq!(credit(&rooms, 100, 941), (801 + 2, 0, Some((100, 901))));
        assert_eq!(credit(&rooms, 905, 941), (2, 0, Some((940, 941))));
        assert_eq!(credit(&rooms, 902, 919), (0, 0, None));
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        let mut rooms = rooms(&[(10, 20)]);
        rooms.acknowledged(1, ms(50), Answered::By(ms(50)), true);
        assert_eq!(credit(&rooms, 0, 100), (10, 40, Some((10, 20))));
        assert_eq!(rooms.last_of(2), None);
    }

    /// The first of two answers to a message makes no room.
    #[test]
    fn what_makes_no_room_counts_as_time() {
        let mut rooms = rooms(&[(0, 1)]);
        rooms.acknowledged(1, ms(30), Answered::Within(ms(10), ms(30)), false);
        assert_eq!((rooms.last_of(1), rooms.last()), (Some(ms(1)), Some(ms(1))));
        assert_eq!(credit(&rooms, 5, 60), (20, 0, Some((10, 30))));
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_forgotten() {
        let all: Vec<_> = (0..1_000).map(|n| (n * 10, n * 10 + 5)).collect();
        let rooms = rooms(&all);
        assert_eq!(rooms.0[0].spans.len(), SPANS);
        assert_eq!(credit(&rooms, 0, 10_000).0, 5_000);
        let half = credit(&rooms, 0, 5_000).0;
        assert!((2_490..=2_510).contains(&half), "{half}");
        let mut many = Rooms::default();
        for line in 0..1_000 {
            many.acknowledged(line, ms(1), Answered::By(ms(1)), true);
        }
        assert_eq!(many.0.len(), LINES);
    }
}
