//! The first messages of a connection take longer than the later ones: slow start, the first delayed acknowledgement, code that is
//! compiled, discovery. They do so for reasons that are soon over, and are told apart from the others: at most a note.

mod first_messages;

pub use first_messages::is_of_start_up;

use crate::clause::{Circumstance, Clause, Remedy};
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::gathered::Gathered;
use crate::kind::VerdictKind;
use wirelap_events::{Nanos, Segment, Total};
use wirelap_limits::rules::{LARGEST_START_UP_SHARE, LEAST_START_UP};

/// The note is made when all other verdicts are, and is the last one.
pub const DEFINITION: Definition = Definition::USUAL;

/// A note on a start-up that took much longer than what came after it.
pub fn verdict(evidence: &Evidence, weighed: &Gathered) -> Option<Verdict> {
    let first = evidence.start_up.breakdown.all();
    let is_apart = evidence.steady.breakdown.messages() == weighed.breakdown.messages();
    if !is_apart || first.messages < 1.0 || weighed.breakdown.messages() == 0 {
        return None;
    }
    let later = weighed.breakdown.all();
    let excess = first.mean_latency() - later.mean_latency();
    if excess < LEAST_START_UP || excess < later.mean_latency() {
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
        slow_share: messages.min(LARGEST_START_UP_SHARE),
        evidence,
        remedy: Remedy::Usual(Circumstance::in_segment(most.segment)),
        ..Verdict::new(VerdictKind::StartUp, Severity::Note)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explanation::Why;
    use crate::rules::tests::{MS, Made, explained, found, task};
    use wirelap_events::{Circumstances, Delivery, Leg, MessageId, SenderSocket, Stage, TxState};
    use wirelap_test_support::delivered;

    #[test]
    fn the_start_is_told_apart_and_is_never_the_headline() {
        let start_up = Circumstances { start_up: true, ..Circumstances::default() };
        let of = |steady: u64| {
            explained((0..10 + steady).map(|n| Made {
                at_ms: n * 100,
                busy_us: u64::from(n < 10) * 40_000,
                circumstances: if n < 10 { start_up } else { Circumstances::default() },
                ..Made::default()
            }))
        };
        let why = of(100);
        assert!(why.is_healthy(), "{:?}", why.verdicts);
        assert_eq!((why.verdicts.len(), why.verdicts[0].kind), (1, VerdictKind::StartUp));
        assert_eq!(why.messages, 110);
    }

    /// Ten first messages that waited 400 ms in their socket, and a hundred later ones.
    fn begun(tx: TxState) -> Why {
        let mut evidence = Evidence::default();
        evidence.setting.since = Some(Nanos(0));
        for n in 0..110 {
            let is_first = n < 10;
            let sent = n * 500 * MS;
            let queued = sent + u64::from(is_first) * 400 * MS;
            let acked = Some(Nanos(queued));
            let leg = Leg {
                sender: Some(task(1)),
                reader: Some(task(2)),
                circumstances: Circumstances {
                    start_up: is_first,
                    socket: SenderSocket {
                        tx: Some(tx),
                        send_len: 64,
                        acked,
                        ..SenderSocket::default()
                    },
                    ..Circumstances::default()
                },
                ..delivered::leg(&[
                    (Stage::Send, sent),
                    (Stage::Sent, sent),
                    (Stage::Queue, queued),
                    (Stage::Read, queued + 65_000),
                ])
            };
            let delivery = Delivery { message: MessageId(n), ..delivered::delivery([leg]) };
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        evidence.explain()
    }

    #[test]
    fn first_messages_that_waited_for_a_full_window_are_not_the_start() {
        let tx = TxState {
            in_flight: 64,
            window: 65_536,
            mss: 1_448,
            cwnd: 10,
            segments_out: 1,
            ..TxState::default()
        };
        let why = begun(TxState { window: 64, ..tx });
        assert_eq!(found(&why), [(VerdictKind::ReceiveWindow, 2, 10)]);
        // TCP begins with a small congestion window.
        let why = begun(TxState { segments_out: 10, ..tx });
        assert!(why.is_healthy(), "{:?}", why.verdicts);
        assert_eq!(why.verdicts[0].kind, VerdictKind::StartUp);
    }
}
