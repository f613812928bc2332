//! Why the messages of a result took so long, and how its processes were scheduled.

use super::groups;
use crate::trial::Outcome;
use wirelap_report::{Process, Scheduling, Why};

/// Of the repetition in which most messages were examined.
pub fn why(all: &[&Outcome], processes: &[Process]) -> Option<Why> {
    let rows = all.iter().flat_map(|outcome| groups(outcome));
    Why::of(&rows.max_by_key(|group| group.why.messages)?.why, processes)
}

/// How a process was scheduled, where the trace followed it.
pub fn scheduling(outcome: &Outcome, pid: u32) -> Option<Scheduling> {
    let mut processes = groups(outcome).flat_map(|group| &group.processes);
    Scheduling::of(processes.find(|process| process.pid.0 == pid)?.scheduling)
}
