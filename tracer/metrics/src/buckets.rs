//! Distributions of times as the buckets of a histogram.
//!
//! [`Bins`] are at most 3.2 % wide. A bin is counted in the bucket that has its middle, so a bucket's boundary is off by 1.6 % of its
//! value at most.

use wirelap_history::Bins;

/// Seconds in a nanosecond.
const SECONDS: f64 = 1e-9;

/// Upper boundaries of the classic buckets in seconds: three in each tenfold, from a microsecond to a minute and a half.
pub const CLASSIC: [f64; 25] = [
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
    5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0,
];

/// Resolution of the native buckets: eight for each doubling, so that each is 9 % wide.
pub const NATIVE_SCHEMA: i32 = 3;
/// Buckets in each doubling of the value at [`NATIVE_SCHEMA`].
const NATIVE_STEPS: f64 = 8.0;

/// Empty native buckets that are written out rather than skipped by a further span.
const BRIDGED: i32 = 2;

/// Sum of the times in seconds.
pub fn seconds(bins: &Bins) -> f64 {
    bins.sum() as f64 * SECONDS
}

/// Number of values in each classic bucket, in the order of [`CLASSIC`], and those above all of them with an infinite boundary.
pub fn classic(bins: &Bins) -> [(f64, u64); CLASSIC.len() + 1] {
    let mut buckets = [(f64::INFINITY, 0u64); CLASSIC.len() + 1];
    for (bucket, boundary) in buckets.iter_mut().zip(CLASSIC) {
        bucket.0 = boundary;
    }
    for (middle, count) in values(bins) {
        let at = CLASSIC.partition_point(|&boundary| boundary < middle);
        if let Some(bucket) = buckets.get_mut(at) {
            bucket.1 = bucket.1.saturating_add(count);
        }
    }
    buckets
}

/// The native buckets of a distribution: which there are, and how many values each has.
#[derive(Debug, Default, PartialEq)]
pub struct NativeBuckets {
    /// Number of values of 0.
    pub zero: u64,
    /// Runs of buckets: the distance from the end of the run before (for the first: the index of its first bucket), and its length.
    pub spans: Vec<(i32, u32)>,
    /// For each bucket its number of values minus that of the one before.
    pub deltas: Vec<i64>,
}

impl NativeBuckets {
    /// Those of a distribution.
    pub fn of(bins: &Bins) -> NativeBuckets {
        let mut native = NativeBuckets::default();
        let mut last: Option<(i32, u64)> = None;
        let mut before = 0;
        for (middle, count) in values(bins) {
            if middle <= 0.0 {
                native.zero = native.zero.saturating_add(count);
                continue;
            }
            // Bucket `i` has what is above 2^((i-1)/8) and not above 2^(i/8).
            #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a time")]
            let index = (middle.log2() * NATIVE_STEPS).ceil() as i32;
            match &mut last {
                Some((at, sum)) if *at == index => *sum = sum.saturating_add(count),
                _ => {
                    if let Some(done) = last.replace((index, count)) {
                        native.push(done, &mut before);
                    }
                    native.reach(last_of(&native.spans), index, &mut before);
                }
            }
        }
        if let Some(done) = last {
            native.push(done, &mut before);
        }
        native
    }

    /// Begins a span at a bucket, or lengthens the last one until it has it; the bucket's own number follows.
    fn reach(&mut self, end: Option<i32>, index: i32, before: &mut i64) {
        match (end, self.spans.last_mut()) {
            (Some(end), Some(span)) if index.saturating_sub(end) <= BRIDGED => {
                for _ in end..index {
                    self.deltas.push(0i64.saturating_sub(*before));
                    *before = 0;
                    span.1 = span.1.saturating_add(1);
                }
                span.1 = span.1.saturating_add(1);
            }
            (end, _) => self.spans.push((index.saturating_sub(end.unwrap_or(0)), 1)),
        }
    }

    fn push(&mut self, (_, count): (i32, u64), before: &mut i64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.deltas.push(count.saturating_sub(*before));
        *before = count;
    }
}

/// Index of the bucket after the last span; `None` without spans.
fn last_of(spans: &[(i32, u32)]) -> Option<i32> {
    let length = |&(offset, length): &(i32, u32)| offset.saturating_add_unsigned(length);
    spans.iter().map(length).reduce(i32::saturating_add)
}

/// The middle of each bin in seconds, and its number of values, the smallest first.
fn values(bins: &Bins) -> impl Iterator<Item = (f64, u64)> + '_ {
    bins.iter()
        .map(|(low, high, count)| (f64::midpoint(low.0 as f64, high.0 as f64) * SECONDS, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans and deltas back to buckets.
    fn spelled(native: &NativeBuckets) -> Vec<(i32, u64)> {
        let (mut at, mut value, mut deltas) = (0, 0, native.deltas.iter());
        let mut buckets = Vec::new();
        for &(offset, length) in &native.spans {
            at += offset;
            for _ in 0..length {
                value += deltas.next().unwrap();
                buckets.push((at, u64::try_from(value).unwrap()));
                at += 1;
            }
        }
        assert_eq!(deltas.next(), None);
        buckets
    }

    #[test]
    fn each_value_is_in_the_bucket_that_has_it() {
        let times = [0, 0, 1, 900, 1_000, 1_050, 40_000, 41_000, 2_000_000, 7_000_000_000];
        let bins: Bins = times.into_iter().collect();
        let native = NativeBuckets::of(&bins);
        assert_eq!(native.zero, 2);
        let buckets = spelled(&native);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 8);
        for time in times.into_iter().filter(|&time| time > 0) {
            let exact = (time as f64 * SECONDS).log2() * 8.0;
            let near = |index: i32| (f64::from(index) - exact - 0.5).abs() <= 0.75;
            assert!(buckets.iter().any(|&(index, count)| count > 0 && near(index)), "{time}");
        }
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn short_gaps_are_written_and_long_ones_skipped() {
        // The first two are two buckets apart, the third far away.
        let bins: Bins = [1_000, 1_000, 1_200, 1_000_000].into_iter().collect();
        let native = NativeBuckets::of(&bins);
        assert_eq!(native.spans.len(), 2, "{native:?}");
        let counts: Vec<u64> = spelled(&native).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts.iter().filter(|&&count| count > 0).collect::<Vec<_>>(), [&2, &1, &1]);
    }

    #[test]
    fn classic_buckets_hold_everything() {
        let bins: Bins = [0, 1_000, 3_000, 99_000_000_000, 200_000_000_000].into_iter().collect();
        let buckets = classic(&bins);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 5);
        assert_eq!((buckets[0], buckets[2].1), ((1e-6, 2), 1));
        assert_eq!((buckets[24].1, buckets[25]), (1, (f64::INFINITY, 1)));
        assert_eq!(NativeBuckets::of(&Bins::default()), NativeBuckets::default());
    }
}
