//! Readers that the messages of a topic reach: this must be known before any of them is said to be
//! lost.
//!
//! A message that a broker read and that was not seen to leave it again may have been lost; or nobody subscribes to it, or
//! who does cannot be seen or be read, or not in the same words. It was lost if somebody got a message of the same topic
//! that was sent before it, and, on the same connection, one that was sent after it.
//!
//! Where the observation pauses, a message may come in a pause. It was lost if later messages of its publisher were passed on to all that get
//! the topic before its sampling window ended: a broker keeps a publisher's order.

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid};
use wirelap_flow::Direction;

/// Topics that are told apart in a row; of more, no message is said to be lost.
const TOPICS: usize = 4096;

/// Connections of a topic that are remembered: one that sees all would do, but a reader may come and go several times before a message is given
/// up.
const WAYS: usize = 16;

/// Sampling windows for which each connection remembers the last message: a message is given up when some of them have passed.
const WINDOWS: usize = 4;

/// One connection that a topic's messages come to: when the first and the last were sent of those that came.
#[derive(Clone, Debug)]
struct TopicReader {
    direction: Direction,
    /// The process that reads from it.
    pid: Option<Pid>,
    /// The consumer or channel of the connection, if it asks for messages by their place: it gets them in order, and none is lost that
    /// way.
    asks_on: Option<u64>,
    /// True if the last of them that was noted needs no acknowledgement (`QoS` 0).
    is_unconfirmed: bool,
    first: Nanos,
    last: Nanos,
    /// The latest sampling windows in which messages were sent and passed on, by their start, and when the last of each was sent.
    windows: ArrayVec<(Nanos, Nanos), WINDOWS>,
}

/// A topic, with its readers and its publisher.
#[derive(Debug, Default)]
struct KnownTopic {
    readers: Vec<TopicReader>,
    /// The direction in which the first message came that was passed on.
    publisher: Option<Direction>,
    /// True if such messages come in other directions, too.
    has_several: bool,
}

/// A message that was passed on to a reader.
#[derive(Clone, Copy, Debug)]
pub struct PassedOn {
    /// A number for its topic.
    pub subject: u64,
    /// Time at which it was sent.
    pub at: Nanos,
    /// The direction in which its publisher sent it.
    pub publisher: Direction,
    /// The start of the sampling window in which it was sent and passed on.
    pub window: Nanos,
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
pub struct TopicReaders(FxHashMap<u64, KnownTopic>);

impl TopicReaders {
    /// Adds whom another row's messages reach, which has turned out to be the same.
    pub fn absorb(&mut self, other: TopicReaders) {
        for (subject, theirs) in other.0 {
            if self.0.len() < TOPICS || self.0.contains_key(&subject) {
                let mine = self.0.entry(subject).or_default();
                let room = WAYS.saturating_sub(mine.readers.len());
                mine.readers.extend(theirs.readers.into_iter().take(room));
                mine.has_several |= theirs.has_several
                    || mine
                        .publisher
                        .is_some_and(|one| theirs.publisher.is_some_and(|other| other != one));
                mine.publisher = mine.publisher.or(theirs.publisher);
            }
        }
    }

    /// A message of a topic that was sent at `at` came to its end in `direction`, because its reader asked for it on a line, or just so.
    pub fn note(
        &mut self,
        subject: u64,
        (direction, pid): (Direction, Option<Pid>),
        at: Nanos,
        asks_on: Option<u64>,
    ) {
        if self.0.len() >= TOPICS && !self.0.contains_key(&subject) {
            return;
        }
        let readers = &mut self.0.entry(subject).or_default().readers;
        if let Some(reader) = readers.iter_mut().find(|reader| reader.direction == direction) {
            reader.first = reader.first.min(at);
            reader.last = reader.last.max(at);
            reader.pid = reader.pid.or(pid);
            // The first request may have been there before the protocol was known.
            reader.asks_on = asks_on.or(reader.asks_on);
            return;
        }
        if readers.len() >= WAYS {
            // The one that got nothing for longest.
            let oldest = readers.iter().enumerate().min_by_key(|(_, reader)| reader.last);
            if let Some(index) = oldest.map(|(index, _)| index) {
                readers.swap_remove(index);
            }
        }
        readers.push(TopicReader {
            direction,
            pid,
            asks_on,
            is_unconfirmed: false,
            first: at,
            last: at,
            windows: ArrayVec::new(),
        });
    }

