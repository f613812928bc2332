//! The causes of a result's latency over its repetitions.
//!
//! The evidence of a trial is in no file: it names threads, processes and single messages. After a run was resumed, the causes
//! are therefore those of the trials before or of those since, whichever are of more messages.

use super::record::TrialRecord;
use wirelap_correlate::Evidence;
use wirelap_events::Count;
use wirelap_report::{ReportedProcess, ReportedWhy, RunResult};

/// The causes of a result's latency, and the repetitions that they are of.
#[derive(Debug, Default)]
pub struct ResultCauses {
    /// The causes; `None` if no message was examined.
    pub why: Option<ReportedWhy>,
    /// The repetitions by number; empty if they are all.
    pub repetitions: Vec<u32>,
}

/// The causes of latency over all repetitions. `earlier` is the same result in the file of a run that was resumed.
pub fn causes(
    all: &[&TrialRecord],
    processes: &[ReportedProcess],
    earlier: Option<&RunResult>,
) -> ResultCauses {
    let since = examined(all);
    let before: Vec<u32> = earlier.map(repetitions_of).unwrap_or_default();
    let messages = |is_of: &dyn Fn(&TrialRecord) -> bool| -> u64 {
        let of_all = all.iter().filter(|one| is_of(one));
        Count::sum(of_all.map(|one| one.repetition.messages.matched)).0
    };
    let is_before =
        |one: &TrialRecord| one.evidence.is_none() && before.contains(&one.repetition.number);
    let is_since = |one: &TrialRecord| since.contains(&one.repetition.number);
    let (why, repetitions) = match earlier {
        Some(earlier) if messages(&is_before) > messages(&is_since) => {
            (earlier.why.clone(), before)
        }
        _ => (explained(all, &since, processes), since),
    };
    let is_all = all.iter().all(|one| repetitions.contains(&one.repetition.number));
    ResultCauses { why, repetitions: if is_all { Vec::new() } else { repetitions } }
}

/// The repetitions whose evidence is known. One that a signal stopped counts only if there is no other.
fn examined(all: &[&TrialRecord]) -> Vec<u32> {
    let known = || all.iter().filter(|one| one.evidence.is_some());
    let whole = || known().filter(|one| one.repetition.interrupted.is_none());
    let number = |one: &&TrialRecord| one.repetition.number;
    if whole().next().is_some() {
        whole().map(number).collect()
    } else {
        known().map(number).collect()
    }
}

/// The repetitions that the causes in a file are of.
fn repetitions_of(result: &RunResult) -> Vec<u32> {
    if result.why_repetitions.is_empty() {
        result.repetitions.iter().map(|one| one.number).collect()
    } else {
        result.why_repetitions.clone()
    }
}

fn explained(
    all: &[&TrialRecord],
    repetitions: &[u32],
    processes: &[ReportedProcess],
) -> Option<ReportedWhy> {
    let mut sum = Evidence::default();
    for one in all.iter().filter(|one| repetitions.contains(&one.repetition.number)) {
        if let Some(evidence) = &one.evidence {
            sum.merge(evidence);
        }
    }
    let mut why = sum.explain();
    // The CPU shares of the processes are those of the measured time, so verdicts can be checked against them.
    why.hold_against(|pid| {
        let is_it = |process: &&ReportedProcess| process.host.is_none() && process.pid == pid.0;
        processes.iter().find(is_it)?.cpu_share
    });
    ReportedWhy::of(&why, processes)
}
