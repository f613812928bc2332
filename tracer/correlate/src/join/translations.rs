//! Servers that have several addresses, or other topics for what they hand on, as messages show that go in at one and out at another.

use super::forwarders::Receiver;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::{NetNs, Saturate};
use wirelap_flow::{Direction, Node};
use wirelap_limits::deliveries::{MIN_CROSSED, MIN_RENAMED};

/// Pairs of addresses that are known to be one server's.
const MOST_PAIRS: usize = 64;

/// Topics that servers have another one for.
const MOST_RENAMED: usize = 4_096;

/// The topic of which a server hands messages on with another one.
#[derive(Clone, Copy, Debug)]
struct Renamed {
    from: u64,
    seen: u8,
}

/// Addresses that may be one server's.
#[derive(Clone, Copy, Debug)]
struct Pair {
    addrs: [SocketAddr; 2],
    scope: NetNs,
    crossed: u8,
}

impl Pair {
    fn is_of(&self, a: &Node, b: &Node) -> bool {
        (self.addrs == [a.addr, b.addr] || self.addrs == [b.addr, a.addr])
            && self.scope == a.scope
            && self.scope == b.scope
    }
}

/// Servers that have several addresses or names for a topic, as far as they are known.
#[derive(Debug, Default)]
pub struct Translations {
    pairs: Vec<Pair>,
    /// By the server and the topic that it sends.
    renamed: FxHashMap<(Receiver, u64), Renamed>,
    /// Directions of two conversations that are one server's, as was found last.
    pub united: Option<[Direction; 2]>,
    /// Messages from servers that nothing was found for, and when to look next whether another topic has them.
    pub orphans: u32,
}

impl Translations {
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// True if two addresses are known to be one server's.
    pub fn are_one(&self, a: &Node, b: &Node) -> bool {
        self.pairs.iter().any(|pair| pair.crossed >= MIN_CROSSED && pair.is_of(a, b))
    }

    /// A message went in at one address and out at another: whether both are one server's, as is known now for the first time. Messages
    /// go in at the other one, too, if it `gets_some`; this one tells more if it `is_unique`.
    pub fn note_crossing(&mut self, [a, b]: [Node; 2], gets_some: bool, is_unique: bool) -> bool {
        let known = self.pairs.iter().position(|pair| pair.is_of(&a, &b));
        if known.is_none() && self.pairs.len() >= MOST_PAIRS {
            return false;
        }
        let place = known.unwrap_or_else(|| {
            self.pairs.push(Pair { addrs: [a.addr, b.addr], scope: b.scope, crossed: 0 });
            self.pairs.len().saturating_sub(1)
        });
        let Some(pair) = self.pairs.get_mut(place).filter(|pair| pair.crossed < MIN_CROSSED) else {
            return false;
        };
        if !gets_some {
            pair.crossed = MIN_CROSSED;
        } else if is_unique {
            pair.crossed.grow(1);
        }
        pair.crossed >= MIN_CROSSED
    }

    /// The topic of which a server hands messages on with this one, if that was seen often enough.
    pub fn renamed_from(&self, server: Receiver, to: u64) -> Option<u64> {
        self.renamed.get(&(server, to)).filter(|one| one.seen >= MIN_RENAMED).map(|one| one.from)
    }

    /// Notes that a message of a topic came out of a server with another one, and no other message has its content.
    pub fn note_renamed(&mut self, server: Receiver, from: u64, to: u64) {
        let known = self.renamed.contains_key(&(server, to));
        if !known && self.renamed.len() >= MOST_RENAMED {
            return;
        }
        let one = self.renamed.entry((server, to)).or_insert(Renamed { from, seen: 0 });
        *one = if one.from == from {
            Renamed { from, seen: one.seen.saturating_add(1) }
        } else {
            Renamed { from, seen: 1 }
        };
    }
}
