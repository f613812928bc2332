//! The first messages of a connection: slow start, the first delayed acknowledgement, code that is compiled, discovery.
//! These messages take longer for reasons that are soon over, and are told apart from the others.

use super::clause::{Circumstance, Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict};
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::weigh::ratio;
use wirelap_events::{Nanos, Segment, Total};

/// A start-up that costs a message less is not worth telling.
const LEAST: f64 = 1e6;

/// A note on a start-up that took much longer than what came after it.
pub fn verdict(evidence: &Evidence, weighed: &Gathered) -> Option<Verdict> {
    let first = evidence.start_up.breakdown.all();
    let is_apart = evidence.steady.breakdown.messages() == weighed.breakdown.messages();
    if !is_apart || first.messages < 1.0 || weighed.breakdown.messages() == 0 {
        return None;
    }
    let later = weighed.breakdown.all();
    let excess = first.mean_latency() - later.mean_latency();
    if excess < LEAST || excess < later.mean_latency() {
        return None;
    }
    let cells = evidence.start_up.breakdown.cells();
    let usual = |segment: Segment, leg: usize| -> f64 {
        let all = weighed.breakdown.cells().iter().enumerate();
        let same = all.filter(|(_, cell)| (cell.leg, cell.segment) == (leg, segment));
        same.map(|(slot, _)| later.mean(slot)).total()
    };
    let costs = cells.iter().enumerate().map(|(slot, cell)| (cell, first.mean(slot)));
    let (most, time) = costs.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let kind = most.cause.kind();
    let evidence = vec![
        Clause::FirstMessages {
            messages: first.messages,
            mean: Nanos::from_f64(first.mean_latency()),
            later: Nanos::from_f64(later.mean_latency()),
        },
        Clause::FirstMessagesMost {
            time: Nanos::from_f64(time),
            segment: most.segment,
            leg: most.leg,
            kind,
            later: Nanos::from_f64(usual(most.segment, most.leg)),
        },
    ];
    let messages = first.messages / (first.messages + weighed.breakdown.messages() as f64);
    Some(Verdict {
        slow: Nanos::from_f64(excess),
        slow_share: ratio(messages, 1.0).min(0.01),
        evidence,
        remedy: Remedy::Usual(Circumstance::in_segment(most.segment)),
        ..Verdict::new(VerdictKind::StartUp, Severity::Note)
    })
}
