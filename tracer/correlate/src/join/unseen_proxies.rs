//! Proxies that speak TCP themselves: no socket of this host is at the address to which their clients send, and what comes there goes on from a
//! process of this host.
//!
//! ```text
//!   client ──▶ 10.0.2.2:1883, no socket │ slirp4netns │ its own socket ──▶ broker at 10.0.2.2:1883
//! ```

use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::{NetNs, Offset, Pid};
use wirelap_flow::{Direction, Node};
use wirelap_limits::deliveries::MIN_LIKE_AT_UNSEEN_PROXY;

/// The most addresses that are remembered, and directions that are compared; beyond, all are forgotten and found out again.
const MAX_KNOWN: usize = 16_384;

/// The connection on which came what is sent in a direction, as far as messages of the same content tell.
#[derive(Clone, Copy, Debug)]
struct Likely {
    came: Direction,
    /// Distance of a place in the direction from the same place where it came, modulo 2^64.
    shift: u64,
    /// Messages in a row that were the same at this distance.
    messages: u8,
}

/// The processes that speak TCP themselves, by the addresses that they have for their clients.
#[derive(Debug, Default)]
pub struct UnseenProxies {
    processes: FxHashMap<(SocketAddr, NetNs), Pid>,
    likely: FxHashMap<Direction, Likely>,
}

impl UnseenProxies {
    /// The process at an end: that of its socket, or the one from which goes on what comes there.
    pub fn process(&self, node: &Node) -> Option<Pid> {
        if node.pid.is_some() || self.processes.is_empty() {
            return node.pid;
        }
        self.processes.get(&(node.addr, node.scope)).copied()
    }

    /// True if a process is known that has an address without a socket.
    pub fn is_known(&self, node: &Node) -> bool {
        node.pid.is_none() && self.process(node).is_some()
    }

    /// A process passes on what comes to an address without a socket, or sends from there what it has got.
    pub fn learn(&mut self, end: &Node, pid: Pid) {
        let key = (end.addr, end.scope);
        if self.processes.len() >= MAX_KNOWN && !self.processes.contains_key(&key) {
            self.processes.clear();
        }
        self.processes.insert(key, pid);
    }

    /// A message in the direction `on` has the content of one in the direction `came`, each at its place. Returns true if so many had the
    /// same distance that the one connection continues the other.
    pub fn is_continued(
        &mut self,
        (on, place): (Direction, Offset),
        (came, before): (Direction, Offset),
    ) -> bool {
        if self.likely.len() >= MAX_KNOWN && !self.likely.contains_key(&on) {
            self.likely.clear();
        }
        let first = Likely { came, shift: place.0.wrapping_sub(before.0), messages: 0 };
        let likely = self.likely.entry(on).or_insert(first);
        if (likely.came, likely.shift) != (first.came, first.shift) {
            *likely = first;
        }
        likely.messages = likely.messages.saturating_add(1);
        let is_continued = likely.messages >= MIN_LIKE_AT_UNSEEN_PROXY;
        if is_continued {
            self.likely.remove(&on);
        }
        is_continued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    fn at(serial: u64, place: u64) -> (Direction, Offset) {
        (Direction { index: 0, serial, side: Side::A }, Offset(place))
    }

    #[test]
    fn connections_continue_each_other_where_several_messages_have_one_distance() {
        let mut proxies = UnseenProxies::default();
        assert!(!proxies.is_continued(at(1, 100), at(11, 700)));
        assert!(!proxies.is_continued(at(1, 200), at(11, 800)));
        // One at another distance, or on another connection, begins anew.
        assert!(!proxies.is_continued(at(1, 300), at(11, 950)));
        assert!(!proxies.is_continued(at(1, 400), at(11, 1_050)));
        assert!(!proxies.is_continued(at(1, 500), at(12, 1_150)));
        assert!(!proxies.is_continued(at(1, 600), at(12, 1_250)));
        assert!(!proxies.is_continued(at(2, 700), at(12, 1_350)), "another direction");
        assert!(proxies.is_continued(at(1, 700), at(12, 1_350)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut proxies = UnseenProxies::default();
        for n in 0..40_000 {
            proxies.is_continued(at(n, 0), at(n + 100_000, 0));
        }
        assert!(proxies.likely.len() <= MAX_KNOWN);
    }
}
