//! The cause that held up one message, beside a typical one of its row.

use super::breakdown::Breakdown;
use super::explanation::Cause;
use super::kind::VerdictKind;
use arrayvec::ArrayVec;
use wirelap_events::{MAX_LEGS, Nanos, Pid, Segment};
use wirelap_limits::causes::NOTICEABLE_TIME;
use wirelap_limits::rules::{MIN_MESSAGES_FOR_VERDICT, TYPICAL_RENEWAL};

const KINDS: usize = VerdictKind::ALL.len();

/// The cause to which a message lost more time than to any other, beyond what a typical message of its row loses
/// to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayCause {
    /// The cause.
    pub kind: VerdictKind,
    /// On which leg, 0 for the first.
    pub leg: usize,
    /// In which segment most of that time is.
    pub segment: Segment,
    /// Time beyond that of a typical message; 50 µs at least.
    pub time: Nanos,
}

/// Time that a message spent on one cause.
#[derive(Clone, Copy, Debug)]
struct Spent {
    leg: usize,
    kind: VerdictKind,
    time: Nanos,
    /// The longest part of it.
    longest: (Nanos, Segment),
    /// The process that the longest part is the doing or the loss of; 0 where none can be named.
    pid: Pid,
}

/// One message's time by leg and kind of cause.
#[derive(Debug, Default)]
pub(super) struct Spending(ArrayVec<Spent, { MAX_LEGS * KINDS }>);

impl Spending {
    pub fn part(&mut self, leg: usize, segment: Segment, kind: VerdictKind, time: Nanos, pid: Pid) {
        let known = self.0.iter_mut().find(|spent| (spent.leg, spent.kind) == (leg, kind));
        if let Some(spent) = known {
            spent.time += time;
            if (time, segment) > spent.longest {
                (spent.longest, spent.pid) = ((time, segment), pid);
            }
        } else {
            let spent = Spent { leg, kind, time, longest: (time, segment), pid };
            // There is room for every leg and kind.
            let _ = self.0.try_push(spent);
        }
    }

    /// Leg, kind, time, and whose the longest part of it is.
    pub fn all(&self) -> impl Iterator<Item = (usize, VerdictKind, Nanos, Pid)> + '_ {
        self.0.iter().map(|spent| (spent.leg, spent.kind, spent.time, spent.pid))
    }
}

/// Time that a typical message of a row spends, by leg and kind of cause: the mean of those near the
/// median.
#[derive(Clone, Debug, Default)]
pub(super) struct Typical {
    /// In nanoseconds; empty while too few messages are known.
    times: Vec<f64>,
    /// Looked at again when there are so many messages.
    due: u64,
}

impl Typical {
    /// The cause that held a message up that spent its time so. `None` for a typical message, and while none
    /// is known.
    pub fn held_up(&self, spending: &Spending) -> Option<DelayCause> {
        let most = spending.0.iter().filter_map(|spent| {
            let typical = *self
                .times
                .get(spent.leg.saturating_mul(KINDS).saturating_add(spent.kind as usize))?;
            let time = spent.time - Nanos::from_f64(typical);
            Some((time, spent))
        });
        let (time, spent) = most.max_by_key(|(time, spent)| (*time, spent.longest))?;
        let Spent { kind, leg, longest: (_, segment), .. } = *spent;
        (time >= NOTICEABLE_TIME).then_some(DelayCause { kind, leg, segment, time })
    }

    /// Looks at what is typical if there are many more messages than the last time.
    pub fn renew(&mut self, breakdown: &Breakdown) {
        let messages = breakdown.messages();
        if messages < self.due.max(MIN_MESSAGES_FOR_VERDICT) {
            return;
        }
        self.due =
            messages.saturating_add((messages / TYPICAL_RENEWAL).max(MIN_MESSAGES_FOR_VERDICT));
        let middle = breakdown.middle();
        self.times.clear();
        self.times.resize(MAX_LEGS * KINDS, 0.0);
        for (slot, cell) in breakdown.cells().iter().enumerate() {
            if let Cause::Of(kind) = cell.cause {
                self.times[cell
                    .leg
                    .min(MAX_LEGS - 1)
                    .saturating_mul(KINDS)
                    .saturating_add(kind as usize)] += middle.mean(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::breakdown::Cell;
    use super::*;

    const WAIT: VerdictKind = VerdictKind::RunQueueContention;

    fn spending(parts: &[(VerdictKind, Segment, u64)]) -> Spending {
        let mut spending = Spending::default();
        for &(kind, segment, us) in parts {
            spending.part(1, segment, kind, Nanos::from_micros(us), Pid(7));
        }
        spending
    }

    /// A hundred messages for which the broker takes so long.
    fn typical(us: u64) -> Typical {
        let mut breakdown = Breakdown::default();
        let cell = Cell {
            leg: 1,
            segment: Segment::BrokerDwell,
            cause: Cause::Of(VerdictKind::BrokerCpuBound),
        };
        for _ in 0..100 {
            breakdown.message(Nanos::from_micros(us));
            breakdown.part(Nanos::from_micros(us), cell, Nanos::from_micros(us));
        }
        let mut typical = Typical::default();
        typical.renew(&breakdown);
        typical
    }

    #[test]
    fn what_every_message_spends_holds_none_up() {
        let dwell = (VerdictKind::BrokerCpuBound, Segment::BrokerDwell, 900);
        assert_eq!(typical(880).held_up(&spending(&[dwell])), None);
        let found = typical(880).held_up(&spending(&[dwell, (WAIT, Segment::RunQueue, 60)]));
        let time = Nanos::from_micros(60);
        assert_eq!(
            found,
            Some(DelayCause { kind: WAIT, leg: 1, segment: Segment::RunQueue, time })
        );
        let found = typical(100).held_up(&spending(&[dwell, (WAIT, Segment::RunQueue, 60)]));
        assert_eq!(found.map(|found| found.time), Some(Nanos::from_micros(800)));
    }

    #[test]
    fn a_cause_in_several_parts_is_one() {
        let parts = [(WAIT, Segment::RunQueue, 30), (WAIT, Segment::BrokerDwell, 40)];
        let found = typical(10).held_up(&spending(&parts)).unwrap();
        assert_eq!((found.segment, found.time), (Segment::BrokerDwell, Nanos::from_micros(70)));
    }

    #[test]
    fn few_messages_tell_nothing() {
        let wait = spending(&[(WAIT, Segment::RunQueue, 9_000)]);
        assert_eq!(Typical::default().held_up(&wait), None);
    }
}
