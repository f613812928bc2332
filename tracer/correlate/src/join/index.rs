//! Finds messages by identity.

use crate::flow::{Identity, Way};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The messages of one identity. Almost always one; a content that is sent again and again has many.
#[derive(Debug)]
enum Line {
    One(usize),
    Many(VecDeque<usize>),
}

/// Messages by identity, and by identity and way.
#[derive(Debug, Default)]
pub struct Index {
    lines: FxHashMap<Identity, Line>,
    /// The newest message of an identity that has a leg on a way.
    on_way: FxHashMap<(Identity, Way), usize>,
}

impl Index {
    pub fn add(&mut self, identity: Identity, message: usize) {
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

    pub fn add_way(&mut self, identity: Identity, way: Way, message: usize) {
        self.on_way.insert((identity, way), message);
    }

    pub fn on_way(&self, identity: Identity, way: Way) -> Option<usize> {
        self.on_way.get(&(identity, way)).copied()
    }

    /// The messages of an identity, newest first.
    pub fn newest(&self, identity: Identity) -> impl Iterator<Item = usize> + '_ {
        let (one, many) = match self.lines.get(&identity) {
            None => (None, None),
            Some(Line::One(message)) => (Some(*message), None),
            Some(Line::Many(many)) => (None, Some(many.iter().rev().copied())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Messages go in the order in which they came, or nearly.
    pub fn remove(&mut self, identity: Identity, message: usize) {
        let Some(line) = self.lines.get_mut(&identity) else { return };
        match line {
            Line::One(_) => {
                self.lines.remove(&identity);
            }
            Line::Many(many) => {
                if let Some(at) = many.iter().position(|&m| m == message) {
                    many.remove(at);
                }
                if many.is_empty() {
                    self.lines.remove(&identity);
                }
            }
        }
    }

    pub fn remove_way(&mut self, identity: Identity, way: Way, message: usize) {
        if self.on_way.get(&(identity, way)) == Some(&message) {
            self.on_way.remove(&(identity, way));
        }
    }
}
