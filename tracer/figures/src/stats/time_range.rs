//! The least and the most that times can be, some of which begin by the clock of one host and end by that of another.
//!
//! ```text
//!   each time       ├──────●──────┤            what was measured, and the error of the two clocks
//!   a percentile    ├─────────●────────┤       between the same percentiles of the least and of the most
//! ```
//!
//! The true times have the same order of percentiles as their limits, so that the true percentile lies between the two. Of times that
//! come out below zero, what was measured counts as zero, and the most that they can be as it is.

use super::distribution::Distribution;
use super::figures::Summary;
use wirelap_events::{Nanos, Saturate};

/// The limits of the times of a distribution, which has as many.
#[derive(Clone, Debug)]
pub struct TimeRange {
    least: Distribution,
    most: Distribution,
    /// Times between two hosts.
    crossing: u64,
    /// The smallest error of any of the times: no percentile's is smaller, which those of rounded times may seem to be.
    smallest: Option<Nanos>,
}

impl TimeRange {
    /// The limits of times that all begin and end by one clock.
    pub fn of(times: &Distribution) -> TimeRange {
        let smallest = (times.count() > 0).then_some(Nanos(0));
        TimeRange { least: times.clone(), most: times.clone(), crossing: 0, smallest }
    }

    /// Adds a time of one clock.
    pub fn add(&mut self, time: Nanos) {
        self.least.add(time.0);
        self.most.add(time.0);
        self.smallest = Some(Nanos(0));
    }

    /// Adds the least and the most of a time between two hosts, and its error.
    pub fn add_crossing(&mut self, [least, most]: [Nanos; 2], error: Nanos) {
        self.least.add(least.0);
        self.most.add(most.0);
        self.crossing.grow(1);
        self.note_error(Some(error));
    }

    fn note_error(&mut self, error: Option<Nanos>) {
        self.smallest = self.smallest.into_iter().chain(error).min();
    }

    /// Adds the limits of other times.
    pub fn merge(&mut self, other: &TimeRange) {
        self.least.merge(&other.least);
        self.most.merge(&other.most);
        self.crossing.grow(other.crossing);
        self.note_error(other.smallest);
    }

    /// The largest error of each figure of the times; the count is that of times between two hosts.
    pub fn errors(&self, times: &Summary) -> Summary {
        let (least, most) = (self.least.summary(), self.most.summary());
        let smallest = self.smallest.unwrap_or_default();
        let error = |of: fn(&Summary) -> Nanos| {
            let time = of(times);
            (time - of(&least)).max(of(&most) - time).max(smallest)
        };
        Summary {
            count: self.crossing,
            min: error(|of| of.min),
            p50: error(|of| of.p50),
            p90: error(|of| of.p90),
            p99: error(|of| of.p99),
            p999: error(|of| of.p999),
            max: error(|of| of.max),
        }
    }
}

/// Adds the limits of `theirs` to those of `mine`, the times of two distributions before these are merged. Those of one clock have none.
pub fn merge_ranges(
    mine: &mut Option<Box<TimeRange>>,
    my_times: &Distribution,
    theirs: Option<Box<TimeRange>>,
    their_times: &Distribution,
) {
    if mine.is_none() && theirs.is_none() {
        return;
    }
    let theirs = theirs.unwrap_or_else(|| Box::new(TimeRange::of(their_times)));
    mine.get_or_insert_with(|| Box::new(TimeRange::of(my_times))).merge(&theirs);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Nanos;

    #[test]
    fn percentiles_lie_between_those_of_their_limits() {
        // The true times, and the errors with which they were measured, one below zero.
        let mut times = Distribution::new(3);
        let mut range = TimeRange::of(&times);
        let mut truth: Vec<u64> = Vec::new();
        for n in 0..1_000_u64 {
            let (true_time, wrong, error) = (20_000 + n * 100, n * 7 % 60, 40 + n % 20);
            let from = Nanos(1_000_000);
            let error = Nanos(error * 1_000);
            // By up to 30 µs wrong, so that some are below zero.
            let read = from + Nanos(true_time + wrong * 1_000) - Nanos(30_000);
            times.add(read.since(from).unwrap_or_default().0);
            range.add_crossing(read.range_since(from, error), error);
            truth.push(true_time);
        }
        truth.sort_unstable();
        let (summary, errors) = (times.summary(), range.errors(&times.summary()));
        assert_eq!(errors.count, 1_000);
        for (rank, time, error) in [
            (500, summary.p50, errors.p50),
            (900, summary.p90, errors.p90),
            (990, summary.p99, errors.p99),
        ] {
            let [least, most] = [time - error, time + error].map(|limit| limit.0);
            let expected = truth[rank - 1];
            assert!(least <= expected && expected <= most, "{rank}: {least} {expected} {most}");
        }
    }

    #[test]
    fn times_of_one_clock_have_no_error() {
        let mut times = Distribution::new(3);
        times.add(5_000);
        let mut mine = None;
        merge_ranges(&mut mine, &times, None, &times);
        assert!(mine.is_none());
        let mut theirs = TimeRange::of(&Distribution::new(3));
        theirs.add_crossing([Nanos(1_000), Nanos(9_000)], Nanos(4_000));
        theirs.add(Nanos(5_000));
        merge_ranges(&mut mine, &times, Some(Box::new(theirs)), &times);
        let errors = mine.unwrap().errors(&times.summary());
        assert_eq!((errors.count, errors.p50), (1, Nanos(0)));
        assert!(errors.max >= Nanos(4_000));
    }

    #[test]
    fn rounded_times_do_not_make_an_error_smaller() {
        let mut times = Distribution::new(3);
        let mut range = TimeRange::of(&times);
        for n in 0..100 {
            let time = Nanos(7_372_000 + n * 31);
            range.add_crossing((time + Nanos(9)).range_since(Nanos(9), Nanos(4_414)), Nanos(4_414));
            times.add(time.0);
        }
        assert_eq!(range.errors(&times.summary()).p99, Nanos(4_414));
    }
}
