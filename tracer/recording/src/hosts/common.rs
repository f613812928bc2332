//! The packets that two captures have in common.

use super::clocks::Sample;
use super::survey::{AddressNumbers, Sighting, Survey};
use rustc_hash::FxHashMap;
use std::net::IpAddr;
use wirelap_events::{Nanos, Saturate, Total};

/// Captures of two hosts have at least so many packets in common.
const MIN_COMMON: usize = 8;

/// Captures of two hosts have at least one in so many of their packets in common. Parts of one capture share a repetition or
/// two.
const MIN_SHARE: usize = 20;

/// Packets and addresses that two captures have in common.
#[derive(Debug)]
pub enum Common {
    /// Nothing, or no more than parts of one capture have.
    Nothing,
    /// Packets of one direction alone: how much of the difference is delay and how much the clocks' offset cannot be known.
    OneWay,
    /// Packets of both directions.
    Packets {
        /// The packets' times, in the order of the first clock.
        samples: Vec<Sample>,
        /// For each capture, the addresses on its own side and on the other capture's, as it has them.
        sides: [Sides; 2],
    },
}

/// Addresses that a capture has.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Addresses of hosts that are nearer to it than to the other capture.
    pub near: Vec<IpAddr>,
    /// Addresses of hosts that are beyond the other capture.
    pub far: Vec<IpAddr>,
}

/// One packet in both captures.
#[derive(Clone, Copy, Debug)]
struct PacketPair {
    at: Nanos,
    /// By how much the second capture's time is later.
    later: i64,
    from: u32,
    to: u32,
    /// The addresses as the second capture has them, which differ where they are translated in between.
    in_second: (u32, u32),
}

/// The packets that two captures have in common.
pub fn common(first: &mut Survey, second: &mut Survey, addresses: &AddressNumbers) -> Common {
    let zeros = first.zeros.max(second.zeros);
    first.thin(zeros);
    second.thin(zeros);
    let mut pairs = pairs(first, second);
    if pairs.len() < MIN_COMMON || pairs.len() < comparable(first, second) / MIN_SHARE {
        return Common::Nothing;
    }
    pairs.sort_unstable_by_key(|pair| (pair.at, pair.later));
    let (of_first, of_second) = hosts(&pairs);
    let is_from_first =
        |pair: &PacketPair| match (of_first.contains(&pair.from), of_second.contains(&pair.from)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        };
    let sample = |pair: &PacketPair| {
        let PacketPair { at, later, .. } = *pair;
        Some(Sample { at, later, from_first: is_from_first(pair)? })
    };
    let samples: Vec<Sample> = pairs.iter().filter_map(sample).collect();
    let [there, back] = [true, false].map(|way| samples.iter().any(|s| s.from_first == way));
    if !(there && back) {
        return Common::OneWay;
    }
    // The addresses of the same hosts in the second capture.
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for pair in &pairs {
        match is_from_first(pair) {
            Some(true) => (far.push(pair.in_second.0), near.push(pair.in_second.1)),
            Some(false) => (near.push(pair.in_second.0), far.push(pair.in_second.1)),
            None => continue,
        };
    }
    let sides =
        |near: &[u32], far: &[u32]| Sides { near: addresses.of(near), far: addresses.of(far) };
    Common::Packets { samples, sides: [sides(&of_first, &of_second), sides(&near, &far)] }
}

fn pairs(first: &Survey, second: &Survey) -> Vec<PacketPair> {
    let pair = |(token, seen): (&u64, &Sighting)| {
        let other = second.seen.get(token).filter(|other| !other.repeated && !seen.repeated)?;
        let later =
            i64::try_from(i128::from(other.at.0).saturating_sub(i128::from(seen.at.0))).ok()?;
        let in_second = (other.from, other.to);
        Some(PacketPair { at: seen.at, later, from: seen.from, to: seen.to, in_second })
    };
    first.seen.iter().filter_map(pair).collect()
}

/// Counts the packets between addresses that are in both captures, in the capture with fewer of them.
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
fn hosts(pairs: &[PacketPair]) -> (Vec<u32>, Vec<u32>) {
    let mut last = FxHashMap::<(u32, u32), i64>::default();
    // By the lower and the higher number of two addresses: above 0 if the lower is rather the first host's.
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
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    for ((low, high), vote) in votes.into_iter().filter(|(_, vote)| *vote != 0) {
        let (first, second) = if vote > 0 { (low, high) } else { (high, low) };
        of_first.push(first);
        of_second.push(second);
    }
    // An address on both sides is of a host between them.
    let both: Vec<u32> =
        of_first.iter().copied().filter(|address| of_second.contains(address)).collect();
    for side in [&mut of_first, &mut of_second] {
        side.sort_unstable();
        side.dedup();
        side.retain(|address| !both.contains(address));
    }
    (of_first, of_second)
}
