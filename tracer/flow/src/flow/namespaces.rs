//! The network namespaces that a conversation was seen in.

use arrayvec::ArrayVec;
use wirelap_events::NetNs;

/// Namespaces that are remembered of a conversation: both ends, and a router or two between them.
const REMEMBERED: usize = 6;

/// The network namespaces that a conversation was seen in; 0 stands for all of a capture's.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    all: ArrayVec<NetNs, REMEMBERED>,
    /// There are more than are remembered.
    everywhere: bool,
}

impl Namespaces {
    /// True if the conversation was seen in this one.
    pub fn has(&self, netns: NetNs) -> bool {
        self.all.contains(&netns) || self.everywhere
    }

    /// True if it was seen in none yet.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a namespace in which the conversation is seen.
    pub fn add(&mut self, netns: NetNs) {
        if !self.has(netns) {
            self.everywhere = self.all.try_push(netns).is_err();
        }
    }

    /// Adds all namespaces of another conversation, which has turned out to be the same.
    pub fn add_all(&mut self, other: &Namespaces) {
        other.all.iter().for_each(|&netns| self.add(netns));
    }
}
