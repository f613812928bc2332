//! State that the conversations of one protocol share.
//!
//! A decoder handles one conversation, but may need what was said in another: DDS announces on its discovery ports which
//! writer writes which topic, and a Kafka client learns a topic's ID on one connection and uses it on another. A protocol
//! whose conversations share state makes a store in [`Protocol::memory`](crate::Protocol::memory). The caller that makes
//! decoders keeps the stores in [`Memories`](crate::Memories) and passes them to
//! [`Protocol::connection_with`](crate::Protocol::connection_with).
//!
//! A store locks itself and is bounded. [`NameTable`] needs no lock for a message whose name is already known: a
//! [`CachedName`] reads the table again only when the table has changed.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A store that conversations can share.
pub trait SharedStore: Any + Debug + Send + Sync {
    /// Returns the number of entries that were evicted to keep the store bounded.
    fn forgotten(&self) -> u64;
}

/// The store that conversations of one protocol share; none by default. A clone shares the same store.
#[derive(Clone, Debug, Default)]
pub struct Memory(Option<Arc<dyn SharedStore>>);

impl Memory {
    /// A memory that shares `store`.
    pub fn of(store: impl SharedStore) -> Memory {
        Memory(Some(Arc::new(store)))
    }

    /// The store, if it is a `T`.
    pub fn get<T: SharedStore>(&self) -> Option<Arc<T>> {
        let store: Arc<dyn Any + Send + Sync> = self.0.clone()?;
        store.downcast().ok()
    }

    /// Returns the number of entries that were evicted to keep the store bounded.
    pub fn forgotten(&self) -> u64 {
        self.0.as_ref().map_or(0, |store| store.forgotten())
    }
}

/// The most names in a table. When it is full, the name that was learned first is evicted.
pub const MAX_NAMES: usize = 4096;

/// The longest name in a table, in bytes. DDS topics have at most 255 characters, Kafka's 249.
pub const MAX_NAME_BYTES: usize = 256;

/// A table of names by key, for example topics by DDS writer or by Kafka topic ID.
#[derive(Debug)]
pub struct NameTable<K> {
    /// Number of times that the table has changed.
    changes: AtomicU64,
    forgotten: AtomicU64,
    table: Mutex<BoundedNames<K>>,
}

#[derive(Debug)]
struct BoundedNames<K> {
    names: HashMap<K, Arc<[u8]>>,
    /// The keys in the order in which they were learned.
    order: VecDeque<K>,
}

impl<K> Default for NameTable<K> {
    fn default() -> NameTable<K> {
        let table = BoundedNames { names: HashMap::new(), order: VecDeque::new() };
        NameTable {
            changes: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            table: Mutex::new(table),
        }
    }
}

impl<K: Copy + Eq + Hash> NameTable<K> {
    /// Stores a name, unless it is empty or longer than [`MAX_NAME_BYTES`].
    pub fn learn(&self, key: K, name: &[u8]) {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return;
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.is_known(&key, name) {
            return;
        }
        let forgotten = table.learn(key, name);
        self.forgotten.fetch_add(u64::from(forgotten), Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The name, if it was learned.
    pub fn get(&self, key: &K) -> Option<Arc<[u8]>> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.names.get(key).cloned()
    }

    /// Forgets the names of these keys.
    pub(crate) fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let before = table.names.len();
        table.names.retain(|key, _| !is_gone(key));
        if table.names.len() < before {
            table.order.retain(|key| !is_gone(key));
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// The keys that have this name.
    pub(crate) fn keys_of(&self, name: &[u8]) -> Vec<K> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let all = table.names.iter().filter(|(_, known)| ***known == *name);
        all.map(|(key, _)| *key).collect()
    }

    /// Returns the number of times that the table has changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl<K: Copy + Eq + Hash> BoundedNames<K> {
    fn is_known(&self, key: &K, name: &[u8]) -> bool {
        self.names.get(key).is_some_and(|known| **known == *name)
    }

    /// Stores a name; returns whether another one was evicted for it.
    fn learn(&mut self, key: K, name: &[u8]) -> bool {
        if let Some(known) = self.names.get_mut(&key) {
            *known = name.into();
            return false;
        }
        let oldest = if self.order.len() == MAX_NAMES { self.order.pop_front() } else { None };
        if let Some(oldest) = &oldest {
            self.names.remove(oldest);
        }
        self.names.insert(key, name.into());
        self.order.push_back(key);
        oldest.is_some()
    }
}

impl<K: Debug + Send + 'static> SharedStore for NameTable<K> {
    fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }
}

/// The name of one key, cached. It reads the table only after the table has changed.
#[derive(Clone, Debug, Default)]
pub struct CachedName {
    name: Option<Arc<[u8]>>,
    /// The table's change count when it was last read.
    from: Option<u64>,
}

impl CachedName {
    /// The name of `key`, which must be the same in every call; empty if it was not learned. The name is kept when the table
    /// evicts it.
    pub fn of<K: Copy + Eq + Hash>(&mut self, key: &K, names: &NameTable<K>) -> &[u8] {
        let changes = names.changes();
        if self.from != Some(changes) {
            self.from = Some(changes);
            if let Some(name) = names.get(key) {
                self.name = Some(name);
            }
        }
        self.name.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_what_is_learned() {
        let names = NameTable::default();
        let mut name = CachedName::default();
        assert_eq!(name.of(&1, &names), b"");
        names.learn(2, b"Circle");
        assert_eq!(name.of(&1, &names), b"");
        names.learn(1, b"Square");
        assert_eq!(name.of(&1, &names), b"Square");
        assert_eq!(names.changes(), 2);
        names.learn(1, b"Square");
        assert_eq!(names.changes(), 2, "the same name again is no change");
        names.learn(1, b"Triangle");
        assert_eq!(name.of(&1, &names), b"Triangle");
    }

    #[test]
    fn what_is_forgotten_is_counted() {
        let names = NameTable::default();
        let mut first = CachedName::default();
        for key in 0..=MAX_NAMES {
            names.learn(key, b"t");
            first.of(&0, &names);
        }
        assert_eq!(names.get(&0), None);
        assert!(names.get(&1).is_some() && names.get(&MAX_NAMES).is_some());
        assert_eq!(first.of(&0, &names), b"t", "who knew it goes on knowing it");
        assert_eq!(names.table.lock().unwrap().names.len(), MAX_NAMES);
        names.learn(0, &[b'x'; MAX_NAME_BYTES + 1]);
        names.learn(0, b"");
        assert_eq!(names.get(&0), None);
        assert_eq!(Memory::of(names).forgotten(), 1);
    }

    #[test]
    fn a_memory_hands_out_what_was_put_in() {
        let memory = Memory::of(NameTable::<u8>::default());
        assert!(memory.get::<NameTable<u16>>().is_none());
        let names = memory.get::<NameTable<u8>>().unwrap();
        names.learn(7, b"seven");
        let again = memory.clone().get::<NameTable<u8>>().unwrap();
        assert_eq!(again.get(&7).as_deref(), Some(&b"seven"[..]));
        assert!(Memory::default().get::<NameTable<u8>>().is_none());
    }
}
