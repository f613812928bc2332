//! The names of processes and threads, from the processes of a snapshot.

use crate::{text, verdicts};
use wirelap_correlate::snapshot::{Process, Snapshot};
use wirelap_events::{Comm, Holder, Leg, Pid, TaskId};
use wirelap_report::explain;

/// A process of the snapshot.
fn process(pid: Pid, snapshot: &Snapshot) -> Option<&Process> {
    let mut processes = snapshot.groups.iter().flat_map(|group| &group.processes);
    processes.find(|process| process.pid == pid)
}

/// A thread's process as `mosquitto (4021)`, with the thread's number if it is not the main one: `mosquitto (4021/4025)`.
pub fn thread(task: TaskId, snapshot: &Snapshot) -> String {
    named(task, Comm::default(), snapshot)
}

/// A thread's process and the thread's own number, for a narrow column: `mosquitto 4025`.
pub fn short_thread(task: TaskId, snapshot: &Snapshot) -> String {
    let tid = if task.tid.0 == 0 { task.pid.0 } else { task.tid.0 };
    match end(Some(task), snapshot) {
        Some(name) => format!("{name} {tid}"),
        None => format!("thread {tid}"),
    }
}

/// A thread that had a CPU or a lock, by its own name.
pub fn holder(holder: &Holder, snapshot: &Snapshot) -> String {
    named(holder.task, holder.comm, snapshot)
}

fn named(task: TaskId, comm: Comm, snapshot: &Snapshot) -> String {
    let own = Some(comm.as_str()).filter(|name| !name.is_empty());
    let process = process(task.pid, snapshot).map(|process| process.comm.as_str());
    let Some(name) = own.or(process).filter(|name| !name.is_empty()) else {
        return verdicts::name(task, comm);
    };
    let number = if task.tid.0 == task.pid.0 || task.tid.0 == 0 {
        task.pid.0.to_string()
    } else {
        format!("{}/{}", task.pid.0, task.tid.0)
    };
    format!("{} ({number})", text::clean(name))
}

/// The name of the process at the sending end of a leg; its address if the process is not known.
pub fn sender(leg: &Leg, snapshot: &Snapshot) -> String {
    end(leg.sender, snapshot).unwrap_or_else(|| leg.flow.src.to_string())
}

/// The name of the process at the receiving end of a leg; its address if the process is not known.
pub fn reader(leg: &Leg, snapshot: &Snapshot) -> String {
    end(leg.reader, snapshot).unwrap_or_else(|| leg.flow.dst.to_string())
}

/// The name of a thread's process. All of wirelap's own workloads have one name, so they are named by their roles.
fn end(task: Option<TaskId>, snapshot: &Snapshot) -> Option<String> {
    let pid = task.map(|task| task.pid).filter(|pid| pid.0 != 0)?;
    let name = process(pid, snapshot).map(|process| {
        let is_workload = explain::is_workload(&process.comm) && !process.role.is_empty();
        text::clean(if is_workload { &process.role } else { &process.comm })
    });
    Some(name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("pid {}", pid.0)))
}
