//! The pairs of hosts between which something has passed.

use super::against::PairStep;
use super::band::PairBand;
use super::pair::PairClocks;
use super::sightings::Passage;
use super::state::ClockSource;
use crate::hosts::clocks::Sample;
use wirelap_events::{Nanos, Saturate};

/// The pairs of hosts, each with its lower number first.
#[derive(Debug)]
pub struct Pairs {
    /// (0, 1), (0, 2), (1, 2), (0, 3), …
    pairs: Vec<Option<Box<PairClocks>>>,
    /// Number of samples of all pairs.
    samples: u64,
}

impl Pairs {
    /// Pairs of so many hosts.
    pub fn new(hosts: usize) -> Pairs {
        let mut pairs = Vec::new();
        pairs.resize_with(index([0, hosts]), || None);
        Pairs { pairs, samples: 0 }
    }

    /// There is one host more: so many.
    pub fn add_host(&mut self, hosts: usize) {
        self.pairs.resize_with(index([0, hosts]), || None);
    }

    /// A packet, or one way of a question.
    pub fn add(&mut self, passage: Passage, is_ping: bool) {
        let Passage { from, to, sent, received } = passage;
        if from == to {
            return;
        }
        let from_first = from < to;
        let (at, other) = if from_first { (sent, received) } else { (received, sent) };
        let sample = Sample { at, later: difference(other, at), from_first };
        let Some(pair) = self.pairs.get_mut(index([from.min(to), from.max(to)])) else { return };
        self.samples.grow(1);
        pair.get_or_insert_default().add(sample, is_ping, self.samples);
    }

    /// The clocks of two hosts, the one with the lower number first.
    pub fn get(&self, hosts: [usize; 2]) -> Option<&PairClocks> {
        self.pairs.get(index(hosts))?.as_deref()
    }

    /// All pairs, with the numbers of their hosts.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = ([usize; 2], &mut PairClocks)> {
        let hosts = (1_usize..).flat_map(|second| (0..second).map(move |first| [first, second]));
        let pairs = hosts.zip(&mut self.pairs);
        pairs.filter_map(|(hosts, pair)| Some((hosts, pair.as_deref_mut()?)))
    }

    /// Forgets everything of a host.
    pub fn forget(&mut self, host: usize) {
        let of_host = self.iter_mut().filter(|(hosts, _)| hosts.contains(&host));
        of_host.for_each(|(_, pair)| pair.forget());
    }

    /// Whose clock a pair's step is of is not known. Returns true if other pairs have had time to show it.
    pub fn is_left_open(&mut self, hosts: [usize; 2]) -> bool {
        let pair = self.pairs.get_mut(index(hosts)).and_then(Option::as_deref_mut);
        pair.is_some_and(|pair| pair.against.is_left_open())
    }

    /// Lets a pair begin anew with what is known since a step.
    pub fn begin_after(&mut self, hosts: [usize; 2], step: PairStep, rates: [f64; 2]) {
        if let Some(Some(pair)) = self.pairs.get_mut(index(hosts)) {
            pair.begin_after(step, rates);
        }
    }

    /// The clock of `to` against that of `from`, at a time of `from`.
    pub fn link(
        &mut self,
        [from, to]: [usize; 2],
        at: Nanos,
        refresh: u64,
    ) -> Option<(PairBand, ClockSource)> {
        let hosts = [from.min(to), from.max(to)];
        let pair = self.pairs.get_mut(index(hosts))?.as_deref_mut()?;
        let band = if from < to {
            pair.band_at(at, refresh)?
        } else {
            // The time by the other clock is nearly known before the band is, and then exactly.
            let nearly = earlier(at, pair.newest?.later);
            let band = pair.band_at(nearly, refresh)?;
            band.moved_to(earlier(at, band.middle())).reversed(at)
        };
        Some((band, pair.source()))
    }
}

/// Place of a pair.
fn index([first, second]: [usize; 2]) -> usize {
    (second.saturating_mul(second.saturating_sub(1)) / 2).saturating_add(first)
}

/// A time less another one.
fn difference(time: Nanos, less: Nanos) -> i64 {
    let difference = i128::from(time.0).saturating_sub(i128::from(less.0));
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

fn earlier(at: Nanos, by: i64) -> Nanos {
    Nanos(at.0.saturating_sub_signed(by))
}
