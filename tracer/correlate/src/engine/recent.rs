//! A map of bounded size. Once it is full, the half that was put in longest ago goes.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A map of at most `MOST` entries.
#[derive(Debug)]
pub struct RecentMap<K, V, const MOST: usize> {
    newer: FxHashMap<K, V>,
    older: FxHashMap<K, V>,
}

impl<K, V, const MOST: usize> Default for RecentMap<K, V, MOST> {
    fn default() -> RecentMap<K, V, MOST> {
        RecentMap { newer: FxHashMap::default(), older: FxHashMap::default() }
    }
}

impl<K: Eq + Hash, V, const MOST: usize> RecentMap<K, V, MOST> {
    /// Puts in an entry, in place of the one with the same key.
    pub fn insert(&mut self, key: K, value: V) {
        if self.newer.len() >= MOST / 2 && !self.newer.contains_key(&key) {
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
        }
        self.older.remove(&key);
        self.newer.insert(key, value);
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.newer.get(key).or_else(|| self.older.get(key))
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.newer.get_mut(key).or_else(|| self.older.get_mut(key))
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.newer.remove(key).or_else(|| self.older.remove(key))
    }

    pub fn clear(&mut self) {
        self.newer.clear();
        self.older.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.newer.is_empty() && self.older.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_lately_stays_and_each_key_is_there_once() {
        let mut map: RecentMap<u32, u32, 8> = RecentMap::default();
        for n in 0..1_000 {
            map.insert(n, n);
            assert!(map.newer.len() + map.older.len() <= 8);
            assert!((n.saturating_sub(3)..=n).all(|n| map.get(&n) == Some(&n)), "{n}");
        }
        assert_eq!(map.get(&0), None);
        assert_eq!((map.remove(&999), map.get(&999)), (Some(999), None));
        // One of the older half is among the newer ones again.
        let old = *map.older.keys().next().unwrap();
        map.insert(old, 7);
        *map.get_mut(&old).unwrap() += 1;
        assert_eq!((map.remove(&old), map.get(&old), map.is_empty()), (Some(8), None, false));
        map.clear();
        assert!(map.is_empty());
    }
}