    /// Notes if messages of a topic need an acknowledgement of the reader in `direction`.
    pub fn note_confirmation(&mut self, subject: u64, direction: Direction, is_unconfirmed: bool) {
        let readers = self.0.get_mut(&subject).into_iter().flat_map(|topic| &mut topic.readers);
        for reader in readers.filter(|reader| reader.direction == direction) {
            reader.is_unconfirmed = is_unconfirmed;
        }
    }

    /// True if the reader in `direction` gets the topic's messages without having to acknowledge them.
    pub fn is_unconfirmed(&self, subject: u64, direction: Direction) -> bool {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        readers.filter(|reader| reader.direction == direction).any(|reader| reader.is_unconfirmed)
    }

    /// A message was passed on in `direction`, to a reader that got earlier ones of the topic.
    pub fn note_passed_on(&mut self, message: &PassedOn, direction: Direction) {
        let Some(topic) = self.0.get_mut(&message.subject) else { return };
        let publisher = *topic.publisher.get_or_insert(message.publisher);
        topic.has_several |= publisher != message.publisher;
        if let Some(reader) = topic.readers.iter_mut().find(|one| one.direction == direction) {
            reader.note_window(message.window, message.at);
        }
    }

    /// The connection that a message that was sent at `at` would have come to: of those that got earlier ones, and none
    /// since, the last; and who read from it.
    pub fn before(&self, subject: u64, at: Nanos) -> Option<LastReader> {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        let before = readers.filter(|reader| reader.last < at);
        let last = before.max_by_key(|reader| reader.last)?;
        let &TopicReader { direction, pid, asks_on, last, .. } = last;
        Some(LastReader { direction, pid, asks: asks_on.is_some(), last })
    }

    /// The connections that earlier messages of a topic came to than one that was sent at `at`, and none since.
    pub fn not_beyond(&self, subject: u64, at: Nanos) -> impl Iterator<Item = Direction> {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        readers.filter(move |reader| reader.last < at).map(|reader| reader.direction)
    }

    /// The connections that messages of a topic came to.
    pub fn connections(&self, subject: u64) -> impl Iterator<Item = Direction> {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        readers.map(|reader| reader.direction)
    }

    /// The connections on which readers ask for messages of a topic, with the consumer or channel.
    pub fn asking(&self, subject: u64) -> impl Iterator<Item = (Direction, u64)> {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        readers.filter_map(|reader| Some((reader.direction, reader.asks_on?)))
    }

    /// True if somebody got messages that were sent before, and messages that were sent after `at`.
    pub fn covers(&self, subject: u64, at: Nanos) -> bool {
        let readers = self.0.get(&subject).into_iter().flat_map(|topic| &topic.readers);
        let mut pushed = readers.filter(|reader| reader.asks_on.is_none());
        pushed.any(|reader| reader.first < at && at < reader.last)
    }

