//! Scheduling of the threads of each process.

use super::spells::Spells;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use wirelap_events::{
    CgroupId, Comm, Holder, Nanos, OffCpuReason, Pid, Saturate, SleepCall, TaskId, Tid, Wake,
};
use wirelap_figures::{Distribution, Summary};
use wirelap_limits::threads::LONG_CPU_WAIT;

/// Processes that are counted.
const LIMIT: usize = 4096;

/// Threads of a process that are remembered for handing work to others.
const HANDING: usize = 32;

/// Scheduling of a process's threads, as far as they were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Each wait of a thread for a CPU: woken → running, and after being preempted.
    pub run_queue: Summary,
    /// Times that they went to sleep and were woken again: voluntary context switches.
    pub sleeps: u64,
    /// Times that they were preempted: involuntary context switches.
    pub preemptions: u64,
    /// Times that they went on on another CPU.
    pub migrations: u64,
}

#[derive(Debug)]
struct SchedulingCounts {
    run_queue: Distribution,
    sleeps: u64,
    preemptions: u64,
    migrations: u64,
    /// Time in which at least one thread waited for CPU quota, and until when that has been counted.
    throttled: Nanos,
    throttled_until: Nanos,
    /// The last of these threads, and whose quota it was.
    last: (TaskId, CgroupId),
    spells: Spells<CgroupId>,
    /// Times in which threads waited for a CPU, and who had it.
    queued: Spells<Holder>,
    /// Times in which threads that hand work to others were blocked in the kernel.
    blocked: Spells<Holder>,
    /// Threads that woke others of the process from waiting for data or a call.
    handing: ArrayVec<(Tid, Comm), HANDING>,
}

impl SchedulingCounts {
    /// Remembers the threads that hand work to others, and the times in which one of them was blocked in the
    /// kernel: the others wait for that.
    fn hand_over(&mut self, at: Nanos, wake: &Wake) {
        let is_own = wake.waker.pid == wake.task.pid && wake.waker.tid != wake.task.tid;
        let is_idle = wake.reason == OffCpuReason::Asleep
            && matches!(wake.sleep, SleepCall::Poll | SleepCall::Call);
        let name_of = |handing: &[(Tid, Comm)], tid| {
            handing.iter().find(|known| known.0 == tid).map(|known| known.1)
        };
        let is_new = || name_of(&self.handing, wake.waker.tid).is_none();
        if is_own && is_idle && !wake.from_irq && is_new() {
            if self.handing.is_full() {
                self.handing.remove(0);
            }
            self.handing.push((wake.waker.tid, wake.waker_comm));
        }
        let Some(left) = wake.left.filter(|_| wake.reason == OffCpuReason::Blocked) else { return };
        let blocked = wake.woken.min(at) - left;
        if blocked >= LONG_CPU_WAIT
            && let Some(comm) = name_of(&self.handing, wake.task.tid)
        {
            let by = Holder { task: wake.task, comm, held: blocked };
            self.blocked.add(left, wake.woken.min(at), by, |known, new| new.held > known.held);
        }
    }
}

/// Sum of the times, and the holder that was there the longest.
fn longest<'a>(parts: impl Iterator<Item = (Nanos, &'a Holder)>) -> (Nanos, Holder) {
    parts.fold((Nanos(0), Holder::NOBODY), |(sum, longest), (time, holder)| {
        let holder = Holder { held: holder.held.min(time), ..*holder };
        (sum + time, if holder.held > longest.held { holder } else { longest })
    })
}

/// The processes that touch traced sockets.
#[derive(Debug, Default)]
pub struct Processes(FxHashMap<Pid, SchedulingCounts>);

