//! Counts of times in logarithmic bins: sparse, so that thousands of them can be kept, and easy to add and subtract.

use wirelap_correlate::Summary;
use wirelap_events::{Nanos, Saturate, Total};

/// Bins for each doubling of the value.
const STEPS: u64 = 32;
/// The number of bits that tell bins of one doubling apart.
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of times in nanoseconds. A bin is at most a thirty-second part (3.2 %) wide, relative to its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    /// Bins with values and how many, the smallest first.
    counts: Vec<(u16, u32)>,
    count: u64,
    sum: u64,
}

/// The bin of a value.
fn bin_of(value: u64) -> u16 {
    let shift = value.max(1).ilog2().saturating_sub(STEP_BITS);
    let within = value.checked_shr(shift).unwrap_or(0);
    let bin = u64::from(shift).saturating_mul(STEPS).saturating_add(within);
    u16::try_from(bin).unwrap_or(u16::MAX)
}

/// The smallest and the largest value of a bin.
fn bounds_of(bin: u16) -> (u64, u64) {
    let bin = u64::from(bin);
    if bin < STEPS.saturating_mul(2) {
        return (bin, bin);
    }
    let shift = u32::try_from((bin / STEPS).saturating_sub(1)).unwrap_or(0);
    let within = (bin % STEPS).saturating_add(STEPS);
    let low = within.checked_shl(shift).unwrap_or(u64::MAX);
    let width = 1u64.checked_shl(shift).unwrap_or(u64::MAX);
    (low, low.saturating_add(width.saturating_sub(1)))
}

impl Bins {
    /// Adds a value in nanoseconds.
    pub fn add(&mut self, value: u64) {
        self.add_to(bin_of(value), 1);
        self.count.grow(1);
        self.sum.grow(value);
    }

    fn add_to(&mut self, bin: u16, count: u32) {
        match self.counts.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(at) => self.counts[at].1.grow(count),
            Err(at) => self.counts.insert(at, (bin, count)),
        }
    }

    /// Adds another's values.
    pub fn merge(&mut self, other: &Bins) {
        let mine = std::mem::take(&mut self.counts);
        self.counts = Vec::with_capacity(mine.len().max(other.counts.len()));
        let mut theirs = other.counts.iter().copied().peekable();
        for (bin, mut count) in mine {
            while let Some(&(before, more)) = theirs.peek().filter(|(theirs, _)| *theirs <= bin) {
                theirs.next();
                if before == bin {
                    count.grow(more);
                } else {
                    self.counts.push((before, more));
                }
            }
            self.counts.push((bin, count));
        }
        self.counts.extend(theirs);
        self.count.grow(other.count);
        self.sum.grow(other.sum);
    }

    /// Removes values that were added before by [`Bins::merge`].
    pub fn subtract(&mut self, other: &Bins) {
        let mut theirs = other.counts.iter().copied().peekable();
        for (bin, count) in &mut self.counts {
            while theirs.next_if(|(theirs, _)| *theirs < *bin).is_some() {}
            if let Some((_, less)) = theirs.next_if(|(theirs, _)| *theirs == *bin) {
                count.shrink(less);
            }
        }
        self.counts.retain(|&(_, count)| count > 0);
        self.count.shrink(other.count);
        self.sum.shrink(other.sum);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values in nanoseconds, exact.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Each bin that has values: its smallest and largest value in nanoseconds, and how many values it has; the smallest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Nanos, Nanos, u64)> + '_ {
        self.counts.iter().map(|&(bin, count)| {
            let (low, high) = bounds_of(bin);
            (Nanos(low), Nanos(high), u64::from(count))
        })
    }

    /// The middle of the bin in which the value lies that this share of the values does not exceed; 0 without values.
    pub fn quantile(&self, share: f64) -> Nanos {
        let wanted = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0);
        let mut seen = 0u64;
        for (low, high, count) in self.iter() {
            seen.grow(count);
            if seen as f64 >= wanted {
                return Nanos(low.0.midpoint(high.0));
            }
        }
        self.iter().last().map_or(Nanos(0), |(low, high, _)| Nanos(low.0.midpoint(high.0)))
    }

    /// The quantiles. The smallest and the largest value are the limits of their bins.
    pub fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        Summary {
            count: self.count,
            min: self.iter().next().map_or(Nanos(0), |(low, ..)| low),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.iter().last().map_or(Nanos(0), |(_, high, _)| high),
        }
    }

    /// How many values are larger than this one, its own bin not included.
    pub fn above(&self, value: Nanos) -> u64 {
        let bin = bin_of(value.0);
        self.counts
            .iter()
            .filter(|&&(other, _)| other > bin)
            .map(|&(_, count)| u64::from(count))
            .total()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.counts
            .capacity()
            .saturating_mul(size_of::<(u16, u32)>())
            .saturating_add(size_of::<Bins>())
    }

    /// Gives back memory that is not used.
    pub fn shrink(&mut self) {
        self.counts.shrink_to_fit();
    }
}

impl FromIterator<u64> for Bins {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Bins {
        let mut bins = Bins::default();
        values.into_iter().for_each(|value| bins.add(value));
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = prop_oneof![0u64..100, 0u64..1_000_000_000, any::<u64>()];
        prop::collection::vec(value, 0..200)
    }

    #[test]
    fn bins_follow_each_other_without_a_gap() {
        let mut next = 0;
        for bin in 0..=bin_of(u64::MAX) {
            let (low, high) = bounds_of(bin);
            assert_eq!((low, bin_of(low), bin_of(high)), (next, bin, bin));
            assert!(high - low <= low / STEPS);
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends with the largest number");
    }

    proptest! {
        #[test]
        fn a_quantile_is_in_the_bin_of_the_exact_one(values in values(), share in 0.0f64..=1.0) {
            prop_assume!(!values.is_empty());
            let bins: Bins = values.iter().copied().collect();
            let mut sorted = values;
            sorted.sort_unstable();
            let below = |at: &usize| (*at as f64) < (share * sorted.len() as f64).ceil() - 1.0;
            let at = (0..sorted.len()).find(|at| !below(at)).unwrap_or(sorted.len() - 1);
            prop_assert_eq!(bin_of(bins.quantile(share).0), bin_of(sorted[at]));
        }

        #[test]
        fn what_was_merged_can_be_subtracted(
            a in prop::collection::vec(0u64..1 << 40, 0..200), b in prop::collection::vec(0u64..1 << 40, 0..200),
        ) {
            let (one, two): (Bins, Bins) = (a.iter().copied().collect(), b.iter().copied().collect());
            let mut both = one.clone();
            both.merge(&two);
            prop_assert_eq!(&both, &a.iter().chain(&b).copied().collect::<Bins>());
            both.subtract(&two);
            prop_assert_eq!(both, one);
        }

        #[test]
        fn all_values_are_in_the_bins(values in values(), limit: u64) {
            let bins: Bins = values.iter().copied().collect();
            prop_assert_eq!(bins.iter().map(|(.., count)| count).sum::<u64>(), values.len() as u64);
            prop_assert!(bins.above(Nanos(limit)) <= values.iter().filter(|value| **value > limit).count() as u64);
        }
    }
}
