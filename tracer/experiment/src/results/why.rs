//! The causes of a result's latency, and the scheduling of its processes.

use super::outcome::{groups, is_partial, messages};
use crate::measure::Outcome;
use wirelap_contract::WorkloadKind;
use wirelap_correlate::{Evidence, WorkloadCounts};
use wirelap_report::{Messages, Process, Scheduling, UnixClients, Why};

/// The causes of latency over all repetitions.
pub fn why(all: &[&Outcome], processes: &[Process]) -> Option<Why> {
    let mut why = evidence(all).explain();
    // The CPU shares of the processes are those of the measured time, so verdicts can be checked against them.
    why.hold_against(|pid| {
        let is_it = |process: &&Process| process.host.is_none() && process.pid == pid.0;
        processes.iter().find(is_it)?.cpu_share
    });
    Why::of(&why, processes)
}

/// The evidence of all repetitions, with the counts that the workloads reported.
fn evidence(all: &[&Outcome]) -> Evidence {
    let mut sum = Evidence::default();
    for outcome in all {
        sum.merge(&outcome.evidence);
        if outcome.trial.about.kind == WorkloadKind::Stamped && !is_partial(outcome) {
            let Messages { sent, delivered, .. } = messages(outcome);
            sum.tell(WorkloadCounts { sent, due: sent, delivered });
        }
    }
    sum
}

/// The scheduling of a process, if the trace followed it.
pub fn scheduling(outcome: &Outcome, pid: u32) -> Option<Scheduling> {
    Scheduling::of(traced(outcome, pid)?.scheduling)
}

/// The clients that a process served over a Unix socket as well.
pub fn unix_clients(outcome: &Outcome, pid: u32) -> Option<UnixClients> {
    traced(outcome, pid)?.unix.clone().map(UnixClients::from)
}

/// A process as the trace saw it.
fn traced(outcome: &Outcome, pid: u32) -> Option<&wirelap_correlate::Process> {
    let mut processes = groups(outcome).flat_map(|group| &group.processes);
    processes.find(|process| process.pid.0 == pid)
}
