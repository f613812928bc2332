//! Distributions of times: collected in a histogram, reported as quantiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::{Histogram, Summary};
use wirelap_events::Nanos;
use wirelap_events::human::time_ns;

/// Longer times are counted as this one: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Quantiles are exact to this many digits.
const DIGITS: u8 = 3;

/// A distribution of times in nanoseconds, untrimmed. Quantiles are within 0.1 %; minimum and
/// maximum are exact. All zero when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Distribution")]
pub struct DistributionSummary {
    /// Number of samples.
    pub count: u64,
    /// Minimum.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Maximum.
    pub max: u64,
}

impl DistributionSummary {
    /// The median, the 99th percentile and the maximum: `p50 1.0 µs, p99 2.0 µs, max 3.0 µs`.
    pub(crate) fn in_words(&self) -> String {
        let time = |ns| time_ns(Some(ns));
        format!("p50 {}, p99 {}, max {}", time(self.p50), time(self.p99), time(self.max))
    }
}

impl From<Summary> for DistributionSummary {
    fn from(summary: Summary) -> DistributionSummary {
        DistributionSummary {
            count: summary.count,
            min: summary.min.0,
            p50: summary.p50.0,
            p90: summary.p90.0,
            p99: summary.p99.0,
            p999: summary.p999.0,
            max: summary.max.0,
        }
    }
}

/// Samples of a time. Its memory does not grow with their number, and adding one allocates nothing.
#[derive(Clone, Debug)]
pub struct Samples {
    histogram: Histogram,
    sum: Nanos,
    min: u64,
    max: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples::new()
    }
}

impl Samples {
    /// No samples. Adding and clearing the longest time allocates the memory for all times, so that `add` allocates nothing.
    pub fn new() -> Samples {
        let mut histogram = Histogram::new(DIGITS);
        histogram.add(LONGEST_NS);
        histogram.clear();
        Samples { histogram, sum: Nanos(0), min: u64::MAX, max: 0 }
    }

    /// Adds a sample.
    pub fn add(&mut self, time: Nanos) {
        self.histogram.add(time.0.min(LONGEST_NS));
        self.sum += time;
        self.min = self.min.min(time.0);
        self.max = self.max.max(time.0);
    }

    /// Adds `count` samples of the same time.
    pub fn add_many(&mut self, time: Nanos, count: u64) {
        if count == 0 {
            return;
        }
        self.histogram.add_many(time.0.min(LONGEST_NS), count);
        self.sum += time * count;
        self.min = self.min.min(time.0);
        self.max = self.max.max(time.0);
    }

    /// Adds all of another's samples.
    pub fn merge(&mut self, other: &Samples) {
        self.histogram.merge(&other.histogram);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The exact sum of all samples.
    pub fn sum(&self) -> Nanos {
        self.sum
    }

    /// A quantile in 0..=1, inside the exact minimum and maximum; 0 without samples.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        if self.histogram.count() == 0 {
            return Nanos(0);
        }
        Nanos(self.histogram.quantile(quantile).clamp(self.min, self.max))
    }

    /// The samples as an encoded histogram ([`crate::Histograms`]); `None` without samples.
    pub fn histogram(&self) -> Option<String> {
        self.histogram.encode()
    }

    /// Samples from their encoded histogram, and from their exact extremes and sum, which are not in it; `None` if the text is
    /// no histogram, or the minimum is larger than the maximum.
    pub fn decode(text: &str, (min, max): (u64, u64), sum: u64) -> Option<Samples> {
        if min > max {
            return None;
        }
        let mut samples = Samples::new();
        let decoded = Histogram::decode(text).filter(|histogram| histogram.count() > 0)?;
        samples.histogram.merge(&decoded);
        Some(Samples { sum: Nanos(sum), min, max, ..samples })
    }

    /// The exact minimum and maximum; `None` without samples.
    pub fn extremes(&self) -> Option<(u64, u64)> {
        (self.histogram.count() > 0).then_some((self.min, self.max))
    }

    /// Each time that occurs and how often, the smallest first, rounded as quantiles are and inside the exact extremes.
    pub fn times(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.values().map(|(time, count)| (time.clamp(self.min, self.max), count))
    }

    /// Count, extremes and quantiles of the samples.
    pub fn distribution(&self) -> DistributionSummary {
        if self.histogram.count() == 0 {
            return DistributionSummary::default();
        }
        DistributionSummary {
            count: self.count(),
            min: self.min,
            p50: self.quantile(0.5).0,
            p90: self.quantile(0.9).0,
            p99: self.quantile(0.99).0,
            p999: self.quantile(0.999).0,
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::new();
        times.into_iter().for_each(|time| samples.add(Nanos(time)));
        samples
    }

    #[test]
    fn quantiles_are_within_a_thousandth() {
        let d = samples((1..=100_000).map(|n| n * 10)).distribution();
        for (got, want) in [(d.p50, 500_000), (d.p90, 900_000), (d.p99, 990_000), (d.p999, 999_000)]
        {
            assert!(u64::abs_diff(got, want) <= want / 1000, "{got} is not {want}");
        }
        assert_eq!((d.count, d.min, d.max), (100_000, 10, 1_000_000));
    }

    #[test]
    fn merging_is_adding_all() {
        let mut merged = samples([5, 7]);
        merged.merge(&samples([1, 900]));
        assert_eq!(merged.distribution(), samples([5, 7, 1, 900]).distribution());
        assert_eq!(merged.sum(), Nanos(913));
    }

    #[test]
    fn decoded_samples_are_what_they_were() {
        let own = samples((1..=5_000).map(|n| n * n + 3));
        let encoded = own.histogram().unwrap();
        let decoded = Samples::decode(&encoded, own.extremes().unwrap(), own.sum().0).unwrap();
        assert_eq!((decoded.distribution(), decoded.sum()), (own.distribution(), own.sum()));
        assert_eq!(decoded.histogram(), Some(encoded));
        assert!(Samples::decode("x", (0, 0), 0).is_none());
    }

    #[test]
    fn nothing_is_all_zero() {
        assert_eq!(Samples::new().distribution(), DistributionSummary::default());
    }

    #[test]
    fn beyond_an_hour_only_the_maximum_is_exact() {
        let d = samples([1, u64::MAX]).distribution();
        assert_eq!((d.count, d.max), (2, u64::MAX));
    }
}
