//! What is said about what was read.

use std::collections::BTreeMap;
use wirelap_correlate::Snapshot;
use wirelap_events::Segment;
use wirelap_recording::Counts;
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{Process, RunReport, RunResult};
use wirelap_session::environment;
use wirelap_session::notes::RecordedNotes;

/// What the events say, with what only the recorder knew.
pub fn report(snapshot: &Snapshot, told: RecordedNotes, there: &[(u8, RunReport)]) -> RunReport {
    let mut report = run_report(snapshot);
    for (host, there) in there {
        use_of_machine(&mut report, &there.results, Some(*host));
    }
    report.environment = told.environment.unwrap_or_else(|| environment::describe(0));
    let Some(recorded) = told.report else {
        if told.cut {
            report.notes.push(NO_PAYLOAD.into());
        }
        return report;
    };
    report.environment = recorded.environment;
    report.hooks = recorded.hooks;
    report.scenario = recorded.scenario;
    report.skipped = recorded.skipped;
    report.partial = recorded.partial;
    if told.cut {
        report.results = recorded.results;
        report.unknown = recorded.unknown;
        report.notes = recorded.notes;
        report.notes.push(
            "The file has no payload: these are the results that were made while it was recorded."
                .into(),
        );
    } else {
        use_of_machine(&mut report, &recorded.results, None);
    }
    report
}

/// What only a host's recorder knew of its processes.
fn use_of_machine(report: &mut RunReport, recorded: &[RunResult], host: Option<u8>) {
    let used = recorded.iter().flat_map(|result| &result.processes);
    let used: BTreeMap<u32, &Process> = used.map(|process| (process.pid, process)).collect();
    let processes = report.results.iter_mut().flat_map(|result| &mut result.processes);
    for process in processes.filter(|process| process.host == host) {
        let Some(used) = used.get(&process.pid) else { continue };
        process.cpu_share = used.cpu_share;
        process.rss_bytes = used.rss_bytes;
    }
}

const NO_PAYLOAD: &str = "The file has no payload and does not reach its end, where the results that were made \
                          while it was recorded would be: messages cannot be found in it.";

/// What a report on packets alone does not have.
pub fn packets_only(report: &mut RunReport, is_of_several: bool) {
    for result in &mut report.results {
        // From the last packet to the read that it stands for.
        result.segments.retain(|row| row.segment != Segment::Busy.name());
    }
    report.notes.push(if is_of_several {
        "Packets alone: a message's time is from its first packet to its last, over all legs; one that was seen \
         once takes none."
            .into()
    } else {
        "Packets alone: a message's time is from its first packet to its last, over all legs; one that was seen \
         once takes none. What is between its packet to the broker and the one from it is the dwell, with both ways \
         if the broker is on another host."
            .into()
    });
}

/// Packets that are in no result, and why.
pub fn left_out(file: &str, counts: Counts) -> Vec<String> {
    let kinds = [
        (counts.other, "neither TCP nor UDP"),
        (counts.fragments, "later IP fragments, which have no ports"),
        (counts.cut, "cut off in their headers (a longer snap length helps)"),
        (counts.unknown_link, "behind link headers that wirelap does not read"),
        (counts.unknown_records, "records of a later version of wirelap"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    kinds.map(|(count, what)| format!("{file}: {count} left out: {what}.")).collect()
}
