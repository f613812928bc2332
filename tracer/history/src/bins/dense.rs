//! Bins that are being filled: an addition takes the same time whatever was added before, and mostly no memory.

use super::{Bins, STEP_BITS, bin_of};
use wirelap_events::Saturate;

/// Bins of one doubling of the value.
const STEPS: usize = 1 << STEP_BITS;

/// The number of doublings: the first has the values below [`STEPS`], the next those below twice that.
const DOUBLINGS: usize = 60;

/// Bins that are being filled. Those of a doubling take memory from its first value on, also after [`DenseBins::take`].
#[derive(Clone, Debug)]
pub struct DenseBins {
    doublings: [Option<Box<[u32; STEPS]>>; DOUBLINGS],
    count: u64,
    sum: u64,
    limits: (u64, u64),
}

impl Default for DenseBins {
    fn default() -> DenseBins {
        let doublings = [const { None }; DOUBLINGS];
        DenseBins { doublings, count: 0, sum: 0, limits: (u64::MAX, 0) }
    }
}

impl DenseBins {
    /// Adds a value in nanoseconds.
    pub fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        let step = usize::from(bin) & (STEPS - 1);
        if let Some(doubling) = self.doublings.get_mut(usize::from(bin >> STEP_BITS)) {
            doubling.get_or_insert_with(|| Box::new([0; STEPS]))[step].grow(1);
        }
        self.count.grow(1);
        self.sum.grow(value);
        self.limits = (self.limits.0.min(value), self.limits.1.max(value));
    }

    /// Takes all values out.
    pub fn take(&mut self) -> Bins {
        if self.count == 0 {
            return Bins::default();
        }
        let bins = self.doublings.iter_mut().enumerate().filter_map(|(index, doubling)| {
            Some((index.saturating_mul(STEPS), doubling.as_mut()?))
        });
        let bins = bins.flat_map(|(first, counts)| (first..).zip(counts.iter_mut()));
        let mut counts = Vec::new();
        for (bin, count) in bins.filter(|(_, count)| **count > 0) {
            counts.push((u16::try_from(bin).unwrap_or(u16::MAX), u64::from(std::mem::take(count))));
        }
        let bins = Bins::from_parts(counts, self.count, self.sum, self.limits);
        (self.count, self.sum, self.limits) = (0, 0, (u64::MAX, 0));
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
