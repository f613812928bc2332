//! Counts of times in logarithmic bins: sparse, so that thousands of them can be kept, and easy to add and subtract.

mod dense;

pub(crate) use dense::DenseBins;

use wirelap_correlate::Summary;
use wirelap_events::{Count, Nanos, Size};

/// Bins for each doubling of the value.
const STEPS: u64 = 32;
/// The number of bits that tell bins of one doubling apart.
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of times in nanoseconds. A bin is at most a thirty-second part (3.2 %) wide, relative to its values. Their number, their sum, and
/// the smallest and the largest of them are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    /// Bins with values and how many, the smallest first.
    counts: Vec<(u16, Count)>,
    count: Count,
    sum: Count,
    /// The smallest and the largest value; 0 without values.
    limits: (u64, u64),
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
    /// The bins of values that were counted elsewhere: each bin once, with at least one value, the smallest first.
    pub(crate) fn from_parts(
        counts: Vec<(u16, Count)>,
        count: Count,
        sum: Count,
        limits: (u64, u64),
    ) -> Bins {
        Bins { counts, count, sum, limits }
    }

    /// The numbers of the bins with values and how many, the smallest first.
    pub(crate) fn counts(&self) -> &[(u16, Count)] {
        &self.counts
    }

    /// Adds a value in nanoseconds.
    pub fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        match self.counts.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (bin, Count(1))),
        }
        self.add_sums(Count(1), Count(value), (value, value));
    }

    fn add_sums(&mut self, count: Count, sum: Count, limits: (u64, u64)) {
        self.limits = match self.count.0 {
            0 => limits,
            _ => (self.limits.0.min(limits.0), self.limits.1.max(limits.1)),
        };
        self.count += count;
        self.sum += sum;
    }

    /// Adds another's values.
    pub fn merge(&mut self, other: &Bins) {
        if other.count == 0 {
            return;
        }
        let known = self.counts.len();
        let mut at = 0;
        for &(bin, count) in &other.counts {
            at = self.place(bin, at, known);
            match self.counts.get_mut(at).filter(|mine| at < known && mine.0 == bin) {
                Some(mine) => mine.1 += count,
                None => self.counts.push((bin, count)),
            }
        }
        if self.counts.len() > known {
            // Two sequences in order, which a stable sort finds and merges.
            self.counts.sort_by_key(|mine| mine.0);
        }
        self.add_sums(other.count, other.sum, other.limits);
    }

    /// Removes values that were added before by [`Bins::merge`]. The smallest and the largest value stay as they were, even if they are among
    /// them; [`Bins::set_limits`] sets them.
    pub fn subtract(&mut self, other: &Bins) {
        let (mut at, known) = (0, self.counts.len());
        let mut has_empty = false;
        for &(bin, count) in &other.counts {
            at = self.place(bin, at, known);
            if let Some(mine) = self.counts.get_mut(at).filter(|mine| mine.0 == bin) {
                mine.1 -= count;
                has_empty |= mine.1 == 0;
            }
        }
        if has_empty {
            self.counts.retain(|&(_, count)| count > 0);
        }
        self.count -= other.count;
        self.sum -= other.sum;
        if self.count == 0 {
            (self.sum, self.limits) = (Count(0), (0, 0));
            self.counts.clear();
        }
    }

    /// Sets the smallest and the largest value, where they are known after [`Bins::subtract`].
    pub(crate) fn set_limits(&mut self, (min, max): (u64, u64)) {
        if self.count > 0 {
            self.limits = (min, max);
        }
    }

    /// Position of a bin among the first `known`, or else of the next larger one; not before `at`.
    fn place(&self, bin: u16, at: usize, known: usize) -> usize {
        let later = self.counts.get(at..known).unwrap_or_default();
        at.saturating_add(later.partition_point(|mine| mine.0 < bin))
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count.0
    }

    /// The sum of the values in nanoseconds, exact.
    pub fn sum(&self) -> u64 {
        self.sum.0
    }

    /// Each bin that has values: its smallest and largest value in nanoseconds, and how many values it has; the smallest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Nanos, Nanos, u64)> + '_ {
        self.counts.iter().map(|&(bin, count)| {
            let (low, high) = bounds_of(bin);
            (Nanos(low), Nanos(high), count.0)
        })
    }

    /// The smallest value; 0 without values.
    pub fn min(&self) -> Nanos {
        Nanos(self.limits.0)
    }

    /// The largest value; 0 without values.
    pub fn max(&self) -> Nanos {
        Nanos(self.limits.1)
    }

    /// The value that this share of the values does not exceed, 0 without values: the middle of its bin, and thereby at most 1.6 % from the
    /// exact one. The smallest and the largest value are exact.
    pub fn quantile(&self, share: f64) -> Nanos {
        let wanted = (share.clamp(0.0, 1.0) * self.count.0 as f64).ceil().max(1.0);
        let mut seen = Count(0);
        let (min, max) = self.limits;
        if wanted >= self.count.0 as f64 {
            return Nanos(max);
        }
        if wanted <= 1.0 {
            return Nanos(min);
        }
        for (low, high, count) in self.iter() {
            seen += count;
            if seen.0 as f64 >= wanted {
                return Nanos(low.0.midpoint(high.0).clamp(min, max));
            }
        }
        Nanos(max)
    }

    /// The quantiles.
    pub fn summary(&self) -> Summary {
        Summary {
            count: self.count.0,
            min: self.min(),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.max(),
        }
    }

    /// Number of values that are larger than this one, its own bin not included.
    pub fn above(&self, value: Nanos) -> u64 {
        let bin = bin_of(value.0);
        let above = self.counts.iter().filter(|&&(other, _)| other > bin);
        Count::sum(above.map(|&(_, count)| count)).0
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        (Size::of::<Bins>(1) + Size::of::<(u16, Count)>(self.counts.capacity())).0
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
            // The exact value `v` is in a bin of at most `v / 32` values, and the middle of that at most half of it away.
            let (found, exact) = (bins.quantile(share).0, sorted[at]);
            prop_assert_eq!(bin_of(found), bin_of(exact));
            prop_assert!(found.abs_diff(exact) <= exact / 64);
            let last = sorted.len() - 1;
            prop_assert_eq!((bins.min(), bins.max()), (Nanos(sorted[0]), Nanos(sorted[last])));
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
            both.set_limits(one.limits);
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
