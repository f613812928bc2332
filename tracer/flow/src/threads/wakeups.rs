//! Wakeups of threads, and by whom; the times for which they rested, and who had the CPU meanwhile.

use super::history::ThreadHistory;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use wirelap_events::{
    Cpu, Holder, Hop, MAX_HOPS, Nanos, OffCpu, OffCpuReason, Saturate, SleepCall, TaskId, Tid, Wake,
};
use wirelap_figures::Ring;

/// Threads woken one by the other, the last one last.
pub type Chain = ArrayVec<Hop, MAX_HOPS>;

/// Wakeups remembered of one thread. A chain is followed when its call is seen, so only events that
/// another CPU's overtook are ever looked up behind newer ones.
const REMEMBERED: usize = 8;

/// The most threads that are looked at each of which waits for the next.
const AWAITED: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    hop: Hop,
    /// The thread that did it; `None` for an interrupt.
    by: Option<TaskId>,
}

/// Time of a thread on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// The part of the time since the thread was first seen, 0..=1.
    pub share: f64,
    /// The time in all, if the thread has not left since it was last switched to.
    pub at_most: Nanos,
}

/// One thread's last wakeups and rests.
#[derive(Clone, Debug, Default)]
struct Thread {
    wakeups: Ring<Woken, REMEMBERED>,
    history: ThreadHistory,
    /// Time at which the thread was given a CPU last.
    running: Nanos,
    /// Time on a CPU until `running`, as far as it was seen.
    busy: Nanos,
    /// Time at which the thread was first given a CPU.
    since: Option<Nanos>,
}

impl Thread {
    fn runs(&mut self, hop: &Hop, missed: bool) {
        if let Some(left) = hop.left
            && self.since.is_some()
            && !missed
        {
            self.busy += left - self.running;
        }
        self.since.get_or_insert(hop.running);
        self.running = self.running.max(hop.running);
    }

    /// The last wakeup after which the thread was running at `at`.
    fn before(&self, at: Nanos) -> Option<&Woken> {
        self.wakeups
            .iter()
            .find(|woken| woken.hop.running <= at)
            .filter(|woken| woken.hop.running > Nanos(0))
    }
}

/// The threads that touch traced sockets.
#[derive(Debug)]
pub struct Threads {
    all: FxHashMap<Tid, Thread>,
    limit: usize,
}

impl Threads {
    /// No threads yet; so many are remembered at most.
    pub fn new(limit: usize) -> Threads {
        Threads { all: FxHashMap::default(), limit }
    }

    /// `wake.task` was switched to at `at`, on `cpu`.
    pub fn wake(&mut self, at: Nanos, cpu: Cpu, wake: &Wake) {
        if self.all.len() >= self.limit && !self.all.contains_key(&wake.task.tid) {
            self.forget_older_half();
        }
        let thread = self.all.entry(wake.task.tid).or_default();
        let hop = Hop {
            task: wake.task,
            woken: wake.woken,
            running: at,
            left: wake.left,
            reason: wake.reason,
            from_irq: wake.from_irq,
            cpu: Some(cpu),
            migrated: wake.migrated,
            holder: wake.holder,
            sleep: wake.sleep,
        };
        thread.runs(&hop, wake.missed);
        thread.history.runs(at, wake);
        if wake.reason != OffCpuReason::Preempted {
            let by = (!wake.from_irq && wake.waker.tid != Tid(0)).then_some(wake.waker);
            thread.wakeups.push(Woken { hop, by });
        }
    }

    /// Times off the CPU of the thread between two moments, and how long the one that it waited for had a CPU;
    /// `None` if that was not followed.
    pub fn rested(&self, tid: Tid, from: Nanos, to: Nanos) -> Option<OffCpu> {
        self.rested_behind(tid, (from, to), AWAITED)
    }

    /// Time for which the thread slept between two moments, and could have been woken; `None` if that was not followed.
    pub fn slept(&self, tid: Tid, from: Nanos, to: Nanos) -> Option<Nanos> {
        self.all.get(&tid)?.history.slept(from, to)
    }

