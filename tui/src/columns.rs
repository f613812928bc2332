//! The comparison's columns: what each one shows, how wide it is, how it sorts, and which ones a narrow screen leaves
//! out.

use crate::{text, verdicts};
use std::cmp::Ordering;
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::{Group, Summary, Trust};
use wirelap_events::Nanos;

/// A column of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The middleware, and its broker or endpoint.
    Name,
    /// Deliveries in the last second.
    Rate,
    /// Median one-way latency.
    P50,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Largest one-way latency.
    Max,
    /// Median scheduling gap.
    GapP50,
    /// 99th percentile of the scheduling gap.
    GapP99,
    /// Bytes beyond the payload, in percent of the payload.
    Overhead,
    /// Bytes on the device per delivery.
    BytesPerMessage,
    /// Median payload size in bytes.
    Payload,
    /// Deliveries so far.
    Delivered,
    /// Share of the deliveries that were matched.
    Matched,
    /// The most serious problem.
    Why,
}

impl Column {
    /// Every column, from left to right.
    pub const ALL: [Column; 14] = [
        Column::Name,
        Column::Rate,
        Column::P50,
        Column::P99,
        Column::P999,
        Column::Max,
        Column::GapP50,
        Column::GapP99,
        Column::Overhead,
        Column::BytesPerMessage,
        Column::Payload,
        Column::Delivered,
        Column::Matched,
        Column::Why,
    ];

    /// Every column, the most important one first: a narrow screen leaves out the last ones.
    const BY_IMPORTANCE: [Column; 14] = [
        Column::Name,
        Column::P50,
        Column::P99,
        Column::Rate,
        Column::Matched,
        Column::GapP99,
        Column::Overhead,
        Column::Max,
        Column::GapP50,
        Column::Why,
        Column::BytesPerMessage,
        Column::Payload,
        Column::P999,
        Column::Delivered,
    ];

