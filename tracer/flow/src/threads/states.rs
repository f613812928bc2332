//! The activity of processes when they were looked at last.

use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid, ThreadActivity, ThreadState, Tid};
use wirelap_limits::threads::{RUNNABLE_DIVISOR, THREAD_STATE_FRESHNESS, WAITING_DIVISOR};

/// Processes whose states are remembered.
const PROCESSES: usize = 1024;

/// Threads of a process whose states are remembered.
const THREADS: usize = 256;

/// The activity of processes when they were looked at last.
#[derive(Debug, Default)]
pub struct ProcessStates(FxHashMap<Pid, ProcessState>);

/// The threads of a process.
type SeenThreads = FxHashMap<Tid, SeenThread>;

#[derive(Debug)]
struct ProcessState {
    at: Nanos,
    /// The time of the look before.
    before: Option<Nanos>,
    /// Time for which it has had a CPU by now, and by the look before.
    cpu_time: [Option<Nanos>; 2],
    threads: SeenThreads,
}

/// A thread at the last look, and at the look before.
#[derive(Clone, Copy, Debug)]
struct SeenThread {
    at: Nanos,
    now: ThreadState,
    before: Option<ThreadState>,
}

impl SeenThread {
    /// True if the thread waited for a CPU for most of some `time` since the look before. The kernel counts a wait when it is over: a
    /// thread that could run then and has not run since waits still.
    fn lacked_cpu(&self, time: Nanos) -> bool {
        let Some((before, waited)) = self.before.zip(self.now.waited) else { return false };
        let could_run = before.activity == ThreadActivity::Running;
        let still_waits = could_run && before.ran.is_some() && before.ran == self.now.ran;
        let has_waited = |from: Nanos| waited - from > Nanos(time.0 / WAITING_DIVISOR);
        still_waits || before.waited.is_some_and(has_waited)
    }
}

impl ProcessState {
    fn new(
        at: Nanos,
        before: Option<(Nanos, Option<Nanos>)>,
        threads: SeenThreads,
    ) -> ProcessState {
        let (before, ran) = (before.map(|(at, _)| at), before.and_then(|(_, ran)| ran));
        ProcessState { at, before, cpu_time: [None, ran], threads }
    }

    /// The time since the look before, if that was not long ago.
    fn elapsed(&self) -> Option<Nanos> {
        let before = self.before.filter(|before| *before + THREAD_STATE_FRESHNESS >= self.at)?;
        Some(self.at - before)
    }

    /// True if the process was on a CPU for hardly any of the time since the look before.
    fn had_no_cpu(&self) -> bool {
        let ran = || {
            let [now, before] = self.cpu_time;
            Some((self.elapsed()?, now? - before?))
        };
        ran().is_some_and(|(time, ran)| ran < Nanos(time.0 / RUNNABLE_DIVISOR))
    }

    /// The activity of a thread, and where that could run, whether it waited for a CPU for most of the time since the look before.
    fn activity_of(&self, seen: &SeenThread) -> ThreadActivity {
        if seen.now.activity != ThreadActivity::Running {
            return seen.now.activity;
        }
        let is_waiting = match seen.now.waited {
            // One look says nothing.
            Some(_) => self.elapsed().is_some_and(|time| seen.lacked_cpu(time)),
            None => self.had_no_cpu(),
        };
        if is_waiting { ThreadActivity::Runnable } else { ThreadActivity::Running }
    }
}

