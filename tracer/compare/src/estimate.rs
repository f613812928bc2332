//! The ratio B/A of each metric of a result, with its intervals and its p-value.

use crate::blocks::QUANTILES;
use crate::figures::RepetitionFigures;
use crate::metric::Metric;
use crate::statistics::bootstrap::{Drawing, Redraw, differences};
use crate::statistics::interval::{Interval, Spread, around, of_mean};
use crate::statistics::{mann_whitney, signed_rank};
use wirelap_events::{Count, Total};

const LATENCIES: [Metric; QUANTILES.len()] =
    [Metric::OneWayP50Ns, Metric::OneWayP99Ns, Metric::OneWayP999Ns];

/// The repetitions of both sides that are compared. As pairs, both sides have as many.
#[derive(Clone, Debug)]
pub struct ComparedRepetitions<'a> {
    /// Those of A.
    pub a: Vec<&'a RepetitionFigures>,
    /// Those of B.
    pub b: Vec<&'a RepetitionFigures>,
    /// The way in which their repetitions belong together.
    pub drawing: Drawing,
}

/// The estimate of a metric. All but counts and p-values is in logarithms.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The metric.
    pub metric: Metric,
    /// The value of A.
    pub a: f64,
    /// The value of B.
    pub b: f64,
    /// The repetitions of A and B that have this metric.
    pub repetitions: (usize, usize),
    /// The intervals and the p-value from several repetitions; `None` for bytes, and with fewer than two repetitions on a side.
    pub uncertainty: Option<Uncertainty>,
    /// The way in which the repetitions belong together.
    pub drawing: Drawing,
    /// The fewest and the most messages, or connections, of a repetition; `None` if the metric is not of them.
    pub messages: Option<(u64, u64)>,
}

/// The uncertainty of a ratio, from several repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Uncertainty {
    /// The 95 % interval of the logarithm of B/A.
    pub likely: Interval,
    /// The 90 % interval: two one-sided tests at 5 % each.
    pub equivalence: Interval,
    /// The 95 % interval of A's own value.
    pub a: Interval,
    /// The 95 % interval of B's own value.
    pub b: Interval,
    /// The p-value of the rank test.
    pub p: f64,
}

impl Estimate {
    /// The logarithm of B/A.
    pub fn difference(&self) -> f64 {
        self.b - self.a
    }

    /// Number of messages that each repetition needs for this metric; `None` if all have as many.
    pub fn messages_needed(&self) -> Option<u64> {
        let (fewest, _) = self.messages?;
        let needed = self.metric.least_messages();
        (fewest < needed).then_some(needed)
    }

    /// The intervals and the p-value that are tested; `None` if there are too few messages or repetitions, and for bytes.
    pub fn tested(&self) -> Option<Uncertainty> {
        self.uncertainty.filter(|_| self.messages_needed().is_none())
    }
}

/// The smallest p-value that so many repetitions can have.
pub fn smallest_p((a, b): (usize, usize), drawing: Drawing) -> f64 {
    match drawing {
        Drawing::Independent => mann_whitney::smallest_p(a, b),
        Drawing::Pairs => signed_rank::smallest_p(a.min(b)),
    }
}

