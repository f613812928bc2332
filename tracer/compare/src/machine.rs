//! Tells whether the machine itself was another one during the second run: its reference measurements are compared like any metric.
//!
//! The rank test asks whether the repetitions of both runs could be exchanged. If the machine has become slower between two
//! runs, they cannot, and the test finds a difference that is not one of the middlewares. The reference measurements, which know
//! no middleware, find the same difference.

use crate::comparison::{Bounds, MachineChange, Reference, ReferenceKind};
use crate::estimate::{Means, Uncertainty, means};
use crate::metric::{Answer, Metric};
use crate::statistics::bootstrap::{Drawing, seed_of};
use crate::statistics::interval::Interval;
use wirelap_events::Nanos;
use wirelap_report::{MachineState, RunReport};

/// A reference measurement differs at this p-value. There is no correction for the number of references: to miss a change of the
/// machine costs more than to believe in one.
const DIFFERS: f64 = 0.05;

/// The part of the figures' change that the machine's own change explains.
#[derive(Clone, Copy, Debug)]
pub struct MachineEffect {
    /// Interval of the logarithm of B/A for times; it holds 0.
    times: Interval,
    /// Share of the CPU time by which more was stolen on one side than on the other.
    stolen: f64,
}

#[cfg(test)]
impl MachineEffect {
    pub fn of_times(low: f64, high: f64) -> MachineEffect {
        MachineEffect { times: Interval { low, high }, ..SAME_MACHINE }
    }
}

/// All ratios are possible. A message that meets a stolen CPU takes milliseconds longer, so that a tail of as many messages as
/// were stolen from, or twice as many, is theirs.
const UNKNOWN: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

/// The effect of a machine that did not change.
pub const SAME_MACHINE: MachineEffect =
    MachineEffect { times: Interval { low: 0.0, high: 0.0 }, stolen: 0.0 };

/// The change of the machine from one run to the other; `None` if a run has no reference measurements.
pub fn change(a: &RunReport, b: &RunReport, draws: usize, seed: u64) -> Option<MachineChange> {
    let sides = [a, b].map(states);
    let all = ReferenceKind::ALL.into_iter();
    let references: Vec<Reference> =
        all.filter_map(|kind| reference(kind, &sides, draws, seed)).collect();
    if references.is_empty() {
        return None;
    }
    // If one reference shows that the machine changed, another one that varies too much to show it may have changed, too.
    let differs = references.iter().any(|one| one.differs);
    let bounds = || references.iter().filter(|_| differs).map(|one| one.ratio_95);
    let explains = Bounds {
        low: bounds().map(|bounds| bounds.low).fold(1.0, f64::min),
        high: bounds().map(|bounds| bounds.high).fold(1.0, f64::max),
    };
    let steal = references.iter().find(|one| one.kind == ReferenceKind::Steal && one.differs);
    let stolen_difference = steal.map_or(0.0, |steal| (steal.b - steal.a).abs());
    Some(MachineChange { references, explains, stolen_difference })
}

/// The states of the machine around all repetitions.
fn states(run: &RunReport) -> Vec<MachineState> {
    let repetitions = run.results.iter().flat_map(|result| &result.repetitions);
    repetitions.filter_map(|repetition| repetition.machine).collect()
}

fn reference(
    kind: ReferenceKind,
    sides: &[Vec<MachineState>; 2],
    draws: usize,
    seed: u64,
) -> Option<Reference> {
    let logs = |side: &[MachineState]| -> Vec<f64> {
        side.iter().filter_map(|state| log(kind, state)).collect()
    };
    let [a, b] = [logs(&sides[0]), logs(&sides[1])];
    let [a, b]: [Vec<&f64>; 2] = [a.iter().collect(), b.iter().collect()];
    let seed = seed_of(seed, kind.name());
    let [Means { a: from, b: to, uncertainty }] =
        means((&a, &b), Drawing::Independent, draws, seed)?;
    let Uncertainty { likely: Interval { low, high }, p, .. } = uncertainty?;
    let value = |log: f64| match kind {
        ReferenceKind::Steal => 1.0 - (-log).exp(),
        ReferenceKind::RoundTrip | ReferenceKind::SendAndRead => log.exp(),
    };
    Some(Reference {
        kind,
        a: value(from),
        b: value(to),
        ratio: (to - from).exp(),
        ratio_95: Bounds { low: low.exp(), high: high.exp() },
        p,
        // An interval that holds 1 is a change in no certain direction.
        differs: p <= DIFFERS && (low > 0.0 || high < 0.0),
    })
}

