//! When threads were woken, and by whom.

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use wirelap_events::{Hop, MAX_HOPS, Nanos, TaskId, Tid, Wake};

/// Threads woken one by the other, the reader last.
pub type Chain = ArrayVec<Hop, MAX_HOPS>;

/// Wakeups remembered of one thread. A chain is followed when its read is seen, so only events that
/// another CPU's overtook are ever looked up behind newer ones.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    hop: Hop,
    /// The thread that did it; `None` for an interrupt.
    by: Option<TaskId>,
}

/// One thread's last wakeups, newest at `newest`.
#[derive(Clone, Copy, Debug, Default)]
struct Wakeups {
    ring: [Woken; REMEMBERED],
    newest: usize,
}

impl Wakeups {
    fn push(&mut self, woken: Woken) {
        self.newest = (self.newest + 1) % REMEMBERED;
        self.ring[self.newest] = woken;
    }

    /// The last wakeup after which the thread was running at `at`.
    fn before(&self, at: Nanos) -> Option<&Woken> {
        (0..REMEMBERED)
            .map(|back| &self.ring[(self.newest + REMEMBERED - back) % REMEMBERED])
            .find(|woken| woken.hop.running <= at)
            .filter(|woken| woken.hop.running > Nanos(0))
    }

    fn last(&self) -> Nanos {
        self.ring[self.newest].hop.running
    }
}

/// The threads that touch traced sockets.
#[derive(Debug)]
pub struct Threads {
    wakeups: FxHashMap<Tid, Wakeups>,
    limit: usize,
}

impl Threads {
    pub fn new(limit: usize) -> Threads {
        Threads { wakeups: FxHashMap::default(), limit }
    }

    /// `wake.task` was switched to at `at`.
    pub fn wake(&mut self, at: Nanos, wake: &Wake) {
        if self.wakeups.len() >= self.limit && !self.wakeups.contains_key(&wake.task.tid) {
            self.forget_older_half();
        }
        let hop = Hop {
            task: wake.task,
            woken: wake.woken,
            running: at,
            left: wake.left,
            rest: wake.rest,
            from_irq: wake.from_irq,
            migrated: wake.migrated,
            holder: wake.holder,
        };
        let by = (!wake.from_irq && wake.waker.tid != Tid(0)).then_some(wake.waker);
        self.wakeups.entry(wake.task.tid).or_default().push(Woken { hop, by });
    }

    /// How `task`, which runs at `at`, came to run: its last wakeup, and before it the wakeups of
    /// the threads of its own process that led to it.
    pub fn chain(&self, task: TaskId, at: Nanos) -> Chain {
        let mut chain = Chain::new();
        let mut next = Some((task, at));
        while let Some((task, at)) = next
            && let Some(woken) = self.wakeups.get(&task.tid).and_then(|w| w.before(at))
            && chain.try_push(woken.hop).is_ok()
        {
            next = woken
                .by
                .filter(|waker| waker.pid == task.pid && waker.tid != task.tid)
                .map(|waker| (waker, woken.hop.woken));
        }
        chain.reverse();
        chain
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<_> = self.wakeups.values().map(Wakeups::last).collect();
        let middle = times.len() / 2;
        let (_, &mut median, _) = times.select_nth_unstable(middle);
        self.wakeups.retain(|_, wakeups| wakeups.last() > median);
    }
}

/// The part of `chain` that was set off by data that came at `since`, and when it began to wake up:
/// `None` when the reader was running by then.
///
/// A thread that was already waiting for a CPU when the data came was woken in no time.
pub fn set_off(chain: &Chain, since: Nanos) -> Option<(Nanos, &[Hop])> {
    let reader = chain.len().checked_sub(1)?;
    if chain[reader].running <= since {
        return None;
    }
    let mut first = reader;
    while first > 0 && chain[first].woken >= since && chain[first - 1].running > since {
        first -= 1;
    }
    Some((chain[first].woken.max(since), &chain[first..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Pid;

    fn task(tid: u32) -> TaskId {
        TaskId { pid: Pid(1), tid: Tid(tid) }
    }

    fn threads(wakes: &[(u32, u64, u64, Option<u32>)]) -> Threads {
        let mut threads = Threads::new(16);
        for &(tid, woken, running, by) in wakes {
            let wake = Wake {
                task: task(tid),
                woken: Nanos(woken),
                waker: task(by.unwrap_or(99)),
                from_irq: by.is_none(),
                ..Wake::default()
            };
            threads.wake(Nanos(running), &wake);
        }
        threads
    }

    fn tids(hops: &[Hop]) -> Vec<u32> {
        hops.iter().map(|hop| hop.task.tid.0).collect()
    }

    #[test]
    fn a_chain_leads_to_the_interrupt() {
        let threads = threads(&[(1, 10, 20, None), (2, 30, 40, Some(1)), (1, 90, 95, None)]);
        let chain = threads.chain(task(2), Nanos(50));
        assert_eq!(tids(&chain), [1, 2]);
        let (wakeup, hops) = set_off(&chain, Nanos(5)).unwrap();
        assert_eq!((wakeup, tids(hops)), (Nanos(10), vec![1, 2]));
    }

    #[test]
    fn a_thread_that_ran_before_the_data_came_was_busy() {
        let threads = threads(&[(1, 10, 20, None)]);
        assert_eq!(set_off(&threads.chain(task(1), Nanos(50)), Nanos(20)), None);
        assert_eq!(set_off(&threads.chain(task(7), Nanos(50)), Nanos(20)), None);
    }

    #[test]
    fn a_thread_woken_for_something_else_only_waits_for_its_cpu() {
        let threads = threads(&[(1, 10, 40, None)]);
        let chain = threads.chain(task(1), Nanos(50));
        assert_eq!(set_off(&chain, Nanos(30)).unwrap().0, Nanos(30));
    }

    #[test]
    fn wakers_before_the_data_are_no_part_of_it() {
        let threads = threads(&[(1, 1, 2, None), (2, 30, 40, Some(1))]);
        let chain = threads.chain(task(2), Nanos(50));
        assert_eq!(tids(set_off(&chain, Nanos(25)).unwrap().1), [2]);
    }

    #[test]
    fn the_least_recent_threads_are_forgotten() {
        let mut all = threads(&[]);
        for tid in 1..=100 {
            let more = threads(&[(tid, u64::from(tid), u64::from(tid) + 1, None)]);
            let wake = more.wakeups[&Tid(tid)].ring[1].hop;
            all.wakeups.insert(Tid(tid), more.wakeups[&Tid(tid)]);
            if all.wakeups.len() > 16 {
                all.forget_older_half();
            }
            assert!(!all.chain(task(tid), wake.running).is_empty());
        }
        assert!(all.wakeups.len() <= 17);
    }
}