/// All metrics that both sides have, in the order of [`Metric::ALL`].
pub fn estimates(sides: &ComparedRepetitions, draws: usize, seed: u64) -> Vec<Estimate> {
    let one = |metric, of: fn(&RepetitionFigures) -> Option<&f64>| {
        estimate([metric], sides, of, draws, seed)
    };
    let mut found = estimate(LATENCIES, sides, |one| one.latency.as_ref(), draws, seed);
    let messages = counts(sides, |one| one.latency.as_ref().map(|latency| latency.messages));
    for latency in &mut found {
        latency.messages = messages;
    }
    let round_trips = counts(sides, |one| one.rtt_half.map(|_| one.round_trips));
    let rtt = one(Metric::RttHalfP50Ns, |one| one.rtt_half.as_ref()).into_iter();
    found.extend(rtt.map(|rtt| Estimate { messages: round_trips, ..rtt }));
    let connections = counts(sides, |one| one.connect.as_ref().map(|times| times.wanted));
    let connect = one(Metric::ConnectP50Ns, |one| one.connect.as_ref()?.p50.as_ref())
        .into_iter()
        .chain(one(Metric::ConnectP99Ns, |one| one.connect.as_ref()?.p99.as_ref()));
    found.extend(connect.map(|connect| Estimate { messages: connections, ..connect }));
    found.extend(one(Metric::ThroughputMsgPerS, |one| one.throughput.as_ref()));
    found.extend(bytes(sides));
    found.extend(one(Metric::CpuNsPerMessage, |one| one.cpu.as_ref()));
    found
}

/// The fewest and the most messages of a repetition that is compared.
fn counts(
    sides: &ComparedRepetitions,
    of: fn(&RepetitionFigures) -> Option<u64>,
) -> Option<(u64, u64)> {
    let counts = || sides.a.iter().chain(&sides.b).filter_map(|one| of(one));
    counts().min().zip(counts().max())
}

/// Bytes are those of the protocol and do not vary by chance: they are compared as they are.
fn bytes(sides: &ComparedRepetitions) -> Option<Estimate> {
    let each = |side: &[&RepetitionFigures]| -> Option<f64> {
        let bytes = Count::sum(side.iter().map(|one| one.wire_bytes)).0 as f64;
        let deliveries = Count::sum(side.iter().map(|one| one.byte_deliveries)).0 as f64;
        Some((bytes / deliveries).ln()).filter(|log| log.is_finite())
    };
    Some(Estimate {
        metric: Metric::WireBytesPerDelivery,
        a: each(&sides.a)?,
        b: each(&sides.b)?,
        repetitions: (sides.a.len(), sides.b.len()),
        uncertainty: None,
        drawing: sides.drawing,
        messages: None,
    })
}

/// Metrics that are drawn together, because they are of the same messages.
fn estimate<'a, const K: usize, R: Redraw<K> + 'a>(
    metrics: [Metric; K],
    sides: &ComparedRepetitions<'a>,
    of: impl Fn(&'a RepetitionFigures) -> Option<&'a R>,
    draws: usize,
    seed: u64,
) -> Vec<Estimate> {
    let (a, b) = with_figure(sides, of);
    let means = means((&a, &b), sides.drawing, draws, seed).into_iter().flatten();
    let estimates =
        metrics.into_iter().zip(means).map(|(metric, Means { a: of_a, b: of_b, uncertainty })| {
            Estimate {
                metric,
                a: of_a,
                b: of_b,
                repetitions: (a.len(), b.len()),
                uncertainty,
                drawing: sides.drawing,
                messages: None,
            }
        });
    estimates.collect()
}

/// The means of both sides' logarithms of one figure.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// The mean of A.
    pub a: f64,
    /// The mean of B.
    pub b: f64,
    /// The intervals and the p-value of the difference; `None` with fewer than two repetitions on a side.
    pub uncertainty: Option<Uncertainty>,
}

/// The means of each figure of the repetitions; `None` if a side has no repetition.
pub fn means<const K: usize, R: Redraw<K>>(
    (a, b): (&[&R], &[&R]),
    drawing: Drawing,
    draws: usize,
    seed: u64,
) -> Option<[Means; K]> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let several = a.len() > 1 && b.len() > 1;
    let drawn = differences((a, b), drawing, if several { draws } else { 0 }, seed);
    Some(std::array::from_fn(|k| {
        let logs = |side: &[&R]| -> Vec<f64> { side.iter().map(|one| one.logs()[k]).collect() };
        let (a, b) = (logs(a), logs(b));
        let mut draws: Vec<f64> = drawn.iter().map(|difference| difference[k]).collect();
        draws.sort_by(f64::total_cmp);
        let uncertainty = several.then(|| uncertainty(&a, &b, &draws, drawing));
        Means { a: mean(&a), b: mean(&b), uncertainty }
    }))
}

