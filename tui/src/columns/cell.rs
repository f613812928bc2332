//! The text of a cell, and the value that a column sorts by.

use super::column::{Column, TREND};
use super::names::name;
use crate::{text, verdicts};
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::{Group, HistoryPoint, Summary, Trust};
use wirelap_events::{Nanos, Segment};

impl Column {
    /// The cell's text, given the row's reliability.
    pub fn cell(self, group: &Group, reliability: Reliability) -> String {
        match self {
            Column::Name => name(group),
            // What passes is not known.
            Column::Rate if group.is_muted() => "muted".into(),
            Column::Rate => text::rate(&group.rate_now),
            Column::P50 => time_within(group, |of| of.p50),
            Column::P90 => time(&group.one_way, group.one_way.p90),
            Column::P99 => time_within(group, |of| of.p99),
            Column::P999 => time(&group.one_way, group.one_way.p999),
            Column::Max => time(&group.one_way, group.one_way.max),
            Column::GapP50 => time(&group.sched_gap, group.sched_gap.p50),
            Column::GapP99 => time(&group.sched_gap, group.sched_gap.p99),
            Column::Dwell => dwell(group).map_or(text::NONE.into(), text::time),
            Column::Overhead => group.overhead.ratio().map_or(text::NONE.into(), overhead),
            Column::BytesPerMessage => {
                bytes_per_message(group).map_or(text::NONE.into(), text::number)
            }
            Column::Retransmissions if group.overhead.packets == 0 => text::NONE.into(),
            Column::Retransmissions => text::number(retransmissions(group)),
            Column::Payload | Column::Matched if group.messages.delivered == 0 => text::NONE.into(),
            Column::Matched if group.is_muted() => text::NONE.into(),
            Column::Payload => text::number(group.payload_bytes as f64),
            Column::Delivered => text::number(group.messages.delivered as f64),
            Column::Matched => matched(group, reliability),
            Column::Trust => reliability.name().into(),
            // An unusable row is not called healthy, because too little of it was captured.
            Column::Why if group.is_muted() => "muted by the user".into(),
            Column::Why
                if reliability == Reliability::Unusable
                    && verdicts::problems(&group.why).next().is_none() =>
            {
                "too little captured".into()
            }
            Column::Why => verdicts::cell(&group.why),
            Column::MedianTrend => trend(group, |point| point.one_way_p50.0),
            Column::RateTrend => trend(group, |point| point.delivered),
        }
    }

    /// The value that the column sorts by. Rows with `None` come last in both directions.
    pub(super) fn key(self, group: &Group, trust: &Trust) -> Option<f64> {
        let of = |summary: &Summary, time: Nanos| (summary.count > 0).then_some(time.0 as f64);
        match self {
            Column::Name => None,
            Column::Rate => group.rate_now.is_known().then_some(group.rate_now.msg_per_s),
            Column::P50 => of(&group.one_way, group.one_way.p50),
            Column::P90 => of(&group.one_way, group.one_way.p90),
            Column::P99 => of(&group.one_way, group.one_way.p99),
            Column::P999 => of(&group.one_way, group.one_way.p999),
            Column::Max => of(&group.one_way, group.one_way.max),
            Column::GapP50 => of(&group.sched_gap, group.sched_gap.p50),
            Column::GapP99 => of(&group.sched_gap, group.sched_gap.p99),
            Column::Dwell => dwell(group).map(|time| time.0 as f64),
            Column::Overhead => group.overhead.ratio(),
            Column::BytesPerMessage => bytes_per_message(group),
            Column::Retransmissions => Some(retransmissions(group)),
            Column::Payload => Some(group.payload_bytes as f64),
            Column::Delivered => Some(group.messages.delivered as f64),
            Column::Matched => (group.messages.delivered > 0).then_some(group.coverage),
            Column::Trust => Some(f64::from(reliability(group, trust) as u8)),
            Column::Why => verdicts::problems(&group.why).next().and_then(verdicts::largest_share),
            Column::MedianTrend => {
                let latest = group.history.last().filter(|point| point.delivered > 0);
                latest.map(|point| point.one_way_p50.0 as f64)
            }
            Column::RateTrend => group.history.last().map(|point| point.delivered as f64),
        }
        .filter(|key| !key.is_nan())
    }
}

/// Tells whether a row's figures can be used, given the trust of its snapshot.
pub fn reliability(group: &Group, trust: &Trust) -> Reliability {
    wirelap_correlate::trust::reliability(&group.doubts(trust))
}

/// The share of the deliveries that were matched. Of an unusable row it is the share of the captured messages, and how many
/// there were is unknown.
fn matched(group: &Group, reliability: Reliability) -> String {
    let unknown = if reliability == Reliability::Unusable { "?" } else { "" };
    format!("{}{unknown}", text::share(group.coverage).replace(' ', ""))
}

fn time(summary: &Summary, time: Nanos) -> String {
    if summary.count == 0 { text::NONE.into() } else { text::time(time) }
}

/// A figure of the one-way latency, with its error between two hosts.
fn time_within(group: &Group, of: fn(&Summary) -> Nanos) -> String {
    if group.one_way.count == 0 {
        return text::NONE.into();
    }
    text::time_within(of(&group.one_way), of(&group.one_way_error))
}

/// `+64%`, or `×12` from ten times the payload on.
fn overhead(ratio: f64) -> String {
    match ratio {
        r if !r.is_finite() => text::NONE.into(),
        r if r < 9.995 => format!("+{:.0}%", (r - 1.0).max(0.0) * 100.0),
        r => format!("×{}", text::number(r).replace(' ', "")),
    }
}

/// Bytes on the device per delivery; `None` without deliveries.
fn bytes_per_message(group: &Group) -> Option<f64> {
    let overhead = &group.overhead;
    (overhead.deliveries > 0).then(|| overhead.total() as f64 / overhead.deliveries as f64)
}

/// Median time that the broker had a message, of the slower one if there are several; `None` without a broker.
fn dwell(group: &Group) -> Option<Nanos> {
    let dwells = group.segments.iter().filter(|stat| stat.segment == Segment::BrokerDwell);
    let followed = dwells.filter(|stat| stat.count > 0).map(|stat| stat.p50).max();
    let in_part = || group.partial.as_ref().filter(|seen| seen.dwell.count > 0);
    followed.or_else(|| in_part().map(|seen| seen.dwell.p50))
}

fn retransmissions(group: &Group) -> f64 {
    group.overhead.detail.retransmissions as f64
}

/// A value of each of the last seconds as a sparkline, the newest at its right end; a dash if all are zero.
fn trend(group: &Group, value: fn(&HistoryPoint) -> u64) -> String {
    let columns = usize::from(TREND);
    let line = text::sparkline(group.history.iter().map(value), columns);
    if line.trim().is_empty() { text::NONE.into() } else { text::right(&line, columns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_when_there_is_nothing() {
        let group = Group::default();
        for column in Column::ALL {
            let cell = column.cell(&group, Reliability::Good);
            assert!(["", "–", "0", "good"].contains(&cell.as_str()), "{column:?}: {cell}");
        }
    }

    #[test]
    fn overhead_is_percent_then_times() {
        assert_eq!(overhead(1.64), "+64%");
        assert_eq!(overhead(1.0), "+0%");
        assert_eq!(overhead(12.5), "×12.5");
    }
}
