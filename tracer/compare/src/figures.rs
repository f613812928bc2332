//! The figures of one repetition, decoded once.

use crate::blocks::{BlockTable, QUANTILES};
use crate::statistics::bootstrap::Redraw;
use fastrand::Rng;
use wirelap_correlate::Histogram;
use wirelap_report::{DistributionSummary, Repetition};

/// The figures of one repetition. Times and rates are natural logarithms, because ratios are compared.
#[derive(Clone, Debug)]
pub struct RepetitionFigures {
    /// Quantiles of one-way latency.
    pub latency: Option<LatencyQuantiles>,
    /// Median of half the round trip.
    pub rtt_half: Option<f64>,
    /// Round trips that it is the median of.
    pub round_trips: u64,
    /// Times that connections took.
    pub connect: Option<ConnectTimes>,
    /// Delivered messages per second.
    pub throughput: Option<f64>,
    /// CPU time for each message, of all processes.
    pub cpu: Option<f64>,
    /// Bytes on the device.
    pub wire_bytes: u64,
    /// Deliveries that these bytes belong to.
    pub byte_deliveries: u64,
}

impl RepetitionFigures {
    /// The figures of a repetition.
    pub fn of(repetition: &Repetition) -> RepetitionFigures {
        let histograms = &repetition.histograms;
        let (rtt_p50, round_trips) = decode(histograms.rtt_half_ns.as_ref())
            .map(|histogram| (histogram.quantile(0.5), histogram.count()))
            .or(repetition.rtt_half_ns.map(|rtt| (rtt.p50, rtt.count)))
            .unzip();
        RepetitionFigures {
            latency: LatencyQuantiles::of(repetition),
            rtt_half: rtt_p50.and_then(|ns| log(ns as f64)),
            round_trips: round_trips.unwrap_or_default(),
            connect: ConnectTimes::of(repetition),
            throughput: log(repetition.throughput.msg_per_s),
            cpu: cpu(repetition).and_then(log),
            wire_bytes: repetition.wire_bytes,
            byte_deliveries: repetition.byte_deliveries,
        }
    }
}

/// Quantiles of one-way latency, as logarithms, and the blocks to draw others from.
#[derive(Clone, Debug)]
pub struct LatencyQuantiles {
    /// Messages that the quantiles are of.
    pub messages: u64,
    quantiles: [f64; QUANTILES.len()],
    blocks: Option<BlockTable>,
}

impl LatencyQuantiles {
    fn of(repetition: &Repetition) -> Option<LatencyQuantiles> {
        let histograms = &repetition.histograms;
        let (messages, ns) = match decode(histograms.one_way_ns.as_ref()) {
            Some(histogram) => {
                (histogram.count(), QUANTILES.map(|quantile| histogram.quantile(quantile)))
            }
            None => (repetition.one_way_ns.count, of_distribution(&repetition.one_way_ns)?),
        };
        let quantiles = ns.map(|ns| (ns.max(1) as f64).ln());
        let blocks = BlockTable::decode(&histograms.one_way_blocks_ns);
        Some(LatencyQuantiles { messages, quantiles, blocks })
    }
}

impl Redraw<{ QUANTILES.len() }> for LatencyQuantiles {
    fn logs(&self) -> [f64; QUANTILES.len()] {
        self.quantiles
    }

    fn redraw(&self, rng: &mut Rng) -> [f64; QUANTILES.len()] {
        self.blocks.as_ref().map_or(self.quantiles, |blocks| blocks.redraw(rng))
    }
}