    /// True if all that get the topic, and are not gone, were passed later messages than one that was sent at `at` before its sampling
    /// window ended, which began at `window`.
    pub fn passed_over(
        &self,
        subject: u64,
        at: Nanos,
        window: Nanos,
        is_gone: impl Fn(Direction) -> bool,
    ) -> bool {
        let Some(topic) = self.0.get(&subject).filter(|topic| !topic.has_several) else {
            return false;
        };
        let there = |reader: &&TopicReader| reader.first < at && !is_gone(reader.direction);
        let mut readers = topic.readers.iter().filter(there).peekable();
        readers.peek().is_some()
            && readers.all(|reader| reader.asks_on.is_none() && reader.has_later_in(window, at))
    }
}

impl TopicReader {
    /// A message that was sent at `at` was passed on in this sampling window.
    fn note_window(&mut self, window: Nanos, at: Nanos) {
        if let Some((_, last)) = self.windows.iter_mut().find(|(start, _)| *start == window) {
            *last = at.max(*last);
            return;
        }
        if self.windows.is_full() {
            self.windows.remove(0);
        }
        self.windows.push((window, at));
    }

    /// True if a message that was sent after `at` was passed on in the same sampling window.
    fn has_later_in(&self, window: Nanos, at: Nanos) -> bool {
        self.windows.iter().any(|&(start, last)| start == window && at < last)
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

    /// A message of topic 1 comes in its window.
    fn comes(readers: &mut TopicReaders, at: u64, by: (Direction, Option<Pid>)) {
        readers.note(1, by, Nanos(at), None);
        readers.note_passed_on(&passed_on(at, 99), by.0);
    }

    fn passed_on(at: u64, publisher: u64) -> PassedOn {
        let window = Nanos(at / 100 * 100);
        PassedOn { subject: 1, at: Nanos(at), publisher: direction(publisher), window }
    }

    fn is_lost(readers: &TopicReaders, at: u64, gone: u64) -> bool {
        let window = Nanos(at / 100 * 100);
        readers.passed_over(1, Nanos(at), window, |one| one == direction(gone))
    }

    #[test]
    fn in_a_window_what_all_were_passed_over_with_is_lost() {
        let mut readers = TopicReaders::default();
        comes(&mut readers, 10, by(1));
        comes(&mut readers, 210, by(1));
        assert!(!is_lost(&readers, 20, 9), "the next one came in a later window");
        comes(&mut readers, 230, by(1));
        assert!(is_lost(&readers, 220, 9) && !is_lost(&readers, 240, 9));
        comes(&mut readers, 211, by(2));
        assert!(!is_lost(&readers, 220, 9), "another reader may get it yet");
        assert!(is_lost(&readers, 220, 2), "that one is gone");
        comes(&mut readers, 231, by(2));
        assert!(is_lost(&readers, 220, 9));
        readers.note_passed_on(&passed_on(240, 98), direction(1));
        assert!(!is_lost(&readers, 220, 9), "publishers have no common order");
    }

    #[test]
    fn windows_are_remembered_for_a_while() {
        let mut readers = TopicReaders::default();
        for window in 0..10 {
            comes(&mut readers, window * 100 + 10, by(1));
            comes(&mut readers, window * 100 + 30, by(1));
        }
        assert_eq!([520, 620, 920].map(|at| is_lost(&readers, at, 9)), [false, true, true]);
    }

    #[test]
    fn only_what_lies_between_two_that_came_is_lost() {
        let mut readers = TopicReaders::default();
        assert!(!readers.covers(1, Nanos(5)));
        readers.note(1, by(1), Nanos(3), None);
        assert!(!readers.covers(1, Nanos(5)), "nothing came since");
        readers.note(1, by(2), Nanos(9), None);
        assert!(!readers.covers(1, Nanos(5)), "another one came, who was not there before");
        readers.note(1, by(1), Nanos(7), None);
        assert!(readers.covers(1, Nanos(5)));
        for at in [3, 7] {
            readers.note(3, by(3), Nanos(at), Some(0));
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
            readers.note(n, by(1), Nanos(1), None);
            readers.note(0, by(n), Nanos(n), None);
        }
        assert_eq!((readers.0.len(), readers.0[&0].readers.len()), (TOPICS, WAYS));
        assert_eq!(readers.0[&0].readers.iter().map(|reader| reader.last.0).max(), Some(9_999));
    }
}
