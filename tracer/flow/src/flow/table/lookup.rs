//! Finding the conversation of a packet or a socket.

use super::{FlowTable, acknowledged};
use crate::ids::Direction;
use wirelap_events::{FlowKey, NetNs, Seq, TcpFields};

impl FlowTable {
    /// The newest conversation between these addresses, wherever it is.
    #[inline]
    pub fn find(&self, key: FlowKey) -> Option<Direction> {
        self.by_key.get(&key).copied()
    }

    /// The conversation that a packet in a namespace is of. Addresses may be the same in two namespaces that nothing
    /// joins: what is seen in another one is the same conversation if its numbers say so.
    pub fn find_in(
        &mut self,
        key: FlowKey,
        netns: NetNs,
        tcp: Option<&TcpFields>,
    ) -> Option<Direction> {
        let direction = self.seek(key, netns, tcp)?;
        self.get_mut(direction)?.places.namespaces.add(netns);
        Some(direction)
    }

    /// The conversation of a packet that is only asked about; see [`FlowTable::find_in`].
    pub fn seek(&self, key: FlowKey, netns: NetNs, tcp: Option<&TcpFields>) -> Option<Direction> {
        let newest = self.find(key)?;
        let Some(tcp) = tcp else { return Some(newest) };
        if self.is_only(key) && self.get(newest)?.places.namespaces.has(netns) {
            return Some(newest);
        }
        self.nearest(key, netns, tcp.seq, acknowledged(tcp), |_| true)
    }

    /// The conversation that a packet is of whose namespace is not known: of several, the one that goes on nearest to its numbers,
    /// but rather one of which nothing is known than one that is far from them.
    pub fn seek_anywhere(&self, key: FlowKey, tcp: Option<&TcpFields>) -> Option<Direction> {
        let newest = self.find(key)?;
        let Some(tcp) = tcp.filter(|_| !self.is_only(key)) else { return Some(newest) };
        let rank = |direction: Direction| {
            let conversation = self.get(direction)?;
            let distance = conversation.distance(direction.side, tcp.seq, acknowledged(tcp));
            Some((distance.unwrap_or(self.near.saturating_add(1)), direction))
        };
        let all = std::iter::once(newest).chain(self.older(key)).filter_map(rank);
        all.min_by_key(|(distance, _)| *distance).map(|(_, direction)| direction)
    }

    /// True if there is no other conversation between these addresses.
    fn is_only(&self, key: FlowKey) -> bool {
        self.twins.is_empty() || !self.twins.contains_key(&key)
    }

    /// Finds among the conversations between the same addresses that of a namespace whose next numbers these are. One in
    /// another namespace is taken if its numbers are nearly these: two that were opened at the same time with the same
    /// addresses have numbers that are not far from each other (`net/core/secure_seq.c`: a hash of the addresses, and the
    /// time in units of 64 ns).
    pub fn nearest(
        &self,
        key: FlowKey,
        netns: NetNs,
        next: Seq,
        back: Option<Seq>,
        can_be: impl Fn(Direction) -> bool,
    ) -> Option<Direction> {
        let newest = self.find(key).into_iter();
        let all = newest.chain(self.older(key)).filter(|&direction| can_be(direction));
        let rank = |direction: Direction| {
            let conversation = self.get(direction)?;
            let is_here = conversation.places.namespaces.has(netns);
            let distance = conversation.distance(direction.side, next, back);
            let is_near = distance.is_some_and(|distance| distance <= self.near);
            // Best: here, and it goes on here, or may. One elsewhere with other numbers is another one.
            let class = match (is_near, is_here, distance) {
                (true, true, _) => 0_u8,
                (false, true, None) => 1,
                (true, false, _) => 2,
                (false, true, Some(_)) => 3,
                (false, false, None) => 4,
                (false, false, Some(_)) => return None,
            };
            Some((class, distance.unwrap_or_default()))
        };
        all.filter_map(|direction| Some((rank(direction)?, direction)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, direction)| direction)
    }

    /// Conversations between the same addresses that newer ones have replaced, the newest first.
    pub fn older(&self, key: FlowKey) -> impl Iterator<Item = Direction> + '_ {
        self.twins.get(&key).into_iter().flat_map(|all| all.iter().rev().copied())
    }
}