    /// The column's heading.
    pub const fn title(self) -> &'static str {
        match self {
            Column::Name => "MIDDLEWARE",
            Column::Rate => "MSG/S",
            Column::P50 => "P50",
            Column::P99 => "P99",
            Column::P999 => "P99.9",
            Column::Max => "MAX",
            Column::GapP50 => "GAP50",
            Column::GapP99 => "GAP99",
            Column::Overhead => "OVERHD",
            Column::BytesPerMessage => "B/MSG",
            Column::Payload => "PAYLOAD",
            Column::Delivered => "DELIVERED",
            Column::Matched => "MATCH",
            Column::Why => "WHY",
        }
    }

    /// What the column shows, for the help.
    pub const fn words(self) -> &'static str {
        match self {
            Column::Name => "middleware, and the broker or endpoint",
            Column::Rate => "messages delivered in the last second",
            Column::P50 => "one-way latency on the wire, median",
            Column::P99 => "one-way latency, 99th percentile",
            Column::P999 => "one-way latency, 99.9th percentile",
            Column::Max => "one-way latency, maximum",
            Column::GapP50 => "scheduling gap (wakeup + run queue), median",
            Column::GapP99 => "scheduling gap, 99th percentile",
            Column::Overhead => "bytes beyond the payload, in % of the payload",
            Column::BytesPerMessage => "bytes on the device per delivery",
            Column::Payload => "payload bytes, median",
            Column::Delivered => "messages delivered so far",
            Column::Matched => "deliveries followed from first send to last read",
            Column::Why => "the most serious problem, and its share of the median or of the tail",
        }
    }

    /// Character cells that the column takes, without the space before it; for [`Column::Name`] the least.
    pub const fn width(self) -> u16 {
        match self {
            Column::Name => 14,
            Column::Why => 19,
            Column::Delivered => 9,
            Column::Overhead | Column::Matched => 6,
            _ => 7,
        }
    }

    /// The cell's text.
    pub fn cell(self, group: &Group) -> String {
        match self {
            Column::Name => name(group),
            Column::Rate => text::number(group.rate_now.msg_per_s),
            Column::P50 => time(&group.one_way, group.one_way.p50),
            Column::P99 => time(&group.one_way, group.one_way.p99),
            Column::P999 => time(&group.one_way, group.one_way.p999),
            Column::Max => time(&group.one_way, group.one_way.max),
            Column::GapP50 => time(&group.sched_gap, group.sched_gap.p50),
            Column::GapP99 => time(&group.sched_gap, group.sched_gap.p99),
            Column::Overhead => group.overhead.ratio().map_or(text::NONE.into(), overhead),
            Column::BytesPerMessage => {
                bytes_per_message(group).map_or(text::NONE.into(), text::number)
            }
            Column::Payload | Column::Matched if group.messages.delivered == 0 => text::NONE.into(),
            Column::Payload => text::number(group.payload_bytes as f64),
            Column::Delivered => text::number(group.messages.delivered as f64),
            Column::Matched => text::share(group.coverage).replace(' ', ""),
            Column::Why => verdicts::cell(&group.why),
        }
    }

    /// The value that the column sorts by. Rows with `None` come last in both directions.
    fn key(self, group: &Group) -> Option<f64> {
        let of = |summary: &Summary, time: Nanos| (summary.count > 0).then_some(time.0 as f64);
        match self {
            Column::Name => None,
            Column::Rate => Some(group.rate_now.msg_per_s),
            Column::P50 => of(&group.one_way, group.one_way.p50),
            Column::P99 => of(&group.one_way, group.one_way.p99),
            Column::P999 => of(&group.one_way, group.one_way.p999),
            Column::Max => of(&group.one_way, group.one_way.max),
            Column::GapP50 => of(&group.sched_gap, group.sched_gap.p50),
            Column::GapP99 => of(&group.sched_gap, group.sched_gap.p99),
            Column::Overhead => group.overhead.ratio(),
            Column::BytesPerMessage => bytes_per_message(group),
            Column::Payload => Some(group.payload_bytes as f64),
            Column::Delivered => Some(group.messages.delivered as f64),
            Column::Matched => (group.messages.delivered > 0).then_some(group.coverage),
            Column::Why => verdicts::problems(&group.why).next().and_then(verdicts::largest_share),
        }
        .filter(|key| !key.is_nan())
    }

    /// The columns that fit into `width` with a space before each, from left to right.
    pub fn fitting(width: u16) -> Vec<Column> {
        let mut left = width;
        let mut chosen: Vec<Column> = Column::BY_IMPORTANCE
            .into_iter()
            .take_while(|column| {
                let after = left.checked_sub(column.width() + 1);
                left = after.unwrap_or(0);
                after.is_some()
            })
            .collect();
        if chosen.is_empty() {
            chosen.push(Column::Name);
        }
        chosen.sort_by_key(|column| Column::ALL.iter().position(|c| c == column));
        chosen
    }
}