/// The logarithm of a reference time. What is done with a share `s` of the CPU time stolen takes 1 / (1 − s) times as long.
fn log(kind: ReferenceKind, state: &MachineState) -> Option<f64> {
    let log = match kind {
        ReferenceKind::RoundTrip => (state.round_trip_ns? as f64).ln(),
        ReferenceKind::SendAndRead => (state.send_and_read_ns? as f64).ln(),
        ReferenceKind::Steal => -(1.0 - state.steal_share?).ln(),
    };
    Some(log).filter(|log| log.is_finite())
}

/// Sentences on what the machine's change means for the answers.
pub fn notes(change: &MachineChange) -> Vec<String> {
    let differing = change.references.iter().filter(|one| one.differs);
    let mut notes: Vec<String> = differing.map(sentence).collect();
    if !notes.is_empty() {
        notes.push(
            "What the machine's own change can explain is no difference of the sides, and has the answer `cannot tell (machine)`: \
             use `wirelap run --ab`, or measure both again."
                .into(),
        );
    }
    notes
}

fn sentence(one: &Reference) -> String {
    let Bounds { low, high } = one.ratio_95;
    let times = format!("{:.3} times (95 % interval {low:.3}–{high:.3})", one.ratio);
    let ns = |value: f64| Nanos::from_f64(value);
    match one.kind {
        ReferenceKind::RoundTrip => format!(
            "The machine itself changed: before the repetitions of B, a round trip between two threads, without a middleware, took {}, {times} \
             the {} of A.",
            ns(one.b),
            ns(one.a)
        ),
        ReferenceKind::SendAndRead => format!(
            "The machine itself changed: before the repetitions of B, one thread sent itself a datagram and read it in {}, {times} \
             the {} of A.",
            ns(one.b),
            ns(one.a)
        ),
        ReferenceKind::Steal => format!(
            "The machine itself changed: the hypervisor took {:.2} % of the CPU time that was wanted during B, and {:.2} % during A.",
            one.b * 100.0,
            one.a * 100.0
        ),
    }
}

/// The effect of the machine's change on the figures.
pub fn effect(change: Option<&MachineChange>) -> MachineEffect {
    let Some(&MachineChange { explains: Bounds { low, high }, stolen_difference, .. }) = change
    else {
        return SAME_MACHINE;
    };
    let times = Interval { low: low.ln(), high: high.ln() };
    MachineEffect { times, stolen: stolen_difference }
}

/// The interval of a metric's ratio, wider by what the machine's own change explains of it. Bytes know no machine.
pub fn widened(metric: Metric, of: Interval, machine: MachineEffect) -> Interval {
    let Interval { low, high } = machine.times;
    match (metric, metric.if_more()) {
        (Metric::WireBytesPerDelivery, _) => of,
        _ if metric.tail().is_some_and(|tail| machine.stolen >= tail / 2.0) => UNKNOWN,
        // What takes longer happens less often.
        (_, Answer::Faster) => Interval { low: of.low + low, high: of.high + high },
        _ => Interval { low: of.low - high, high: of.high - low },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_of_stolen_time_is_not_known() {
        let is_unknown = |metric, stolen| {
            let machine = MachineEffect { stolen, ..SAME_MACHINE };
            widened(metric, Interval { low: 0.5, high: 0.6 }, machine) == UNKNOWN
        };
        let of = |stolen| Metric::ALL.map(|metric| is_unknown(metric, stolen));
        assert_eq!(of(0.0), [false; 9]);
        let tails = |of: &[Metric]| Metric::ALL.map(|metric| of.contains(&metric));
        let (p99, p999) = (Metric::OneWayP99Ns, Metric::OneWayP999Ns);
        assert_eq!(of(0.0005), tails(&[p999]));
        assert_eq!(of(0.005), tails(&[p99, p999, Metric::ConnectP99Ns]));
        assert_eq!(of(0.1), of(0.005));
    }
}