    /// Looks at so many threads, each of which the one before it waited for.
    fn rested_behind(&self, tid: Tid, (from, to): (Nanos, Nanos), most: u32) -> Option<OffCpu> {
        let history = &self.all.get(&tid)?.history;
        // Large, and so changed where it is.
        let mut found = history.between(from, to);
        if let Some(rested) = &mut found
            && rested.locked > Nanos(0)
            && let Some(most) = most.checked_sub(1)
            && let Some(waker) = self.all.get(&rested.waker.task.tid)
        {
            if let Some(its) = waker.history.between(from, to) {
                rested.waker.held = (to - from - its.asleep - its.waited).min(rested.locked);
            }
            let longest = history.longest_lock(from, to);
            let its = |longest| self.rested_behind(rested.waker.task.tid, longest, most);
            if let Some((from, to)) = longest
                && let Some(its) = its((from, to))
            {
                wait_with(rested, &its, to - from);
            }
        }
        found
    }

    /// True if the thread was on a CPU at that moment, or wanted one; `None` if that was not followed closely enough.
    pub fn was_awake(&self, tid: Tid, at: Nanos) -> Option<bool> {
        self.all.get(&tid)?.history.was_awake(at)
    }

    /// True if the thread was ever seen to be switched to.
    pub fn is_followed(&self, tid: Tid) -> bool {
        self.all.contains_key(&tid)
    }

