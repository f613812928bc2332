//! What tracing costs the traced: the same workload once more, with the probes attached and detached by turns.
//!
//! Its processes live through all turns, so that where they run and what is in their caches is the same for
//! both sides; and its messages are in no other figure.

use crate::ground_truth::Records;
use crate::measure::{self, Context, Outcome};
use crate::pacing::Pacing;
use crate::trial::Trial;
use std::time::Duration;
use wirelap_contract::Kind;
use wirelap_events::Total;
use wirelap_process::Failure;
use wirelap_report::Slowdown;
use wirelap_session::Sampling;
use wirelap_session::{Later, Settings, Turn};

/// How long the probes stay attached, and how long detached. Doing either takes some milliseconds.
const TURN: Duration = Duration::from_millis(60);

/// Both together: about this many turns.
const TURNS: u32 = 30;

/// A message that takes longer than this is not slowed down by microseconds.
const SLOW: u64 = 5_000_000;

/// Messages are sent for so long.
const WHOLE: Duration = TURN.saturating_mul(TURNS);

/// A turn with fewer messages tells nothing.
const ENOUGH: usize = 5;

/// Pairs of neighbouring turns that are needed.
const LEAST_PAIRS: usize = 8;

/// Samples drawn for the confidence interval.
const DRAWS: usize = 2_000;

/// Measures it for the workload of a trial that was run; `None` where it cannot be told. `later` says what
/// will be attached after it.
///
/// # Errors
/// The probes cannot be attached, or a program cannot be started.
pub fn measure(
    context: &Context<'_>,
    ran: &Outcome,
    later: Later,
) -> Result<Option<Slowdown>, Failure> {
    let Some(trial) = trial(ran) else { return Ok(None) };
    let settings = Settings { later, ..context.settings.clone() };
    let context = Context { turns: Some(TURN), recording: None, settings, ..context.clone() };
    let outcome = measure::run(&context, &trial)?;
    let seed = trial.domain.into();
    Ok(outcome.records.as_ref().and_then(|records| slowdown(records, &outcome.turns, seed)))
}

/// The same workload for as long as the turns take: how many messages that is, depends on how fast it
/// is then.
fn trial(ran: &Outcome) -> Option<Trial> {
    let trial = &ran.trial;
    let is_whole = ran.error.is_none() && ran.interrupted.is_none();
    if trial.about.kind != Kind::Stamped || !trial.truth || !is_whole {
        return None;
    }
    let is_quick = match trial.pacing {
        Pacing::PingPong => {
            let trips = &ran.records.as_ref()?.round_trips;
            let mean =
                (trips.iter().total::<u64>()).checked_div((trips.len() as u64).max(1)).unwrap_or(0);
            (1..SLOW).contains(&mean)
        }
        Pacing::Rate(rate) => rate * TURN.as_secs_f64() >= ENOUGH as f64,
        Pacing::BackToBack => false,
    };
    let duration = Some(WHOLE);
    is_quick.then(|| Trial { messages: None, duration, sampling: Sampling::Off, ..trial.clone() })
}

/// Compares what messages took within traced turns and within others, from publish to callback.
fn slowdown(records: &Records, turns: &[Turn], seed: u64) -> Option<Slowdown> {
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); turns.len()];
    for (from, to) in records.spans() {
        let index = turns.partition_point(|turn| turn.to < to);
        if turns.get(index).is_some_and(|turn| turn.from <= from && to <= turn.to) {
            times[index].push((to - from).0);
        }
    }
    let messages = times.iter().map(|times| times.len() as u64).total();
    let turns: Vec<(bool, Option<u64>)> = turns
        .iter()
        .zip(&times)
        .map(|(turn, times)| (turn.traced, (times.len() >= ENOUGH).then(|| median(times))))
        .collect();
    // Neighbours in time: where the threads run changes now and then, and with it what both sides take.
    let pairs: Vec<(u64, u64)> = turns
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
    let mut draw = || middle(ratios.iter().map(|_| ratios[random.usize(..ratios.len())]).collect());
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    drawn.sort_by(f64::total_cmp);
    let side = |of: fn(&(u64, u64)) -> u64| median(&pairs.iter().map(of).collect::<Vec<_>>());
    Some(Slowdown {
        traced_p50_ns: side(|pair| pair.0),
        untraced_p50_ns: side(|pair| pair.1),
        ratio: middle(ratios.clone()),
        ratio_low: drawn[DRAWS / 40],
        ratio_high: drawn[DRAWS - 1 - DRAWS / 40],
        turns: u32::try_from(pairs.len().saturating_add(1)).unwrap_or(u32::MAX),
        messages,
    })
}

/// The median of at least one value.
fn middle(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Of at least one value.
fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{Truth, TruthKind};
    use wirelap_events::Nanos;
    use wirelap_events::Stamp;

    /// A message each 100 ns that takes `traced` or `untraced`; turns of 10 µs.
    fn measured(traced: u64, untraced: u64, turns: u64) -> Option<Slowdown> {
        let mut records = Records::default();
        for seq in 0..turns * 100 {
            let at = seq * 100;
            let took = if (at / 10_000) % 2 == 0 { traced } else { untraced };
            let stamp =
                Stamp { stream: 0, seq: u32::try_from(seq).unwrap(), reply: false, warmup: false };
            for (kind, at) in [(TruthKind::Publish, at), (TruthKind::Deliver, at + took + seq % 7)]
            {
                records.take(&Truth { kind, stamp, at: Nanos(at + 1), aux: 0 });
            }
        }
        let turn = |n| Turn {
            from: Nanos(n * 10_000 + 1),
            to: Nanos(n * 10_000 + 10_000),
            traced: n % 2 == 0,
        };
        let turns: Vec<Turn> = (0..turns).map(turn).collect();
        slowdown(&records, &turns, 7)
    }

    #[test]
    fn the_ratio_is_of_the_medians_and_lies_within_its_interval() {
        let found = measured(3_000, 2_000, 20).unwrap();
        assert_eq!((found.traced_p50_ns, found.untraced_p50_ns, found.turns), (3_003, 2_003, 20));
        assert!((found.ratio - 1.5).abs() < 0.01, "{found:?}");
        assert!(found.ratio_low <= found.ratio && found.ratio <= found.ratio_high);
        // Those that cross a boundary are left out.
        assert!(found.messages < 2_000 && found.messages > 1_000, "{found:?}");
    }

    #[test]
    fn few_turns_tell_nothing() {
        assert_eq!(measured(3_000, 2_000, 8), None);
    }
}
