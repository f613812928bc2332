//! The section "The slowest messages": the segments in which they took longer than a typical message.
//!
//! ```text
//! The slowest messages
//!   The slowest 1 % (20 messages, 44.1 ms or more) took 22.6 ms longer than a typical one:
//!      61 %   13.8 ms  the subscriber waits for a CPU (leg 2 runqueue): contention for the CPU
//! ```

use super::participants::PathNames;
use super::words::{clean, counted, cut, list, percent, percents, signed_percent, title};
use crate::grid::{MAX_WIDTH, hang};
use crate::human;
use crate::why::{ReportedTail, ReportedTailRow, ReportedWhy};
use std::fmt::Write;

/// Number of rows of a tail that are shown; the others are added up in one line.
const ROWS: usize = 8;
/// Rows with a smaller share than this are added up in one line.
const LEAST: f64 = 0.01;
/// Number of CPU holders that are named.
const HOLDERS: usize = 4;

/// The section's text; `None` if it would be empty.
pub fn text(why: &ReportedWhy, participants: &PathNames<'_>, worst: usize) -> Option<String> {
    let mut out = String::new();
    for tail in why.tails.iter().filter(|tail| !tail.rows.is_empty()) {
        out.push_str(&blame(tail, participants));
    }
    if out.is_empty() && why.examined_messages > 0 {
        out = hang("  ", &too_few(why.examined_messages));
    }
    out.push_str(&super::slowest::text(&why.worst, participants, worst));
    if let Some(line) = holders(why, participants) {
        out.push_str(&hang("  ", &line));
    }
    (!out.is_empty()).then(|| format!("The slowest messages\n{out}"))
}

fn too_few(messages: u64) -> String {
    let verb = if messages == 1 { "is" } else { "are" };
    format!(
        "{} {verb} too few for a tail: 1 % of them would be fewer than 10.",
        counted(messages, "message")
    )
}

fn blame(tail: &ReportedTail, participants: &PathNames<'_>) -> String {
    let mut out = hang("  ", &heading(tail));
    let large = |row: &&ReportedTailRow| row.share.abs() >= LEAST;
    let mut shown: Vec<&ReportedTailRow> = tail.rows.iter().filter(large).collect();
    shown.truncate(ROWS);
    let more = tail.rows.len().saturating_sub(shown.len());
    let sum = |rows: &mut dyn Iterator<Item = &ReportedTailRow>| {
        rows.fold((0.0, 0), |(share, ns), row| {
            (share + row.share, row.excess_ns.saturating_add(ns))
        })
    };
    let all = sum(&mut tail.rows.iter());
    let named = sum(&mut shown.iter().copied());
    let mut shares: Vec<f64> = shown.iter().map(|row| row.share).collect();
    shares.push(all.0 - named.0);
    let percents = percents(&shares);
    for (row, percents) in shown.iter().zip(&percents) {
        line(&mut out, *percents, row.excess_ns, &words(row, participants));
    }
    if more > 0 {
        let steps = if more == 1 { "one more step".into() } else { format!("{more} more steps") };
        let percents = percents.last().copied().unwrap_or_default();
        line(&mut out, percents, all.1.saturating_sub(named.1), &steps);
    }
    out
}

/// The messages of a tail, and the time by which they took longer than a typical one.
pub fn heading(tail: &ReportedTail) -> String {
    let each = if tail.messages == 1 { "it" } else { "each" };
    format!(
        "The slowest {} ({}, {each} {} or more) took {} longer than a typical one:",
        tail_share(tail.share),
        counted(tail.messages, "message"),
        human::time_ns(Some(tail.least_ns)),
        human::time_ns(Some(tail.excess_ns)),
    )
}

fn line(out: &mut String, percents: i64, excess_ns: i64, what: &str) {
    let minus = if excess_ns < 0 { "−" } else { "" };
    let time = format!("{minus}{}", human::time_ns(Some(excess_ns.unsigned_abs())));
    let line = format!("    {:>6}  {time:>9}  {what}", signed_percent(percents));
    let _ = writeln!(out, "{}", cut(&line, MAX_WIDTH));
}

/// The activity in the row's segment, the segment's name, and its cause.
pub fn words(row: &ReportedTailRow, participants: &PathNames<'_>) -> String {
    let segment = clean(&row.segment);
    let place =
        if participants.legs() > 1 { format!("leg {} {segment}", row.leg) } else { segment };
    let cause = match row.cause.as_str() {
        "ordinary" => String::new(),
        kind => format!(": {}", clean(&title(kind))),
    };
    format!("{} ({place}){cause}", participants.step(row.leg, &row.segment))
}

/// The share of messages in a tail: `1 %`, `0.1 %`.
fn tail_share(share: f64) -> String {
    format!("{} %", (share * 100_000.0).round() / 1_000.0)
}

/// The threads that had a CPU while threads of this result waited for it.
pub fn holders(why: &ReportedWhy, participants: &PathNames<'_>) -> Option<String> {
    let all: u64 = why.cpu_holders.iter().map(|holder| holder.held_ns).fold(0, u64::saturating_add);
    let shown = why.cpu_holders.iter().take(HOLDERS).filter(|holder| holder.held_ns > 0);
    let names: Vec<String> = shown
        .map(|holder| {
            let share = percent(holder.held_ns as f64 / all as f64);
            let waits = counted(holder.waits, "wait");
            let held = human::time_ns(Some(holder.held_ns));
            format!("{} {held} in {waits} ({share})", participants.who(&holder.task))
        })
        .collect();
    (!names.is_empty())
        .then(|| format!("Had the CPU while these processes waited for it: {}.", list(&names)))
}