    /// The wakeups that led to `task` running at `at`: its own last one, and before it those of the
    /// threads of its own process, the first of them first.
    pub fn chain(&self, task: TaskId, at: Nanos) -> Chain {
        let mut chain = Chain::new();
        let mut next = Some((task, at));
        while let Some((task, at)) = next
            && let Some(woken) = self.all.get(&task.tid).and_then(|w| w.before(at))
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

    /// Time of the thread on a CPU since it was first seen; `None` if it was never seen to be switched to.
    pub fn busy(&self, tid: Tid, now: Nanos) -> Option<CpuTime> {
        let thread = self.all.get(&tid)?;
        let whole = now.since(thread.since?).filter(|&whole| whole > Nanos(0))?;
        let share = (thread.busy.as_secs_f64() / whole.as_secs_f64()).min(1.0);
        Some(CpuTime { share, at_most: thread.busy + (now - thread.running) })
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<_> = self.all.values().map(|thread| thread.running).collect();
        let middle = times.len() / 2;
        let (_, &mut median, _) = times.select_nth_unstable(middle);
        self.all.retain(|_, thread| thread.running > median);
    }
}

/// A thread that waits until another lets go, while that waits for a CPU or is blocked, waits for a CPU or is blocked, too; while that sleeps
/// for a time of its own, it waits for that. One that waits for data of connections has nothing that others could wait for: it hands out
/// work, and they wait for the same data (event loops with pools, as those of Go and Java).
/// `its` are the other one's rests during the longest wait, of a length; how it slept then holds for all waits.
fn wait_with(rested: &mut OffCpu, its: &OffCpu, longest: Nanos) {
    let waited = its.waited.min(rested.locked);
    rested.locked -= waited;
    rested.asleep -= waited;
    rested.waited += waited;
    rested.throttled += its.throttled.min(waited);
    if its.throttled > Nanos(0) {
        rested.cgroup = its.cgroup;
    }
    its.holders().for_each(|holder| rested.add_holder(holder));
    let blocked = its.blocked.min(rested.locked);
    rested.locked -= blocked;
    rested.blocked += blocked;
    if blocked > Nanos(0) {
        let is_itself = its.blocker.task == Holder::NOBODY.task;
        rested.blocker = if is_itself { rested.waker } else { its.blocker };
        rested.behind_timer = !is_itself && its.behind_timer;
    }
    if its.polled > Nanos(longest.0 / 2) {
        let polled = rested.locked.share(its.polled, longest).min(rested.locked);
        rested.locked -= polled;
        rested.polled += polled;
    }
    // It kept what others wait for while it slept for a time of its own.
    if its.timed > Nanos(longest.0 / 2) {
        let timed = rested.locked.share(its.timed, longest).min(rested.locked);
        rested.locked -= timed;
        rested.blocked += timed;
        (rested.blocker, rested.behind_timer) = (rested.waker, true);
    }
}

/// The part of `chain` that was set off by data that came at `since`, and when it began to wake up:
/// `None` when the reader was running by then.
///
/// A thread that was already waiting for a CPU when the data came was woken in no time. Two threads that wake each
/// other pass a lock on: the reader was not handed the data by one that itself had woken.
pub fn set_off(chain: &[Hop], since: Nanos) -> Option<(Nanos, &[Hop])> {
    let reader = chain.len().checked_sub(1)?;
    if chain[reader].running <= since {
        return None;
    }
    let mut first = reader;
    while first > 0 && chain[first].woken >= since && chain[first.saturating_sub(1)].running > since
    {
        let woken_by = first.checked_sub(2).map(|by| chain[by].task.tid);
        let passes_on = chain[first..].iter().any(|hop| Some(hop.task.tid) == woken_by);
        if passes_on || woke_by_clock(&chain[first.saturating_sub(1)]) {
            break;
        }
        first.shrink(1);
    }
    Some((chain[first].woken.max(since), &chain[first..]))
}

/// True if the thread's sleep was ended by a timer that no data ends: then it did something else, and let go of what the
/// next thread waited for.
fn woke_by_clock(hop: &Hop) -> bool {
    hop.sleep == SleepCall::Timer || hop.from_irq && hop.sleep == SleepCall::Lock
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
            threads.wake(Nanos(running), Cpu(1), &wake);
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
        assert!(chain.iter().all(|hop| hop.cpu == Some(Cpu(1))));
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
    fn threads_that_wake_each_other_hand_nothing_on() {
        // The reader ran after the data had come, let go of a lock, and had to wait for it again.
        let threads = threads(&[(1, 10, 20, None), (2, 40, 45, Some(1)), (1, 90, 95, Some(2))]);
        let chain = threads.chain(task(1), Nanos(99));
        let (wakeup, hops) = set_off(&chain, Nanos(30)).unwrap();
        assert_eq!((wakeup, tids(hops)), (Nanos(90), vec![1]));
    }

    #[test]
    fn who_naps_with_a_lock_was_not_woken_by_the_data() {
        let threads = threads(&[(1, 60, 65, None), (2, 70, 75, Some(1))]);
        let mut chain = threads.chain(task(2), Nanos(99));
        assert_eq!(tids(set_off(&chain, Nanos(50)).unwrap().1), [1, 2]);
        chain[0].sleep = SleepCall::Timer;
        let (wakeup, hops) = set_off(&chain, Nanos(50)).unwrap();
        assert_eq!((wakeup, tids(hops)), (Nanos(70), vec![2]));
    }

    #[test]
    fn preemptions_are_no_wakeups() {
        let mut threads = threads(&[(1, 10, 20, None)]);
        for (woken, running) in [(30, 40), (50, 80)] {
            let left = Some(Nanos(woken));
            let (woken, rest) = (Nanos(woken), OffCpuReason::Preempted);
            let wake = Wake { task: task(1), woken, left, reason: rest, ..Wake::default() };
            threads.wake(Nanos(running), Cpu(1), &wake);
        }
        assert_eq!(tids(&threads.chain(task(1), Nanos(100))), [1]);
        let all = threads.rested(Tid(1), Nanos(20), Nanos(100)).unwrap();
        assert_eq!((all.waited, all.asleep, all.preemptions), (Nanos(40), Nanos(0), 2));
        // 20..30 and 40..50 of 20..120.
        assert!((threads.busy(Tid(1), Nanos(120)).unwrap().share - 0.2).abs() < 1e-9);
    }

    #[test]
    fn sleep_is_told_from_waits_for_a_cpu_and_for_a_disk() {
        let mut threads = threads(&[(1, 10, 20, None)]);
        for (left, woken, running, reason) in [
            (30, 40, 45, OffCpuReason::Asleep),
            (50, 70, 70, OffCpuReason::Blocked),
            (80, 85, 90, OffCpuReason::Asleep),
        ] {
            let (left, woken) = (Some(Nanos(left)), Nanos(woken));
            let wake = Wake { task: task(1), woken, left, reason, ..Wake::default() };
            threads.wake(Nanos(running), Cpu(1), &wake);
        }
        assert_eq!(threads.slept(Tid(1), Nanos(35), Nanos(100)), Some(Nanos(10)));
        assert_eq!(threads.slept(Tid(1), Nanos(5), Nanos(100)), None, "not followed yet");
        assert_eq!(threads.slept(Tid(2), Nanos(35), Nanos(100)), None);
    }

    #[test]
    fn who_waits_for_a_thread_that_has_no_cpu_waits_for_a_cpu() {
        let mut threads = threads(&[(1, 10, 20, None), (2, 10, 20, None)]);
        // The thread with the lock lost its CPU to another program for most of the time.
        let hog = Holder { task: task(9), held: Nanos(700), ..Holder::default() };
        let lost = Wake {
            task: task(2),
            woken: Nanos(150),
            left: Some(Nanos(150)),
            reason: OffCpuReason::Preempted,
            holder: hog,
            ..Wake::default()
        };
        threads.wake(Nanos(850), Cpu(1), &lost);
        threads.wake(Nanos(1_010), Cpu(1), &let_go(2, 1, 1_000));
        let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_010)).unwrap();
        assert_eq!((rested.locked, rested.asleep), (Nanos(200), Nanos(200)));
        assert_eq!((rested.waited, rested.throttled), (Nanos(710), Nanos(0)));
        assert_eq!((rested.holder.task, rested.holder.held), (task(9), Nanos(700)));
    }

    /// The wakeup of a thread that has waited since 100 for a lock that `by` lets go.
    fn let_go(by: u32, tid: u32, woken: u64) -> Wake {
        Wake {
            task: task(tid),
            woken: Nanos(woken),
            waker: task(by),
            left: Some(Nanos(100)),
            sleep: SleepCall::Lock,
            ..Wake::default()
        }
    }

    #[test]
    fn who_waits_for_a_thread_that_sleeps_by_itself_waits_for_that() {
        for (from_irq, is_timed) in [(true, true), (false, false)] {
            let first = &[1, 2].map(|tid| (tid, 10, 20, None));
            let mut threads = threads(first);
            // The thread with the lock sleeps as Java does, until a timer ends it or another thread does.
            let slept = Wake {
                task: task(2),
                woken: Nanos(900),
                left: Some(Nanos(200)),
                sleep: SleepCall::Lock,
                from_irq,
                waker: if from_irq { TaskId::default() } else { task(3) },
                ..Wake::default()
            };
            threads.wake(Nanos(900), Cpu(0), &slept);
            threads.wake(Nanos(1_000), Cpu(1), &let_go(2, 1, 1_000));
            let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_000)).unwrap();
            assert_eq!((rested.asleep, rested.behind_timer), (Nanos(900), is_timed));
            let parts = if is_timed { (200, 700) } else { (900, 0) };
            assert_eq!((rested.locked.0, rested.blocked.0), parts);
            assert_eq!(rested.blocker.task == task(2), is_timed);
        }
    }

    #[test]
    fn who_waits_for_a_thread_that_waits_for_data_waits_for_no_lock() {
        let first = &[1, 2].map(|tid| (tid, 10, 20, None));
        let mut threads = threads(first);
        // A timer of the program ended its wait, and it hands out what is due then.
        let polled = Wake {
            task: task(2),
            woken: Nanos(900),
            left: Some(Nanos(200)),
            sleep: SleepCall::Poll,
            from_irq: true,
            ..Wake::default()
        };
        threads.wake(Nanos(900), Cpu(0), &polled);
        threads.wake(Nanos(1_000), Cpu(1), &let_go(2, 1, 1_000));
        let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_000)).unwrap();
        assert_eq!((rested.asleep.0, rested.locked.0, rested.polled.0), (900, 200, 700));
    }

    #[test]
    fn who_waits_for_a_thread_that_waits_for_a_disk_waits_for_the_disk() {
        let first = &[1, 2, 3].map(|tid| (tid, 10, 20, None));
        let mut threads = threads(first);
        // The last of three that wait for each other writes something down.
        let written = Wake {
            task: task(3),
            woken: Nanos(800),
            left: Some(Nanos(200)),
            reason: OffCpuReason::Blocked,
            from_irq: true,
            ..Wake::default()
        };
        threads.wake(Nanos(810), Cpu(0), &written);
        for (tid, by, woken) in [(2, 3, 900), (1, 2, 1_000)] {
            threads.wake(Nanos(woken + 10), Cpu(1), &let_go(by, tid, woken));
        }
        let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_010)).unwrap();
        // Each of the two others waited 10 ns for a CPU.
        assert_eq!((rested.asleep, rested.locked), (Nanos(880), Nanos(280)));
        assert_eq!((rested.blocked, rested.waker.task), (Nanos(600), task(2)));
        // It is the last one that is told.
        assert_eq!(rested.blocker.task, task(3));
    }

    #[test]
    fn the_least_recent_threads_are_forgotten() {
        let mut all = threads(&[]);
        for tid in 1..=100 {
            let at = Nanos(u64::from(tid) + 1);
            let woken = Nanos(u64::from(tid));
            let wake = Wake { task: task(tid), woken, from_irq: true, ..Wake::default() };
            all.wake(at, Cpu(0), &wake);
            assert!(!all.chain(task(tid), at).is_empty());
        }
        assert!(all.all.len() <= 17);
    }
}
