//! A distribution of times or sizes, in a histogram: the one place that uses the histogram's crate.

use super::figures::Summary;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use wirelap_events::{Nanos, Saturate};

/// Untrimmed, with values rounded to three digits.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// `None` only if the histogram could not be made, which its fixed arguments rule out.
    histogram: Option<Histogram<u64>>,
    sum: u128,
}

impl Distribution {
    /// An empty distribution whose quantiles are exact to `digits` decimal digits (1 to 5).
    pub fn new(digits: u8) -> Distribution {
        Distribution { histogram: Histogram::new(digits).ok(), sum: 0 }
    }

    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        if let Some(histogram) = &mut self.histogram {
            // Values the histogram cannot grow to (above 2^63) do not occur: times are differences.
            let _ = histogram.record(value);
        }
        self.sum.grow(u128::from(value));
    }

    /// Adds a value that occurs `count` times.
    pub fn add_many(&mut self, value: u64, count: u64) {
        if let Some(histogram) = &mut self.histogram {
            let _ = histogram.record_n(value, count);
        }
        self.sum.grow(u128::from(value).saturating_mul(u128::from(count)));
    }

    /// Adds another's values.
    pub fn merge(&mut self, other: &Distribution) {
        if let (Some(mine), Some(theirs)) = (&mut self.histogram, &other.histogram) {
            // Both grow as they must, so that adding cannot fail.
            let _ = mine.add(theirs);
        }
        self.sum.grow(other.sum);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The value below which this share of the values lies; 0 without values.
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram
            .as_ref()
            .filter(|h| !h.is_empty())
            .map_or(0, |histogram| histogram.value_at_quantile(share).min(histogram.max()))
    }

    /// Each value that occurs and how often, the smallest first. Values are rounded to the histogram's digits.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let recorded = self.histogram.iter().flat_map(Histogram::iter_recorded);
        recorded.map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// The histogram in the exchange format of `HdrHistogram`, V2, compressed and in base64; `None` without values. The sum is
    /// not in it.
    pub fn encode(&self) -> Option<String> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).ok()?;
        Some(BASE64.encode(bytes))
    }

    /// The values of an encoded histogram; `None` if `text` is none. The sum is that of the rounded values.
    pub fn decode(text: &str) -> Option<Distribution> {
        let bytes = BASE64.decode(text).ok()?;
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let mut distribution = Distribution { histogram: Some(histogram), sum: 0 };
        let sum = distribution.values().fold(0u128, |sum, (value, count)| {
            sum.saturating_add(u128::from(value).saturating_mul(u128::from(count)))
        });
        distribution.sum = sum;
        Some(distribution)
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            histogram.reset();
        }
        self.sum = 0;
    }

    /// The quantiles of values that are nanoseconds.
    pub fn summary(&self) -> Summary {
        let Some(histogram) = self.histogram.as_ref().filter(|h| !h.is_empty()) else {
            return Summary::default();
        };
        let at = |share| Nanos(self.quantile(share));
        Summary {
            count: histogram.len(),
            min: Nanos(histogram.min()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: Nanos(histogram.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_three_digits() {
        let mut distribution = Distribution::new(3);
        (1..=1000).for_each(|i| distribution.add(i * 1000));
        let summary = distribution.summary();
        let near = |a: Nanos, b: u64| a.0.abs_diff(b) <= b / 1000;
        assert!(near(summary.p50, 500_000) && near(summary.p99, 990_000), "{summary:?}");
        assert!(near(summary.max, 1_000_000) && near(summary.min, 1000));
        assert_eq!(distribution.sum(), 500_500_000);
        distribution.clear();
        assert_eq!(distribution.summary(), Summary::default());
    }

    #[test]
    fn an_encoded_histogram_has_the_same_values() {
        let mut distribution = Distribution::new(3);
        (1..=5_000).for_each(|i| distribution.add(i * i));
        let decoded = Distribution::decode(&distribution.encode().unwrap()).unwrap();
        assert!(decoded.values().eq(distribution.values()));
        assert_eq!(decoded.summary(), distribution.summary());
        assert!(decoded.sum().abs_diff(distribution.sum()) < distribution.sum() / 1_000);
        assert_eq!(Distribution::new(3).encode(), None);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let text = {
            let mut one = Distribution::new(3);
            one.add(7);
            one.encode().unwrap()
        };
        for bad in ["", "=", "AAAA", "not base64", &text[..text.len() / 2]] {
            assert!(Distribution::decode(bad).is_none(), "{bad}");
        }
    }
}
