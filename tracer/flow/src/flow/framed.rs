//! A message that nobody saw, between two that were seen.
//!
//! ```text
//!   |   before   |    hole    |   after    |
//!   | number 41  |  one send  | number 43  |    all of one length
//! ```

use super::found::{Found, FoundReader, FoundTopic, Identity};
use super::places::FoundPlace;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{ByteRange, MessageTrace, Stamp};
use wirelap_figures::ReaderGroup;
use wirelap_protocols::KeptFor;

/// The message in `hole`, if it can only be one: as long as its neighbours, which lie against it. What it says is not known,
/// but its number is where its neighbours' leave one out. `place` names it where nothing else does.
pub fn between(before: &Found, hole: ByteRange, after: &Found, place: u64) -> Option<Found> {
    let lies_between = before.extent.end == hole.start && hole.end == after.extent.start;
    let is_alike = [before, after].iter().all(|found| found.extent.len() == hole.len())
        && before.payload_len == after.payload_len
        && before.side == after.side;
    // Fragments, and records of a batch, lie in frames of others.
    let is_whole =
        [before, after].iter().all(|found| found.assembly.is_none() && found.usable_at.is_none());
    if !lies_between || !is_alike || !is_whole || before.duplicate || after.duplicate {
        return None;
    }
    let unknown = Found {
        extent: hole,
        retained: false,
        framed: true,
        content: None,
        made_at: None,
        trace: MessageTrace::default(),
        place: FoundPlace::Unknown,
        follows_after: 0,
        kept_for: KeptFor::Ever,
        ..before.clone()
    };
    match (before.stamp, after.stamp) {
        (Some(first), Some(last)) => {
            let stamp = number_between(first, last)?;
            let identity = before.topic.hash.identity(stamp);
            (before.topic.hash == after.topic.hash).then_some(Found {
                stamp: Some(stamp),
                identity,
                ..unknown
            })
        }
        (None, None) => {
            let mut hasher = FxHasher::default();
            (place, hole.start.0).hash(&mut hasher);
            let identity = Identity { hash: hasher.finish(), exact: true };
            let reader = FoundReader { group: ReaderGroup::Unknown, ..unknown.reader };
            let topic = FoundTopic { id: None, ..unknown.topic };
            Some(Found { identity, reader, topic, ..unknown })
        }
        _ => None,
    }
}

/// The one number that two leave out.
fn number_between(first: Stamp, last: Stamp) -> Option<Stamp> {
    let seq = first.seq.checked_add(1)?;
    let stamp = Stamp { seq, ..first };
    let next = Stamp { seq: seq.checked_add(1)?, ..first };
    (next == last).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::super::found::TopicHash;
    use super::*;
    use wirelap_events::Offset;
    use wirelap_protocols::Side;

    fn found(start: u64, seq: Option<u32>) -> Found {
        let stamp = seq.map(|seq| Stamp { stream: 0, seq, reply: false, warmup: false });
        let topic = FoundTopic { hash: TopicHash::new(b"a/b"), ..FoundTopic::default() };
        let other = Stamp { stream: 1, seq: 0, reply: false, warmup: false };
        let identity = topic.hash.identity(stamp.unwrap_or(other));
        let extent = ByteRange::new(Offset(start), 100);
        Found { stamp, topic, ..Found::new(Side::A, extent, identity, 90) }
    }

    fn hole(len: u64) -> ByteRange {
        ByteRange::new(Offset(200), len)
    }

    #[test]
    fn the_number_that_is_left_out_is_its_own() {
        let told = between(&found(100, Some(4)), hole(100), &found(300, Some(6)), 1).unwrap();
        assert_eq!((told.stamp.unwrap().seq, told.extent, told.framed), (5, hole(100), true));
        let elsewhere = TopicHash::new(b"a/b").identity(told.stamp.unwrap());
        assert_eq!(told.identity, elsewhere, "as on every other leg");
        assert!(between(&found(100, Some(4)), hole(100), &found(300, Some(7)), 1).is_none());
        assert!(between(&found(100, Some(4)), hole(100), &found(300, None), 1).is_none());
    }

    #[test]
    fn without_numbers_it_is_a_message_of_its_own() {
        let told = |place| between(&found(100, None), hole(100), &found(300, None), place).unwrap();
        assert_eq!(told(1).topic.id, None);
        assert_ne!(told(1).identity, told(2).identity);
    }

    #[test]
    fn what_may_be_something_else_is_nothing() {
        assert!(between(&found(100, None), hole(99), &found(299, None), 1).is_none());
        assert!(between(&found(99, None), hole(100), &found(300, None), 1).is_none());
        let short = Found { payload_len: 80, ..found(300, None) };
        assert!(between(&found(100, None), hole(100), &short, 1).is_none());
    }
}