impl ProcessStates {
    /// A thread was looked at. Looks at the threads of one process have one time.
    pub fn see(&mut self, at: Nanos, seen: &ThreadState) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&seen.task.pid) {
            self.0.clear();
        }
        let fresh = || ProcessState::new(at, None, SeenThreads::default());
        let known = self.0.entry(seen.task.pid).or_insert_with(fresh);
        if known.at != at {
            let mut threads = std::mem::take(&mut known.threads);
            threads.retain(|_, thread| thread.at == known.at);
            *known = ProcessState::new(at, Some((known.at, known.cpu_time[0])), threads);
        }
        known.cpu_time[0] = known.cpu_time[0].max(seen.cpu_time);
        if known.threads.len() < THREADS || known.threads.contains_key(&seen.task.tid) {
            let before = known.threads.get(&seen.task.tid).filter(|thread| thread.at != at);
            let thread = SeenThread { at, now: *seen, before: before.map(|thread| thread.now) };
            known.threads.insert(seen.task.tid, thread);
        }
    }

    /// The activity of a process a moment before `now`, which is that of its most active thread; `None` if nobody looked.
    pub fn of(&self, pid: Pid, now: Nanos) -> Option<ThreadActivity> {
        let known = self.0.get(&pid).filter(|known| known.at + THREAD_STATE_FRESHNESS >= now)?;
        let seen = known.threads.values().filter(|thread| thread.at == known.at);
        seen.map(|thread| known.activity_of(thread)).max()
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
    use wirelap_events::TaskId;

    #[test]
    fn who_could_run_and_has_no_cpu_does_not_run() {
        let ms = Nanos::from_millis;
        let second = |ran: Option<u64>| {
            let mut states = ProcessStates::default();
            for (at, ran) in [(100, Some(50)), (350, ran)] {
                let cpu_time = ran.map(ms);
                for (tid, activity) in [(7, ThreadActivity::Running), (8, ThreadActivity::Asleep)] {
                    let task = TaskId { pid: Pid(7), tid: Tid(tid) };
                    let state = ThreadState { task, activity, cpu_time, ..ThreadState::default() };
                    states.see(ms(at), &state);
                }
            }
            states.of(Pid(7), ms(400))
        };
        assert_eq!(second(Some(51)), Some(ThreadActivity::Runnable));
        assert_eq!(second(Some(150)), Some(ThreadActivity::Running));
        assert_eq!(second(None), Some(ThreadActivity::Running));
    }

    /// The activity of a process at its second look, of which one thread could run both times and had waited so long since the first, and
    /// the other one sleeps. The process has hardly used a CPU.
    fn after_wait(waited: [u64; 2], ran: [u64; 2]) -> Option<ThreadActivity> {
        let ms = Nanos::from_millis;
        let mut states = ProcessStates::default();
        for ((at, waited), ran) in [100, 350].into_iter().zip(waited).zip(ran) {
            for (tid, activity, waited) in
                [(7, ThreadActivity::Running, waited), (8, ThreadActivity::Asleep, 5_000 * at)]
            {
                let task = TaskId { pid: Pid(7), tid: Tid(tid) };
                let cpu_time = Some(ms(50));
                let (waited, ran) = (Some(ms(waited)), Some(ms(ran)));
                states.see(ms(at), &ThreadState { task, activity, cpu_time, waited, ran });
            }
        }
        states.of(Pid(7), ms(400))
    }

    #[test]
    fn who_is_found_running_and_did_not_wait_does_not_lack_a_cpu() {
        assert_eq!(after_wait([10, 15], [20, 32]), Some(ThreadActivity::Running));
        assert_eq!(after_wait([10, 210], [20, 32]), Some(ThreadActivity::Runnable));
        let starved = after_wait([10, 10], [20, 20]);
        assert_eq!(starved, Some(ThreadActivity::Runnable), "its wait is not over");
    }

    #[test]
    fn memory_is_bounded() {
        let mut states = ProcessStates::default();
        for n in 0..10_000 {
            let task = TaskId { pid: Pid(7), tid: Tid(n) };
            states.see(Nanos(u64::from(n)), &ThreadState { task, ..ThreadState::default() });
            let task = TaskId { pid: Pid(8), tid: Tid(n) };
            states.see(Nanos(1), &ThreadState { task, ..ThreadState::default() });
        }
        let threads = |pid| states.0[&Pid(pid)].threads.len();
        assert_eq!((threads(7), threads(8)), (2, THREADS));
    }
}
