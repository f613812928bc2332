//! The packets of a capture, in bounded memory, and those that two captures have in common.

use super::clocks::Sample;
use super::token::token;
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::IpAddr;
use wirelap_events::{Event, Nanos, Packet};
use wirelap_events::{Saturate, Total};

/// Packets that are kept of two captures each. Beyond, half of all are left out, the same ones in each capture.
const LIMIT: usize = 1 << 18;

/// … and of each of many captures, at least.
const LEAST: usize = 1 << 14;

/// A packet that is seen again so soon is the same one on another device (a bridge, `tcpdump -i any`), or sent again at once:
/// when it was there first is known. Later ones may be anything.
const AT_ONCE: Nanos = Nanos::from_millis(20);

/// Addresses that are told apart.
const ADDRESSES: usize = 65_536;

/// Captures of two hosts have at least so many packets in common …
const FEW: usize = 8;

/// … and one in so many of what they could have. Parts of one capture share a repetition or two.
const RARE: usize = 20;

/// Addresses by number, the same numbers for both captures.
#[derive(Debug, Default)]
pub struct Addresses {
    numbers: FxHashMap<IpAddr, u32>,
}

impl Addresses {
    fn number(&mut self, address: IpAddr) -> Option<u32> {
        let next = u32::try_from(self.numbers.len()).ok()?;
        if self.numbers.len() >= ADDRESSES {
            return self.numbers.get(&address).copied();
        }
        Some(*self.numbers.entry(address).or_insert(next))
    }

    /// Those with these numbers.
    pub(super) fn of(&self, numbers: &[u32]) -> Vec<IpAddr> {
        let numbers: FxHashSet<u32> = numbers.iter().copied().collect();
        let known = self.numbers.iter().filter(|(_, number)| numbers.contains(number));
        known.map(|(address, _)| *address).collect()
    }
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Nanos,
    from: u32,
    to: u32,
    /// Seen again later, it is not known which one another capture has.
    repeated: bool,
}

/// What is kept of one capture.
#[derive(Debug)]
pub struct Survey {
    seen: FxHashMap<u64, Seen>,
    /// Identities are kept if so many of their bits are zero.
    zeros: u32,
    limit: usize,
    /// The times of the first packet and of the last.
    pub span: Option<(Nanos, Nanos)>,
}

impl Survey {
    /// Of one of so many captures.
    pub fn of(captures: usize) -> Survey {
        let limit = (2 * LIMIT).checked_div(captures.max(2)).unwrap_or(0).max(LEAST);
        Survey { seen: FxHashMap::default(), zeros: 0, limit, span: None }
    }

    /// Takes a packet in.
    pub fn add(&mut self, event: &Event<'_>, packet: &Packet<'_>, addresses: &mut Addresses) {
        let (first, last) = self.span.unwrap_or((event.at, event.at));
        self.span = Some((first.min(event.at), last.max(event.at)));
        let Some(token) = token(packet).filter(|token| self.keeps(*token)) else { return };
        let [from, to] = [packet.flow.src, packet.flow.dst].map(|end| addresses.number(end.ip()));
        let (Some(from), Some(to)) = (from, to) else { return };
        let seen = Seen { at: event.at, from, to, repeated: false };
        self.seen
            .entry(token)
            .and_modify(|first| {
                let soon = seen.at.0.abs_diff(first.at.0) <= AT_ONCE.0;
                first.repeated |= !soon;
                first.at = first.at.min(seen.at);
            })
            .or_insert(seen);
        while self.seen.len() > self.limit {
            self.thin(self.zeros.saturating_add(1));
        }
    }

    fn keeps(&self, token: u64) -> bool {
        token.trailing_zeros() >= self.zeros
    }

    fn thin(&mut self, zeros: u32) {
        self.zeros = self.zeros.max(zeros);
        let zeros = self.zeros;
        self.seen.retain(|token, _| token.trailing_zeros() >= zeros);
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

    /// Whether both are of the same time, by their own clocks: they share a tenth of the shorter one at least. Parts
    /// of one capture share some packets' time at most.
    pub fn overlaps(&self, other: &Survey) -> bool {
        self.span.zip(other.span).is_some_and(|(mine, theirs)| {
            let shared = mine.1.min(theirs.1).since(mine.0.max(theirs.0));
            let shorter = (mine.1 - mine.0).min(theirs.1 - theirs.0);
            shared.is_some_and(|shared| shared.0 > shorter.0 / 10)
        })
    }
}

/// What two captures have in common.
#[derive(Debug)]
pub enum Common {
    /// Nothing, or no more than parts of one capture have.
    Nothing,
    /// Packets of one direction alone: their delay and the offset of the clocks cannot be told apart.
    OneWay,
    /// Packets of both directions.
    Packets {
        /// Their times, in the order of the first clock.
        samples: Vec<Sample>,
        /// Of each capture, the addresses on its own side and those on the other one's, as it has them.
        sides: [Sides; 2],
    },
}

/// Addresses that a capture has.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Of those who are nearer to it than to the other capture.
    pub near: Vec<IpAddr>,
    /// Of those who are beyond the other capture.
    pub far: Vec<IpAddr>,
}

