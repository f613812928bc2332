//! Measures what tracing costs the traced programs: the processes of a trial go on after all messages that count, with the probes
//! attached and detached alternately.
//!
//! The processes live through all phases, so that their CPUs and caches are the same with and without probes, and the same as in the
//! trial. The messages of the phases are in no other figure.

use crate::context::TrialContext;
use crate::ground_truth::TruthRecords;
use crate::median::median;
use crate::pacing::TrialPacing;
use crate::processes::{TrialStopped, WorkloadProcess};
use crate::tally::Tally;
use crate::trial::Trial;
use crate::workload_processes::WorkloadProcesses;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirelap_contract::WorkloadKind;
use wirelap_events::{Nanos, Total, TraceDetail};
use wirelap_process::Failure;
use wirelap_report::{AddedTime, CostUnknown, Slowdown};
use wirelap_session::{Sampling, SessionSettings, Tracer, TracingPhase};

/// The length of a phase. Attaching and detaching the probes takes some milliseconds, with all of those for datagrams a tenth of a
/// second, and belongs to no phase.
const PHASE: Duration = Duration::from_millis(60);

/// Number of phases, with all probes, with some, and without.
const PHASES: usize = 54;

/// The longest time for all phases. What was measured until then counts.
const LONGEST: Duration = Duration::from_secs(15);

/// The median one-way time from which on the cost, which is microseconds, cannot be measured.
const SLOW: Nanos = Nanos::from_micros(2_500);

/// The least messages of a phase that is compared.
const LEAST_MESSAGES: usize = 5;

/// The least pairs of neighbouring phases for a result.
const LEAST_PAIRS: usize = 8;

/// Number of samples that are drawn for the confidence interval (bootstrap).
const DRAWS: usize = 2_000;

/// True if there is a cost that can be measured: the workloads record when each message was published and delivered, and none of
/// them waits in a queue.
pub fn are_possible(trial: &Trial) -> bool {
    let has_records = trial.about.kind == WorkloadKind::Stamped && trial.truth && !trial.connects();
    has_records
        && match trial.pacing {
            TrialPacing::PingPong => true,
            TrialPacing::Rate(rate) => rate * PHASE.as_secs_f64() >= LEAST_MESSAGES as f64,
            TrialPacing::BackToBack => false,
        }
}

/// The phases of the processes of a trial that has ended, while they go on.
///
/// # Errors
/// The probes cannot be attached, a process ends, or the user has stopped the run.
pub fn take(
    context: &TrialContext<'_>,
    trial: &Trial,
    ran: &Tally,
    processes: &mut WorkloadProcesses<'_>,
) -> Result<Result<Vec<TracingPhase>, CostUnknown>, TrialStopped> {
    if ran.one_way.quantile(0.5) >= SLOW {
        return Ok(Err(CostUnknown::SlowMessages));
    }
    let settings = SessionSettings { alternates: true, drain: false, ..context.settings.clone() };
    let tracer = Tracer::start(&settings, Tally::new(0, Arc::default()), None)?;
    processes.follow_again(&tracer.commands());
    tracer.commands().begin(Sampling::Off);
    processes.go_on();
    tracer.commands().alternate(PHASE, PHASES);
    let began = Instant::now();
    while !tracer.has_ended() && began.elapsed() < LONGEST {
        processes.group.listen()?;
        // They have said DONE, and stay.
        if processes.group.children().iter().any(WorkloadProcess::has_exited) {
            let text = format!("a process of {} ended while its cost was measured", trial.title());
            return Err(Failure::Measured(text).into());
        }
    }
    let findings = tracer.end()?;
    if let Some(error) = findings.error {
        return Err(Failure::Measured(format!("tracing {}: {error}", trial.title())).into());
    }
    Ok(Ok(findings.phases))
}

