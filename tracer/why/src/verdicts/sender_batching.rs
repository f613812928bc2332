//! The client library keeps a message before it sends it: batching, linger, or no more requests under way.
//!
//! Only the workloads of wirelap tell when they published, and messages that have a time from their publisher (Kafka's `CreateTime`), which an
//! application may set: what is short by a library's default, or not gathered, is then a note. A library whose socket takes nothing more waits
//! for that, which is not this.

use crate::case::RowCase;
use crate::clause::{Clause, Remedy};
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::gathered::Gathered;
use crate::kind::VerdictKind;
use crate::weigh::ratio;
use wirelap_events::{Nanos, Segment, Total};
use wirelap_limits::rules::{
    AWAITED_REPLY_SHARE, LINGER_SHARE, LONGEST_USUAL_LINGER, MEDIAN, MIN_MESSAGES_FOR_VERDICT,
    MOST_OF_TIME, NINETY_NINTH, PUSHED_BACK_DIVISOR, SHORTEST_LINGER,
};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row, found)), ..Definition::USUAL };

/// Segments in which a message waits between its send call and the device.
const BEFORE_DEVICE: [Segment; 3] = [Segment::Write, Segment::SocketTx, Segment::Qdisc];

fn find(row: &RowCase<'_>, found: &[Verdict]) -> Option<Verdict> {
    find_kept(row).or_else(|| find_awaiting_reply(row, found))
}

/// The library has as many requests under way as it may. Where other problems take most of a typical message's time, they make the replies late.
fn find_awaiting_reply(row: &RowCase<'_>, found: &[Verdict]) -> Option<Verdict> {
    let kept = row.evidence.kept.as_ref().filter(|kept| kept.are_likely())?;
    let (waited, median) = (kept.awaited.quantile(MEDIAN), row.measured.median);
    let share = ratio(waited as f64, waited as f64 + median);
    let is_short = waited < LONGEST_USUAL_LINGER.0 || share < AWAITED_REPLY_SHARE;
    if is_short || kept.awaited.count() < MIN_MESSAGES_FOR_VERDICT {
        return None;
    }
    let clause = Clause::AwaitedReply {
        median: Nanos(waited),
        p99: Nanos(kept.awaited.quantile(NINETY_NINTH)),
        under_way: Nanos::from_f64(median),
    };
    let problems = found.iter().filter(|verdict| verdict.severity == Severity::Problem);
    let is_explained = problems.map(|verdict| verdict.median_share).total::<f64>() >= MOST_OF_TIME;
    let verdict = verdict(row, (waited, share), is_explained, clause);
    Some(Verdict { remedy: Remedy::MoreRequests, ..verdict })
}

fn find_kept(row: &RowCase<'_>) -> Option<Verdict> {
    let Evidence { outside, kept, .. } = row.evidence;
    let told = outside.as_ref().map(|[before, _]| before);
    let kept = kept.as_ref().filter(|kept| kept.are_likely());
    let before = told.or(kept.map(|kept| &kept.times))?;
    // What a workload tells has waits of the library's threads for a CPU in it; the time for which the sending one slept has not.
    let asleep = kept.filter(|kept| kept.times.count() >= MIN_MESSAGES_FOR_VERDICT);
    let asleep = asleep.map_or(u64::MAX, |kept| kept.times.quantile(MEDIAN));
    let waited = before.quantile(MEDIAN).min(asleep);
    let kept = kept.filter(|_| told.is_none());
    let median = row.measured.median;
    let share = ratio(waited as f64, waited as f64 + median);
    let is_pushed_back = pushed_back(row.gathered) >= waited as f64 / PUSHED_BACK_DIVISOR;
    let is_short = waited < SHORTEST_LINGER.0 || share < LINGER_SHARE;
    if is_short || before.count() < MIN_MESSAGES_FOR_VERDICT || is_pushed_back {
        return None;
    }
    let clause = Clause::Kept {
        median: Nanos(waited),
        p99: Nanos(before.quantile(NINETY_NINTH)),
        under_way: Nanos::from_f64(median),
        is_told_by_messages: kept.is_some(),
    };
    let is_unsure =
        kept.is_some_and(|kept| waited < LONGEST_USUAL_LINGER.0 || !kept.are_gathered());
    Some(verdict(row, (waited, share), is_unsure, clause))
}

/// The verdict on messages that waited for so many nanoseconds in the median, this share of their whole time.
fn verdict(
    row: &RowCase<'_>,
    (waited, share): (u64, f64),
    is_unsure: bool,
    clause: Clause,
) -> Verdict {
    let is_note = row.evidence.setting.saturating || is_unsure;
    let severity = if is_note { Severity::Note } else { Severity::Problem };
    Verdict {
        leg: Some(1),
        segment: Some(Segment::ClientTx),
        median: Nanos(waited),
        median_share: share,
        ..Verdict::of_row(VerdictKind::SenderBatching, severity, vec![clause])
    }
}

/// Time that a typical message waits between its send call and the device, on its first leg, in
/// nanoseconds.
fn pushed_back(gathered: &Gathered) -> f64 {
    let middle = gathered.breakdown.middle();
    let cells = gathered.breakdown.cells().iter().enumerate();
    let waits = cells.filter(|(_, cell)| cell.leg == 0 && BEFORE_DEVICE.contains(&cell.segment));
    waits.map(|(slot, _)| middle.mean(slot)).total()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weigh::Measured;
    use wirelap_figures::Distribution;

    /// Messages that were made 100 ms before the reply after which they were sent, beside a problem that takes this share of a typical message.
    fn awaiting_replies(share: f64) -> Option<Severity> {
        let mut evidence = Evidence::default();
        let ms = Nanos::from_millis;
        for n in 1..=MIN_MESSAGES_FOR_VERDICT {
            let made = ms(n * 1_000);
            evidence.kept().add(made, made + ms(100), ms(0), ms(100));
        }
        let gathered = Gathered::default();
        let measured = Measured::new(&gathered.breakdown);
        let row = RowCase { evidence: &evidence, gathered: &gathered, measured };
        let problem = Verdict {
            median_share: share,
            ..Verdict::new(VerdictKind::RunQueueContention, Severity::Problem)
        };
        find(&row, &[problem]).map(|verdict| verdict.severity)
    }

    /// Messages that were sent 20 ms after the workload had published them, for so long of which the sending thread slept.
    fn told(asleep: Option<u64>) -> Option<Severity> {
        let mut evidence = Evidence::default();
        let ms = Nanos::from_millis;
        let mut before = Distribution::new(2);
        for n in 1..=MIN_MESSAGES_FOR_VERDICT {
            before.add(ms(20).0);
            let made = ms(n * 1_000);
            if let Some(asleep) = asleep {
                evidence.kept().add(made, made + ms(20), ms(asleep), ms(0));
            }
        }
        evidence.outside = Some([before, Distribution::new(2)]);
        let gathered = Gathered::default();
        let measured = Measured::new(&gathered.breakdown);
        let row = RowCase { evidence: &evidence, gathered: &gathered, measured };
        find(&row, &[]).map(|verdict| verdict.severity)
    }

    #[test]
    fn a_sending_thread_that_waits_for_a_cpu_keeps_nothing() {
        assert_eq!(told(None), Some(Severity::Problem));
        assert_eq!(told(Some(19)), Some(Severity::Problem));
        assert_eq!(told(Some(1)), None);
    }

    #[test]
    fn late_replies_that_something_else_explains_are_a_note() {
        assert_eq!(awaiting_replies(0.2), Some(Severity::Problem));
        assert_eq!(awaiting_replies(0.7), Some(Severity::Note));
    }
}