/// One packet in both captures.
#[derive(Clone, Copy, Debug)]
struct Pair {
    at: Nanos,
    /// By how much the second capture's time is later.
    later: i64,
    from: u32,
    to: u32,
    /// As the second capture has them, which differ where they are translated in between.
    theirs: (u32, u32),
}

/// The packets that two captures have in common.
pub fn common(first: &mut Survey, second: &mut Survey, addresses: &Addresses) -> Common {
    let zeros = first.zeros.max(second.zeros);
    first.thin(zeros);
    second.thin(zeros);
    let mut pairs = pairs(first, second);
    if pairs.len() < FEW || pairs.len() < comparable(first, second) / RARE {
        return Common::Nothing;
    }
    pairs.sort_unstable_by_key(|pair| (pair.at, pair.later));
    let (ours, theirs) = hosts(&pairs);
    let is_ours = |pair: &Pair| match (ours.contains(&pair.from), theirs.contains(&pair.from)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    };
    let sample = |pair: &Pair| {
        let Pair { at, later, .. } = *pair;
        Some(Sample { at, later, from_first: is_ours(pair)? })
    };
    let samples: Vec<Sample> = pairs.iter().filter_map(sample).collect();
    let [there, back] = [true, false].map(|way| samples.iter().any(|s| s.from_first == way));
    if !(there && back) {
        return Common::OneWay;
    }
    // What the second capture has for the same.
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for pair in &pairs {
        match is_ours(pair) {
            Some(true) => (far.push(pair.theirs.0), near.push(pair.theirs.1)),
            Some(false) => (near.push(pair.theirs.0), far.push(pair.theirs.1)),
            None => continue,
        };
    }
    let sides =
        |near: &[u32], far: &[u32]| Sides { near: addresses.of(near), far: addresses.of(far) };
    Common::Packets { samples, sides: [sides(&ours, &theirs), sides(&near, &far)] }
}

fn pairs(first: &Survey, second: &Survey) -> Vec<Pair> {
    let pair = |(token, seen): (&u64, &Seen)| {
        let other = second.seen.get(token).filter(|other| !other.repeated && !seen.repeated)?;
        let later =
            i64::try_from(i128::from(other.at.0).saturating_sub(i128::from(seen.at.0))).ok()?;
        let theirs = (other.from, other.to);
        Some(Pair { at: seen.at, later, from: seen.from, to: seen.to, theirs })
    };
    first.seen.iter().filter_map(pair).collect()
}

/// How many packets between addresses that are in both captures the one with fewer of them has.
fn comparable(first: &Survey, second: &Survey) -> usize {
    let count = |survey: &Survey| {
        let mut counts = FxHashMap::<(u32, u32), usize>::default();
        for seen in survey.seen.values().filter(|seen| !seen.repeated) {
            counts.entry((seen.from, seen.to)).or_default().grow(1);
        }
        counts
    };
    let (first, second) = (count(first), count(second));
    let least = |(way, count): (&_, &usize)| second.get(way).map(|other| *count.min(other));
    first.iter().filter_map(least).total()
}

/// The addresses of the first host and of the second, of those that talk to each other. What the first sends comes later by the
/// second's clock than what the second sends at about the same time, as both take time.
fn hosts(pairs: &[Pair]) -> (Vec<u32>, Vec<u32>) {
    let mut last = FxHashMap::<(u32, u32), i64>::default();
    // By which address is the lower number: whether it is rather the first host's.
    let mut votes = FxHashMap::<(u32, u32), i64>::default();
    for pair in pairs {
        last.insert((pair.from, pair.to), pair.later);
        let Some(answer) = last.get(&(pair.to, pair.from)) else { continue };
        let (low, high) = (pair.from.min(pair.to), pair.from.max(pair.to));
        let vote = pair.later.saturating_sub(*answer).signum();
        votes.entry((low, high)).or_default().grow(if pair.from == low {
            vote
        } else {
            vote.saturating_neg()
        });
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for ((low, high), vote) in votes.into_iter().filter(|(_, vote)| *vote != 0) {
        let (our, their) = if vote > 0 { (low, high) } else { (high, low) };
        ours.push(our);
        theirs.push(their);
    }
    // Whoever is on both sides is between them.
    let both: Vec<u32> = ours.iter().copied().filter(|address| theirs.contains(address)).collect();
    for side in [&mut ours, &mut theirs] {
        side.sort_unstable();
        side.dedup();
        side.retain(|address| !both.contains(address));
    }
    (ours, theirs)
}
