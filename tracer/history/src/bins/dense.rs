//! Bins that are being filled: an addition takes the same time whatever was added before, and mostly no memory.

use super::{Bins, STEP_BITS, bin_of};
use wirelap_events::{Count, SmallCount};

/// Bins of one doubling of the value.
const STEPS: usize = 1 << STEP_BITS;

/// The number of doublings: the first has the values below [`STEPS`], the next those below twice that.
const DOUBLINGS: usize = 60;

/// Bins that are being filled. Those of a doubling take memory from its first value on, also after [`DenseBins::take`].
#[derive(Clone, Debug)]
pub struct DenseBins {
    doublings: [Option<Box<[SmallCount; STEPS]>>; DOUBLINGS],
    count: Count,
    sum: Count,
    limits: (u64, u64),
}

impl Default for DenseBins {
    fn default() -> DenseBins {
        let doublings = [const { None }; DOUBLINGS];
        DenseBins { doublings, count: Count(0), sum: Count(0), limits: (u64::MAX, 0) }
    }
}

impl DenseBins {
    /// Adds a value in nanoseconds.
    pub fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        let step = usize::from(bin) & (STEPS - 1);
        if let Some(doubling) = self.doublings.get_mut(usize::from(bin >> STEP_BITS)) {
            doubling.get_or_insert_with(|| Box::new([SmallCount(0); STEPS]))[step] += 1;
        }
        self.count += 1;
        self.sum += value;
        self.limits = (self.limits.0.min(value), self.limits.1.max(value));
    }

    /// Takes all values out.
    pub fn take(&mut self) -> Bins {
        if self.count == 0 {
            return Bins::default();
        }
        let bins = (0_usize..).step_by(STEPS).zip(&mut self.doublings);
        let bins = bins.filter_map(|(first, doubling)| Some((first, doubling.as_mut()?)));
        let bins = bins.flat_map(|(first, counts)| (first..).zip(counts.iter_mut()));
        let mut counts = Vec::new();
        for (bin, count) in bins.filter(|(_, count)| **count > 0) {
            counts.push((
                u16::try_from(bin).unwrap_or(u16::MAX),
                Count(std::mem::take(count).0.into()),
            ));
        }
        let bins = Bins::from_parts(counts, self.count, self.sum, self.limits);
        (self.count, self.sum, self.limits) = (Count(0), Count(0), (u64::MAX, 0));
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_out_is_what_was_added(rounds: Vec<Vec<(u64, u8)>>) {
            let mut dense = DenseBins::default();
            for values in rounds {
                let values = values.iter().map(|(value, cut)| value >> (cut % 64));
                values.clone().for_each(|value| dense.add(value));
                prop_assert_eq!(dense.take(), values.collect::<Bins>());
            }
        }
    }
}
