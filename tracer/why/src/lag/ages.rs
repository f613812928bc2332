//! Times at which a topic had a given number of messages.

use wirelap_events::Nanos;
use wirelap_limits::lag::AGE_INTERVAL;

/// Entries of a topic: enough for ages that are at most a third too low over some hours.
const MAX_ENTRIES: usize = 24;

/// An entry, and those beside it.
const WITH_NEIGHBOURS: usize = 3;

/// Number of messages of a topic at some moments: the more of them, the nearer to now.
#[derive(Clone, Debug, Default)]
pub struct Ages(Vec<(u64, Nanos)>);

impl Ages {
    /// Message `number`, 1 for the first, was published at `at`.
    pub fn add(&mut self, number: u64, at: Nanos) {
        if self.0.last().is_some_and(|last| at < last.1 + AGE_INTERVAL) {
            return;
        }
        if self.0.len() >= MAX_ENTRIES {
            self.thin(at);
        }
        if self.0.is_empty() {
            // Most topics have few messages.
            self.0.reserve_exact(1);
        }
        self.0.push((number, at));
    }

    /// Removes the entry whose neighbours are nearest to each other for their age.
    fn thin(&mut self, now: Nanos) {
        let gap = |around: &[(u64, Nanos)]| {
            let [(_, before), _, (_, after)] = around else { return f64::MAX };
            (*after - *before).as_secs_f64() / (now - *before).as_secs_f64().max(f64::MIN_POSITIVE)
        };
        let gaps = self.0.windows(WITH_NEIGHBOURS).map(gap).enumerate();
        let nearest = gaps.min_by(|a, b| a.1.total_cmp(&b.1));
        self.0.remove(nearest.map_or(0, |(index, _)| index.saturating_add(1)));
    }

    /// A time at which message `number` had been published already; `None` if that was just now.
    pub fn published_by(&self, number: u64) -> Option<Nanos> {
        let index = self.0.partition_point(|&(known, _)| known < number);
        self.0.get(index).map(|&(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_never_too_high_and_little_too_low() {
        let mut ages = Ages::default();
        let times: Vec<Nanos> = (1..=40_000u64).map(|n| Nanos::from_millis(n * 100)).collect();
        let now = *times.last().unwrap();
        for (n, &at) in times.iter().enumerate() {
            ages.add(n as u64 + 1, at);
        }
        for seconds in [1, 3, 10, 60, 600, 3_000] {
            let number = 40_000 - seconds * 10;
            let known = now - ages.published_by(number).unwrap();
            let real = now - times[usize::try_from(number).unwrap() - 1];
            assert!(known <= real, "{known} {real}");
            assert!(known.0 * 10 >= real.0 * 5, "{known} of {real} after {seconds} s");
        }
        assert_eq!(ages.published_by(40_001), None);
    }
}
