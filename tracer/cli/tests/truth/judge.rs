//! Compares what was said with the truth.

use crate::cell::Cell;
use crate::said::{Said, Verdict};
use crate::situation::{Cause, Expectation};
use crate::stage::{Observed, TruthRecord};

/// The largest deviation of a one-way time from the programs' own: this, or a twentieth of it.
const TIME_TOLERANCE_NS: u64 = 1_000_000;

/// Verdicts that loaded cores bring to any program, and that are true wherever they are said. A reader that gets no CPU does not
/// read, so its kernel acknowledges by the timer of delayed ACKs, and a sender with Nagle's algorithm waits for that.
const LOAD: [&str; 3] = ["run_queue_contention", "release_wait", "nagle_delayed_ack"];

/// From which share of the time on, in which the kernel says that threads waited for a CPU, cores were loaded by whoever else runs here.
const LOADED_PRESSURE: f64 = 0.1;

/// From which share of busy CPUs on they were loaded, too: quiet cells on two cores need 2 to 7 %. Threads that sleep most of the time wait
/// little for CPUs that busy loops hold: 2 to 8 % of the time was measured with a loop on each.
const LOADED_BUSY: f64 = 0.9;

/// One thing that was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// As it is.
    Right,
    /// Not known, and that is said.
    Admitted(String),
    /// Not as it is, or kept silent.
    Wrong(String),
}

impl Finding {
    fn when(right: bool, wrong: impl FnOnce() -> String) -> Finding {
        if right { Finding::Right } else { Finding::Wrong(wrong()) }
    }
}

/// All that was compared in a cell.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub said: Said,
    pub counts: Finding,
    pub cause: Finding,
    pub times: Finding,
    pub screen: Finding,
}

impl Judgement {
    /// Everything that was compared, with a name.
    pub fn findings(&self) -> [(&'static str, &Finding); 4] {
        [
            ("counts", &self.counts),
            ("cause", &self.cause),
            ("times", &self.times),
            ("screen", &self.screen),
        ]
    }
}

/// Compares.
pub fn judge(expectation: &Expectation, cell: Cell, observed: &Observed) -> Judgement {
    let said = Said::of(&observed.report, &expectation.middleware);
    let loaded =
        cell.loaded || observed.cpu.waited > LOADED_PRESSURE || observed.cpu.busy > LOADED_BUSY;
    let cell = Cell { loaded, ..cell };
    Judgement {
        counts: counts(expectation, &observed.truth, &said),
        cause: cause(expectation, cell, &observed.truth, &said),
        times: times(expectation, cell, &observed.truth, &said),
        screen: screen(expectation, observed),
        said,
    }
}

fn counts(expectation: &Expectation, truth: &TruthRecord, said: &Said) -> Finding {
    if let Some((name, messages)) = said.elsewhere.first() {
        return Finding::Wrong(format!("{messages} messages of {name}, which does not run"));
    }
    if let Some(rows) = expectation.rows
        && rows != said.rows
    {
        return Finding::Wrong(format!("{} rows instead of {rows}", said.rows));
    }
    if !expectation.counts {
        return Finding::Right;
    }
    let near = |a: u64, b: u64| a.abs_diff(b) <= expectation.tolerance;
    let counted = near(said.sent, truth.sent) && near(said.delivered, truth.delivered);
    // Right counts of messages none of which was followed from its send to its read explain nothing.
    let followed = said.matched > 0 || truth.delivered == 0;
    if counted && followed {
        return Finding::Right;
    }
    let Said { sent, delivered, matched, .. } = said;
    let wrong = format!("sent {sent}, delivered {delivered}, matched {matched}");
    match said.doubts.first() {
        Some(doubt) => Finding::Admitted(format!("{wrong}: {doubt}")),
        None => Finding::Wrong(wrong),
    }
}

fn cause(expectation: &Expectation, cell: Cell, truth: &TruthRecord, said: &Said) -> Finding {
    if !expectation.why || expectation.middleware == "none" {
        return Finding::Right;
    }
    if expectation.too_few {
        let silent = said.verdicts.is_empty() && !said.healthy;
        return Finding::when(silent, || match list(said.verdicts.iter()) {
            none if none.is_empty() => "nothing wrong, after so few messages".to_owned(),
            verdicts => format!("a verdict after so few messages: {verdicts}"),
        });
    }
    let any = expectation.severity == "any";
    let found: Vec<_> = said.verdicts.iter().filter(|v| any || v.is_problem).collect();
    let missing: Vec<_> = expectation
        .causes
        .iter()
        .filter(|cause| !found.iter().any(|verdict| cause.is(verdict)))
        .map(|cause| cause.kind.as_str())
        .collect();
    if !missing.is_empty() {
        return Finding::Wrong(format!("no {}", missing.join(", no ")));
    }
    let is_true = |verdict: &&Verdict| {
        let kind = verdict.kind.as_str();
        expectation.causes.iter().any(|cause| cause.kind == kind && cause.is_in(&verdict.row))
            || expectation.allow.iter().any(|allowed| allowed == kind)
            || (cell.loaded && LOAD.contains(&kind))
            || has_waited(truth, verdict)
    };
    let untrue = list(said.problems().filter(|verdict| !is_true(verdict)));
    Finding::when(untrue.is_empty(), || format!("also {untrue}"))
}

/// True if the kernel counted at least half of the waits for a CPU that the verdict tells of: whoever else runs here had it.
fn has_waited(truth: &TruthRecord, verdict: &Verdict) -> bool {
    let counted = truth.waited_ns.get(&verdict.pid).copied().unwrap_or(0);
    verdict.kind == "run_queue_contention" && counted > 0 && counted >= verdict.slow_ns / 2
}

impl Cause {
    fn is_in(&self, row: &str) -> bool {
        self.row.as_ref().is_none_or(|part| row.contains(part))
    }