impl Processes {
    /// A thread was switched to at `at`.
    pub fn wake(&mut self, at: Nanos, wake: &Wake) {
        if self.0.len() >= LIMIT && !self.0.contains_key(&wake.task.pid) {
            return;
        }
        let counts = self.0.entry(wake.task.pid).or_insert_with(|| SchedulingCounts {
            run_queue: Distribution::new(2),
            sleeps: 0,
            preemptions: 0,
            migrations: 0,
            throttled: Nanos(0),
            throttled_until: Nanos(0),
            last: (TaskId::default(), CgroupId(0)),
            spells: Spells::default(),
            queued: Spells::default(),
            blocked: Spells::default(),
            handing: ArrayVec::new(),
        });
        counts.run_queue.add((at - wake.woken).0);
        counts.migrations.grow(u64::from(wake.migrated));
        if wake.reason == OffCpuReason::Preempted {
            counts.preemptions.grow(1);
        } else {
            counts.sleeps.grow(1);
        }
        let queued_since = wake.woken + wake.throttled;
        if at - queued_since >= LONG_CPU_WAIT {
            let is_more = |known: &Holder, new: &Holder| new.held > known.held;
            counts.queued.add(queued_since, at, wake.holder, is_more);
        }
        counts.hand_over(at, wake);
        if wake.throttled > Nanos(0) {
            let until = wake.woken + wake.throttled;
            counts.throttled += until - wake.woken.max(counts.throttled_until);
            counts.throttled_until = until.max(counts.throttled_until);
            counts.last = (wake.task, wake.cgroup);
            counts.spells.add(wake.woken, until, wake.cgroup, |_, _| false);
        }
    }

    /// Time that a process waited for CPU quota, with one of its threads and the cgroup. `None` if it did not.
    pub fn throttled(&self, pid: Pid) -> Option<(TaskId, CgroupId, Nanos)> {
        let counts = self.0.get(&pid).filter(|counts| counts.throttled > Nanos(0))?;
        Some((counts.last.0, counts.last.1, counts.throttled))
    }

    /// Time between two moments in which threads of a process waited for CPU quota, and whose it was; as far back as is
    /// remembered.
    pub fn throttled_within(&self, pid: Pid, from: Nanos, to: Nanos) -> (Nanos, CgroupId) {
        let Some(counts) = self.0.get(&pid).filter(|counts| counts.throttled_until > from) else {
            return (Nanos(0), CgroupId(0));
        };
        let parts = counts.spells.within(from, to);
        parts.fold((Nanos(0), CgroupId(0)), |(sum, longest), (time, &cgroup)| {
            (sum + time, if time > Nanos(0) { cgroup } else { longest })
        })
    }

    /// Time between two moments in which threads of a process waited for a CPU, and who had it the longest; as far back as is
    /// remembered.
    pub fn queued_within(&self, pid: Pid, from: Nanos, to: Nanos) -> (Nanos, Holder) {
        let Some(counts) = self.0.get(&pid) else { return (Nanos(0), Holder::NOBODY) };
        longest(counts.queued.within(from, to))
    }

    /// Time between two moments in which threads of a process that hand work to others were blocked in the kernel, and which of
    /// them the longest; as far back as is remembered.
    pub fn blocked_within(&self, pid: Pid, from: Nanos, to: Nanos) -> (Nanos, Holder) {
        let Some(counts) = self.0.get(&pid) else { return (Nanos(0), Holder::NOBODY) };
        longest(counts.blocked.within(from, to))
    }

