//! Rows by topic, client and so on: `--by`.

use crate::Distribution;
use crate::grid::{Align, hang, lay_out};
use crate::human;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::snapshot;
use wirelap_events::Saturate;

/// Rows of the table, if the user names no number.
pub const LISTED: usize = 20;

/// The widest name in the table, in characters.
const NAME: usize = 40;

/// Rows by what `--by` named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breakdown {
    /// What the rows are told apart by, the outermost first: `topic`, `client`, `group`, `connection`, `process`, `container`, `host`, `protocol`, `broker`.
    pub by: Vec<String>,
    /// The rows, those with the most messages first.
    pub rows: Vec<BreakdownRow>,
    /// All further rows together; without names.
    pub rest: BreakdownRow,
    /// The number of further rows; one that had to make room for others more than once is counted each time.
    pub rest_rows: u64,
    /// Whether rows had to make room for others: those above may then lack messages, which are in the rest.
    pub is_crowded: bool,
}

/// Messages of one row. A message counts as sent in the row of who published it, and as delivered in the row of who read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakdownRow {
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
    pub one_way_ns: Distribution,
}

impl From<&snapshot::Breakdown> for Breakdown {
    fn from(seen: &snapshot::Breakdown) -> Breakdown {
        Breakdown {
            by: seen.by.iter().map(|by| by.name().to_owned()).collect(),
            rows: seen.rows.iter().map(BreakdownRow::from).collect(),
            rest: (&seen.rest).into(),
            rest_rows: seen.rest_rows,
            is_crowded: seen.is_crowded,
        }
    }
}

impl From<&snapshot::BreakdownRow> for BreakdownRow {
    fn from(row: &snapshot::BreakdownRow) -> BreakdownRow {
        BreakdownRow {
            names: row.names.clone(),
            sent: row.sent,
            delivered: row.delivered,
            matched: row.matched,
            payload_bytes: row.payload_bytes,
            one_way_ns: row.one_way.into(),
        }
    }
}

impl Breakdown {
    /// The rows as a table: the first `listed`, and how many there are besides.
    pub fn table(&self, listed: usize) -> String {
        let mut align = vec![Align::Left; self.by.len()];
        align.extend([Align::Right; 5]);
        let mut heading = self.by.clone();
        heading.extend(["sent", "delivered", "1-way p50", "p99", "max"].map(String::from));
        let mut rows = vec![heading];
        rows.extend(self.rows.iter().take(listed).map(|row| cells(row, self.by.len())));
        let mut out = lay_out(&align, &rows);
        let (mut sent, mut delivered) = (self.rest.sent, self.rest.delivered);
        for row in self.rows.iter().skip(listed) {
            sent.grow(row.sent);
            delivered.grow(row.delivered);
        }
        let more = (self.rows.len().saturating_sub(listed) as u64).saturating_add(self.rest_rows);
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
    wirelap_events::human::counted(count, "row")
}

fn cells(row: &BreakdownRow, names: usize) -> Vec<String> {
    let mut cells: Vec<String> = row.names.iter().map(|name| name_cell(name.as_deref())).collect();
    cells.resize(names, human::NONE.into());
    let time = |ns| human::time_ns((row.one_way_ns.count > 0).then_some(ns));
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
    let clean = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let short: String = clean.clone().take(NAME).collect();
    if clean.count() > NAME { format!("{short}…") } else { short }
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
    fn what_is_not_listed_is_added_up() {
        let row = |name: Option<&str>, sent| BreakdownRow {
            names: vec![name.map(str::to_owned)],
            sent,
            ..BreakdownRow::default()
        };
        let all = Breakdown {
            by: vec!["client".into()],
            rows: vec![row(Some("a\u{1b}[0m"), 5), row(None, 3), row(Some("c"), 1)],
            rest: row(None, 2),
            rest_rows: 4,
            is_crowded: false,
        };
        let text = all.table(2);
        assert!(text.contains("the rest: 5 rows, 3 sent, 0 delivered"), "{text}");
        assert!(text.contains("unknown") && !text.contains('\u{1b}'), "{text}");
        assert!(!all.table(9).contains("crowded"));
        let groups = Breakdown {
            by: vec!["group".into()],
            rows: vec![row(Some(""), 5), row(Some("workers"), 3)],
            ..Breakdown::default()
        };
        let text = groups.table(9);
        assert!(!text.contains("unknown") && text.contains(human::NONE), "{text}");
    }
}
