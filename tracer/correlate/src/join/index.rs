//! Finds messages by identity.

use crate::flow::{Identity, Way};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A message: its serial number, by which those of a line are in order, and its place.
pub type Entry = (u64, usize);

/// The messages of one identity. Almost always one; a content that is sent again and again has many.
#[derive(Debug)]
enum Line {
    One(Entry),
    Many(VecDeque<Entry>),
}

/// Messages by identity, and by identity and way.
#[derive(Debug, Default)]
pub struct Index {
    lines: FxHashMap<Identity, Line>,
    /// The newest message of an identity that has a leg on a way.
    on_way: FxHashMap<(Identity, Way), Entry>,
}

impl Index {
    /// Adds the newest message of an identity.
    pub fn add(&mut self, identity: Identity, message: Entry) {
        match self.lines.entry(identity) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Line::One(message));
            }
            std::collections::hash_map::Entry::Occupied(mut entry) => match entry.get_mut() {
                Line::One(first) => {
                    let many = [*first, message].into();
                    entry.insert(Line::Many(many));
                }
                Line::Many(many) => many.push_back(message),
            },
        }
    }

    pub fn add_way(&mut self, identity: Identity, way: Way, message: Entry) {
        self.on_way.insert((identity, way), message);
    }

    pub fn on_way(&self, identity: Identity, way: Way) -> Option<Entry> {
        self.on_way.get(&(identity, way)).copied()
    }

    /// The messages of an identity that came after `carried` (all, for `None`), oldest first: those
    /// that `is_stale` says are too old, and the others. It holds for a message if it does for a newer
    /// one.
    pub fn after(
        &self,
        identity: Identity,
        carried: Option<Entry>,
        is_stale: impl Fn(usize) -> bool,
    ) -> (impl DoubleEndedIterator<Item = usize> + '_, impl Iterator<Item = usize> + '_) {
        let first = carried.map_or(0, |(serial, _)| serial + 1);
        let (one, many) = match self.lines.get(&identity) {
            None => (None, None),
            Some(Line::One(message)) => (Some(*message), None),
            Some(Line::Many(many)) => (None, Some(many)),
        };
        let one = one.filter(|&(serial, _)| serial >= first).map(|(_, message)| message);
        let (old_one, new_one) = if one.is_some_and(&is_stale) { (one, None) } else { (None, one) };
        let (old, new) = many.map_or_else(Default::default, |many| {
            let start = many.partition_point(|&(serial, _)| serial < first);
            let fresh = many.partition_point(|&(_, message)| is_stale(message)).max(start);
            (many.range(start..fresh), many.range(fresh..))
        });
        let message = |&(_, message): &Entry| message;
        (old_one.into_iter().chain(old.map(message)), new_one.into_iter().chain(new.map(message)))
    }

    /// Messages go in the order in which they came, or nearly.
    pub fn remove(&mut self, identity: Identity, message: Entry) {
        let Some(line) = self.lines.get_mut(&identity) else { return };
        match line {
            Line::One(_) => {
                self.lines.remove(&identity);
            }
            Line::Many(many) => {
                if let Ok(at) = many.binary_search_by_key(&message.0, |&(serial, _)| serial) {
                    many.remove(at);
                }
                if many.is_empty() {
                    self.lines.remove(&identity);
                }
            }
        }
    }

    pub fn remove_way(&mut self, identity: Identity, way: Way, message: Entry) {
        if self.on_way.get(&(identity, way)) == Some(&message) {
            self.on_way.remove(&(identity, way));
        }
    }
}
