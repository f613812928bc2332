//! Times in bins whose number is bounded: when there are too many, neighbours are put together.

use crate::stats::Summary;
use wirelap_events::{Nanos, Saturate};

/// The most bins of one row, which take 1 KiB.
const MOST: usize = 96;

/// Bins of one doubling of the value, while none were put together.
const STEPS: u64 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Times in logarithmic bins, at first at most a thirty-second part (3.2 %) wide. Number, minimum and maximum are exact.
#[derive(Clone, Debug, Default)]
pub struct BoundedBins {
    /// Bins with values and how many, the smallest first.
    counts: Vec<(u16, u32)>,
    /// Number of times that neighbours were put together because there were too many bins.
    coarser: u32,
    count: u64,
    limits: Option<(u64, u64)>,
}

fn bin_of(value: u64) -> u16 {
    let shift = value.max(1).ilog2().saturating_sub(STEP_BITS);
    let within = value.checked_shr(shift).unwrap_or(0);
    u16::try_from(u64::from(shift).saturating_mul(STEPS).saturating_add(within)).unwrap_or(u16::MAX)
}

/// The largest value of a bin.
fn end_of(bin: u64) -> u64 {
    if bin < STEPS.saturating_mul(2) {
        return bin;
    }
    let shift = u32::try_from((bin / STEPS).saturating_sub(1)).unwrap_or(0);
    let within = (bin % STEPS).saturating_add(STEPS);
    let next = u128::from(within.saturating_add(1)).checked_shl(shift).unwrap_or(u128::MAX);
    u64::try_from(next.saturating_sub(1)).unwrap_or(u64::MAX)
}

impl BoundedBins {
    /// Adds a time.
    pub fn add(&mut self, time: Nanos) {
        self.add_to_bin(bin_of(time.0).checked_shr(self.coarser).unwrap_or(0), 1);
        self.count.grow(1);
        let (least, most) = self.limits.unwrap_or((time.0, time.0));
        self.limits = Some((least.min(time.0), most.max(time.0)));
    }

    fn add_to_bin(&mut self, bin: u16, count: u32) {
        match self.counts.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(at) => self.counts[at].1.grow(count),
            Err(at) => {
                self.counts.insert(at, (bin, count));
                while self.counts.len() > MOST {
                    self.coarsen();
                }
            }
        }
    }

    /// Puts neighbours together.
    fn coarsen(&mut self) {
        self.coarser.grow(1);
        for (bin, _) in &mut self.counts {
            *bin >>= 1;
        }
        self.counts.dedup_by(|next, before| {
            let is_same = next.0 == before.0;
            if is_same {
                before.1.grow(next.1);
            }
            is_same
        });
    }

    /// Adds all of another's times.
    pub fn merge(&mut self, other: &BoundedBins) {
        while self.coarser < other.coarser {
            self.coarsen();
        }
        for &(bin, count) in &other.counts {
            let finer = self.coarser.saturating_sub(other.coarser);
            self.add_to_bin(bin.checked_shr(finer).unwrap_or(0), count);
        }
        self.count.grow(other.count);
        let both = self.limits.into_iter().chain(other.limits);
        self.limits = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }

    fn quantile(&self, share: f64) -> u64 {
        let Some((least, most)) = self.limits else { return 0 };
        let rank = Nanos::from_f64((share * self.count as f64).ceil()).0;
        let mut before = 0u64;
        for &(bin, count) in &self.counts {
            before.grow(u64::from(count));
            if before >= rank {
                let last = u64::from(bin).saturating_add(1).checked_shl(self.coarser);
                return end_of(last.unwrap_or(u64::MAX).saturating_sub(1)).clamp(least, most);
            }
        }
        most
    }

    /// The quantiles: at most one bin above the exact ones.
    pub fn summary(&self) -> Summary {
        let Some((least, most)) = self.limits else { return Summary::default() };
        let at = |share| Nanos(self.quantile(share));
        Summary {
            count: self.count,
            min: Nanos(least),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: Nanos(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_bin_above() {
        let mut bins = BoundedBins::default();
        (1..=1000).for_each(|n| bins.add(Nanos(50_000 + n)));
        let summary = bins.summary();
        assert_eq!((summary.count, summary.min, summary.max), (1000, Nanos(50_001), Nanos(51_000)));
        assert!(summary.p50.0 >= 50_500 && summary.p50.0 < 50_500 * 104 / 100, "{summary:?}");
    }

    #[test]
    fn any_values_fit_and_are_counted() {
        let mut bins = BoundedBins::default();
        let mut other = BoundedBins::default();
        for n in 0..64 {
            for k in 0..20 {
                bins.add(Nanos((1u64 << n) | (k << n >> 5)));
            }
        }
        other.add(Nanos(7));
        other.add(Nanos(u64::MAX));
        bins.merge(&other);
        assert!(bins.counts.len() <= MOST && bins.coarser > 0);
        assert!(bins.counts.capacity() * size_of::<(u16, u32)>() <= 1024);
        let sum: u64 = bins.counts.iter().map(|&(_, count)| u64::from(count)).sum();
        assert_eq!((sum, bins.summary().count), (64 * 20 + 2, 64 * 20 + 2));
        assert!(bins.counts.is_sorted_by(|a, b| a.0 < b.0));
    }
}