/// The median and the 99th percentile of the time that connections took, as logarithms.
#[derive(Clone, Debug)]
pub struct ConnectTimes {
    /// Connections that were to be opened. Those that were not count as slower than all others.
    pub wanted: u64,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

impl ConnectTimes {
    fn of(repetition: &Repetition) -> Option<ConnectTimes> {
        let wanted = repetition.connections?.wanted;
        let times = decode(repetition.histograms.connect_ns.as_ref())?;
        let quantile = |quantile: f64| {
            // Of those that were opened, a larger part is faster than this.
            let quantile = quantile * wanted as f64 / times.count() as f64;
            (quantile <= 1.0).then(|| times.quantile(quantile) as f64).and_then(log)
        };
        Some(ConnectTimes { wanted, p50: quantile(0.5), p99: quantile(0.99) })
    }
}

/// Files of older versions have quantiles only.
fn of_distribution(distribution: &DistributionSummary) -> Option<[u64; QUANTILES.len()]> {
    let DistributionSummary { count, p50, p99, p999, .. } = *distribution;
    (count > 0).then_some([p50, p99, p999])
}

fn decode(text: Option<&String>) -> Option<Histogram> {
    Histogram::decode(text?).filter(|histogram| histogram.count() > 0)
}

/// The sum over all processes; `None` if that of one is not known, because then the sides may count different processes.
fn cpu(repetition: &Repetition) -> Option<f64> {
    repetition
        .processes
        .iter()
        .try_fold(0.0, |sum, process| Some(sum + process.cpu_ns_per_message?))
}

/// The logarithm of a figure; `None` if there is none: zero, or not a number.
fn log(value: f64) -> Option<f64> {
    Some(value.ln()).filter(|log| log.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::{Connections, Histograms, ProcessUse, Throughput};

    #[test]
    fn nothing_has_no_figures() {
        let figures = RepetitionFigures::of(&Repetition::default());
        assert!(figures.latency.is_none() && figures.rtt_half.is_none());
        assert!(figures.throughput.is_none() && figures.cpu.is_none());
        assert!(figures.connect.is_none());
    }

    #[test]
    fn what_was_not_opened_is_slower_than_what_was() {
        let times = |opened: u64, wanted| {
            let mut histogram = Histogram::new(3);
            (1..=opened).for_each(|time| histogram.add(time));
            let histograms = Histograms { connect_ns: histogram.encode(), ..Histograms::default() };
            let connections = Some(Connections { wanted, opened, ..Connections::default() });
            let of = Repetition { connections, histograms, ..Repetition::default() };
            let times = RepetitionFigures::of(&of).connect?;
            assert_eq!(times.wanted, wanted);
            Some([times.p50, times.p99].map(|log| log.map(|log| log.exp().round())))
        };
        assert_eq!(times(1000, 1000), Some([Some(500.0), Some(990.0)]));
        assert_eq!(times(800, 1000), Some([Some(500.0), None]), "one of five has no time");
        assert_eq!(times(400, 1000), Some([None, None]));
        assert_eq!(times(0, 1000), None);
    }

    #[test]
    fn a_sum_with_an_unknown_process_is_unknown() {
        let process = |ns| ProcessUse { cpu_ns_per_message: ns, ..ProcessUse::default() };
        let mut repetition = Repetition {
            processes: vec![process(Some(3.0)), process(Some(4.0))],
            throughput: Throughput { msg_per_s: f64::NAN, ..Throughput::default() },
            ..Repetition::default()
        };
        let figures = RepetitionFigures::of(&repetition);
        assert!((figures.cpu.unwrap().exp() - 7.0).abs() < 1e-9);
        assert!(figures.throughput.is_none());
        repetition.processes.push(process(None));
        assert!(RepetitionFigures::of(&repetition).cpu.is_none());
    }

    #[test]
    fn without_a_histogram_the_quantiles_of_the_repetition_are_used() {
        let one_way_ns = DistributionSummary {
            count: 3,
            p50: 5,
            p99: 8,
            p999: 9,
            ..DistributionSummary::default()
        };
        let repetition = Repetition { one_way_ns, ..Repetition::default() };
        let latency = RepetitionFigures::of(&repetition).latency.unwrap();
        for logs in [latency.logs(), latency.redraw(&mut Rng::with_seed(1))] {
            assert_eq!(logs.map(|log| format!("{:.0}", log.exp())), ["5", "8", "9"]);
        }
    }
}