/// Compares the times from publish to callback of messages within traced phases and within untraced phases.
///
/// # Errors
/// There are too few phases with messages.
pub fn slowdown(
    records: &TruthRecords,
    phases: &[TracingPhase],
    seed: u64,
) -> Result<Slowdown, CostUnknown> {
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); phases.len()];
    for (from, to) in records.uncounted_spans() {
        let index = phases.partition_point(|phase| phase.to < to);
        if phases.get(index).is_some_and(|phase| phase.from <= from && to <= phase.to) {
            times[index].push((to - from).0);
        }
    }
    let messages = times.iter().map(|times| times.len() as u64).total();
    let medians: Vec<PhaseMedian> = phases
        .iter()
        .zip(&times)
        .map(|(phase, times)| PhaseMedian {
            attached: phase.attached,
            p50: (times.len() >= LEAST_MESSAGES).then(|| median(times.clone(), u64::cmp)),
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let pairs = pairs(&medians, TraceDetail::Full);
    let ratio = MedianEstimate::of(pairs.iter().map(ratio).collect(), &mut random)
        .ok_or(CostUnknown::FewTurns)?;
    let side = |of: fn(&(u64, u64)) -> u64| median(pairs.iter().map(of).collect(), u64::cmp);
    let untraced = side(|pair| pair.1);
    let mut added = |detail| {
        let ratios = self::pairs(&medians, detail).iter().map(self::ratio).collect();
        let MedianEstimate { value, low, high } = MedianEstimate::of(ratios, &mut random)?;
        let [added_ns, low_ns, high_ns] = [value, low, high].map(|r| (r - 1.0) * untraced as f64);
        Some(AddedTime { added_ns, low_ns, high_ns })
    };
    Ok(Slowdown {
        traced_p50_ns: side(|pair| pair.0),
        untraced_p50_ns: untraced,
        ratio: ratio.value,
        ratio_low: ratio.low,
        ratio_high: ratio.high,
        turns: u32::try_from(pairs.len().saturating_add(1)).unwrap_or(u32::MAX),
        messages,
        ends: added(TraceDetail::Ends),
        path: added(TraceDetail::Path),
    })
}

/// The median of a phase's messages; `None` of too few.
struct PhaseMedian {
    attached: Option<TraceDetail>,
    p50: Option<u64>,
}

/// The medians with these probes and without any, of phases next to each other: the CPUs that the threads run on change over the run.
fn pairs(turns: &[PhaseMedian], with: TraceDetail) -> Vec<(u64, u64)> {
    let neighbours = turns.windows(2).filter_map(|pair| {
        let [a, b] = pair else { return None };
        match (a.attached, b.attached) {
            (Some(detail), None) if detail == with => Some((a.p50?, b.p50?)),
            (None, Some(detail)) if detail == with => Some((b.p50?, a.p50?)),
            _ => None,
        }
    });
    neighbours.collect()
}

fn ratio((with, without): &(u64, u64)) -> f64 {
    *with as f64 / (*without as f64).max(1.0)
}

/// A median with its 95 % confidence interval.
struct MedianEstimate {
    value: f64,
    low: f64,
    high: f64,
}

impl MedianEstimate {
    /// The median of these values, bootstrapped; `None` of too few.
    fn of(values: Vec<f64>, random: &mut fastrand::Rng) -> Option<MedianEstimate> {
        if values.len() < LEAST_PAIRS {
            return None;
        }
        let mut draw = || {
            let drawn = values.iter().map(|_| values[random.usize(..values.len())]).collect();
            median(drawn, f64::total_cmp)
        };
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        drawn.sort_by(f64::total_cmp);
        let (low, high) = (drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]);
        Some(MedianEstimate { value: median(values, f64::total_cmp), low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{TruthKind, TruthRecord};
    use wirelap_events::Stamp;
    use wirelap_events::{Nanos, Pid};
    use wirelap_report::{DistributionSummary, Latency};

    const TURNS: [Option<TraceDetail>; 6] = [
        Some(TraceDetail::Full),
        None,
        Some(TraceDetail::Path),
        None,
        Some(TraceDetail::Ends),
        None,
    ];

    /// A message each 100 ns that takes `untraced` and what the probes add; phases of 10 µs.
    fn measured(added: [u64; 3], untraced: u64, phases: u64) -> Result<Slowdown, CostUnknown> {
        let attached = |phase: u64| TURNS[usize::try_from(phase).unwrap() % TURNS.len()];
        let mut records = TruthRecords::default();
        for seq in 0..phases * 100 {
            let at = seq * 100;
            let took = untraced + attached(at / 10_000).map_or(0, |part| added[part as usize]);
            let stamp =
                Stamp { stream: 0, seq: u32::try_from(seq).unwrap(), reply: false, warmup: true };
            for (kind, at) in [(TruthKind::Publish, at), (TruthKind::Deliver, at + took + seq % 7)]
            {
                records.take(Pid(1), &TruthRecord { kind, stamp, at: Nanos(at + 1), aux: 0 });
            }
        }
        let phase = |n| TracingPhase {
            from: Nanos(n * 10_000 + 1),
            to: Nanos(n * 10_000 + 10_000),
            attached: attached(n),
        };
        let phases: Vec<TracingPhase> = (0..phases).map(phase).collect();
        slowdown(&records, &phases, 7)
    }

    #[test]
    fn the_ratio_is_of_the_medians_and_lies_within_its_interval() {
        let found = measured([100, 600, 1_000], 2_000, 30).unwrap();
        assert_eq!((found.traced_p50_ns, found.untraced_p50_ns, found.turns), (3_003, 2_003, 10));
        assert!((found.ratio - 1.5).abs() < 0.01, "{found:?}");
        let all = found.added();
        for (part, planted) in [(found.ends, 100.0), (found.path, 600.0), (Some(all), 1_000.0)] {
            let part = part.unwrap();
            assert!((part.added_ns - planted).abs() < 5.0, "{part:?}, and not {planted}");
            assert!(part.low_ns <= part.added_ns && part.added_ns <= part.high_ns);
        }
        assert!(found.ratio_low <= found.ratio && found.ratio <= found.ratio_high);
        // Messages that cross the boundary of a phase are left out.
        assert!(found.messages < 3_000 && found.messages > 1_500, "{found:?}");
    }

    #[test]
    fn what_was_planted_is_taken_off_the_medians() {
        for (untraced, planted) in [(2_000, 1_000), (4_000, 2_500), (6_000, 300)] {
            let found = measured([planted / 10, planted / 2, planted], untraced, 30).unwrap();
            let traced =
                DistributionSummary { count: 9, p50: untraced + planted, ..Default::default() };
            let mut latency = Latency {
                one_way_ns: traced,
                publish_to_deliver_ns: Some(traced),
                ..Latency::default()
            };
            latency.correct(&found);
            let corrected = latency.without_tracing.unwrap();
            for time in [corrected.one_way_p50, corrected.publish_to_deliver_p50.unwrap()] {
                assert!((time.ns / untraced as f64 - 1.0).abs() < 0.03, "{time:?}: {untraced}");
                assert!(time.low_ns <= time.ns && time.ns <= time.high_ns, "{time:?}");
            }
        }
    }

    #[test]
    fn few_phases_give_no_result() {
        assert_eq!(measured([100, 600, 1_000], 2_000, 20), Err(CostUnknown::FewTurns));
    }
}
