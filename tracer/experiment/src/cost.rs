//! Measures what tracing costs the traced programs: runs the same workload again, with the probes attached and detached
//! alternately.
//!
//! The processes live through all phases, so that their CPUs and caches are the same with and without probes. The messages of
//! this run are in no other figure.

use crate::ground_truth::Records;
use crate::measure::{self, Context};
use crate::median::median;
use crate::pacing::Pacing;
use crate::trial::Trial;
use std::time::Duration;
use wirelap_contract::WorkloadKind;
use wirelap_events::{Total, TraceDetail};
use wirelap_process::Failure;
use wirelap_report::{AddedTime, Repetition, Slowdown};
use wirelap_session::Sampling;
use wirelap_session::{AttachLater, SessionSettings, TracingPhase};

/// The length of a phase. Attaching and detaching the probes takes some milliseconds.
const PHASE: Duration = Duration::from_millis(60);

/// About how many phases there are, with all probes, with some, and without.
const PHASES: u32 = 54;

/// The median round trip in nanoseconds from which on the cost, which is microseconds, cannot be measured.
const SLOW_NS: u64 = 5_000_000;

/// How long messages are sent.
const DURATION: Duration = PHASE.saturating_mul(PHASES);

/// The least messages of a phase that is compared.
const LEAST_MESSAGES: usize = 5;

/// The least pairs of neighbouring phases for a result.
const LEAST_PAIRS: usize = 8;

/// How many samples are drawn for the confidence interval (bootstrap).
const DRAWS: usize = 2_000;

/// Measures the cost of tracing for the workload of a trial; `None` if it cannot be measured. `later` tells whether probes are
/// attached again after this.
///
/// # Errors
/// The probes cannot be attached, a program cannot be started, or the user has stopped the run.
pub fn measure(
    context: &Context<'_>,
    trial: &Trial,
    later: AttachLater,
) -> Result<Option<Slowdown>, Failure> {
    let settings = SessionSettings { later, ..context.settings.clone() };
    let context =
        Context { phase: Some(PHASE), recording: None, samples: None, settings, ..context.clone() };
    let outcome = measure::run(&context, trial)?;
    if let Some(signal) = outcome.interrupted {
        let text = format!("stopped by {signal} while the cost of tracing was measured");
        return Err(Failure::Measured(text));
    }
    if let Some(failure @ Failure::Machine(_)) = outcome.error {
        return Err(failure);
    }
    let seed = trial.domain.into();
    Ok(outcome.records.as_ref().and_then(|records| slowdown(records, &outcome.phases, seed)))
}

/// The trial with the same workload that lasts as long as the phases, whatever number of messages that is. `None` for a trial
/// whose cost cannot be measured.
pub fn repeated(trial: &Trial, ran: &Repetition) -> Option<Trial> {
    let is_whole = ran.error.is_none() && ran.interrupted.is_none();
    if trial.about.kind != WorkloadKind::Stamped || !trial.truth || !is_whole {
        return None;
    }
    let is_quick = match trial.pacing {
        Pacing::PingPong => (1..SLOW_NS).contains(&ran.rtt_half_ns?.p50.saturating_mul(2)),
        Pacing::Rate(rate) => rate * PHASE.as_secs_f64() >= LEAST_MESSAGES as f64,
        Pacing::BackToBack => false,
    };
    let duration = Some(DURATION);
    let idle = Duration::ZERO;
    is_quick.then(|| Trial {
        messages: None,
        duration,
        idle,
        sampling: Sampling::Off,
        ..trial.clone()
    })
}

/// Compares the times from publish to callback of messages within traced phases and within untraced phases.
fn slowdown(records: &Records, phases: &[TracingPhase], seed: u64) -> Option<Slowdown> {
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); phases.len()];
    for (from, to) in records.spans() {
        let index = phases.partition_point(|phase| phase.to < to);
        if phases.get(index).is_some_and(|phase| phase.from <= from && to <= phase.to) {
            times[index].push((to - from).0);
        }
    }
    let messages = times.iter().map(|times| times.len() as u64).total();
    let medians: Vec<Turn> = phases
        .iter()
        .zip(&times)
        .map(|(phase, times)| Turn {
            attached: phase.attached,
            p50: (times.len() >= LEAST_MESSAGES).then(|| median(times.clone(), u64::cmp)),
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let pairs = pairs(&medians, TraceDetail::Full);
    let ratio = Estimate::of(pairs.iter().map(ratio).collect(), &mut random)?;
    let side = |of: fn(&(u64, u64)) -> u64| median(pairs.iter().map(of).collect(), u64::cmp);
    let untraced = side(|pair| pair.1);
    let mut added = |detail| {
        let ratios = self::pairs(&medians, detail).iter().map(self::ratio).collect();
        let Estimate { value, low, high } = Estimate::of(ratios, &mut random)?;
        let [added_ns, low_ns, high_ns] = [value, low, high].map(|r| (r - 1.0) * untraced as f64);
        Some(AddedTime { added_ns, low_ns, high_ns })
    };
    Some(Slowdown {
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
struct Turn {
    attached: Option<TraceDetail>,
    p50: Option<u64>,
}

/// The medians with these probes and without any, of phases next to each other: the CPUs that the threads run on change over the run.
fn pairs(turns: &[Turn], with: TraceDetail) -> Vec<(u64, u64)> {
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
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
}

impl Estimate {
    /// The median of these values, bootstrapped; `None` of too few.
    fn of(values: Vec<f64>, random: &mut fastrand::Rng) -> Option<Estimate> {
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
        Some(Estimate { value: median(values, f64::total_cmp), low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{TruthKind, TruthRecord};
    use wirelap_events::Stamp;
    use wirelap_events::{Nanos, Pid};

    const TURNS: [Option<TraceDetail>; 6] = [
        Some(TraceDetail::Full),
        None,
        Some(TraceDetail::Path),
        None,
        Some(TraceDetail::Ends),
        None,
    ];

    /// A message each 100 ns that takes `untraced` and what the probes add; phases of 10 µs.
    fn measured(added: [u64; 3], untraced: u64, phases: u64) -> Option<Slowdown> {
        let attached = |phase: u64| TURNS[usize::try_from(phase).unwrap() % TURNS.len()];
        let mut records = Records::default();
        for seq in 0..phases * 100 {
            let at = seq * 100;
            let took = untraced + attached(at / 10_000).map_or(0, |part| added[part as usize]);
            let stamp =
                Stamp { stream: 0, seq: u32::try_from(seq).unwrap(), reply: false, warmup: false };
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
    fn few_phases_give_no_result() {
        assert_eq!(measured([100, 600, 1_000], 2_000, 20), None);
    }
}
