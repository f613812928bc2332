//! The time that messages spent by leg, segment and cause, whatever the verdicts are.

use super::breakdown::Breakdown;
use super::explanation::{TimeSpent, TimeSpentRow, leg_number};
use wirelap_events::Segment;
use wirelap_limits::rules::{MIN_MESSAGES_IN_TAIL, SLOWEST_PART};

/// The time of all messages, those near the median and the slowest 1 %, by leg, segment and cause.
pub fn time_spent(breakdown: &Breakdown) -> TimeSpent {
    let messages = breakdown.messages();
    let tail_messages = Some(messages / SLOWEST_PART)
        .filter(|&count| count >= MIN_MESSAGES_IN_TAIL)
        .unwrap_or_default();
    let (all, middle) = (breakdown.all(), breakdown.middle());
    let tail = breakdown.slowest(tail_messages);
    let rows = breakdown.cells().iter().enumerate().map(|(slot, cell)| TimeSpentRow {
        leg: leg_number(cell.leg),
        segment: cell.segment,
        cause: cell.cause,
        mean_ns: all.mean(slot),
        middle_ns: middle.mean(slot),
        tail_ns: tail.mean(slot),
    });
    let mut rows: Vec<_> = rows.collect();
    // The dwell lies before the leg that it counts to.
    rows.sort_by_key(|row| (row.leg, row.segment != Segment::BrokerDwell, row.segment, row.cause));
    TimeSpent { messages, tail_messages, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breakdown::Cell;
    use crate::explanation::Cause;
    use crate::kind::VerdictKind;
    use wirelap_events::Nanos;

    #[test]
    fn each_column_adds_up_to_the_mean_latency() {
        let mut breakdown = Breakdown::default();
        let cell = |leg, segment, cause| Cell { leg, segment, cause };
        for n in 0..2_000_u64 {
            let slow = if n % 100 == 7 { 900_000 } else { 0 };
            let latency = Nanos(50_000 + n + slow);
            breakdown.message(latency);
            breakdown.part(latency, cell(0, Segment::Wire, Cause::Ordinary), Nanos(10_000));
            let busy = Cause::Of(VerdictKind::ReaderBusy);
            breakdown.part(latency, cell(1, Segment::Busy, busy), Nanos(slow));
            let dwell = cell(1, Segment::BrokerDwell, Cause::Ordinary);
            breakdown.part(latency, dwell, Nanos(40_000 + n));
        }
        let spent = time_spent(&breakdown);
        assert_eq!((spent.messages, spent.tail_messages), (2_000, 20));
        let column = |of: fn(&TimeSpentRow) -> f64| spent.rows.iter().map(of).sum::<f64>();
        assert!((column(|row| row.mean_ns) - 59_999.5).abs() < 1.0);
        assert!((column(|row| row.tail_ns) - 950_000.0).abs() < 2_000.0);
        assert!(column(|row| row.middle_ns) < 53_000.0);
        let order: Vec<_> = spent.rows.iter().map(|row| row.segment).collect();
        assert_eq!(order, [Segment::Wire, Segment::BrokerDwell, Segment::Busy]);
    }

    #[test]
    fn of_few_messages_no_tail_is_told() {
        let mut breakdown = Breakdown::default();
        (0..999).for_each(|n| breakdown.message(Nanos(n + 1)));
        assert_eq!(time_spent(&breakdown).tail_messages, 0);
    }
}
