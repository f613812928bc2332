//! The parts of the typical message, and those in which the slowest lost more time.

use super::breakdown::Breakdown;
use super::explanation::{Tail, TailRow, TypicalRow, leg_number};
use super::sums::Sums;
use std::collections::BTreeMap;
use wirelap_events::{Nanos, Segment};
use wirelap_limits::rules::{MIN_MESSAGES_IN_TAIL, TAILS};

/// The time of the mean message near the median by leg and segment; empty without messages.
pub fn typical(breakdown: &Breakdown) -> Vec<TypicalRow> {
    if breakdown.messages() == 0 {
        return Vec::new();
    }
    let middle = breakdown.middle();
    let mut rows: BTreeMap<(usize, bool, Segment), f64> = BTreeMap::new();
    for (slot, cell) in breakdown.cells().iter().enumerate() {
        // The dwell lies before the leg that it counts to.
        let place = (cell.leg, cell.segment != Segment::BrokerDwell, cell.segment);
        *rows.entry(place).or_default() += middle.mean(slot);
    }
    let row = |((leg, _, segment), mean): ((usize, bool, Segment), f64)| TypicalRow {
        leg: leg_number(leg),
        segment,
        mean: Nanos::from_f64(mean),
    };
    rows.into_iter().map(row).filter(|row| row.mean > Nanos(0)).collect()
}

/// The slowest 1 % and 0.1 %, as far as there are ten of them.
pub fn tails(breakdown: &Breakdown) -> Vec<Tail> {
    let middle = breakdown.middle();
    TAILS
        .into_iter()
        .filter_map(|(share, one_in)| tail(breakdown, &middle, share, one_in))
        .collect()
}

fn tail(breakdown: &Breakdown, middle: &Sums, share: f64, one_in: u64) -> Option<Tail> {
    let messages = breakdown.messages().checked_div(one_in).unwrap_or(0);
    if messages < MIN_MESSAGES_IN_TAIL {
        return None;
    }
    let slowest = breakdown.slowest(messages);
    let excess = slowest.mean_latency() - middle.mean_latency();
    if excess < 1.0 {
        return None;
    }
    let mut rows: Vec<TailRow> = breakdown
        .cells()
        .iter()
        .enumerate()
        .map(|(slot, cell)| {
            let more = slowest.mean(slot) - middle.mean(slot);
            TailRow {
                leg: leg_number(cell.leg),
                segment: cell.segment,
                cause: cell.cause,
                excess_ns: signed(more),
                share: more / excess,
            }
        })
        .filter(|row| row.excess_ns != 0)
        .collect();
    rows.sort_by_key(|row| (row.excess_ns.saturating_neg(), row.leg, row.segment, row.cause));
    Some(Tail { share, messages, least: slowest.least, excess: Nanos::from_f64(excess), rows })
}

/// Whole nanoseconds.
#[allow(clippy::cast_possible_truncation)] // `as` saturates.
fn signed(ns: f64) -> i64 {
    ns.round() as i64
}
