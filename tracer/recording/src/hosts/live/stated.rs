//! Statements of kernels about their wall clocks.
//!
//! Two hosts whose wall clocks are both right to within an error have monotonic clocks that differ by as much as the wall clocks
//! are ahead of them.

use super::band::PairBand;
use super::differences::Differences;
use super::state::ClockSource;
use crate::hosts::clocks::FASTEST;
use wirelap_events::{Nanos, Saturate};

/// An error grows by a nanosecond in so many: 500 ppm, as the kernel has it grow (`MAXFREQ` in `kernel/time/ntp.c`).
const ERROR_GROWS_IN: u64 = 2_000;

/// A host's last statement.
#[derive(Clone, Copy, Debug)]
struct Statement {
    /// The wall clock less the monotonic clock, in nanoseconds.
    wall: i64,
    max_error: Nanos,
    /// Time by the reference clock after which it came.
    after: Nanos,
    /// Number of the host's statements.
    count: usize,
}

/// The last statement of each host.
#[derive(Debug)]
pub struct Statements(Vec<Option<Statement>>);

impl Statements {
    /// No statements of so many hosts.
    pub fn new(hosts: usize) -> Statements {
        Statements(vec![None; hosts])
    }

    /// There is one host more.
    pub fn add_host(&mut self) {
        self.0.push(None);
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.0.len()
    }

    /// A host's statement, of a time after the last refresh.
    pub fn add(&mut self, host: usize, wall: i64, max_error: Option<Nanos>, after: Nanos) {
        let Some(last) = self.0.get_mut(host) else { return };
        let mut count = last.map_or(0, |last| last.count);
        count.grow(1);
        *last = max_error.map(|max_error| Statement { wall, max_error, after, count });
    }

    /// Forgets a host's statement.
    pub fn forget(&mut self, host: usize) {
        if let Some(last) = self.0.get_mut(host) {
            *last = None;
        }
    }

    fn of(&self, host: usize) -> Option<Statement> {
        self.0.get(host).copied().flatten()
    }

    /// Number of a host's statements.
    pub fn count(&self, host: usize) -> usize {
        self.of(host).map_or(0, |stated| stated.count)
    }

    /// The second host's clock less the first one's, at a time of the first.
    pub fn link(
        &self,
        [from, to]: [usize; 2],
        at: Nanos,
        now: Nanos,
    ) -> Option<(PairBand, ClockSource)> {
        let [first, second] = [self.of(from)?, self.of(to)?];
        let error = [first, second]
            .map(|stated| stated.max_error + Nanos((now - stated.after).0 / ERROR_GROWS_IN));
        let error = (error[0] + error[1]).0 as f64;
        let middle = first.wall.saturating_sub(second.wall);
        let drift = [-FASTEST, FASTEST];
        let band = PairBand::new(at, middle, [-error, error], drift, f64::INFINITY);
        Some((band, ClockSource::Stated(first.count.min(second.count))))
    }

    /// The bands of all pairs of hosts.
    pub fn bands(&self, now: Nanos) -> impl Iterator<Item = ([usize; 2], PairBand)> {
        let pairs = (0..self.0.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
        pairs.filter_map(move |pair| Some((pair, self.link(pair, now, now)?.0)))
    }

    /// Pairs whose statements contradict differences that are known otherwise.
    pub fn contradicted(&self, known: &Differences, now: Nanos) -> Vec<[usize; 2]> {
        let contradicts = |(pair, band): ([usize; 2], PairBand)| {
            let ([a, b], [low, high]) = (pair, band.limits);
            let [least, largest] = known.between(a, b)?;
            (low > largest || high < least).then_some(pair)
        };
        self.bands(now).filter_map(contradicts).collect()
    }
}
