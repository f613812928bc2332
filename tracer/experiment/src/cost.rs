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
use wirelap_events::Total;
use wirelap_process::Failure;
use wirelap_report::{Repetition, Slowdown};
use wirelap_session::Sampling;
use wirelap_session::{AttachLater, SessionSettings, TracingPhase};

/// The length of a phase. Attaching and detaching the probes takes some milliseconds.
const PHASE: Duration = Duration::from_millis(60);

/// About how many phases there are, with and without probes together.
const PHASES: u32 = 30;

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
    let phases: Vec<(bool, Option<u64>)> = phases
        .iter()
        .zip(&times)
        .map(|(phase, times)| {
            (phase.traced, (times.len() >= LEAST_MESSAGES).then(|| median(times.clone(), u64::cmp)))
        })
        .collect();
    // Only phases next to each other are compared, because the CPUs that the threads run on change over the run.
    let pairs: Vec<(u64, u64)> = phases
        .windows(2)
        .filter_map(|pair| match pair {
            [(true, Some(traced)), (false, Some(untraced))]
            | [(false, Some(untraced)), (true, Some(traced))] => Some((*traced, *untraced)),
            _ => None,
        })
        .collect();
    if pairs.len() < LEAST_PAIRS {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| *a as f64 / (*b as f64).max(1.0)).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let median_ratio = |ratios: Vec<f64>| median(ratios, f64::total_cmp);
    let mut draw =
        || median_ratio(ratios.iter().map(|_| ratios[random.usize(..ratios.len())]).collect());
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    drawn.sort_by(f64::total_cmp);
    let side = |of: fn(&(u64, u64)) -> u64| median(pairs.iter().map(of).collect(), u64::cmp);
    Some(Slowdown {
        traced_p50_ns: side(|pair| pair.0),
        untraced_p50_ns: side(|pair| pair.1),
        ratio: median_ratio(ratios.clone()),
        ratio_low: drawn[DRAWS / 40],
        ratio_high: drawn[DRAWS - 1 - DRAWS / 40],
        turns: u32::try_from(pairs.len().saturating_add(1)).unwrap_or(u32::MAX),
        messages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{TruthKind, TruthRecord};
    use wirelap_events::Stamp;
    use wirelap_events::{Nanos, Pid};

    /// A message each 100 ns that takes `traced` or `untraced`; phases of 10 µs.
    fn measured(traced: u64, untraced: u64, phases: u64) -> Option<Slowdown> {
        let mut records = Records::default();
        for seq in 0..phases * 100 {
            let at = seq * 100;
            let took = if (at / 10_000) % 2 == 0 { traced } else { untraced };
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
            traced: n % 2 == 0,
        };
        let phases: Vec<TracingPhase> = (0..phases).map(phase).collect();
        slowdown(&records, &phases, 7)
    }

    #[test]
    fn the_ratio_is_of_the_medians_and_lies_within_its_interval() {
        let found = measured(3_000, 2_000, 20).unwrap();
        assert_eq!((found.traced_p50_ns, found.untraced_p50_ns, found.turns), (3_003, 2_003, 20));
        assert!((found.ratio - 1.5).abs() < 0.01, "{found:?}");
        assert!(found.ratio_low <= found.ratio && found.ratio <= found.ratio_high);
        // Messages that cross the boundary of a phase are left out.
        assert!(found.messages < 2_000 && found.messages > 1_000, "{found:?}");
    }

    #[test]
    fn few_phases_give_no_result() {
        assert_eq!(measured(3_000, 2_000, 8), None);
    }
}
