//! The section "Where the time went": a bar for each step of the typical message.
//!
//! ```text
//! Where the time went: the mean message near the median, 22.0 ms
//!   leg 1, the sender → rumqttd
//!     socket_tx     held in the sender's socket                                  1 %   0.2 ms
//!   leg 2, rumqttd → the receiver
//!     socket_tx     held in rumqttd's socket           █████████████████████▍   97 %  21.4 ms
//! ```

use super::participants::PathNames;
use super::words::{bar, cut, left, percents, signed_percent};
use crate::{RunResult, SegmentRow, human, why::ReportedTypicalRow};
use std::fmt::Write;
use wirelap_events::Total;

/// Width of a bar, in columns.
const BAR: u32 = 22;
/// Width of the words that describe a step, in columns.
const STEP: usize = 38;
/// Steps that take a smaller share of the whole than this are added up in one line.
const LEAST: f64 = 0.005;

struct PathRow<'a> {
    leg: u8,
    segment: &'a str,
    share: f64,
    /// `None` if only the share is known.
    time_ns: Option<u64>,
}

/// The section's heading and rows; `None` if no time is known.
pub fn text(result: &RunResult, participants: &PathNames<'_>) -> Option<String> {
    let typical = result.why.as_ref().map(|why| why.typical.as_slice()).unwrap_or_default();
    let whole: u64 = typical.iter().map(|row| row.mean_ns).fold(0, u64::saturating_add);
    let (what, rows): (_, Vec<PathRow<'_>>) = if whole > 0 {
        let what = format!("the mean message near the median, {}", human::time_ns(Some(whole)));
        (what, typical.iter().map(|row| PathRow::of_typical(row, whole)).collect())
    } else {
        let what = "all messages together, from the first known stage to the last".to_owned();
        (what, result.segments.iter().map(PathRow::of_all).collect())
    };
    let (short, shown): (Vec<PathRow<'_>>, Vec<PathRow<'_>>) =
        rows.into_iter().partition(|row| row.share < LEAST);
    if shown.is_empty() {
        return None;
    }
    let mut shares: Vec<f64> = shown.iter().map(|row| row.share).collect();
    shares.push(short.iter().map(|row| row.share).total());
    let percents = percents(&shares);
    let mut out = format!("Where the time went: {what}\n");
    let mut leg = None;
    for (row, percents) in shown.iter().zip(&percents) {
        if leg.replace(row.leg) != Some(row.leg) {
            let (from, to) = participants.ends(row.leg);
            let _ = writeln!(out, "  leg {}, {from} → {to}", row.leg);
        }
        out.push_str(&row.line(*percents, participants));
    }
    if let (more, Some(percents)) = (short.len(), percents.last())
        && more > 0
    {
        let percents = if *percents == 0 { "<1 %".into() } else { signed_percent(*percents) };
        let steps = if more == 1 { "one more step".into() } else { format!("{more} more steps") };
        let time = short.iter().try_fold(0_u64, |sum, row| Some(sum.saturating_add(row.time_ns?)));
        let time = time.map(|ns| human::time_ns(Some(ns))).unwrap_or_default();
        let steps = left(&steps, (16 + STEP).saturating_add(BAR as usize));
        let _ = writeln!(out, "{}", format!("  {steps} {percents:>5} {time:>9}").trim_end());
    }
    Some(out)
}

impl<'a> PathRow<'a> {
    fn of_typical(row: &'a ReportedTypicalRow, whole: u64) -> PathRow<'a> {
        let share = row.mean_ns as f64 / whole as f64;
        PathRow { leg: row.leg, segment: &row.segment, share, time_ns: Some(row.mean_ns) }
    }

    fn of_all(row: &'a SegmentRow) -> PathRow<'a> {
        PathRow { leg: row.leg, segment: &row.segment, share: row.share, time_ns: None }
    }

    fn line(&self, percents: i64, participants: &PathNames<'_>) -> String {
        let time = self.time_ns.map(|ns| human::time_ns(Some(ns))).unwrap_or_default();
        let line = format!(
            "    {} {} {} {:>5} {time:>9}",
            left(&cut(self.segment, 12), 12),
            left(&participants.step(self.leg, self.segment), STEP),
            left(&bar(self.share, BAR), BAR as usize),
            signed_percent(percents),
        );
        format!("{}\n", line.trim_end())
    }
}
