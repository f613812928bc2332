//! The activity of processes when they were looked at last.

use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid, ThreadActivity, ThreadState};
use wirelap_limits::threads::{RUNNABLE_DIVISOR, THREAD_STATE_FRESHNESS};

/// Processes whose states are remembered.
const PROCESSES: usize = 1024;

/// The activity of processes when they were looked at last.
#[derive(Debug, Default)]
pub struct ProcessStates(FxHashMap<Pid, ProcessState>);

#[derive(Clone, Copy, Debug)]
struct ProcessState {
    at: Nanos,
    activity: ThreadActivity,
    /// Time for which it has had a CPU by then.
    cpu_time: Option<Nanos>,
    /// The time of the look before, and the CPU time by then.
    before: Option<(Nanos, Nanos)>,
}

impl ProcessState {
    /// True if the process was on a CPU for hardly any of the time since the look before.
    fn had_no_cpu(&self) -> bool {
        let ran = |(at, ran)| Some((self.at - at, self.cpu_time? - ran));
        let since = self.before.filter(|(at, _)| *at + THREAD_STATE_FRESHNESS >= self.at);
        since.and_then(ran).is_some_and(|(time, ran)| ran < Nanos(time.0 / RUNNABLE_DIVISOR))
    }
}

impl ProcessStates {
    /// A thread was looked at. Looks at the threads of one process have one time.
    pub fn see(&mut self, at: Nanos, seen: &ThreadState) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&seen.task.pid) {
            self.0.clear();
        }
        let ThreadState { activity, cpu_time, .. } = *seen;
        let new = ProcessState { at, activity, cpu_time, before: None };
        let known = self.0.entry(seen.task.pid).or_insert(new);
        *known = if known.at == at {
            ProcessState { activity: known.activity.max(activity), ..*known }
        } else {
            ProcessState { before: known.cpu_time.map(|ran| (known.at, ran)), ..new }
        };
    }

    /// The activity of a process a moment before `now`; `None` if nobody looked.
    pub fn of(&self, pid: Pid, now: Nanos) -> Option<ThreadActivity> {
        let known = self.0.get(&pid).filter(|known| known.at + THREAD_STATE_FRESHNESS >= now)?;
        let is_waiting = known.activity == ThreadActivity::Running && known.had_no_cpu();
        Some(if is_waiting { ThreadActivity::Runnable } else { known.activity })
    }

    /// True if the process was just seen stopped or blocked.
    pub fn is_off(&self, pid: Option<Pid>, now: Nanos) -> bool {
        let activity = pid.and_then(|pid| self.of(pid, now));
        matches!(activity, Some(ThreadActivity::Stopped | ThreadActivity::Blocked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{TaskId, Tid};

    #[test]
    fn who_could_run_and_has_no_cpu_does_not_run() {
        let ms = Nanos::from_millis;
        let second = |ran: Option<u64>| {
            let mut states = ProcessStates::default();
            for (at, ran) in [(100, Some(50)), (350, ran)] {
                let cpu_time = ran.map(ms);
                for (tid, activity) in [(7, ThreadActivity::Running), (8, ThreadActivity::Asleep)] {
                    let task = TaskId { pid: Pid(7), tid: Tid(tid) };
                    states.see(ms(at), &ThreadState { task, activity, cpu_time });
                }
            }
            states.of(Pid(7), ms(400))
        };
        assert_eq!(second(Some(51)), Some(ThreadActivity::Runnable));
        assert_eq!(second(Some(150)), Some(ThreadActivity::Running));
        assert_eq!(second(None), Some(ThreadActivity::Running));
    }
}
