//! The section "The processes": CPU time, memory and scheduling of each.

use super::participants::PathNames;
use super::words::{clean, counted, exact, percent};
use crate::grid::hang;
use crate::why::Task;
use crate::{ReportedProcess, ReportedScheduling, ReportedUnixClients, RunResult, human};

/// Number of processes that get a line of their own.
const MOST: usize = 8;

/// The section's text; `None` if nothing is known of any process.
pub fn text(result: &RunResult, participants: &PathNames<'_>) -> Option<String> {
    let known: Vec<String> =
        result.processes.iter().filter_map(|process| line(process, participants)).collect();
    if known.is_empty() {
        return None;
    }
    let mut out = String::from("The processes\n");
    for line in known.iter().take(MOST) {
        out.push_str(&hang("  ", line));
    }
    if known.len() > MOST {
        out.push_str(&hang("  ", &format!("and {} more", known.len().saturating_sub(MOST))));
    }
    Some(out)
}

fn line(process: &ReportedProcess, participants: &PathNames<'_>) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(process.cpu_share.map(|share| format!("{} of a CPU", percent(share))));
    parts.extend(process.rss_bytes.map(|bytes| human::bytes(bytes as f64)));
    parts.extend(process.scheduling.as_ref().map(scheduling));
    parts.extend(process.runs_in().map(|place| format!("runs in {place}")));
    parts.extend(process.unix_clients.as_ref().map(unix_clients));
    let ReportedProcess { pid, host, ref name, .. } = *process;
    let task = Task { pid, tid: 0, host, name: name.clone() };
    (!parts.is_empty()).then(|| format!("{}: {}", participants.who(&task), parts.join(", ")))
}

fn unix_clients(clients: &ReportedUnixClients) -> String {
    let count = counted(clients.connections, "connection");
    format!(
        "also serves {count} on the Unix socket {}, which wirelap does not follow",
        clean(&clients.path)
    )
}

fn scheduling(seen: &ReportedScheduling) -> String {
    let times = |count, what: &str| match count {
        0 => format!("never {what}"),
        1 => format!("{what} once"),
        _ => format!("{what} {} times", exact(count)),
    };
    let wait = &seen.run_queue_ns;
    let time = |ns| human::time_ns(Some(ns));
    let waited = if wait.count > 0 {
        let (p50, p99, max) = (time(wait.p50), time(wait.p99), time(wait.max));
        format!(
            "waited for a CPU {p50} in the median, {p99} at the 99th percentile, {max} at most; "
        )
    } else {
        String::new()
    };
    format!(
        "{waited}{}, {}, {}",
        times(seen.sleeps, "slept"),
        times(seen.preemptions, "preempted"),
        times(seen.migrations, "moved to another CPU"),
    )
}
