//! The client library keeps a message before it sends it: batching, linger.
//!
//! Only the workloads of wirelap tell when they published, and messages that have a time from their publisher (Kafka's `CreateTime`), which an
//! application may set: what is short by a library's default, or not gathered, is then a note. A library whose socket takes nothing more waits
//! for that, which is not this.

use crate::case::RowCase;
use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::gathered::Gathered;
use crate::kind::VerdictKind;
use crate::weigh::ratio;
use wirelap_events::{Nanos, Segment, Total};
use wirelap_limits::rules::{
    LINGER_SHARE, LONGEST_USUAL_LINGER, MEDIAN, MIN_MESSAGES_FOR_VERDICT, NINETY_NINTH,
    PUSHED_BACK_DIVISOR, SHORTEST_LINGER,
};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row)), ..Definition::USUAL };

/// Segments in which a message waits between its send call and the device.
const BEFORE_DEVICE: [Segment; 3] = [Segment::Write, Segment::SocketTx, Segment::Qdisc];

fn find(row: &RowCase<'_>) -> Option<Verdict> {
    let Evidence { outside, kept, setting, .. } = row.evidence;
    let told = outside.as_ref().map(|[before, _]| before);
    let kept = kept.as_ref().filter(|kept| told.is_none() && kept.are_likely());
    let before = told.or(kept.map(|kept| &kept.times))?;
    let waited = before.quantile(MEDIAN);
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
    let is_note = setting.saturating || is_unsure;
    let severity = if is_note { Severity::Note } else { Severity::Problem };
    Some(Verdict {
        leg: Some(1),
        segment: Some(Segment::ClientTx),
        median: Nanos(waited),
        median_share: share,
        ..Verdict::of_row(VerdictKind::SenderBatching, severity, vec![clause])
    })
}

/// Time that a typical message waits between its send call and the device, on its first leg, in
/// nanoseconds.
fn pushed_back(gathered: &Gathered) -> f64 {
    let middle = gathered.breakdown.middle();
    let cells = gathered.breakdown.cells().iter().enumerate();
    let waits = cells.filter(|(_, cell)| cell.leg == 0 && BEFORE_DEVICE.contains(&cell.segment));
    waits.map(|(slot, _)| middle.mean(slot)).total()
}
