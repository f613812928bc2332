//! Rows by topic, client and so on: `--by`.

use crate::DistributionSummary;
use crate::grid::{Align, hang, lay_out};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::{Snapshot, snapshot};
use wirelap_events::{Count, Nanos, human};

/// Rows of the table, if the user names no number.
pub const LISTED: usize = 20;

/// The widest name in the table, in characters.
const NAME: usize = 40;

/// Rows by what `--by` named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Breakdown")]
pub struct ReportedBreakdown {
    /// What the rows are told apart by, the outermost first: `topic`, `client`, `group`, `connection`, `process`, `container`, `host`, `link`, `protocol`, `broker`.
    pub by: Vec<String>,
    /// Since when messages are counted in the rows, from the start; 0 if since the start.
    #[serde(default)]
    pub since_ns: u64,
    /// What the rows are ordered by: `messages`, `sent`, `delivered`, `bytes`, `p50`, `p99` or `max`.
    #[serde(default)]
    pub order: String,
    /// The rows, the largest first.
    pub rows: Vec<ReportedBreakdownRow>,
    /// All further rows together; without names.
    pub rest: ReportedBreakdownRow,
    /// The number of further rows; one that had to make room for others more than once is counted each time.
    pub rest_rows: u64,
    /// Whether rows had to make room for others: those above may then lack messages, which are in the rest.
    pub is_crowded: bool,
}

/// Messages of one row. A message counts as sent in the row of who published it, and as delivered in the row of who read it; by `link`, as both in the row of
/// each pair of hosts that one of its legs joins, with the time of that leg.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BreakdownRow")]
pub struct ReportedBreakdownRow {
    /// A name for each dimension; null where it is not known, empty for messages that are read in no group, or sent.
    pub names: Vec<Option<String>>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were read, as far as their first leg was seen.
    pub delivered: u64,
    /// Of those, the ones that were followed from first send to last read.
    pub matched: u64,
    /// Payload bytes of the messages that were read.
    pub payload_bytes: u64,
    /// One-way latency of the messages that were read. Quantiles are at most a bin above the exact ones, which is 3.2 % unless the
    /// times of a row are very far apart.
    pub one_way_ns: DistributionSummary,
    /// The largest error of such a latency, because the message was sent on one host and read on another; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Whether the user had muted what the row counts: `whole`, and its figures are those of the moment at which that was, or `part`,
    /// and it lacks messages of since; absent if nothing of it is muted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted: Option<ReportedMutedExtent>,
}

/// How much of a row is muted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MutedExtent")]
#[serde(rename_all = "snake_case")]
pub enum ReportedMutedExtent {
    /// Some of its messages are of a row that is muted.
    Part,
    /// All of its messages are.
    Whole,
}

impl ReportedMutedExtent {
    /// That of a snapshot's row.
    fn of(muted: snapshot::MutedExtent) -> Option<ReportedMutedExtent> {
        match muted {
            snapshot::MutedExtent::None => None,
            snapshot::MutedExtent::Part => Some(ReportedMutedExtent::Part),
            snapshot::MutedExtent::Whole => Some(ReportedMutedExtent::Whole),
        }
    }

    /// The extent's word in a table.
    fn word(self) -> &'static str {
        match self {
            ReportedMutedExtent::Part => "in part",
            ReportedMutedExtent::Whole => "muted",
        }
    }
}

impl ReportedBreakdown {
    /// That of a snapshot; `None` if nobody asked for one.
    pub fn of(snapshot: &Snapshot) -> Option<ReportedBreakdown> {
        let seen = snapshot.breakdown.as_ref()?;
        Some(ReportedBreakdown {
            by: seen.by.iter().map(|by| by.name().to_owned()).collect(),
            since_ns: (seen.since - snapshot.since).0,
            order: seen.order.name().to_owned(),
            rows: seen.rows.iter().map(ReportedBreakdownRow::from).collect(),
            rest: (&seen.rest).into(),
            rest_rows: seen.rest_rows,
            is_crowded: seen.is_crowded,
        })
    }
}

impl From<&snapshot::BreakdownRow> for ReportedBreakdownRow {
    fn from(row: &snapshot::BreakdownRow) -> ReportedBreakdownRow {
        ReportedBreakdownRow {
            names: row.names.clone(),
            sent: row.sent,
            delivered: row.delivered,
            matched: row.matched,
            payload_bytes: row.payload_bytes,
            one_way_ns: row.one_way.into(),
            clock_error_ns: (row.clock_error > Nanos(0)).then_some(row.clock_error.0),
            muted: ReportedMutedExtent::of(row.muted),
        }
    }
}