/// The repetitions that have a figure; as pairs, those of which both have it.
fn with_figure<'a, R>(
    sides: &ComparedRepetitions<'a>,
    of: impl Fn(&'a RepetitionFigures) -> Option<&'a R>,
) -> (Vec<&'a R>, Vec<&'a R>) {
    let (a, b) = (sides.a.iter().map(|one| of(one)), sides.b.iter().map(|one| of(one)));
    match sides.drawing {
        Drawing::Independent => (a.flatten().collect(), b.flatten().collect()),
        Drawing::Pairs => a.zip(b).filter_map(|(a, b)| a.zip(b)).unzip(),
    }
}

fn uncertainty(a: &[f64], b: &[f64], draws: &[f64], drawing: Drawing) -> Uncertainty {
    let centre = mean(b) - mean(a);
    let (spreads, p) = match drawing {
        Drawing::Independent => (vec![Spread::of(a), Spread::of(b)], mann_whitney::p_value(a, b)),
        Drawing::Pairs => {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
            (vec![Spread::of(&differences)], signed_rank::p_value(&differences))
        }
    };
    Uncertainty {
        likely: around(centre, draws, &spreads, 0.95),
        equivalence: around(centre, draws, &spreads, 0.9),
        a: of_mean(a, 0.95),
        b: of_mean(b, 0.95),
        p,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().total::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(throughput: Option<f64>, wire_bytes: u64) -> RepetitionFigures {
        RepetitionFigures {
            latency: None,
            rtt_half: None,
            round_trips: 0,
            connect: None,
            throughput,
            cpu: None,
            wire_bytes,
            byte_deliveries: 10,
        }
    }

    #[test]
    fn only_what_both_sides_have_is_estimated() {
        let all = [figures(Some(1.0), 100), figures(Some(2.0), 300), figures(None, 1000)];
        let sides = ComparedRepetitions {
            a: vec![&all[0], &all[1]],
            b: vec![&all[2]],
            drawing: Drawing::Independent,
        };
        let found = estimates(&sides, 100, 1);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].metric, Metric::WireBytesPerDelivery);
        assert!(
            (found[0].difference() - 5_f64.ln()).abs() < 1e-12 && found[0].uncertainty.is_none()
        );
    }

    #[test]
    fn half_a_round_trip_of_few_is_not_tested() {
        let of = |round_trips, rtt| RepetitionFigures {
            rtt_half: Some(rtt),
            round_trips,
            ..figures(None, 0)
        };
        let needed = |round_trips| {
            let all = [of(50, 1.0), of(50, 2.0), of(round_trips, 3.0), of(50, 4.0)];
            let (a, b) = (vec![&all[0], &all[1]], vec![&all[2], &all[3]]);
            let found =
                estimates(&ComparedRepetitions { a, b, drawing: Drawing::Independent }, 10, 1);
            assert_eq!(found[0].metric, Metric::RttHalfP50Ns);
            (found[0].messages_needed(), found[0].tested().is_some())
        };
        assert_eq!(needed(20), (None, true));
        assert_eq!(needed(5), (Some(20), false));
    }

    #[test]
    fn a_pair_needs_both() {
        let all = [figures(Some(1.0), 0), figures(None, 0), figures(Some(3.0), 0)];
        let sides = ComparedRepetitions {
            a: vec![&all[0], &all[1], &all[2]],
            b: vec![&all[2], &all[0], &all[1]],
            drawing: Drawing::Pairs,
        };
        let found = estimates(&sides, 100, 1);
        assert_eq!(found[0].repetitions, (1, 1));
        assert!((found[0].difference() - 2.0).abs() < 1e-12);
    }
}
