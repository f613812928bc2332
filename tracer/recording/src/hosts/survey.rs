//! The packets of a capture, in bounded memory.

use super::token::{local_token, token};
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::IpAddr;
use wirelap_events::{Event, Nanos, Packet, Saturate};

/// The most packets that are kept of each of two captures. When there are more, half of all are left out, the same ones in
/// each capture.
const MAX_PACKETS: usize = 1 << 18;

/// Least number of packets that are kept of each capture, however many captures there are.
const MIN_PACKETS: usize = 1 << 14;

/// A packet that is seen again so soon is the same one on another device (a bridge, `tcpdump -i any`), or sent again at once:
/// when it was there first is known. A later sighting may be of another packet.
const AT_ONCE: Nanos = Nanos::from_millis(20);

/// The most addresses that get a number.
const MAX_ADDRESSES: usize = 65_536;

/// Addresses by number, the same numbers for both captures.
#[derive(Debug, Default)]
pub struct AddressNumbers {
    numbers: FxHashMap<IpAddr, u32>,
}

impl AddressNumbers {
    fn number(&mut self, address: IpAddr) -> Option<u32> {
        let next = u32::try_from(self.numbers.len()).ok()?;
        if self.numbers.len() >= MAX_ADDRESSES {
            return self.numbers.get(&address).copied();
        }
        Some(*self.numbers.entry(address).or_insert(next))
    }

    /// The addresses that have these numbers.
    pub(super) fn of(&self, numbers: &[u32]) -> Vec<IpAddr> {
        let numbers: FxHashSet<u32> = numbers.iter().copied().collect();
        let known = self.numbers.iter().filter(|(_, number)| numbers.contains(number));
        known.map(|(address, _)| *address).collect()
    }
}

/// Time at which a packet was seen, and the numbers of its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub at: Nanos,
    pub from: u32,
    pub to: u32,
    /// The packet was seen again later, so it is not known which sighting another capture has.
    pub repeated: bool,
}

/// Sample of one capture's packets.
#[derive(Debug)]
pub struct Survey {
    /// Sightings by what identifies the packet.
    pub(super) seen: FxHashMap<u64, Sighting>,
    /// Packets are kept whose identity ends in so many zero bits.
    pub(super) zeros: u32,
    /// Times of packets that stay on the host, by what identifies them.
    local: FxHashMap<u64, Nanos>,
    limit: usize,
    /// The times of the first packet and of the last.
    pub span: Option<(Nanos, Nanos)>,
}

impl Survey {
    /// A survey of one of so many captures.
    pub fn of(captures: usize) -> Survey {
        let limit = (2 * MAX_PACKETS).checked_div(captures.max(2)).unwrap_or(0).max(MIN_PACKETS);
        let (seen, local) = (FxHashMap::default(), FxHashMap::default());
        Survey { seen, local, zeros: 0, limit, span: None }
    }

    /// Takes a packet in.
    pub fn add(&mut self, event: &Event<'_>, packet: &Packet<'_>, addresses: &mut AddressNumbers) {
        let (first, last) = self.span.unwrap_or((event.at, event.at));
        self.span = Some((first.min(event.at), last.max(event.at)));
        if let Some(token) = local_token(packet).filter(|token| self.keeps(*token)) {
            self.local.entry(token).or_insert(event.at);
            self.keep_limit();
        }
        let Some(token) = token(packet).filter(|token| self.keeps(*token)) else { return };
        let [from, to] = [packet.flow.src, packet.flow.dst].map(|end| addresses.number(end.ip()));
        let (Some(from), Some(to)) = (from, to) else { return };
        let seen = Sighting { at: event.at, from, to, repeated: false };
        self.seen
            .entry(token)
            .and_modify(|first| {
                let soon = seen.at.0.abs_diff(first.at.0) <= AT_ONCE.0;
                first.repeated |= !soon;
                first.at = first.at.min(seen.at);
            })
            .or_insert(seen);
        self.keep_limit();
    }

    fn keep_limit(&mut self) {
        while self.seen.len().max(self.local.len()) > self.limit {
            self.thin(self.zeros.saturating_add(1));
        }
    }

    fn keeps(&self, token: u64) -> bool {
        token.trailing_zeros() >= self.zeros
    }

    /// Keeps only packets whose identity ends in so many zero bits.
    pub(super) fn thin(&mut self, zeros: u32) {
        self.zeros = self.zeros.max(zeros);
        let zeros = self.zeros;
        self.seen.retain(|token, _| token.trailing_zeros() >= zeros);
        self.local.retain(|token, _| token.trailing_zeros() >= zeros);
    }

    /// The addresses that most packets have: those of the host that captured, and of a peer that it talks to alone.
    pub(super) fn common_addresses(&self) -> FxHashSet<u32> {
        let mut counts = FxHashMap::<u32, usize>::default();
        for seen in self.seen.values() {
            counts.entry(seen.from).or_default().grow(1);
            counts.entry(seen.to).or_default().grow(1);
        }
        let most = (self.seen.len() / 10).saturating_mul(9);
        counts.into_iter().filter(|&(_, count)| count > most).map(|(address, _)| address).collect()
    }

    /// The time from the end of one to the beginning of the other, by their own clocks; `None` if they overlap.
    pub fn apart(&self, other: &Survey) -> Option<Nanos> {
        let (mine, theirs) = (self.span?, other.span?);
        let gap = if mine.0 < theirs.0 { theirs.0.since(mine.1) } else { mine.0.since(theirs.1) };
        gap.filter(|_| !self.overlaps(other))
    }

    /// Share of the packets of the other one's time that the other one has, too; `None` if there are none. The other one's clock is
    /// ahead by so many nanoseconds.
    pub fn share_in(&self, other: &Survey, ahead: i64) -> Option<f64> {
        let (first, last) = other.span?;
        let [first, last] = [first, last].map(|at| Nanos(at.0.saturating_sub_signed(ahead)));
        let zeros = self.zeros.max(other.zeros);
        let is_of_time =
            |token: u64, at: Nanos| token.trailing_zeros() >= zeros && first <= at && at <= last;
        let (mut all, mut common) = (0_u32, 0_u32);
        let mut count = |is_common: bool| {
            all.grow(1);
            common.grow(is_common.into());
        };
        let seen = self.seen.iter().filter(|(token, seen)| is_of_time(**token, seen.at));
        seen.for_each(|(token, _)| count(other.seen.contains_key(token)));
        let local = self.local.iter().filter(|(token, at)| is_of_time(**token, **at));
        local.for_each(|(token, _)| count(other.local.contains_key(token)));
        (all > 0).then(|| f64::from(common) / f64::from(all))
    }

    /// True if both are of the same time, by their own clocks: they share a tenth of the shorter one at least. Parts of one
    /// capture share some packets' time at most.
    pub fn overlaps(&self, other: &Survey) -> bool {
        self.span.zip(other.span).is_some_and(|(mine, theirs)| {
            let shared = mine.1.min(theirs.1).since(mine.0.max(theirs.0));
            let shorter = (mine.1 - mine.0).min(theirs.1 - theirs.0);
            shared.is_some_and(|shared| shared.0 > shorter.0 / 10)
        })
    }
}
