//! Distributions of latencies as exponential histograms.

use crate::proto::{Attribute, Buckets, HistogramPoint};
use wirelap_history::Bins;

/// Seconds in a nanosecond.
const SECONDS: f64 = 1e-9;

/// The scale: a bucket is 9 % wide.
const SCALE: i32 = 3;
/// Buckets in each doubling of the value at [`SCALE`].
const STEPS: f64 = 8.0;

/// The distribution of a row, in seconds, of a time in nanoseconds since 1970.
pub fn point(bins: &Bins, attributes: Vec<Attribute>, [since, now]: [u64; 2]) -> HistogramPoint {
    let (zero_count, positive) = buckets(bins);
    let is_empty = bins.count() == 0;
    HistogramPoint {
        attributes,
        start_time_unix_nano: since,
        time_unix_nano: now,
        count: bins.count(),
        sum: Some(bins.sum() as f64 * SECONDS),
        scale: SCALE,
        zero_count,
        positive: Some(positive),
        min: (!is_empty).then(|| bins.min().as_secs_f64()),
        max: (!is_empty).then(|| bins.max().as_secs_f64()),
    }
}

/// Number of values of 0, and the buckets of the others. Bucket `i` has what is above 2^(i/8) and not above 2^((i+1)/8).
fn buckets(bins: &Bins) -> (u64, Buckets) {
    let (mut zero, mut all) = (0_u64, Buckets::default());
    for (low, high, count) in bins.iter() {
        let middle = f64::midpoint(low.as_secs_f64(), high.as_secs_f64());
        if middle <= 0.0 {
            zero = zero.saturating_add(count);
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a time")]
        let index = ((middle.log2() * STEPS).ceil() as i32).saturating_sub(1);
        if all.bucket_counts.is_empty() {
            all.offset = index;
        }
        // Bins come in order, so that no index is below the first.
        let at = usize::try_from(index.saturating_sub(all.offset)).unwrap_or(0);
        if at >= all.bucket_counts.len() {
            all.bucket_counts.resize(at.saturating_add(1), 0);
        }
        if let Some(bucket) = all.bucket_counts.get_mut(at) {
            *bucket = bucket.saturating_add(count);
        }
    }
    (zero, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_the_bucket_that_has_it() {
        let times = [0, 0, 1, 900, 1_000, 1_050, 40_000, 2_000_000, 7_000_000_000, u64::MAX];
        let bins: Bins = times.into_iter().collect();
        let point = point(&bins, Vec::new(), [1, 2]);
        let buckets = point.positive.unwrap();
        assert_eq!((point.count, point.zero_count), (10, 2));
        assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), 8);
        assert!(buckets.bucket_counts.len() < 600, "{}", buckets.bucket_counts.len());
        for time in times.into_iter().filter(|&time| time > 0) {
            let seconds = time as f64 * SECONDS;
            let is_it = |(at, &count): (usize, &u64)| {
                let index = f64::from(buckets.offset) + at as f64;
                // A bin is 3 % wide, and may lie across the bucket's border.
                let near = (index / STEPS).exp2() * 0.97..=((index + 1.0) / STEPS).exp2() * 1.03;
                count > 0 && near.contains(&seconds)
            };
            assert!(buckets.bucket_counts.iter().enumerate().any(is_it), "{time}");
        }
        assert_eq!(point.min, Some(0.0));
    }

    #[test]
    fn no_values_are_no_buckets() {
        let point = point(&Bins::default(), Vec::new(), [1, 2]);
        assert_eq!((point.count, point.min, point.max), (0, None, None));
        assert_eq!(point.positive, Some(Buckets::default()));
    }
}
