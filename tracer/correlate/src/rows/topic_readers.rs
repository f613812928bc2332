//! Readers that the messages of a topic reach: this must be known before any of them is said to be
//! lost.
//!
//! A message that a broker read and that was not seen to leave it again may have been lost; or nobody subscribes to it, or
//! who does cannot be seen or be read, or not in the same words. It was lost if somebody got a message of the same topic
//! that was sent before it, and, on the same connection, one that was sent after it.

use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid};
use wirelap_flow::Direction;

/// Topics that are told apart in a row; of more, no message is said to be lost.
const TOPICS: usize = 4096;

/// Connections of a topic that are remembered: one that sees all would do, but a reader may come and go several times before a message is given
/// up.
const WAYS: usize = 16;

/// One connection that a topic's messages come to: when the first and the last were sent of those that came.
#[derive(Clone, Copy, Debug)]
struct TopicReader {
    direction: Direction,
    /// The process that reads from it.
    pid: Option<Pid>,
    /// True if it asks for messages by their place: it gets them in order, and none is lost that way.
    asks: bool,
    first: Nanos,
    last: Nanos,
}

/// A reader that got the last messages of a topic before some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastReader {
    pub direction: Direction,
    pub pid: Option<Pid>,
    /// True if it asked for them by their place.
    pub asks: bool,
    /// Time at which the last of them was sent.
    pub last: Nanos,
}

/// Readers that the messages of a row reach, by topic.
#[derive(Debug, Default)]
pub struct TopicReaders(FxHashMap<u64, Vec<TopicReader>>);

impl TopicReaders {
    /// Adds whom another row's messages reach, which has turned out to be the same.
    pub fn absorb(&mut self, other: TopicReaders) {
        for (subject, readers) in other.0 {
            if self.0.len() < TOPICS || self.0.contains_key(&subject) {
                let mine = self.0.entry(subject).or_default();
                mine.extend(readers.into_iter().take(WAYS.saturating_sub(mine.len())));
            }
        }
    }

    /// A message of a topic that was sent at `at` came to its end in `direction`, because its reader `asks` for messages or not.
    pub fn note(
        &mut self,
        subject: u64,
        (direction, pid): (Direction, Option<Pid>),
        at: Nanos,
        asks: bool,
    ) {
        if self.0.len() >= TOPICS && !self.0.contains_key(&subject) {
            return;
        }
        let readers = self.0.entry(subject).or_default();
        if let Some(reader) = readers.iter_mut().find(|reader| reader.direction == direction) {
            reader.first = reader.first.min(at);
            reader.last = reader.last.max(at);
            reader.pid = reader.pid.or(pid);
            return;
        }
        if readers.len() >= WAYS {
            // The one that got nothing for longest.
            let oldest = readers.iter().enumerate().min_by_key(|(_, reader)| reader.last);
            if let Some(index) = oldest.map(|(index, _)| index) {
                readers.swap_remove(index);
            }
        }
        readers.push(TopicReader { direction, pid, asks, first: at, last: at });
    }

    /// The connection that a message that was sent at `at` would have come to: of those that got earlier ones, and none
    /// since, the last; and who read from it.
    pub fn before(&self, subject: u64, at: Nanos) -> Option<LastReader> {
        let readers = self.0.get(&subject).into_iter().flatten();
        let before = readers.filter(|reader| reader.last < at);
        let last = before.max_by_key(|reader| reader.last)?;
        let TopicReader { direction, pid, asks, last, .. } = *last;
        Some(LastReader { direction, pid, asks, last })
    }

    /// True if somebody got messages that were sent before, and messages that were sent after `at`.
    pub fn covers(&self, subject: u64, at: Nanos) -> bool {
        let readers = self.0.get(&subject);
        let mut pushed = readers.into_iter().flatten().filter(|reader| !reader.asks);
        pushed.any(|reader| reader.first < at && at < reader.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    fn direction(serial: u64) -> Direction {
        Direction { index: 0, serial, side: Side::B }
    }

    fn by(serial: u64) -> (Direction, Option<Pid>) {
        (direction(serial), Some(Pid(7)))
    }

    #[test]
    fn only_what_lies_between_two_that_came_is_lost() {
        let mut readers = TopicReaders::default();
        assert!(!readers.covers(1, Nanos(5)));
        readers.note(1, by(1), Nanos(3), false);
        assert!(!readers.covers(1, Nanos(5)), "nothing came since");
        readers.note(1, by(2), Nanos(9), false);
        assert!(!readers.covers(1, Nanos(5)), "another one came, who was not there before");
        readers.note(1, by(1), Nanos(7), false);
        assert!(readers.covers(1, Nanos(5)));
        for at in [3, 7] {
            readers.note(3, by(3), Nanos(at), true);
        }
        assert!(!readers.covers(3, Nanos(5)), "it asks");
        assert!(!readers.covers(2, Nanos(5)), "another topic");
        assert!(!readers.covers(1, Nanos(8)));
        let before = |subject, at| {
            let last = readers.before(subject, Nanos(at))?;
            Some(((last.direction, last.pid), last.last))
        };
        assert_eq!(before(1, 8), Some((by(1), Nanos(7))));
        assert_eq!((before(1, 10), before(2, 10)), (Some((by(2), Nanos(9))), None));
    }

    #[test]
    fn memory_is_bounded() {
        let mut readers = TopicReaders::default();
        for n in 0..10_000 {
            readers.note(n, by(1), Nanos(1), false);
            readers.note(0, by(n), Nanos(n), false);
        }
        assert_eq!((readers.0.len(), readers.0[&0].len()), (TOPICS, WAYS));
        assert_eq!(readers.0[&0].iter().map(|reader| reader.last.0).max(), Some(9_999));
    }
}