    /// The scheduling of a process's threads; all 0 if none was traced.
    pub fn of(&self, pid: Pid) -> Scheduling {
        self.0.get(&pid).map_or_else(Scheduling::default, |counts| Scheduling {
            run_queue: counts.run_queue.summary(),
            sleeps: counts.sleeps,
            preemptions: counts.preemptions,
            migrations: counts.migrations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_and_preemptions_are_told_apart() {
        let mut processes = Processes::default();
        let task = TaskId { pid: Pid(7), ..TaskId::default() };
        let wake = Wake { task, woken: Nanos(100), ..Wake::default() };
        processes.wake(Nanos(110), &wake);
        processes
            .wake(Nanos(300), &Wake { reason: OffCpuReason::Preempted, migrated: true, ..wake });
        let seen = processes.of(Pid(7));
        assert_eq!((seen.sleeps, seen.preemptions, seen.migrations), (1, 1, 1));
        assert_eq!((seen.run_queue.min, seen.run_queue.max.0 / 10), (Nanos(10), 20));
        assert_eq!(processes.of(Pid(8)), Scheduling::default());
    }

    #[test]
    fn threads_that_wait_for_quota_at_the_same_time_count_once() {
        let mut processes = Processes::default();
        let task = TaskId { pid: Pid(7), ..TaskId::default() };
        let wake = |woken, throttled| {
            let (woken, throttled) = (Nanos(woken), Nanos(throttled));
            Wake { task, woken, throttled, cgroup: CgroupId(3), ..Wake::default() }
        };
        processes.wake(Nanos(200), &wake(100, 80));
        processes.wake(Nanos(200), &wake(120, 70));
        processes.wake(Nanos(400), &wake(300, 0));
        assert_eq!(processes.throttled(Pid(7)), Some((task, CgroupId(3), Nanos(90))));
        assert_eq!(processes.throttled(Pid(8)), None);
        processes.wake(Nanos(900), &wake(600, 300));
        let within = |from, to| processes.throttled_within(Pid(7), Nanos(from), Nanos(to)).0.0;
        assert_eq!((within(0, 1_000), within(150, 700), within(200, 600)), (390, 140, 0));
    }

    #[test]
    fn long_waits_of_threads_for_a_cpu_count_once() {
        let mut processes = Processes::default();
        let task = TaskId { pid: Pid(7), ..TaskId::default() };
        let hog = |us| Holder {
            task: TaskId { pid: Pid(9), ..TaskId::default() },
            held: Nanos::from_micros(us),
            ..Holder::default()
        };
        let mut waits = |from, to, held| {
            let wake = Wake { task, woken: Nanos::from_micros(from), ..Wake::default() };
            processes.wake(Nanos::from_micros(to), &Wake { holder: hog(held), ..wake });
        };
        waits(1_000, 5_000, 4_000);
        waits(2_000, 6_000, 3_000);
        // That is how long a switch may take.
        waits(8_000, 8_500, 500);
        waits(10_000, 12_000, 1_000);
        let within = |from, to| {
            let (from, to) = (Nanos::from_micros(from), Nanos::from_micros(to));
            let (time, holder) = processes.queued_within(Pid(7), from, to);
            (time.0 / 1_000, holder.held.0 / 1_000)
        };
        assert_eq!((within(0, 20_000), within(4_000, 11_000)), ((7_000, 4_000), (3_000, 2_000)));
        assert_eq!((within(6_000, 10_000), within(12_000, 20_000)), ((0, 0), (0, 0)));
    }

    #[test]
    fn only_those_that_hand_work_over_keep_others_waiting_for_a_disk() {
        let mut processes = Processes::default();
        let task = |tid| TaskId { pid: Pid(7), tid: Tid(tid) };
        let ms = Nanos::from_millis;
        let blocked = |tid, from, to| Wake {
            task: task(tid),
            left: Some(ms(from)),
            woken: ms(to),
            reason: OffCpuReason::Blocked,
            from_irq: true,
            ..Wake::default()
        };
        let within = |processes: &Processes| {
            let (time, by) = processes.blocked_within(Pid(7), ms(0), ms(100));
            (time, by.task.tid.0)
        };
        // One that works for itself.
        processes.wake(ms(20), &blocked(2, 10, 20));
        assert_eq!(within(&processes), (Nanos(0), 0));
        let woken = Wake {
            task: task(1),
            woken: ms(20),
            waker: task(2),
            sleep: SleepCall::Poll,
            ..Wake::default()
        };
        processes.wake(ms(21), &woken);
        processes.wake(ms(40), &blocked(2, 30, 40));
        processes.wake(ms(60), &blocked(3, 50, 60));
        assert_eq!(within(&processes), (ms(10), 2));
        // Who wakes it up from a lock hands nothing over.
        let lock = Wake { waker: task(3), sleep: SleepCall::Lock, ..woken };
        processes.wake(ms(61), &lock);
        processes.wake(ms(80), &blocked(3, 70, 80));
        assert_eq!(within(&processes), (ms(10), 2));
    }
}
