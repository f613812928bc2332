//! How the threads of each process were scheduled.

use crate::stats::{Distribution, Ring, Summary};
use rustc_hash::FxHashMap;
use wirelap_events::{CgroupId, Holder, Nanos, OffCpuReason, Pid, Saturate, TaskId, Wake};

/// Processes that are counted.
const LIMIT: usize = 4096;

/// Times without CPU quota, or without a CPU, that are remembered of a process: as many as may pass until a message is looked at.
const SPELLS: usize = 16;

/// Shorter waits for a CPU keep nobody else of the process waiting for long.
const LONG_WAIT: Nanos = Nanos::from_millis(1);

/// A time in which threads of a process waited for CPU quota.
#[derive(Clone, Copy, Debug, Default)]
struct ThrottledInterval {
    from: Nanos,
    to: Nanos,
    cgroup: CgroupId,
}

/// A time in which threads of a process waited for a CPU, and who had it.
#[derive(Clone, Copy, Debug, Default)]
struct QueuedInterval {
    from: Nanos,
    to: Nanos,
    holder: Holder,
}

/// How a process's threads were scheduled, as far as they were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// How long they waited for a CPU, each time: woken → running, and after being preempted.
    pub run_queue: Summary,
    /// Times that they went to sleep and were woken again: voluntary context switches.
    pub sleeps: u64,
    /// Times that they were preempted: involuntary context switches.
    pub preemptions: u64,
    /// Times that they went on on another CPU.
    pub migrations: u64,
}

#[derive(Debug)]
struct Counts {
    run_queue: Distribution,
    sleeps: u64,
    preemptions: u64,
    migrations: u64,
    /// Time in which at least one thread waited for CPU quota, and until when that has been counted.
    throttled: Nanos,
    throttled_until: Nanos,
    /// The last of these threads, and whose quota it was.
    last: (TaskId, CgroupId),
    spells: Ring<ThrottledInterval, SPELLS>,
    queued: Ring<QueuedInterval, SPELLS>,
}

impl Counts {
    /// A thread had no quota from `from` until `to`. The spells of several threads that meet are one.
    fn spell(&mut self, from: Nanos, to: Nanos, cgroup: CgroupId) {
        let last = self.spells.newest_mut();
        if last.to >= from && last.from <= to {
            (last.from, last.to) = (last.from.min(from), last.to.max(to));
        } else {
            self.spells.push(ThrottledInterval { from, to, cgroup });
        }
    }

    /// A thread waited for a CPU from `from` until `to`. The waits of several threads that meet are one, with the holder of the longest.
    fn queue(&mut self, from: Nanos, to: Nanos, holder: Holder) {
        let last = self.queued.newest_mut();
        if last.to >= from && last.from <= to {
            if holder.held > last.holder.held {
                last.holder = holder;
            }
            (last.from, last.to) = (last.from.min(from), last.to.max(to));
        } else {
            self.queued.push(QueuedInterval { from, to, holder });
        }
    }
}

/// The processes that touch traced sockets.
#[derive(Debug, Default)]
pub struct Processes(FxHashMap<Pid, Counts>);

impl Processes {
    /// A thread was switched to at `at`.
    pub fn wake(&mut self, at: Nanos, wake: &Wake) {
        if self.0.len() >= LIMIT && !self.0.contains_key(&wake.task.pid) {
            return;
        }
        let counts = self.0.entry(wake.task.pid).or_insert_with(|| Counts {
            run_queue: Distribution::new(2),
            sleeps: 0,
            preemptions: 0,
            migrations: 0,
            throttled: Nanos(0),
            throttled_until: Nanos(0),
            last: (TaskId::default(), CgroupId(0)),
            spells: Ring::default(),
            queued: Ring::default(),
        });
        counts.run_queue.add((at - wake.woken).0);
        counts.migrations.grow(u64::from(wake.migrated));
        if wake.reason == OffCpuReason::Preempted {
            counts.preemptions.grow(1);
        } else {
            counts.sleeps.grow(1);
        }
        let queued_since = wake.woken + wake.throttled;
        if at - queued_since >= LONG_WAIT {
            counts.queue(queued_since, at, wake.holder);
        }
        if wake.throttled > Nanos(0) {
            let until = wake.woken + wake.throttled;
            counts.throttled += until - wake.woken.max(counts.throttled_until);
            counts.throttled_until = until.max(counts.throttled_until);
            counts.last = (wake.task, wake.cgroup);
            counts.spell(wake.woken, until, wake.cgroup);
        }
    }

    /// How long a process waited for CPU quota: one of its threads, the cgroup, and the time. `None` if it did not.
    pub fn throttled(&self, pid: Pid) -> Option<(TaskId, CgroupId, Nanos)> {
        let counts = self.0.get(&pid).filter(|counts| counts.throttled > Nanos(0))?;
        Some((counts.last.0, counts.last.1, counts.throttled))
    }

    /// How long between two moments threads of a process waited for CPU quota, and whose; as far back as is remembered.
    pub fn throttled_within(&self, pid: Pid, from: Nanos, to: Nanos) -> (Nanos, CgroupId) {
        let Some(counts) = self.0.get(&pid).filter(|counts| counts.throttled_until > from) else {
            return (Nanos(0), CgroupId(0));
        };
        let spells = counts.spells.iter();
        let parts = spells.map(|spell| (spell.to.min(to) - spell.from.max(from), spell.cgroup));
        parts.fold((Nanos(0), CgroupId(0)), |(sum, longest), (time, cgroup)| {
            (sum + time, if time > Nanos(0) { cgroup } else { longest })
        })
    }

    /// How long between two moments threads of a process waited for a CPU, and who had it the longest; as far back as is remembered.
    pub fn queued_within(&self, pid: Pid, from: Nanos, to: Nanos) -> (Nanos, Holder) {
        let Some(counts) = self.0.get(&pid) else { return (Nanos(0), Holder::NOBODY) };
        let parts = counts.queued.iter().map(|one| {
            let time = one.to.min(to) - one.from.max(from).min(to);
            (time, Holder { held: one.holder.held.min(time), ..one.holder })
        });
        parts.fold((Nanos(0), Holder::NOBODY), |(sum, longest), (time, holder)| {
            (sum + time, if holder.held > longest.held { holder } else { longest })
        })
    }

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
}
