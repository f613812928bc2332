//! Every capture's clock against that of the first one, over the captures between them.
//!
//! ```text
//!   client ──±40 µs── broker ──±60 µs── subscriber        client and subscriber share no packet
//!
//!   of the subscriber's times, by the client's clock: to the broker's clock, then to the client's; ±100 µs
//! ```
//!
//! Of several ways those links are taken that are the most exact (a minimum spanning tree): a message's own way is most
//! often one of them.

use super::clocks::Clocks;
use wirelap_events::Nanos;

/// Two captures whose clocks can be compared.
#[derive(Clone, Copy, Debug)]
pub struct ClockLink {
    /// Numbers of the two captures.
    pub files: [usize; 2],
    /// The second one's clock against the first one's; `None` if both are parts of one capture, and so of one clock.
    pub clocks: Option<Clocks>,
    /// Both are of one host.
    pub is_one_host: bool,
}

impl ClockLink {
    /// Largest error of the link; 0 for parts of one capture.
    fn at_most(&self) -> Nanos {
        self.clocks.map_or(Nanos(0), |clocks| clocks.at_most)
    }

    fn reversed(self) -> ClockLink {
        let [a, b] = self.files;
        ClockLink { files: [b, a], clocks: self.clocks.map(Clocks::reversed), ..self }
    }
}

/// Steps from one capture's clock to that of the first capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockChain {
    /// From this capture's clock to the first one's.
    steps: Vec<Clocks>,
    /// The captures whose clocks are in between.
    pub through: Vec<usize>,
    /// The capture that this one is a part of.
    pub part_of: Option<usize>,
}

impl ClockChain {
    /// A time of this capture, by the first one's clock.
    pub fn to_first(&self, at: Nanos) -> Nanos {
        self.steps.iter().fold(at, |at, clocks| clocks.to_first(at))
    }

    /// Largest error of a difference between a time of this capture and one of another, both by the first one's clock: what can be wrong
    /// in each step that they do not have in common adds up.
    pub fn error_against(&self, other: &ClockChain) -> Nanos {
        let steps = |chain: &ClockChain| chain.steps.iter().rev().copied().collect::<Vec<_>>();
        let (mine, theirs) = (steps(self), steps(other));
        let common = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let apart = mine.iter().skip(common).chain(theirs.iter().skip(common));
        apart.fold(Nanos(0), |sum, step| sum + step.at_most)
    }

    /// All steps as one: what can be wrong in each adds up. `None` if it is the first clock itself.
    pub fn clocks(&self) -> Option<Clocks> {
        let [this, between @ ..] = self.steps.as_slice() else { return None };
        let mut sum = *this;
        if between.is_empty() {
            return Some(sum);
        }
        let there = Nanos(sum.start.0.saturating_add_signed(sum.offset));
        sum.start = self.to_first(there);
        sum.offset =
            i64::try_from(i128::from(there.0).saturating_sub(i128::from(sum.start.0))).unwrap_or(0);
        for step in between {
            sum.drift += step.drift;
            sum.drift_within += step.drift_within;
            sum.within += step.within;
            sum.at_most += step.at_most;
            sum.samples = sum.samples.min(step.samples);
            sum.span = sum.span.min(step.span);
        }
        Some(sum)
    }
}

/// The chain of each of so many captures, if links lead there from the first.
pub fn tree(files: usize, links: &[ClockLink]) -> Vec<Option<ClockChain>> {
    let mut chains: Vec<Option<ClockChain>> = vec![None; files];
    if let Some(first) = chains.first_mut() {
        *first = Some(ClockChain::default());
    }
    while let Some((chain, file)) = nearest(&chains, links) {
        chains[file] = Some(chain);
    }
    chains
}

/// The capture that is next to those that are joined already.
fn nearest(chains: &[Option<ClockChain>], links: &[ClockLink]) -> Option<(ClockChain, usize)> {
    let chain_of = |file: usize| chains.get(file).and_then(Option::as_ref);
    let both_ways = links.iter().flat_map(|&link| [link, link.reversed()]);
    let outward = both_ways.filter(|link| {
        let [from, to] = link.files;
        chain_of(from).is_some() && chain_of(to).is_none() && to < chains.len()
    });
    let link = outward.min_by_key(ClockLink::at_most)?;
    let [from, to] = link.files;
    let before = chain_of(from)?;
    let mut chain = before.clone();
    chain.steps.splice(0..0, link.clocks);
    let first = before.part_of.unwrap_or(from);
    if !link.is_one_host && first != 0 {
        chain.through.insert(0, first);
    }
    chain.part_of = link.is_one_host.then_some(first);
    Some((chain, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(offset: i64, at_most: u64) -> Clocks {
        Clocks {
            start: Nanos(1_000_000_000_000),
            offset,
            drift: 0.0,
            drift_within: 10.0,
            within: Nanos(at_most / 2),
            at_most: Nanos(at_most),
            samples: 100,
            span: Nanos(1_000_000_000),
        }
    }

    fn link(files: [usize; 2], offset: i64, at_most: u64) -> ClockLink {
        ClockLink { files, clocks: Some(clocks(offset, at_most)), is_one_host: false }
    }

    #[test]
    fn offsets_and_errors_add_up_along_the_way() {
        // 1 is 5 s ahead of 0; 2 is 2 s behind 1.
        let links = [link([1, 2], -2_000_000_000, 60_000), link([1, 0], -5_000_000_000, 40_000)];
        let chains = tree(3, &links);
        let chain = chains[2].as_ref().unwrap();
        assert_eq!(chain.through, [1]);
        assert_eq!(chain.to_first(Nanos(2_003_000_000_000)), Nanos(2_000_000_000_000));
        let sum = chain.clocks().unwrap();
        assert_eq!(
            (sum.offset, sum.within, sum.at_most),
            (3_000_000_000, Nanos(50_000), Nanos(100_000))
        );
        assert_eq!(chains[0].as_ref().unwrap().clocks(), None);
        let error = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|file| chains[file].as_ref().unwrap());
            a.error_against(b)
        };
        assert_eq!([error(2, 1), error(1, 2)], [Nanos(60_000); 2], "they are not by way of 0");
        assert_eq!([error(2, 0), error(0, 1)], [Nanos(100_000), Nanos(40_000)]);
        assert_eq!(error(2, 2), Nanos(0));
    }

    #[test]
    fn the_most_exact_links_are_taken() {
        let links = [link([0, 2], 7, 90_000), link([0, 1], 3, 40_000), link([1, 2], 4, 50_000)];
        let chains = tree(3, &links);
        assert_eq!(chains[2].as_ref().unwrap().through, [1]);
    }

    #[test]
    fn parts_of_a_capture_have_its_clock() {
        let links =
            [link([0, 1], 500, 10), ClockLink { files: [2, 1], clocks: None, is_one_host: true }];
        let chains = tree(4, &links);
        let part = chains[2].as_ref().unwrap();
        assert_eq!((part.part_of, part.to_first(Nanos(2_000))), (Some(1), Nanos(1_500)));
        assert_eq!(chains[3], None);
    }

    #[test]
    fn a_clock_turned_round_leads_back() {
        let there = Clocks { drift: 100_000.0, ..clocks(3_000_000_000, 10) };
        let back = there.reversed();
        for at in [1_000_000_000_000, 1_000_500_000_000, 4_000_000_000_000] {
            let second = back.to_first(Nanos(at));
            let again = there.to_first(second);
            assert!(again.0.abs_diff(at) <= 1, "{at} {again:?}");
        }
    }
}
