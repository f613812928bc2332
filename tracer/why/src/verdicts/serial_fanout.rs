//! One thread sends a message to one subscriber after the other.
//!
//! The cause is found by when the same thread sent the message to the first subscriber: its work from then on is that of sending it to others.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_limits::kinds::{NOTE_OF_SERIAL_FANOUT, SERIAL_FANOUT};

pub const DEFINITION: Definition = Definition {
    limits: Some(SERIAL_FANOUT),
    note: Some(NOTE_OF_SERIAL_FANOUT),
    facts: |case| {
        let waited = case.finding.longest.time;
        case.often_and(case.finding.longest.circumstances.fan_out.map(|fan_out| {
            let (readers, position) = (fan_out.readers, fan_out.position);
            Clause::InTurn { readers, position, waited }
        }))
    },
    ..Definition::USUAL
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::explanation::Severity;
    use crate::kind::VerdictKind;
    use crate::rules::tests::task;
    use wirelap_events::{Circumstances, Delivery, FanOut, Leg, LegOffCpu, Nanos, Stage};
    use wirelap_test_support::delivered;

    /// A message of which its thread sends one copy after the other.
    fn fanned(position: u32, readers: u32, each_us: u64) -> Delivery {
        let first = Leg {
            sender: Some(task(1)),
            reader: Some(task(2)),
            ..delivered::leg(&[(Stage::Send, 0), (Stage::Read, 100_000)])
        };
        let begins = Nanos(110_000);
        let sent = begins + Nanos(u64::from(position - 1) * each_us * 1_000);
        let fan_out = (position > 1).then_some(FanOut { position, readers, first_sent: begins });
        let second = Leg {
            sender: Some(task(2)),
            reader: Some(task(2 + position)),
            circumstances: Circumstances { fan_out, ..Circumstances::default() },
            ..delivered::leg(&[(Stage::Send, sent.0), (Stage::Read, sent.0 + 20_000)])
        };
        Delivery {
            off_cpu: [LegOffCpu::NONE, LegOffCpu::NONE].into_iter().collect(),
            ..delivered::delivery([first, second])
        }
    }

    #[test]
    fn late_subscribers_wait_for_the_sends_to_the_earlier_ones() {
        let of = |readers: u32| {
            let mut evidence = Evidence::default();
            for position in (0..20).flat_map(|_| 1..=readers) {
                let delivery = fanned(position, readers, 20);
                evidence.delivery(&delivery, delivery.one_way().unwrap());
            }
            evidence.explain()
        };
        let why = of(50);
        assert_eq!(why.verdicts.len(), 1, "{:?}", why.verdicts);
        let verdict = &why.verdicts[0];
        assert_eq!(
            (verdict.kind, verdict.severity),
            (VerdictKind::SerialFanOut, Severity::Problem)
        );
        assert_eq!((verdict.leg, verdict.process.unwrap().0), (Some(2), task(2)));
        let in_turn = verdict.evidence.iter().find_map(|clause| match *clause {
            Clause::InTurn { readers, position, waited } => Some((readers, position, waited.0)),
            _ => None,
        });
        let (readers, position, waited) = in_turn.unwrap();
        assert_eq!((readers, waited / u64::from(position - 1)), (50, 20_000));
        assert!(of(3).is_healthy());
    }
}
