//! The activity of processes when they were looked at last.

use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid, ThreadActivity, ThreadState};
use wirelap_limits::threads::THREAD_STATE_FRESHNESS;

/// Processes whose states are remembered.
const PROCESSES: usize = 1024;

/// The activity of processes when they were looked at last.
#[derive(Debug, Default)]
pub struct ProcessStates(FxHashMap<Pid, (Nanos, ThreadActivity)>);

impl ProcessStates {
    /// A thread was looked at. Looks at the threads of one process have one time.
    pub fn see(&mut self, at: Nanos, seen: &ThreadState) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&seen.task.pid) {
            self.0.clear();
        }
        let known = self.0.entry(seen.task.pid).or_insert((at, seen.activity));
        *known = if known.0 == at { (at, known.1.max(seen.activity)) } else { (at, seen.activity) };
    }

    /// The activity of a process a moment before `now`; `None` if nobody looked.
    pub fn of(&self, pid: Pid, now: Nanos) -> Option<ThreadActivity> {
        self.0
            .get(&pid)
            .filter(|(at, _)| *at + THREAD_STATE_FRESHNESS >= now)
            .map(|(_, activity)| *activity)
    }

    /// True if the process was just seen stopped or blocked.
    pub fn is_off(&self, pid: Option<Pid>, now: Nanos) -> bool {
        let activity = pid.and_then(|pid| self.of(pid, now));
        matches!(activity, Some(ThreadActivity::Stopped | ThreadActivity::Blocked))
    }
}
