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

/// The most waits for one lock that are looked at: Python asks for its own every 5 ms.
const LOCKS: usize = 64;

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
    /// True once some thread was seen to be switched to.
    are_followed: bool,
}

impl Threads {
    /// No threads yet; so many are remembered at most.
    pub fn new(limit: usize) -> Threads {
        Threads { all: FxHashMap::default(), limit, are_followed: false }
    }

    /// `wake.task` was switched to at `at`, on `cpu`.
    pub fn wake(&mut self, at: Nanos, cpu: Cpu, wake: &Wake) {
        self.are_followed = true;
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
            let (its, whole) = self.rests_behind(history, rested.waker.task.tid, (from, to), most);
            if whole > Nanos(0) {
                wait_with(rested, &its, whole);
            }
        }
        found
    }

    /// Sums of the rests of the thread `waker` in the times in which the one with this history waited for it, and the length of these.
    fn rests_behind(
        &self,
        history: &ThreadHistory,
        waker: Tid,
        (from, to): (Nanos, Nanos),
        most: u32,
    ) -> (OffCpu, Nanos) {
        let (mut sum, mut whole) = (OffCpu::NONE, Nanos(0));
        for (from, to) in history.locks(waker, from, to).take(LOCKS) {
            if let Some(its) = self.rested_behind(waker, (from, to), most) {
                sum += &its;
                whole += to - from;
            }
        }
        (sum, whole)
    }

    /// True if the thread was on a CPU at that moment, or wanted one; `None` if that was not followed closely enough.
    pub fn was_awake(&self, tid: Tid, at: Nanos) -> Option<bool> {
        self.all.get(&tid)?.history.was_awake(at)
    }

    /// True if the thread was ever seen to be switched to.
    pub fn is_followed(&self, tid: Tid) -> bool {
        self.all.contains_key(&tid)
    }

    /// True if the scheduler is observed: some thread was seen to be switched to.
    pub fn are_followed(&self) -> bool {
        self.are_followed
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
/// `its` are the other one's rests during the waits for it, of a length; how it slept then holds for all waits.
fn wait_with(rested: &mut OffCpu, its: &OffCpu, whole: Nanos) {
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
    if its.polled > Nanos(whole.0 / 2) {
        let polled = rested.locked.share(its.polled, whole).min(rested.locked);
        rested.locked -= polled;
        rested.polled += polled;
    }
    // It kept what others wait for while it slept for a time of its own.
    if its.timed > Nanos(whole.0 / 2) {
        let timed = rested.locked.share(its.timed, whole).min(rested.locked);
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
mod tests;
