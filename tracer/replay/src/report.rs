//! Makes the report of what was read.

use std::collections::BTreeMap;
use wirelap_correlate::Snapshot;
use wirelap_events::human::counted_as;
use wirelap_recording::{Disorder, FileCounts};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{ReportedProcess, RunReport, RunResult};
use wirelap_session::environment;
use wirelap_session::notes::RecordedNotes;

/// The report of the events, completed with what only the recorded reports contain: the environment, the hooks, the usage of
/// processes. `others` are the recorded reports of other hosts.
pub fn report(snapshot: &Snapshot, notes: RecordedNotes, others: &[(u8, RunReport)]) -> RunReport {
    let mut report = run_report(snapshot);
    for (host, other) in others {
        add_usage(&mut report, &other.results, Some(*host));
    }
    report.environment = notes.environment.unwrap_or_else(|| environment::describe(0));
    let dump = notes.dump.map(|why| format!("A flight recorder wrote this file: {why}."));
    let Some(recorded) = notes.report else {
        if notes.cut {
            report.notes.push(NO_PAYLOAD.into());
        }
        report.notes.extend(dump);
        return report;
    };
    report.environment = recorded.environment;
    report.hooks = recorded.hooks;
    report.scenario = recorded.scenario;
    report.skipped = recorded.skipped;
    report.partial = recorded.partial;
    if notes.cut {
        report.results = recorded.results;
        report.unknown = recorded.unknown;
        report.notes = recorded.notes;
        report.notes.push(
            if dump.is_some() {
                "The file has no payload: these are the results since the recorder was started, of a longer time than the file's."
            } else {
                "The file has no payload: these are the results that were made while recording."
            }
            .into(),
        );
    } else {
        add_usage(&mut report, &recorded.results, None);
    }
    report.notes.extend(dump);
    report
}

/// Adds the CPU time and memory of a host's processes, which only its recorded report contains.
fn add_usage(report: &mut RunReport, recorded: &[RunResult], host: Option<u8>) {
    let used = recorded.iter().flat_map(|result| &result.processes);
    let used: BTreeMap<u32, &ReportedProcess> =
        used.map(|process| (process.pid, process)).collect();
    let processes = report.results.iter_mut().flat_map(|result| &mut result.processes);
    for process in processes.filter(|process| process.host == host) {
        let Some(used) = used.get(&process.pid) else { continue };
        process.cpu_share = used.cpu_share;
        process.rss_bytes = used.rss_bytes;
    }
}

const NO_PAYLOAD: &str = "The file has no payload, and its end is missing, where the results of the recorded session \
                          would be: messages cannot be found in it.";

/// Adds a note on what packets alone show to a report.
pub fn packets_only(report: &mut RunReport, is_of_several: bool) {
    report.notes.push(if is_of_several {
        "Only packets were captured: the time of a message is from its first packet to its last, over all legs; the \
         time of a message that was seen once is 0."
            .into()
    } else {
        "Only packets were captured: the time of a message is from its first packet to its last, over all legs; the \
         time of a message that was seen once is 0. The dwell is the time between the packet to the broker and the packet \
         from it, and includes both ways if the broker is on another host."
            .into()
    });
}

/// The note on a piece of a recording that has not the beginning.
pub fn without_beginning(file: &str) -> String {
    format!(
        "{file}: a piece of a recording, without the beginning that tells of its sockets: each is known from the first packet on that it \
         sends, and what it did before is left out."
    )
}

/// Notes on packets that were not in the order of their times.
pub fn out_of_order(file: &str, disorder: Disorder) -> Vec<String> {
    let sorted = (disorder.sorted > 0).then(|| {
        let packets = counted_as(disorder.sorted.0, "packet was", "packets were");
        format!(
            "{file}: {packets} behind later ones in the file, and wirelap has sorted them by their times."
        )
    });
    let steps = (disorder.steps > 0).then(|| {
        format!(
            "{file}: the clock goes back {}, by up to {}: what comes after that is taken to go on at once, so no time \
             across it is known.",
            counted_as(disorder.steps.0, "time", "times"),
            disorder.longest_step
        )
    });
    sorted.into_iter().chain(steps).collect()
}

/// Notes on the packets that are in no result, with the reason.
pub fn left_out(file: &str, counts: FileCounts) -> Vec<String> {
    let kinds = [
        (counts.other, "neither TCP nor UDP"),
        (counts.fragments, "datagrams of which IP fragments are missing or overlap"),
        (counts.cut, "cut off in their headers (a longer snap length helps)"),
        (counts.unknown_link, "behind link headers that wirelap does not read"),
        (counts.unknown_records, "records of a later version of wirelap"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    kinds.map(|(count, what)| format!("{file}: {count} left out: {what}.")).collect()
}
