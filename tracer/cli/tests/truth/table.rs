//! The table of what was arranged and what was said.

use crate::cell::Cell;
use crate::judge::{Finding, Judgement};
use crate::situation::Situation;
use crate::stage::Observed;
use std::fmt::Write;

/// One cell of a situation.
pub struct Row {
    name: String,
    about: String,
    cell: Cell,
    truth: String,
    said: String,
    counted: String,
    counts: String,
    wrong: Vec<String>,
    admitted: Vec<String>,
}

impl Row {
    /// Makes the row of a cell that could be arranged.
    pub fn judged(s: &Situation, cell: Cell, observed: &Observed, judgement: &Judgement) -> Row {
        let names = |of: &mut dyn Iterator<Item = String>| match of.collect::<Vec<_>>().join(", ") {
            text if text.is_empty() => "–".to_owned(),
            text => text,
        };
        let (mut wrong, mut admitted) = (vec![], vec![]);
        for (name, finding) in judgement.findings() {
            match finding {
                Finding::Right => {}
                Finding::Admitted(text) => admitted.push(format!("{name}: {text}")),
                Finding::Wrong(text) => wrong.push(format!("{name}: {text}")),
            }
        }
        let said = &judgement.said;
        let truth = &observed.truth;
        Row {
            truth: names(&mut s.expectation.causes.iter().map(|cause| cause.kind.clone())),
            said: names(&mut said.problems().map(ToString::to_string)),
            counted: format!("{} / {}", truth.sent, truth.delivered),
            counts: format!("{} / {} / {}", said.sent, said.delivered, said.matched),
            wrong,
            admitted,
            ..Row::empty(s, cell)
        }
    }

    /// A cell that could not be arranged.
    pub fn failed(situation: &Situation, cell: Cell, error: &str) -> Row {
        Row { wrong: vec![format!("not arranged: {error}")], ..Row::empty(situation, cell) }
    }

    fn empty(situation: &Situation, cell: Cell) -> Row {
        Row {
            name: situation.name.clone(),
            about: situation.expectation.about.clone(),
            cell,
            truth: String::new(),
            said: String::new(),
            counted: String::new(),
            counts: String::new(),
            wrong: vec![],
            admitted: vec![],
        }
    }

    /// Nothing was said that is not so.
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty()
    }

    /// The same where other programs may share the machine: the programs' own times then include waits for a CPU that
    /// come before the send or after the read.
    pub fn is_right_but_for_times(&self) -> bool {
        self.wrong.iter().all(|wrong| wrong.starts_with("times: "))
    }

    /// In a few words.
    pub fn summary(&self) -> String {
        let first = |texts: &[String]| {
            texts.iter().map(|t| t.lines().next().unwrap_or("")).collect::<Vec<_>>().join("; ")
        };
        match (self.wrong.as_slice(), self.admitted.as_slice()) {
            ([], []) => "right".to_owned(),
            ([], admitted) => format!("says so: {}", first(admitted)),
            (wrong, _) => format!("WRONG: {}", first(wrong)),
        }
    }

    /// With all that is known.
    pub fn explained(&self) -> String {
        format!(
            "{} ({}): {}\n  {}\n  said: {}\n  programs counted (sent / delivered) {}, wirelap (sent / delivered / matched) {}",
            self.name,
            self.cell,
            self.about,
            self.wrong.join("\n  "),
            self.said,
            self.counted,
            self.counts,
        )
    }
}

/// Returns all rows as tab-separated values, with a line of names.
pub fn tab_separated(rows: &[Row]) -> String {
    let mut out = "situation\twirelap, cores\ttruth\tproblems said\tprograms: sent / delivered\t\
                   wirelap: sent / delivered / matched\tverdict\n"
        .to_owned();
    for row in rows {
        let summary = row.summary().replace('\t', " ");
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{summary}",
            row.name, row.cell, row.truth, row.said, row.counted, row.counts
        );
    }
    out
}

/// Says how many cells were right.
pub fn count(rows: &[Row]) -> String {
    let right = rows.iter().filter(|row| row.is_right()).count();
    let admitted = rows.iter().filter(|row| row.is_right() && !row.admitted.is_empty()).count();
    format!(
        "{right} of {} cells right ({:.1} %), {admitted} of them by saying what is not known.",
        rows.len(),
        100.0 * right as f64 / rows.len().max(1) as f64
    )
}
