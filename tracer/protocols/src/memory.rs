//! What the conversations of one protocol tell each other.
//!
//! A decoder sees one conversation, but what it must know may have been said in another: DDS tells on
//! its discovery ports which writer writes which topic, Kafka answers a metadata request on one
//! connection and names the topic's id on the next. A protocol whose conversations need each other
//! makes one store, [`Protocol::memory`]; whoever opens decoders keeps one [`Memories`] and hands its
//! protocol's to each, [`Protocol::connection_with`].
//!
//! The store locks for itself and is bounded. [`Names`] is one that needs no lock for a message whose
//! name is known: [`Name`] asks again only when the store has changed.

use crate::{Protocol, registry};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_events::Total;

/// What can be shared.
pub trait Shared: Any + Debug + Send + Sync {
    /// How much was forgotten to keep it bounded.
    fn forgotten(&self) -> u64;
}

/// What the conversations of one protocol share; nothing by default. A clone shares the same.
#[derive(Clone, Debug, Default)]
pub struct Memory(Option<Arc<dyn Shared>>);

impl Memory {
    /// Shares `store`.
    pub fn of(store: impl Shared) -> Memory {
        Memory(Some(Arc::new(store)))
    }

    /// The store, if it is a `T`.
    pub fn get<T: Shared>(&self) -> Option<Arc<T>> {
        let store: Arc<dyn Any + Send + Sync> = self.0.clone()?;
        store.downcast().ok()
    }

    /// How much was forgotten to keep it bounded.
    pub fn forgotten(&self) -> u64 {
        self.0.as_ref().map_or(0, |store| store.forgotten())
    }
}

/// The memory of each protocol in the registry. A clone shares the same.
#[derive(Clone, Debug)]
pub struct Memories(Arc<[(&'static str, Memory)]>);

impl Memories {
    /// Nothing known yet.
    pub fn new() -> Memories {
        Memories(registry().iter().map(|protocol| (protocol.name(), protocol.memory())).collect())
    }

    /// The memory of this protocol.
    pub fn of(&self, protocol: &dyn Protocol) -> Memory {
        let found = self.0.iter().find(|(name, _)| *name == protocol.name());
        found.map(|(_, memory)| memory.clone()).unwrap_or_default()
    }

    /// How much was forgotten to keep them bounded.
    pub fn forgotten(&self) -> u64 {
        self.0.iter().map(|(_, memory)| memory.forgotten()).total()
    }
}

impl Default for Memories {
    fn default() -> Memories {
        Memories::new()
    }
}

/// The most names remembered; then the one that was learned first goes.
pub const MAX_NAMES: usize = 4096;

/// The longest name remembered, in bytes. DDS topics are at most 255 characters, Kafka's 249.
pub const MAX_NAME_BYTES: usize = 256;

/// Names by key: the topic of a DDS writer, of a Kafka topic id.
#[derive(Debug)]
pub struct Names<K> {
    /// How often the table has changed.
    changes: AtomicU64,
    forgotten: AtomicU64,
    table: Mutex<Table<K>>,
}

#[derive(Debug)]
struct Table<K> {
    names: HashMap<K, Arc<[u8]>>,
    /// The keys, the one learned first at the front.
    order: VecDeque<K>,
}

impl<K> Default for Names<K> {
    fn default() -> Names<K> {
        let table = Table { names: HashMap::new(), order: VecDeque::new() };
        Names { changes: AtomicU64::new(0), forgotten: AtomicU64::new(0), table: Mutex::new(table) }
    }
}

impl<K: Copy + Eq + Hash> Names<K> {
    /// Remembers a name. One that is empty or longer than [`MAX_NAME_BYTES`] is not.
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

    /// How often the table has changed.
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl<K: Copy + Eq + Hash> Table<K> {
    fn is_known(&self, key: &K, name: &[u8]) -> bool {
        self.names.get(key).is_some_and(|known| **known == *name)
    }

    /// Whether another name had to go for it.
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

impl<K: Debug + Send + 'static> Shared for Names<K> {
    fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }
}

/// The name of one key, as far as it is known by now. Looks into the store only after it has changed.
#[derive(Clone, Debug, Default)]
pub struct Name {
    name: Option<Arc<[u8]>>,
    /// The state of the store that `name` is from.
    from: Option<u64>,
}

impl Name {
    /// The name of `key`, always the same one for this `Name`; empty if it was not learned. One that
    /// the store has forgotten in the meantime is kept.
    pub fn of<K: Copy + Eq + Hash>(&mut self, key: &K, names: &Names<K>) -> &[u8] {
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
    use crate::by_name;

    #[test]
    fn a_name_follows_what_is_learned() {
        let names = Names::default();
        let mut name = Name::default();
        assert_eq!(name.of(&1, &names), b"");
        names.learn(2, b"Circle");
        assert_eq!(name.of(&1, &names), b"");
        names.learn(1, b"Square");
        assert_eq!(name.of(&1, &names), b"Square");
        assert_eq!(names.changes(), 2);
        names.learn(1, b"Square");
        assert_eq!(names.changes(), 2, "told twice is no news");
        names.learn(1, b"Triangle");
        assert_eq!(name.of(&1, &names), b"Triangle");
    }

    #[test]
    fn what_is_forgotten_is_counted() {
        let names = Names::default();
        let mut first = Name::default();
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
        let memory = Memory::of(Names::<u8>::default());
        assert!(memory.get::<Names<u16>>().is_none());
        let names = memory.get::<Names<u8>>().unwrap();
        names.learn(7, b"seven");
        let again = memory.clone().get::<Names<u8>>().unwrap();
        assert_eq!(again.get(&7).as_deref(), Some(&b"seven"[..]));
        assert!(Memory::default().get::<Names<u8>>().is_none());
    }

    #[test]
    fn each_protocol_has_its_own() {
        let memories = Memories::new();
        let dds = by_name("dds").unwrap();
        let here = memories.of(dds).get::<Names<[u8; 16]>>().unwrap();
        let there = memories.clone().of(dds).get::<Names<[u8; 16]>>().unwrap();
        let other = Memories::new().of(dds).get::<Names<[u8; 16]>>().unwrap();
        here.learn([1; 16], b"t");
        assert!(there.get(&[1; 16]).is_some() && other.get(&[1; 16]).is_none());
        assert!(memories.of(by_name("tcp").unwrap()).get::<Names<[u8; 16]>>().is_none());
        assert_eq!(memories.forgotten(), 0);
    }
}
