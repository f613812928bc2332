//! How the threads of each process were scheduled.

use crate::snapshot::Scheduling;
use crate::stats::Distribution;
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid, Rest, Wake};

/// Processes that are counted.
const LIMIT: usize = 4096;

#[derive(Debug)]
struct Counts {
    run_queue: Distribution,
    sleeps: u64,
    preemptions: u64,
    migrations: u64,
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
        });
        counts.run_queue.add((at - wake.woken).0);
        counts.migrations += u64::from(wake.migrated);
        if wake.rest == Rest::Preempted {
            counts.preemptions += 1;
        } else {
            counts.sleeps += 1;
        }
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
    use wirelap_events::TaskId;

    #[test]
    fn sleeps_and_preemptions_are_told_apart() {
        let mut processes = Processes::default();
        let task = TaskId { pid: Pid(7), ..TaskId::default() };
        let wake = Wake { task, woken: Nanos(100), ..Wake::default() };
        processes.wake(Nanos(110), &wake);
        processes.wake(Nanos(300), &Wake { rest: Rest::Preempted, migrated: true, ..wake });
        let seen = processes.of(Pid(7));
        assert_eq!((seen.sleeps, seen.preemptions, seen.migrations), (1, 1, 1));
        assert_eq!((seen.run_queue.min, seen.run_queue.max.0 / 10), (Nanos(10), 20));
        assert_eq!(processes.of(Pid(8)), Scheduling::default());
    }
}
