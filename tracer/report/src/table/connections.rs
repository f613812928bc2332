//! The table of a run that opens connections, and what the broker of several clients used.

use crate::grid::Align;
use crate::{ProcessUse, RunReport, RunResult};
use wirelap_events::{Total, human};

/// The headings of the table of connections.
pub const HEADINGS: [(&str, Align); 9] = [
    ("middleware", Align::Left),
    ("opened", Align::Right),
    ("connect p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
    ("wire/conn", Align::Right),
    ("broker CPU", Align::Right),
    ("memory", Align::Right),
    ("mem/conn", Align::Right),
];

/// The table's cells: the heading, then one row for each result that was to open connections.
pub fn cells(report: &RunReport) -> Vec<Vec<String>> {
    let heading = HEADINGS.iter().map(|(name, _)| (*name).to_owned()).collect();
    std::iter::once(heading).chain(report.results.iter().filter_map(row)).collect()
}

fn row(result: &RunResult) -> Option<Vec<String>> {
    if result.topology.as_ref()?.connections == 0 {
        return None;
    }
    let opened = result.connections.map(|connections| connections.opened);
    let times = result.connections.map(|connections| connections.connect_ns);
    let times = times.filter(|times| times.count > 0);
    let each = |all: Option<f64>| match (all, opened) {
        (Some(all), Some(opened)) if opened > 0 => human::bytes((all / opened as f64).round()),
        _ => human::NONE.to_owned(),
    };
    let broker = BrokerUse::of(result);
    Some(vec![
        format!("{}{}", result.trust.verdict.mark(), result.label()),
        opened.map_or_else(|| human::NONE.to_owned(), human::exact),
        human::time_ns(times.map(|times| times.p50)),
        human::time_ns(times.map(|times| times.p99)),
        human::time_ns(times.map(|times| times.max)),
        each(Some(result.overhead.total_bytes as f64).filter(|&bytes| bytes > 0.0)),
        broker.as_ref().map_or_else(|| human::NONE.to_owned(), |broker| cores(broker.cpu_share)),
        broker.as_ref().map_or_else(|| human::NONE.to_owned(), |b| human::bytes(b.most_rss as f64)),
        each(broker.map(|broker| broker.grown as f64)),
    ])
}

/// CPU and memory of the broker in one line; `None` if there was none, or it was not measured.
pub fn broker_line(result: &RunResult) -> Option<String> {
    result.topology.as_ref()?;
    let broker = BrokerUse::of(result)?;
    Some(format!(
        "{} cores on average, at most {}; memory {} at first, at most {}",
        cores(broker.cpu_share),
        cores(broker.most_cpu),
        human::bytes(broker.first_rss as f64),
        human::bytes(broker.most_rss as f64)
    ))
}

fn cores(share: f64) -> String {
    format!("{share:.2}")
}

/// CPU and memory of a broker, over all repetitions.
struct BrokerUse {
    /// CPU time over wall time; the mean of the repetitions.
    cpu_share: f64,
    /// The largest CPU time over wall time of any part of a repetition.
    most_cpu: f64,
    /// Memory at the beginning of the first repetition that measured it.
    first_rss: u64,
    /// The largest memory.
    most_rss: u64,
    /// Memory that it took in the course of the repetitions, added up.
    grown: u64,
}

impl BrokerUse {
    fn of(result: &RunResult) -> Option<BrokerUse> {
        let all: Vec<&ProcessUse> = result
            .repetitions
            .iter()
            .flat_map(|one| &one.processes)
            .filter(|process| process.role == "broker")
            .collect();
        let shares: Vec<f64> = all.iter().filter_map(|process| process.cpu_share).collect();
        let points = || all.iter().flat_map(|process| &process.over_time);
        let memory = || all.iter().filter_map(|one| one.rss_at_start_bytes.zip(one.rss_bytes));
        Some(BrokerUse {
            cpu_share: shares.iter().total::<f64>() / shares.len().max(1) as f64,
            most_cpu: points().map(|point| point.cpu_share).fold(0.0, f64::max),
            first_rss: memory().next()?.0,
            most_rss: memory().map(|(_, most)| most).max()?,
            grown: memory().map(|(first, most)| most.saturating_sub(first)).total(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Connections, DistributionSummary, Repetition, RunKind, Topology, UsageAt, from_snapshot,
    };

    fn report() -> RunReport {
        let point = |at_s, cpu_share, rss_bytes| UsageAt { at_s, cpu_share, rss_bytes };
        let broker = ProcessUse {
            role: "broker".into(),
            cpu_share: Some(0.25),
            rss_at_start_bytes: Some(10 << 20),
            rss_bytes: Some(30 << 20),
            over_time: vec![point(1.0, 0.2, 10 << 20), point(2.0, 0.5, 30 << 20)],
            ..ProcessUse::default()
        };
        let repetition = Repetition { processes: vec![broker], ..Repetition::default() };
        let connect_ns = DistributionSummary {
            count: 1000,
            p50: 600_000,
            p99: 1_200_000,
            max: 4_000_000,
            ..DistributionSummary::default()
        };
        let mut result = RunResult {
            middleware: "mqtt".into(),
            connections: Some(Connections { wanted: 1024, opened: 1024, connect_ns }),
            topology: Some(Topology { connections: 1024, ..Topology::default() }),
            repetitions: vec![repetition],
            ..RunResult::default()
        };
        result.overhead.total_bytes = 1024 * 900;
        let mut report = from_snapshot::run_report(&wirelap_correlate::Snapshot::default());
        report.scenario.kind = RunKind::Connections;
        report.results = vec![result];
        report
    }

    #[test]
    fn connections_have_a_table_of_their_own() {
        let report = report();
        let cells = cells(&report);
        let expected =
            ["mqtt", "1,024", "600.0 µs", "1.2 ms", "4.0 ms", "900 B", "0.25", "30 MiB", "20 KiB"];
        assert_eq!(cells[1], expected);
        assert_eq!(cells[0].len(), HEADINGS.len());
    }

    #[test]
    fn memory_of_a_connection_is_the_growth_of_all_repetitions() {
        let mut report = report();
        let again = report.results[0].repetitions[0].clone();
        report.results[0].repetitions.push(again);
        report.results[0].connections.as_mut().unwrap().opened = 2048;
        assert_eq!(cells(&report)[1][8], "20 KiB");
    }

    #[test]
    fn a_trial_whose_counts_are_not_known_has_a_row() {
        let mut report = report();
        report.results[0].connections = None;
        assert_eq!(cells(&report)[1][..3], ["mqtt", "–", "–"]);
    }

    #[test]
    fn the_broker_is_told_where_there_are_several_clients() {
        let mut report = report();
        let line = broker_line(&report.results[0]).unwrap();
        assert!(line.starts_with("0.25 cores on average, at most 0.50; memory"), "{line}");
        report.results[0].topology = None;
        assert_eq!(broker_line(&report.results[0]), None);
    }
}
