//! The page that explains a result: what happened, where the time went, what was found, what delayed the slowest
//! messages, where the bytes went, and how reliable the figures are. Lines have at most 100 columns.
//!
//! ```text
//! mqtt/rumqttd, 64 B
//! ──────────────────
//! 2,000 messages of 64 B were sent from … Half of them took 22.0 ms or less on their way, …
//! In short: Nagle against delayed ACK at rumqttd (97 % of the median).
//!
//! Where the time went: …          path.rs
//! What was found                  found.rs
//! The slowest messages            tail.rs, slowest.rs
//! The processes                 processes.rs
//! Where the bytes went            bytes_table.rs
//! How reliable this is            trust.rs
//! What was not decoded           unknown.rs, once for all results
//! ```

mod found;
mod opening;
mod participants;
mod path;
mod processes;
mod slowest;
mod tail;
mod trust;
mod unknown;
mod words;

pub use found::{cost, headline, in_short, name as verdict_name, nothing, when};
pub use opening::text as opening;
pub use participants::{PathNames, is_workload};
pub use slowest::{name as message_name, timeline};
pub use tail::{heading as tail_heading, holders, words as tail_words};
pub use trust::clock;
pub use words::{clean, list, title as cause_title};

use crate::grid::{MAX_WIDTH, hang};
use crate::{
    ReportedPartial, ReportedReliability, RunReport, RunResult, SeenFrom, bytes_table, human,
};

/// The choices of the reader of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Number of the slowest messages of each result that are shown one by one.
    pub worst: usize,
}

impl Default for ExplainOptions {
    fn default() -> ExplainOptions {
        ExplainOptions { worst: 3 }
    }
}

/// A page for each result of a report.
pub fn pages(report: &RunReport, options: ExplainOptions) -> String {
    let pages: Vec<String> =
        report.results.iter().map(|result| page(report, result, options)).collect();
    let mut text = pages.join("\n\n");
    if let Some(unknown) = unknown::text(report) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&fit(&unknown));
    }
    text
}

/// The page of one result of a report.
pub fn page(report: &RunReport, result: &RunResult, options: ExplainOptions) -> String {
    let participants = PathNames::of(result, report.scenario.pacing);
    let opening = opening::text(result, &report.scenario, &participants);
    let mut opening = hang("", &words::clean(&opening));
    for reason in &result.trust.reasons {
        let head = match reason.verdict {
            ReportedReliability::Unusable => "Unusable: ",
            ReportedReliability::Reduced | ReportedReliability::Good => "Use with care: ",
        };
        opening.push_str(&hang(head, &format!("{}.", words::clean(&reason.text))));
    }
    if let Some(headline) = found::headline(result, &participants) {
        opening.push_str(&hang("In short: ", &format!("{headline}.")));
    }
    let mut sections = vec![format!("{}{opening}", title(result, report.has_several_rates()))];
    if !result.untraced {
        sections.extend(path::text(result, &participants));
        sections.extend(in_part(result));
        sections.extend(requests(result));
        match &result.why {
            Some(why) => {
                sections.push(found::text(why, &participants));
                sections.extend(tail::text(why, &participants, options.worst));
            }
            None => sections.push("What was found\n  No message was examined.\n".into()),
        }
    }
    sections.extend(processes::text(result, &participants));
    sections.extend(bytes(result));
    sections.extend(trust::text(result, &report.environment));
    fit(&sections.join("\n"))
}

fn title(result: &RunResult, with_rate: bool) -> String {
    let size = match result.payload_bytes {
        0 => String::new(),
        bytes => format!(", {}", human::bytes(bytes as f64)),
    };
    let rate = result.rate_msg_per_s.filter(|_| with_rate);
    let rate = rate.map(|rate| format!(", {} msg/s", human::count(rate))).unwrap_or_default();
    let title = format!("{}{size}{rate}", result.label());
    let title = words::cut(&words::clean(&title), MAX_WIDTH);
    format!("{title}\n{}\n", "─".repeat(unicode_width::UnicodeWidthStr::width(title.as_str())))
}

/// The figures of messages that this host shows in part.
fn in_part(result: &RunResult) -> Option<String> {
    let lines: Vec<_> = result.partial_sight.iter().flat_map(ReportedPartial::lines).collect();
    let line = |(name, line): (&str, String)| hang(&format!("  {name:<9}"), &line);
    let view = result.view.filter(|view| view.why_no_latency().is_some()).map(SeenFrom::in_words);
    let head = format!(
        "What this host shows{}",
        view.map(|v| format!(": messages {v}")).unwrap_or_default()
    );
    (!lines.is_empty())
        .then(|| format!("{head}\n{}", lines.into_iter().map(line).collect::<String>()))
}

/// The round trips of requests whose both ends are on this host.
fn requests(result: &RunResult) -> Option<String> {
    let lines = result.requests.as_ref()?.lines();
    let line = |(name, line): (&str, String)| hang(&format!("  {name:<9}"), &line);
    let lines = lines.into_iter().map(line).collect::<String>();
    Some(format!("Requests and their replies\n{lines}"))
}

fn bytes(result: &RunResult) -> Option<String> {
    let (_, line) = bytes_table::lines(&result.overhead).into_iter().next()?;
    Some(format!("Where the bytes went\n{}", hang("  ", &line)))
}

/// Cuts lines that are too long: names in a file may be longer than a line.
fn fit(page: &str) -> String {
    let lines = page.lines().map(|line| format!("{}\n", words::cut(line, MAX_WIDTH)));
    lines.collect()
}
