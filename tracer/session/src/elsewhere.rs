//! Keeps wirelap's threads away from the CPUs that traced programs are pinned to.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use wirelap_events::Nanos;

/// The numbers of CPUs.
pub type Cpus = BTreeSet<usize>;

/// How often it is looked where programs are pinned to. It takes a system call a thread.
const INTERVAL: Nanos = Nanos::from_millis(10_000);

/// The most processes, and threads of one, that are looked at.
const MOST: usize = 64;

/// Where wirelap's threads run.
#[derive(Debug)]
pub struct Elsewhere {
    /// The CPUs that this process was started on; empty if that is not known.
    allowed: Cpus,
    /// Those of them that its threads are on now.
    now: Cpus,
    looked: Option<Nanos>,
}

impl Elsewhere {
    /// The threads are where they were started.
    pub fn new() -> Elsewhere {
        let allowed = sched_getaffinity(None).map(|set| cpus_of(&set)).unwrap_or_default();
        Elsewhere { now: allowed.clone(), allowed, looked: None }
    }

    /// Whether it is time to look again.
    pub fn is_due(&mut self, at: Nanos) -> bool {
        let is_due = self.looked.is_none_or(|looked| at >= looked + INTERVAL);
        if is_due {
            self.looked = Some(at);
        }
        is_due
    }

    /// Moves all threads of this process away from CPUs that others are pinned to, if it may run on another one; back if nothing is
    /// pinned any more.
    pub fn avoid(&mut self, pinned: &Cpus) {
        let wanted = rest(&self.allowed, pinned);
        if wanted == self.now {
            return;
        }
        let mut set = CpuSet::new();
        wanted.iter().for_each(|&cpu| set.set(cpu));
        for thread in threads(std::process::id()) {
            // A thread that has ended needs none.
            let _ = sched_setaffinity(Some(thread), &set);
        }
        self.now = wanted;
    }
}

/// What is left of the CPUs that may be used; all of them if nothing is.
fn rest(allowed: &Cpus, pinned: &Cpus) -> Cpus {
    let rest: Cpus = allowed.difference(pinned).copied().collect();
    if rest.is_empty() { allowed.clone() } else { rest }
}

/// The CPUs that threads of these processes are pinned to: those that may not use all of this machine's.
pub fn pinned(processes: impl Iterator<Item = u32>) -> Cpus {
    let online = online();
    let threads = processes.take(MOST).flat_map(threads);
    let sets = threads.filter_map(|thread| Some(cpus_of(&sched_getaffinity(Some(thread)).ok()?)));
    sets.filter(|set| set.len() < online).flatten().collect()
}

/// How many CPUs this machine has.
fn online() -> usize {
    crate::machine::cpus()
}

fn threads(process: u32) -> Vec<Pid> {
    let process = i32::try_from(process).ok();
    let tasks = process.and_then(|pid| procfs::process::Process::new(pid).ok()?.tasks().ok());
    let tasks = tasks.into_iter().flatten().take(MOST);
    tasks.filter_map(|task| Pid::from_raw(task.ok()?.tid)).collect()
}

fn cpus_of(set: &CpuSet) -> Cpus {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_is_pinned_is_left_to_others_if_there_is_something_else() {
        let cpus = |list: &[usize]| -> Cpus { list.iter().copied().collect() };
        let all = cpus(&[0, 1, 2]);
        assert_eq!(rest(&all, &cpus(&[1])), cpus(&[0, 2]));
        assert_eq!(rest(&all, &cpus(&[0, 1, 2])), all);
        assert_eq!(rest(&all, &cpus(&[])), all);
        assert_eq!(rest(&cpus(&[1]), &cpus(&[1])), cpus(&[1]));
    }

    #[test]
    fn a_pinned_process_is_found_and_others_are_not() {
        let pinned_child = |list: &[&str]| {
            let mut child =
                Command::new("taskset").args(list).args(["sleep", "60"]).spawn().unwrap();
            let found = || pinned(std::iter::once(child.id()));
            let expected: Cpus = list.get(1).map(|cpu| cpu.parse().unwrap()).into_iter().collect();
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while found() != expected && std::time::Instant::now() < deadline {
                std::thread::yield_now();
            }
            let is_found = found() == expected;
            child.kill().unwrap();
            child.wait().unwrap();
            is_found
        };
        // With one CPU, nobody is pinned.
        if online() > 1 {
            assert!(pinned_child(&["-c", "0"]));
        }
        assert!(pinned(std::iter::once(u32::MAX)).is_empty());
    }

    #[test]
    fn it_is_looked_again_after_a_while() {
        let mut elsewhere = Elsewhere::new();
        assert!(elsewhere.is_due(Nanos(5)));
        assert!(!elsewhere.is_due(Nanos(6)));
        assert!(elsewhere.is_due(Nanos(5) + INTERVAL));
    }
}
