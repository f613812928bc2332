//! Round-trip times.

use wirelap_contract::RttSummary;
use wirelap_events::Nanos;

/// Samples that room is made for when the number is not known.
const USUAL: u64 = 1 << 20;

/// All round-trip times of a run, in nanoseconds.
pub struct RoundTripTimes {
    samples: Vec<u64>,
}

impl RoundTripTimes {
    /// Makes room for `messages` samples.
    pub fn expecting(messages: Option<u64>) -> RoundTripTimes {
        let room = messages.unwrap_or(USUAL).min(USUAL);
        RoundTripTimes { samples: Vec::with_capacity(usize::try_from(room).unwrap_or(0)) }
    }

    /// Adds a sample.
    pub fn push(&mut self, rtt: Nanos) {
        self.samples.push(rtt.0);
    }

    /// The summary; `None` without samples.
    pub fn summary(&mut self) -> Option<RttSummary> {
        self.samples.sort_unstable();
        let all = &self.samples[..];
        let max_ns = *all.last()?;
        let (low, high) = (rank(all, 10), rank(all, 990));
        let trimmed: Vec<u64> =
            all.iter().copied().filter(|rtt| (low..=high).contains(rtt)).collect();
        Some(RttSummary {
            count: all.len() as u64,
            min_ns: all[0],
            p50_ns: rank(all, 500),
            p90_ns: rank(all, 900),
            p99_ns: rank(all, 990),
            p999_ns: rank(all, 999),
            max_ns,
            trimmed_p50_ns: rank(&trimmed, 500),
            times_ns: counted(all),
        })
    }
}

/// Sorted samples as times and how often each came. Their number is bounded by the times' range, not by that of the
/// samples.
fn counted(sorted: &[u64]) -> Vec<(u64, u64)> {
    let mut times: Vec<(u64, u64)> = Vec::new();
    let last = sorted.len() - 1;
    for (index, &sample) in sorted.iter().enumerate() {
        let time =
            if index == 0 || index == last { sample } else { rounded(sample).max(sorted[0]) };
        match times.last_mut() {
            Some((known, count)) if *known == time => *count += 1,
            _ => times.push((time, 1)),
        }
    }
    times
}

/// The 11 highest bits.
fn rounded(time: u64) -> u64 {
    let dropped = (u64::BITS - time.leading_zeros()).saturating_sub(11);
    time >> dropped << dropped
}

/// The nearest-rank quantile of sorted samples, in thousandths; 0 if there are none.
fn rank(sorted: &[u64], per_mille: usize) -> u64 {
    let nth = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(nth - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_rank() {
        let mut trips = RoundTripTimes::expecting(None);
        (1..=1000).rev().for_each(|n| trips.push(Nanos(n)));
        let expected = RttSummary {
            count: 1000,
            min_ns: 1,
            p50_ns: 500,
            p90_ns: 900,
            p99_ns: 990,
            p999_ns: 999,
            max_ns: 1000,
            trimmed_p50_ns: 500,
            times_ns: (1..=1000).map(|n| (n, 1)).collect(),
        };
        assert_eq!(trips.summary(), Some(expected));
    }

    #[test]
    fn times_are_counted_within_a_thousandth_and_the_ends_are_exact() {
        let mut trips = RoundTripTimes::expecting(None);
        (0..100_000).for_each(|n| trips.push(Nanos(1_000_001 + n)));
        let times = trips.summary().unwrap().times_ns;
        assert!(times.len() < 200, "{}", times.len());
        assert_eq!((times[0].0, times.last().unwrap().0), (1_000_001, 1_100_000));
        assert_eq!(times.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert!(times.is_sorted());
        assert!((1_000_001..1_100_001).all(|time| (time - rounded(time)) * 1000 <= time));
    }

    #[test]
    fn one_sample_is_every_quantile_and_none_is_none() {
        let mut trips = RoundTripTimes::expecting(Some(1));
        assert_eq!(trips.summary(), None);
        trips.push(Nanos(7));
        let summary = trips.summary().unwrap();
        assert_eq!((summary.p50_ns, summary.p999_ns, summary.trimmed_p50_ns), (7, 7, 7));
    }

    #[test]
    fn trimming_drops_both_tails() {
        let mut trips = RoundTripTimes::expecting(None);
        trips.push(Nanos(1));
        (0..198).for_each(|_| trips.push(Nanos(100)));
        trips.push(Nanos(1_000_000));
        let summary = trips.summary().unwrap();
        assert_eq!((summary.max_ns, summary.trimmed_p50_ns), (1_000_000, 100));
    }
}
