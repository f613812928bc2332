//! The topic of each writer and reader, from discovery (SEDP).
//!
//! Discovery and user data use different ports, and a decoder handles one conversation. A GUID is globally unique and the same on all
//! ports, so the conversations of all domains share one store.

use super::entity::{Guid, GuidPrefix};
use super::shared_memory::SharedMemory;
use crate::memory::{NameTable, SharedStore};
use std::collections::HashSet;

/// Topics by writer, and by reader.
#[derive(Debug, Default)]
pub struct WriterTopics {
    pub(crate) writers: NameTable<Guid>,
    readers: NameTable<Guid>,
    pub(super) shared_memory: SharedMemory,
}

impl WriterTopics {
    /// Learns the topic of a writer or reader.
    pub(super) fn learn(&self, guid: Guid, topic: &[u8], writes: bool) {
        if writes { self.writers.learn(guid, topic) } else { self.readers.learn(guid, topic) }
    }

    /// A reader, or all of a participant, is gone.
    pub(super) fn forget_reader(&self, gone: Guid) {
        const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];
        if gone.ends_with(&PARTICIPANT) {
            self.readers.forget(|guid| guid.first_chunk::<12>() == gone.first_chunk());
            self.shared_memory.forget(gone.first_chunk().copied().unwrap_or_default());
        } else {
            self.readers.forget(|guid| *guid == gone);
        }
    }

    fn participants_that_read(&self, topic: &[u8], but: GuidPrefix) -> u16 {
        let readers = self.readers.keys_of(topic);
        let prefixes = readers.iter().filter_map(|guid| guid.first_chunk::<12>());
        let others: HashSet<_> = prefixes.filter(|prefix| **prefix != but).collect();
        u16::try_from(others.len()).unwrap_or(u16::MAX)
    }
}

impl SharedStore for WriterTopics {
    fn forgotten(&self) -> u64 {
        self.writers.forgotten().saturating_add(self.readers.forgotten())
    }
}

/// Number of participants that read a writer's topic, beside its own, cached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CachedReaders {
    count: u16,
    /// Numbers of changes of the tables of writers and of readers when this was counted.
    from: Option<(u64, u64)>,
}

impl CachedReaders {
    /// The number, 0 if none is known. `topic` is the writer's, and `writer` its participant.
    pub fn of(&mut self, topic: &[u8], writer: GuidPrefix, topics: &WriterTopics) -> u16 {
        let changes = (topics.writers.changes(), topics.readers.changes());
        if self.from != Some(changes) {
            self.from = Some(changes);
            self.count = topics.participants_that_read(topic, writer);
        }
        self.count
    }
}