fn time(summary: &Summary, time: Nanos) -> String {
    if summary.count == 0 { text::NONE.into() } else { text::time(time) }
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
pub fn bytes_per_message(group: &Group) -> Option<f64> {
    let overhead = &group.overhead;
    (overhead.deliveries > 0).then(|| overhead.total() as f64 / overhead.deliveries as f64)
}

/// The row's full name: middleware, broker and endpoint, as in `mqtt mosquitto 127.0.0.1:1883`.
pub fn name(group: &Group) -> String {
    let endpoint = group.endpoint.map(|endpoint| endpoint.to_string());
    let broker = group.broker.as_deref();
    let parts = [Some(group.middleware.as_str()), broker, endpoint.as_deref()];
    text::clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// Whether a row has a text, in any case of its letters, in its name, its processes or its verdict. Any row has the empty text.
pub fn matches(group: &Group, text: &str) -> bool {
    let wanted = text.to_lowercase();
    let has = |of: &str| of.to_lowercase().contains(&wanted);
    wanted.is_empty()
        || has(&name(group))
        || has(&verdicts::cell(&group.why))
        || group.processes.iter().any(|process| has(&process.comm) || has(&process.role))
}

/// Whether a row's figures can be used, given the trust of its snapshot.
pub fn reliability(group: &Group, trust: &Trust) -> Reliability {
    wirelap_correlate::trust::reliability(&group.doubts(trust))
}

/// The cell's text, given the row's reliability. An unusable row is not called healthy, because too little of it was
/// captured.
pub fn cell(column: Column, group: &Group, reliability: Reliability) -> String {
    if column == Column::Why
        && reliability == Reliability::Unusable
        && verdicts::problems(&group.why).next().is_none()
    {
        return "too little captured".into();
    }
    let mut cell = column.cell(group);
    // The share is of the captured messages; how many there were is unknown.
    if column == Column::Matched && reliability == Reliability::Unusable && cell != text::NONE {
        cell.push('?');
    }
    cell
}

/// The row's name, with a mark before it if the row is reduced or unusable.
pub fn marked_name(group: &Group, reliability: Reliability, room: usize) -> String {
    let mark = reliability.mark();
    let name = short_name(group, room.saturating_sub(text::width(mark)));
    format!("{mark}{name}")
}

/// Whether a row is shown. A row without messages and processes is hidden if another row has messages of the same
/// middleware and broker: it is a probe connection (a client looks whether a server is up). Its bytes are in the report.
pub fn is_shown(groups: &[Group], index: usize) -> bool {
    let group = &groups[index];
    let is_empty = |group: &Group| group.messages.sent + group.messages.delivered == 0;
    let same =
        |other: &&Group| (&other.middleware, &other.broker) == (&group.middleware, &group.broker);
    !is_empty(group) || !group.processes.is_empty() || groups.iter().filter(same).all(is_empty)
}

/// As much of [`name`] as fits into `columns`: it leaves out first the address, then the port, and then cuts the text.
pub fn short_name(group: &Group, columns: usize) -> String {
    let full = name(group);
    if text::width(&full) <= columns {
        return full;
    }
    let bare = name(&Group {
        middleware: group.middleware.clone(),
        broker: group.broker.clone(),
        ..Group::default()
    });
    let port = group.endpoint.map(|endpoint| format!("{bare} :{}", endpoint.port()));
    port.filter(|name| text::width(name) <= columns)
        .unwrap_or_else(|| text::truncate(&bare, columns))
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// The column to sort by; `None` is the order in which the rows were found.
    pub by: Option<Column>,
    /// Whether the column's usual order is reversed.
    pub reverse: bool,
}

impl Sort {
    /// Sorts by the next column to the right; after the last one, in the order in which the rows were found.
    #[must_use]
    pub fn next(self) -> Sort {
        let by = match self.by {
            None => Column::ALL.first(),
            Some(column) => Column::ALL.iter().skip_while(|c| **c != column).nth(1),
        };
        Sort { by: by.copied(), reverse: false }
    }

    /// Sorts by the next column to the left.
    #[must_use]
    pub fn previous(self) -> Sort {
        let by = match self.by {
            None => Column::ALL.last(),
            Some(column) => Column::ALL.iter().take_while(|c| **c != column).last(),
        };
        Sort { by: by.copied(), reverse: false }
    }

    /// Whether the largest value comes first, as it does by default for rates, deliveries and problems.
    pub fn descends(self) -> bool {
        matches!(self.by, Some(Column::Rate | Column::Delivered | Column::Why)) != self.reverse
    }

    /// The indices of the shown groups in this order. Rows with equal values stay in the order in which they were found.
    pub fn order(self, groups: &[Group]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..groups.len()).filter(|&at| is_shown(groups, at)).collect();
        match self.by {
            None if self.reverse => order.reverse(),
            None => {}
            Some(column) => {
                order.sort_by(|&a, &b| self.compare(column, &groups[a], &groups[b]));
            }
        }
        order
    }

    fn compare(self, column: Column, a: &Group, b: &Group) -> Ordering {
        let direct =
            |ordering: Ordering| if self.descends() { ordering.reverse() } else { ordering };
        if column == Column::Name {
            return direct(name(a).cmp(&name(b)));
        }
        match (column.key(a), column.key(b)) {
            (Some(a), Some(b)) => direct(a.total_cmp(&b)),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(middleware: &str, rate: f64, p50: u64) -> Group {
        let mut group = Group { middleware: middleware.into(), ..Group::default() };
        group.rate_now.msg_per_s = rate;
        group.one_way = Summary { count: p50.min(1), p50: Nanos(p50), ..Summary::default() };
        group
    }

    fn groups() -> Vec<Group> {
        vec![group("udp", 5.0, 30), group("mqtt", 9.0, 0), group("dds", 7.0, 20)]
    }

    #[test]
    fn sorting_goes_through_every_column_and_back() {
        let mut sort = Sort::default();
        for column in Column::ALL {
            sort = sort.next();
            assert_eq!(sort.by, Some(column));
        }
        assert_eq!(sort.next(), Sort::default());
        assert_eq!(Sort::default().previous().by, Some(Column::Why));
        assert_eq!(Sort { by: Some(Column::Name), reverse: true }.previous(), Sort::default());
    }

    #[test]
    fn rates_descend_and_times_ascend_until_reversed() {
        let order = |by, reverse| Sort { by: Some(by), reverse }.order(&groups());
        assert_eq!(order(Column::Rate, false), [1, 2, 0]);
        assert_eq!(order(Column::Rate, true), [0, 2, 1]);
        assert_eq!(order(Column::P50, false), [2, 0, 1]);
        assert_eq!(order(Column::Name, false), [2, 1, 0]);
        assert_eq!(Sort { by: None, reverse: true }.order(&groups()), [2, 1, 0]);
    }

    #[test]
    fn a_row_of_nobodys_without_messages_is_shown_only_if_there_is_no_other() {
        let mut groups = vec![group("nats", 0.0, 0), group("nats", 1.0, 1), group("dds", 0.0, 0)];
        assert_eq!(Sort::default().order(&groups), [0, 1, 2]);
        groups[1].messages.sent = 1;
        assert_eq!(Sort::default().order(&groups), [1, 2]);
        groups[0].processes.push(wirelap_correlate::Process::default());
        assert_eq!(Sort::default().order(&groups), [0, 1, 2]);
    }

    #[test]
    fn a_row_without_a_value_is_last_both_ways() {
        assert_eq!(Sort { by: Some(Column::P50), reverse: true }.order(&groups()), [0, 2, 1]);
    }

    #[test]
    fn a_narrow_screen_keeps_what_matters_most() {
        assert_eq!(Column::fitting(0), [Column::Name]);
        assert_eq!(Column::fitting(40), [Column::Name, Column::Rate, Column::P50, Column::P99]);
        assert_eq!(Column::fitting(250), Column::ALL);
        for width in 15..250 {
            let used: u16 = Column::fitting(width).iter().map(|column| column.width() + 1).sum();
            assert!(used <= width);
        }
    }

    #[test]
    fn cells_say_when_there_is_nothing() {
        let group = Group::default();
        for column in Column::ALL {
            let cell = column.cell(&group);
            assert!(["", "–", "0"].contains(&cell.as_str()), "{column:?}: {cell}");
        }
    }

    #[test]
    fn a_long_name_loses_its_address_first() {
        let endpoint = Some("127.0.0.1:1883".parse().unwrap());
        let broker = Some("mosquitto".to_owned());
        let group = Group { broker, endpoint, ..group("mqtt", 0.0, 0) };
        let names = [29, 28, 19, 10].map(|columns| short_name(&group, columns));
        let expected = [
            "mqtt mosquitto 127.0.0.1:1883",
            "mqtt mosquitto :1883",
            "mqtt mosquitto",
            "mqtt mosq…",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn overhead_is_percent_then_times() {
        assert_eq!(overhead(1.64), "+64%");
        assert_eq!(overhead(1.0), "+0%");
        assert_eq!(overhead(12.5), "×12.5");
    }
}