impl ReportedBreakdown {
    /// The rows as a table: the first `listed`, and how many there are besides.
    pub fn table(&self, listed: usize) -> String {
        let mut align = vec![Align::Left; self.by.len()];
        align.extend([Align::Right; 5]);
        let mut heading = self.by.clone();
        heading.extend(["sent", "delivered", "1-way p50", "p99", "max"].map(String::from));
        let has_muted = self.rows.iter().take(listed).any(|row| row.muted.is_some());
        if has_muted {
            align.push(Align::Left);
            heading.push("muted".into());
        }
        let mut rows = vec![heading];
        rows.extend(self.rows.iter().take(listed).map(|row| {
            let mut cells = cells(row, self.by.len());
            cells.extend(
                has_muted.then(|| row.muted.map_or("", ReportedMutedExtent::word).to_owned()),
            );
            cells
        }));
        let mut out = lay_out(&align, &rows);
        let rest = self.rows.get(listed..).unwrap_or_default();
        let sent = (Count::sum(rest.iter().map(|row| row.sent)) + self.rest.sent).0;
        let delivered = (Count::sum(rest.iter().map(|row| row.delivered)) + self.rest.delivered).0;
        let more = (Count(rest.len() as u64) + self.rest_rows).0;
        if more > 0 {
            let rows = human_rows(more);
            out.push_str(&hang(
                "",
                &format!("the rest: {rows}, {sent} sent, {delivered} delivered"),
            ));
        }
        if self.is_crowded {
            out.push_str(&hang(
                "note: ",
                "There were more rows than are kept: those with the fewest messages were added to the rest, and a row that came \
                 back may lack messages.",
            ));
        }
        if has_muted {
            out.push_str(&hang(
                "note: ",
                "Messages of muted rows are not counted while they are muted: where all of a row is, its figures are those of the \
                 moment at which it was muted.",
            ));
        }
        let is_unknown =
            |at: usize| self.rows.iter().any(|row| row.names.get(at).is_some_and(Option::is_none));
        for (_, by) in self.by.iter().enumerate().filter(|&(at, _)| is_unknown(at)) {
            if let Some(why) = unknown(by) {
                out.push_str(&hang("note: ", why));
            }
        }
        out
    }
}

fn human_rows(count: u64) -> String {
    human::counted(count, "row")
}

fn cells(row: &ReportedBreakdownRow, names: usize) -> Vec<String> {
    let mut cells: Vec<String> = row.names.iter().map(|name| name_cell(name.as_deref())).collect();
    cells.resize(names, human::NONE.into());
    let error = row.clock_error_ns.unwrap_or(0);
    let time = |ns| human::time_within_ns((row.one_way_ns.count > 0).then_some(ns), error);
    let count = |count: u64| if count == 0 { human::NONE.to_owned() } else { count.to_string() };
    let figures = &row.one_way_ns;
    cells.extend([count(row.sent), count(row.delivered)]);
    cells.extend([time(figures.p50), time(figures.p99), time(figures.max)]);
    cells
}

/// A name from the network, without control characters and not too long.
fn name_cell(name: Option<&str>) -> String {
    let Some(name) = name else { return "unknown".into() };
    if name.is_empty() {
        return human::NONE.into();
    }
    human::shortened(name, NAME)
}

/// Why a name is not known.
fn unknown(by: &str) -> Option<&'static str> {
    Some(match by {
        "client" => {
            "The client of some rows is not known: it gave no name, or only before wirelap saw the connection, or one of more \
             than 1,024 bytes, or its protocol has no names."
        }
        "group" => {
            "The group of some rows is not known: the reader subscribed before wirelap saw the connection, or in several ways, or \
             (Kafka) several groups have its name and process or address, or none was named. A dash is no group: publishers have \
             none."
        }
        "topic" => {
            "The topic of some rows is not known: it was named before wirelap saw the connection, or there are more topics than \
             are kept."
        }
        "process" => {
            "The process of some rows is not known: it is on another host, or only packets were captured."
        }
        "container" => {
            "The container of some rows is not known: the process is on another host, had ended before its cgroup was read, or the \
             recording does not tell."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn muted_rows_are_marked() {
        let row = |name: &str, muted| ReportedBreakdownRow {
            names: vec![Some(name.to_owned())],
            sent: 5,
            muted,
            ..ReportedBreakdownRow::default()
        };
        let marks = [None, Some(ReportedMutedExtent::Part), Some(ReportedMutedExtent::Whole)];
        let all = ReportedBreakdown {
            by: vec!["topic".into()],
            rows: ["a", "b", "c"].iter().zip(marks).map(|(name, mark)| row(name, mark)).collect(),
            ..ReportedBreakdown::default()
        };
        let text = all.table(9);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert!(lines[0].ends_with("muted") && lines[2].ends_with(human::NONE), "{text}");
        assert!(lines[3].ends_with("in part") && lines[4].ends_with("muted"), "{text}");
        assert!(text.contains("not counted while they are muted"), "{text}");
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json["rows"][0].get("muted"), None);
        assert_eq!(
            (&json["rows"][1]["muted"], &json["rows"][2]["muted"]),
            (&"part".into(), &"whole".into())
        );
    }

    #[test]
    fn what_is_not_listed_is_added_up() {
        let row = |name: Option<&str>, sent| ReportedBreakdownRow {
            names: vec![name.map(str::to_owned)],
            sent,
            ..ReportedBreakdownRow::default()
        };
        let all = ReportedBreakdown {
            by: vec!["client".into()],
            since_ns: 0,
            order: "messages".into(),
            rows: vec![row(Some("a\u{1b}[0m"), 5), row(None, 3), row(Some("c"), 1)],
            rest: row(None, 2),
            rest_rows: 4,
            is_crowded: false,
        };
        let text = all.table(2);
        assert!(text.contains("the rest: 5 rows, 3 sent, 0 delivered"), "{text}");
        assert!(text.contains("unknown") && !text.contains('\u{1b}'), "{text}");
        assert!(!all.table(9).contains("crowded"));
        assert!(!text.contains("muted"), "{text}");
        let groups = ReportedBreakdown {
            by: vec!["group".into()],
            rows: vec![row(Some(""), 5), row(Some("workers"), 3)],
            ..ReportedBreakdown::default()
        };
        let text = groups.table(9);
        assert!(!text.contains("unknown") && text.contains(human::NONE), "{text}");
    }
}
