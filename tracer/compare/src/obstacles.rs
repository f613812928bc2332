//! Reasons why two runs, or two of their results, are not comparable.

use crate::comparison::{Obstacle, ObstacleKind};
use wirelap_report::{
    Bucket, BucketDifference, MachineKey, Pacing, ReportedReliability, RunKind, RunReport,
    RunResult, Scenario, Topology,
};

/// Coverages may differ by this much.
const COVERAGE: f64 = 0.05;

/// Why nothing of two runs can be compared.
pub fn of_runs(a: &RunReport, b: &RunReport) -> Vec<Obstacle> {
    let mut found = machine(&a.machine_key(), &b.machine_key());
    found.extend(scenario(&a.scenario, &b.scenario));
    found
}

/// Why two results cannot be compared.
pub fn of_results(a: &RunResult, b: &RunResult) -> Vec<Obstacle> {
    let mut found = Vec::new();
    for (side, result) in [("A", a), ("B", b)] {
        if result.trust.verdict == ReportedReliability::Unusable {
            let why = result.trust.reasons.first().map(|reason| format!(": {}", reason.text));
            let text = format!("{side} is unusable{}", why.unwrap_or_default());
            found.push(obstacle(ObstacleKind::Unusable, text));
        }
    }
    let (from, to) = (a.trust.coverage, b.trust.coverage);
    if !a.untraced && !b.untraced && (from - to).abs() > COVERAGE {
        let text = format!(
            "{:.0} % of A's messages were followed from end to end, and {:.0} % of B's",
            from * 100.0,
            to * 100.0
        );
        found.push(obstacle(ObstacleKind::Coverage, text));
    }
    found.extend(tracing_cost(a, b));
    found
}

fn obstacle(kind: ObstacleKind, text: String) -> Obstacle {
    Obstacle { kind, text, bucket: None }
}

fn differ(kind: ObstacleKind, what: &str, a: &str, b: &str) -> Option<Obstacle> {
    (a != b).then(|| obstacle(kind, format!("{what}: {a} and {b}")))
}

/// The buckets of the machines' keys that differ.
fn machine(a: &MachineKey, b: &MachineKey) -> Vec<Obstacle> {
    let each = a.differences(b).into_iter().map(|BucketDifference { bucket, of, a, b }| {
        let (kind, what) = match bucket {
            Bucket::CpuModel => (ObstacleKind::Machine, "other CPU models"),
            Bucket::Cpus => (ObstacleKind::Machine, "other numbers of CPUs"),
            Bucket::KernelSeries => (ObstacleKind::Machine, "other kernels"),
            Bucket::Governor => (ObstacleKind::Machine, "other frequency governors"),
            Bucket::Mitigations => (ObstacleKind::Machine, "other mitigations"),
            Bucket::Pinning => (ObstacleKind::Pinning, "other pinning"),
        };
        let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
        Obstacle { kind, text: format!("{what}{of}: {a} and {b}"), bucket: Some(bucket) }
    });
    each.collect()
}

fn scenario(a: &Scenario, b: &Scenario) -> Vec<Obstacle> {
    let common = a.payload_bytes.iter().any(|bytes| b.payload_bytes.contains(bytes));
    let payloads = a.payload_bytes.is_empty() || b.payload_bytes.is_empty() || common;
    let found = [
        kind(a.kind, b.kind),
        differ(ObstacleKind::Pacing, "other pacing", pacing(a.pacing), pacing(b.pacing)),
        differ(ObstacleKind::Pacing, "other rates", &rate(a), &rate(b))
            .filter(|_| a.pacing == b.pacing),
        (!payloads).then(|| {
            let text = format!(
                "other payloads: {} and {}",
                bytes(&a.payload_bytes),
                bytes(&b.payload_bytes)
            );
            obstacle(ObstacleKind::Payload, text)
        }),
        differ(ObstacleKind::Links, "other links", &links(a), &links(b)),
        differ(ObstacleKind::Clients, "other clients", &clients(a), &clients(b)),
        differ(
            ObstacleKind::WarmUp,
            "other numbers of messages for warming up",
            &a.warmup.to_string(),
            &b.warmup.to_string(),
        ),
    ];
    found.into_iter().flatten().collect()
}

fn links(side: &Scenario) -> String {
    side.links.map_or_else(|| "all processes on one host".into(), |links| links.to_string())
}

fn clients(side: &Scenario) -> String {
    let topology = side.topology.as_ref();
    topology.map_or_else(|| "1 publisher · 1 subscriber · 1 topic".into(), Topology::in_words)
}

fn kind(a: RunKind, b: RunKind) -> Option<Obstacle> {
    if (a == RunKind::Live) != (b == RunKind::Live) {
        let (live, run) = if a == RunKind::Live { ("A", "B") } else { ("B", "A") };
        let text = format!(
            "{live} watched programs that were already running (`live`), and {run} measured workloads (`run`)"
        );
        return Some(obstacle(ObstacleKind::Kind, text));
    }
    differ(ObstacleKind::Kind, "other measurements", a.name(), b.name())
}

fn pacing(pacing: Pacing) -> &'static str {
    match pacing {
        Pacing::PingPong => "ping-pong",
        Pacing::Rate => "rate",
        Pacing::BackToBack => "back to back",
        Pacing::Foreign => "as observed",
    }
}

