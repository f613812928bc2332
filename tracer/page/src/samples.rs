//! The distribution of a result's latencies: from the histograms of its repetitions where they have them, otherwise from its
//! quantiles.

use wirelap_correlate::Histogram;
use wirelap_report::{DistributionSummary, RttHalf, RunResult};

/// Points of a curve: enough for a smooth line.
const POINTS: u32 = 160;

/// The share of messages that cumulative curves show.
pub const SHOWN: f64 = 0.999;

/// The kind of latency that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKind {
    /// One-way latency on the wire.
    OneWay,
    /// Half the round trip: all that an untraced result has.
    RttHalf,
}

/// The latencies of a result.
pub struct Latencies {
    /// The kind of the latencies.
    pub measure: LatencyKind,
    /// True if the whole distribution is known, not only quantiles.
    pub is_whole: bool,
    /// Number of messages.
    pub count: u64,
    /// Share of messages and the latency in nanoseconds below which they are, the smallest first.
    steps: Vec<(f64, f64)>,
}

impl Latencies {
    /// Those of a result; `None` if none is known.
    pub fn of(result: &RunResult) -> Option<Latencies> {
        whole(result).or_else(|| quantiles(result))
    }

    /// The latency below which a share of the messages is, in nanoseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        let at = self.steps.partition_point(|step| step.0 < share - 1e-12);
        self.steps.get(at).or(self.steps.last()).map(|step| step.1).unwrap_or_default()
    }

    /// Latency against percentile: x is 1/(1−q), y nanoseconds. It ends at the last message but one.
    pub fn by_percentile(&self) -> Vec<(f64, f64)> {
        let most = (self.count.max(2) as f64).min(1e9);
        if !self.is_whole {
            let known = self.steps.iter().filter(|step| step.0 < 1.0);
            return known.map(|step| (1.0 / (1.0 - step.0), step.1)).collect();
        }
        let at = |n: u32| most.powf(f64::from(n) / f64::from(POINTS));
        (0..=POINTS).map(at).map(|x| (x, self.quantile(1.0 - 1.0 / x))).collect()
    }

    /// Share of messages against latency: x nanoseconds, y the share with at most that latency. A whole distribution ends at
    /// [`SHOWN`]: the slowest messages would make the rest narrow.
    pub fn cumulative(&self) -> Vec<(f64, f64)> {
        if !self.is_whole {
            return self.steps.iter().map(|step| (step.1, step.0)).collect();
        }
        let shown = self.steps.partition_point(|step| step.0 <= SHOWN).saturating_add(1);
        let steps = self.steps.get(..shown).unwrap_or(&self.steps);
        let every = steps.len().div_ceil(POINTS as usize).max(1);
        let (first, last) = (steps.first().map(|step| (step.1, 0.0)), steps.last());
        let some = steps.iter().step_by(every).chain(last).map(|step| (step.1, step.0));
        first.into_iter().chain(some).collect()
    }
}

/// From the histograms of all repetitions; `None` unless each repetition with messages has one.
fn whole(result: &RunResult) -> Option<Latencies> {
    let measured = || result.repetitions.iter().filter(|one| one.one_way_ns.count > 0);
    let mut all: Option<Histogram> = None;
    for repetition in measured() {
        let one = Histogram::decode(repetition.histograms.one_way_ns.as_ref()?)?;
        match &mut all {
            Some(all) => all.merge(&one),
            None => all = Some(one),
        }
    }
    let all = all?;
    let count = all.count();
    let mut below = 0_u64;
    let steps = all.values().map(|(value, times)| {
        below = below.saturating_add(times);
        (below as f64 / count.max(1) as f64, value as f64)
    });
    let steps: Vec<(f64, f64)> = steps.collect();
    (count > 0).then_some(Latencies { measure: LatencyKind::OneWay, is_whole: true, count, steps })
}

fn quantiles(result: &RunResult) -> Option<Latencies> {
    let latency = &result.latency;
    let of = |measure, count, times: [u64; 6]| Latencies {
        measure,
        is_whole: false,
        count,
        steps: [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
            .into_iter()
            .zip(times.map(|ns| ns as f64))
            .collect(),
    };
    let DistributionSummary { count, min, p50, p90, p99, p999, max } = latency.one_way_ns;
    if count > 0 {
        return Some(of(LatencyKind::OneWay, count, [min, p50, p90, p99, p999, max]));
    }
    let RttHalf { count, min, p50, p90, p99, p999, max, .. } = latency.rtt_half_ns?;
    (count > 0).then(|| of(LatencyKind::RttHalf, count, [min, p50, p90, p99, p999, max]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::Repetition;

    fn repetition(times: impl Iterator<Item = u64>) -> Repetition {
        let mut histogram = Histogram::new(3);
        times.for_each(|time| histogram.add(time));
        let mut repetition = Repetition::default();
        repetition.one_way_ns.count = histogram.count();
        repetition.histograms.one_way_ns = histogram.encode();
        repetition
    }

    #[test]
    fn repetitions_are_merged() {
        let repetitions = vec![repetition(1..=500), repetition(501..=1000)];
        let result = RunResult { repetitions, ..RunResult::default() };
        let latencies = Latencies::of(&result).unwrap();
        assert!(latencies.is_whole && latencies.count == 1000);
        assert!((latencies.quantile(0.5) - 500.0).abs() < 1.0, "{}", latencies.quantile(0.5));
        assert!((latencies.quantile(0.99) - 990.0).abs() < 1.0);
        let curve = latencies.by_percentile();
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{curve:?}");
        let cumulative = latencies.cumulative();
        assert!(cumulative.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{cumulative:?}");
    }

    #[test]
    fn without_histograms_the_quantiles_are_taken() {
        let mut result = RunResult { repetitions: vec![repetition(1..=9)], ..RunResult::default() };
        result.repetitions[0].histograms.one_way_ns = Some("damaged".into());
        assert!(Latencies::of(&result).is_none());
        result.latency.one_way_ns =
            DistributionSummary { count: 9, p50: 5, max: 9, ..DistributionSummary::default() };
        let latencies = Latencies::of(&result).unwrap();
        assert!(!latencies.is_whole && latencies.measure == LatencyKind::OneWay);
        assert!((latencies.quantile(0.5) - 5.0).abs() < 1e-9);
    }
}