    fn is(&self, verdict: &Verdict) -> bool {
        self.kind == verdict.kind
            && self.is_in(&verdict.row)
            && self.leg.is_none_or(|leg| verdict.leg == Some(leg))
            && self.process.as_ref().is_none_or(|process| verdict.process.contains(process))
    }
}

fn list<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> String {
    verdicts.map(Verdict::to_string).collect::<Vec<_>>().join(", ")
}

fn times(expectation: &Expectation, cell: Cell, truth: &TruthRecord, said: &Said) -> Finding {
    if !expectation.latency || cell.loaded {
        return Finding::Right;
    }
    for (name, theirs, ours) in
        [("p50", truth.p50_ns, said.p50_ns), ("p99", truth.p99_ns, said.p99_ns)]
    {
        let (Some(theirs), Some(ours)) = (theirs, ours) else {
            return Finding::Wrong(format!("no {name}"));
        };
        if theirs.abs_diff(ours) > TIME_TOLERANCE_NS.max(theirs / 20) {
            let ms = |ns: u64| ns as f64 / 1e6;
            return Finding::Wrong(format!(
                "{name} {:.2} ms, the program's own {:.2} ms",
                ms(ours),
                ms(theirs)
            ));
        }
    }
    Finding::Right
}

fn screen(expectation: &Expectation, observed: &Observed) -> Finding {
    for (name, wanted) in &expectation.looks {
        let shown = observed.looks.get(name).map_or("", String::as_str);
        if !shown.contains(wanted.as_str()) {
            return Finding::Wrong(format!(
                "while {name}, '{wanted}' was not on the screen:\n{shown}"
            ));
        }
    }
    let Some(wanted) = &expectation.page else { return Finding::Right };
    let shown = observed.screen.contains(wanted) || observed.report.to_string().contains(wanted);
    Finding::when(shown, || format!("'{wanted}' is not on the screen:\n{}", observed.screen))
}