fn rate(side: &Scenario) -> String {
    side.rate_msg_per_s.map_or_else(|| "none".into(), |rate| format!("{rate} msg/s"))
}

fn bytes(payloads: &[u64]) -> String {
    payloads.iter().map(|bytes| format!("{bytes} B")).collect::<Vec<_>>().join(", ")
}

/// Tracing that slows one side down more than the other would be taken for a difference of the sides. Where one of the two is not
/// known, that cannot be told.
fn tracing_cost(a: &RunResult, b: &RunResult) -> Option<Obstacle> {
    let known = |of: &RunResult| of.trust.tracer.slowdown.filter(|cost| !cost.is_contradictory());
    let (from, to) = (known(a)?, known(b)?);
    if from.ratio_low <= to.ratio_high && to.ratio_low <= from.ratio_high {
        return None;
    }
    let text = format!(
        "tracing multiplied A's latency by {:.2} to {:.2} and B's by {:.2} to {:.2}",
        from.ratio_low, from.ratio_high, to.ratio_low, to.ratio_high
    );
    Some(obstacle(ObstacleKind::TracingCost, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use wirelap_report::{HostLinks, Slowdown};

    fn kinds(found: &[Obstacle]) -> Vec<ObstacleKind> {
        found.iter().map(|one| one.kind).collect()
    }

    #[test]
    fn the_same_circumstances_are_no_obstacle() {
        let run = samples::report(3, |_, _| {});
        assert!(of_runs(&run, &run).is_empty());
        assert!(of_results(&run.results[0], &run.results[0]).is_empty());
    }

    #[test]
    fn each_circumstance_is_an_obstacle() {
        use ObstacleKind::{
            Clients, Kind, Links, Machine, Pacing as PacingKind, Payload, Pinning, WarmUp,
        };
        type Change = (fn(&mut RunReport), &'static [ObstacleKind]);
        let changes: [Change; 13] = [
            (|run| run.environment.kernel = "6.18.9".into(), &[]),
            (|run| run.environment.kernel = "6.19.0".into(), &[Machine]),
            (|run| run.environment.cpu_model = "Another".into(), &[Machine]),
            (|run| run.environment.cpu_model = String::new(), &[]),
            (|run| run.environment.governor = Some("powersave".into()), &[Machine]),
            (|run| run.environment.cores = 9, &[Machine]),
            (|run| run.scenario.kind = RunKind::Live, &[Kind]),
            (|run| run.scenario.pacing = Pacing::BackToBack, &[PacingKind]),
            (|run| run.scenario.rate_msg_per_s = Some(5.0), &[PacingKind]),
            (|run| run.scenario.payload_bytes = vec![9], &[Payload]),
            (|run| run.scenario.links = Some(HostLinks::default()), &[Links]),
            (|run| run.scenario.topology = Some(Topology::default()), &[Clients]),
            (
                |run| {
                    run.scenario.pin = vec![("pub".into(), 1)];
                    run.scenario.warmup = 7;
                },
                &[Pinning, WarmUp],
            ),
        ];
        let a = samples::report(3, |_, _| {});
        for (index, (change, want)) in changes.into_iter().enumerate() {
            let mut b = a.clone();
            change(&mut b);
            assert_eq!(kinds(&of_runs(&a, &b)), want, "change {index}");
        }
        let mut b = a.clone();
        b.environment.governor = Some("powersave".into());
        assert_eq!(of_runs(&a, &b)[0].bucket, Some(Bucket::Governor));
    }

    #[test]
    fn mitigations_count_where_both_sides_know_them() {
        let mut a = samples::report(3, |_, _| {});
        let mut b = a.clone();
        b.environment.mitigations = [("meltdown".to_owned(), "Mitigation: PTI".to_owned())].into();
        assert!(of_runs(&a, &b).is_empty());
        a.environment.mitigations = [("meltdown".to_owned(), "Vulnerable".to_owned())].into();
        let text = "other mitigations of meltdown: Vulnerable and Mitigation: PTI";
        assert_eq!(of_runs(&a, &b)[0].text, text);
    }

    #[test]
    fn results_that_cannot_be_trusted_alike_are_not_compared() {
        let cost =
            |low, high| Some(Slowdown { ratio_low: low, ratio_high: high, ..Slowdown::default() });
        let mut a = samples::report(3, |_, _| {}).results[0].clone();
        a.trust.tracer.slowdown = cost(1.05, 1.1);
        let of = |change: &dyn Fn(&mut RunResult)| {
            let mut b = a.clone();
            change(&mut b);
            kinds(&of_results(&a, &b))
        };
        assert_eq!(
            of(&|b| b.trust.verdict = ReportedReliability::Unusable),
            [ObstacleKind::Unusable]
        );
        assert_eq!(of(&|b| b.trust.coverage = 0.94), [ObstacleKind::Coverage]);
        assert_eq!(of(&|b| b.trust.coverage = 0.96), []);
        assert_eq!(of(&|b| b.trust.tracer.slowdown = cost(1.2, 1.3)), [ObstacleKind::TracingCost]);
        assert_eq!(of(&|b| b.trust.tracer.slowdown = cost(1.0, 1.3)), []);
        assert_eq!(of(&|b| b.trust.tracer.slowdown = cost(0.67, 0.69)), []);
        assert_eq!(of(&|b| b.trust.tracer.slowdown = None), []);
    }
}
