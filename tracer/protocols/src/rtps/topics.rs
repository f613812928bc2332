//! The topic of each writer, as discovery (SEDP) tells it.
//!
//! Discovery goes from one metatraffic port to another, user data takes ports of its own, and a
//! decoder sees one conversation. A writer's GUID is the same in all of them, so conversations that
//! share a table share what they learn. A conversation asks only when the table has changed.

use super::entity::Guid;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most writers remembered; then the one that was learned first goes.
pub const MAX_WRITERS: usize = 4096;

/// The longest topic name remembered, in bytes. DDS names are at most 255 characters.
pub const MAX_TOPIC_BYTES: usize = 256;

/// Topics by writer. A clone shares the table.
#[derive(Clone, Debug, Default)]
pub struct Topics(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How often the table has changed.
    changes: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    topics: HashMap<Guid, Arc<[u8]>>,
    /// The writers, the one learned first at the front.
    order: VecDeque<Guid>,
}

impl Topics {
    /// Remembers a writer's topic.
    pub(super) fn learn(&self, writer: Guid, topic: &[u8]) {
        if topic.is_empty() || topic.len() > MAX_TOPIC_BYTES {
            return;
        }
        let mut table = self.0.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.learn(writer, topic) {
            self.0.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// How often the table has changed.
    pub(super) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// The writer's topic, if it was learned.
    pub(super) fn of(&self, writer: &Guid) -> Option<Arc<[u8]>> {
        let table = self.0.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.topics.get(writer).cloned()
    }
}

impl Table {
    /// Whether that was news.
    fn learn(&mut self, writer: Guid, topic: &[u8]) -> bool {
        if let Some(known) = self.topics.get_mut(&writer) {
            if **known == *topic {
                return false;
            }
            *known = topic.into();
            return true;
        }
        if self.order.len() == MAX_WRITERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.topics.remove(&oldest);
        }
        self.topics.insert(writer, topic.into());
        self.order.push_back(writer);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guid(number: usize) -> Guid {
        (number as u128).to_be_bytes()
    }

    #[test]
    fn a_clone_knows_what_the_other_learned() {
        let (here, there) = (Topics::default(), Topics::default());
        let shared = here.clone();
        here.learn(guid(1), b"Square");
        assert_eq!(shared.of(&guid(1)).as_deref(), Some(&b"Square"[..]));
        assert_eq!(there.of(&guid(1)), None);
        assert_eq!(shared.changes(), 1);
        shared.learn(guid(1), b"Square");
        assert_eq!(here.changes(), 1, "told twice is no news");
        shared.learn(guid(1), b"Circle");
        assert_eq!(here.of(&guid(1)).as_deref(), Some(&b"Circle"[..]));
        assert_eq!(here.changes(), 2);
    }

    #[test]
    fn the_table_is_bounded() {
        let topics = Topics::default();
        for number in 0..=MAX_WRITERS {
            topics.learn(guid(number), b"t");
        }
        assert_eq!(topics.of(&guid(0)), None);
        assert!(topics.of(&guid(1)).is_some() && topics.of(&guid(MAX_WRITERS)).is_some());
        assert_eq!(topics.0.table.lock().unwrap().topics.len(), MAX_WRITERS);
        topics.learn(guid(0), &[b'x'; MAX_TOPIC_BYTES + 1]);
        topics.learn(guid(0), b"");
        assert_eq!(topics.of(&guid(0)), None);
    }
}
