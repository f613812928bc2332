//! The history of a thread's time on and off the CPU, as far back as it matters, in a bounded
//! memory.
//!
//! Each time that a thread is given a CPU, the sums of its rests until then are kept. When there is no room
//! left, neighbours among the older ones are put together: the further back, the coarser, and what lies
//! within a coarse stretch is shared out evenly.

mod locks;

use wirelap_events::{Holder, Nanos, OffCpu, OffCpuReason, Saturate, SleepCall, Wake};
use wirelap_limits::threads::{LOCK_HOLDER_MEMORY, LONGEST_LOCK_CHECK, THREAD_HISTORY};

/// Stretches that are kept of a thread, unless more of them are new.
const KEPT: usize = 64;

/// The most stretches that are kept of a thread, new or not.
const MOST: usize = 2048;

/// Sums of the time in which a thread did not run, by reason.
#[derive(Clone, Copy, Debug, Default)]
struct OffCpuSums {
    asleep: Nanos,
    waited: Nanos,
    throttled: Nanos,
    locked: Nanos,
    deaf: Nanos,
    blocked: Nanos,
    stopped: Nanos,
    polled: Nanos,
    by_data: Nanos,
    timed: Nanos,
    timed_poll: Nanos,
    hidden: Nanos,
    preemptions: u32,
}

impl OffCpuSums {
    /// Without who and whose.
    fn of(one: &OffCpu) -> OffCpuSums {
        OffCpuSums {
            asleep: one.asleep,
            waited: one.waited,
            throttled: one.throttled,
            locked: one.locked,
            deaf: one.deaf,
            blocked: one.blocked,
            stopped: one.stopped,
            polled: one.polled,
            by_data: one.by_data,
            timed: one.timed,
            timed_poll: one.timed_poll,
            hidden: one.hidden,
            preemptions: one.preemptions,
        }
    }

    /// Each time beside the same time of another sum. The preemptions stay.
    fn zip(self, other: OffCpuSums, with: impl Fn(Nanos, Nanos) -> Nanos) -> OffCpuSums {
        OffCpuSums {
            asleep: with(self.asleep, other.asleep),
            waited: with(self.waited, other.waited),
            throttled: with(self.throttled, other.throttled),
            locked: with(self.locked, other.locked),
            deaf: with(self.deaf, other.deaf),
            blocked: with(self.blocked, other.blocked),
            stopped: with(self.stopped, other.stopped),
            polled: with(self.polled, other.polled),
            by_data: with(self.by_data, other.by_data),
            timed: with(self.timed, other.timed),
            timed_poll: with(self.timed_poll, other.timed_poll),
            hidden: with(self.hidden, other.hidden),
            preemptions: self.preemptions,
        }
    }

    fn and(self, more: OffCpuSums) -> OffCpuSums {
        let preemptions = self.preemptions.wrapping_add(more.preemptions);
        OffCpuSums { preemptions, ..self.zip(more, |sum, more| sum + more) }
    }

    /// The times between two moments with such sums until then.
    fn since(self, start: OffCpuSums) -> OffCpuSums {
        let preemptions = self.preemptions.wrapping_sub(start.preemptions);
        OffCpuSums { preemptions, ..self.zip(start, |end, start| end - start) }
    }

    /// A part of a stretch, of which each time is bounded or shared out by `part`. A preemption counts at the stretch's end.
    fn part(self, part: impl Fn(Nanos) -> Nanos) -> OffCpuSums {
        OffCpuSums { preemptions: 0, ..self.zip(self, |whole, _| part(whole)) }
    }
}

/// From one time that a thread was given a CPU until the next.
#[derive(Clone, Copy, Debug)]
struct OffCpuSpan {
    /// The end of the span: when the thread was given the CPU again.
    running: Nanos,
    /// Time at which the thread had left the CPU before, and at which it could have run again; `None` where
    /// stretches were put together.
    rest: Option<(Nanos, Nanos)>,
    /// Sums until its end.
    sums: OffCpuSums,
    /// The sums of this span alone, with who had the CPU, whose quota it was and who let go.
    own: OffCpu,
    /// True if the thread slept on a lock until a time limit, and no thread had let go.
    timed_out: bool,
}

/// The last stretches of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadHistory {
    /// The oldest first.
    stretches: Vec<OffCpuSpan>,
    /// The end of each stretch: few bytes each, so that a search is fast.
    ends: Vec<Nanos>,
    /// The thread that let go last of a lock that this one had asked for by the clock, and when.
    passer: Option<(Nanos, Holder)>,
}

impl ThreadHistory {
    /// The thread was given a CPU at `at`.
    pub fn runs(&mut self, at: Nanos, wake: &Wake) {
        let left = wake.left.unwrap_or(wake.woken).min(wake.woken);
        if wake.missed
            && let Some(last) = self.stretches.last()
            && left > last.running
        {
            // It may have slept before it left, and nobody saw it.
            let hidden = OffCpu { hidden: left - last.running, ..OffCpu::NONE };
            self.push(left, None, &hidden, false);
        }
        if self.stretches.is_empty() {
            // What came before is not known.
            self.push(left, None, &OffCpu::NONE, false);
        }
        let Some(last) = self.stretches.last() else { return };
        let left = left.max(last.running);
        let woken = wake.woken.max(left);
        let Some(waited) = at.since(woken) else { return };
        let asleep = woken - left;
        let looked = left - last.running <= LONGEST_LOCK_CHECK;
        let timed_out =
            wake.reason == OffCpuReason::Asleep && wake.sleep == SleepCall::Lock && wake.from_irq;
        let waker = awaited(wake).or(self.passer_at(at).filter(|_| timed_out));
        let mut own = OffCpu {
            asleep,
            waited,
            preemptions: u32::from(wake.reason == OffCpuReason::Preempted),
            throttled: wake.throttled.min(waited),
            cgroup: wake.cgroup,
            locked: if waker.is_some() { asleep } else { Nanos(0) },
            deaf: if is_deaf(wake) { asleep } else { Nanos(0) },
            blocked: if is_blocked(wake) { asleep } else { Nanos(0) },
            stopped: if wake.reason == OffCpuReason::Stopped { asleep } else { Nanos(0) },
            polled: if waker.is_none() && is_polling(wake) { asleep } else { Nanos(0) },
            by_data: if is_ended_by_data(wake) { asleep } else { Nanos(0) },
            timed: if waker.is_none() && is_timed(wake) { asleep } else { Nanos(0) },
            timed_poll: if is_timed_poll(wake) { asleep } else { Nanos(0) },
            waker: waker.unwrap_or(Holder::NOBODY),
            rest: wake.rest,
            ..OffCpu::NONE
        };
        std::iter::once(&wake.holder).chain(&wake.others).for_each(|holder| own.add_holder(holder));
        if let Some(waker) = waker.filter(|_| looked && !timed_out)
            && self.let_go(waker, (left, asleep), wake.sleep == SleepCall::Lock)
        {
            self.passer = Some((at, waker));
        }
        let kept = self.stretches.len();
        if kept >= MOST || kept >= KEPT && at - self.stretches[kept / 2].running > THREAD_HISTORY {
            self.put_together();
        }
        self.push(at, Some((left, woken)), &own, timed_out);
    }

    /// The thread that had the lock for which this thread asks by the clock, as far as it is known.
    fn passer_at(&self, at: Nanos) -> Option<Holder> {
        self.passer.filter(|(when, _)| at - *when <= LOCK_HOLDER_MEMORY).map(|(_, by)| by)
    }

    fn push(
        &mut self,
        running: Nanos,
        rest: Option<(Nanos, Nanos)>,
        own: &OffCpu,
        timed_out: bool,
    ) {
        let before = self.stretches.last().map(|last| last.sums).unwrap_or_default();
        let sums = before.and(OffCpuSums::of(own));
        self.stretches.push(OffCpuSpan { running, rest, sums, own: *own, timed_out });
        self.ends.push(running);
    }

    /// Every two stretches of the older half become one.
    fn put_together(&mut self) {
        // The first is only where all begins.
        let last = (self.stretches.len() / 2) & !1;
        let mut to = 1;
        for from in (1..last).step_by(2) {
            let (older, newer) = self.stretches.split_at_mut(from.saturating_add(1));
            let (Some(first), Some(second)) = (older.last_mut(), newer.first()) else { break };
            first.own += &second.own;
            (first.running, first.sums, first.rest) = (second.running, second.sums, None);
            first.timed_out &= second.timed_out;
            self.stretches.copy_within(from..=from, to);
            to.grow(1);
        }
        self.stretches.drain(to..=last);
        self.ends.clear();
        self.ends.extend(self.stretches.iter().map(|stretch| stretch.running));
    }

    /// The first stretch that ends after a moment.
    fn after(&self, at: Nanos) -> usize {
        self.ends.partition_point(|&end| end <= at)
    }

    /// The stretches from one on that begin before a moment, each with the end of the one before it.
    fn within(&self, first: usize, to: Nanos) -> impl Iterator<Item = (Nanos, &OffCpuSpan)> {
        let mut before = first.checked_sub(1).map_or(Nanos(0), |before| self.ends[before]);
        let all = self.stretches[first..].iter();
        all.map(move |stretch| (std::mem::replace(&mut before, stretch.running), stretch))
            .take_while(move |(before, stretch)| {
                stretch.rest.map_or(*before, |(left, _)| left) < to
            })
    }

    /// Times off the CPU between two moments; `None` if the thread was not followed at the first of
    /// them.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<OffCpu> {
        if self.stretches.first()?.running > from {
            return None;
        }
        let begin = self.after(from);
        let sums = self.sums_at(to, self.after(to)).since(self.sums_at(from, begin));
        // Large, and so filled in where it is.
        let mut found = Some(OffCpu {
            asleep: sums.asleep,
            waited: sums.waited,
            throttled: sums.throttled,
            locked: sums.locked,
            deaf: sums.deaf,
            blocked: sums.blocked,
            stopped: sums.stopped,
            polled: sums.polled,
            by_data: sums.by_data,
            timed: sums.timed,
            timed_poll: sums.timed_poll,
            hidden: sums.hidden,
            preemptions: sums.preemptions,
            ..OffCpu::NONE
        });
        if let Some(rested) = &mut found {
            self.name(begin, (from, to), rested);
        }
        found
    }

    /// Time for which the thread slept between two moments, and was neither stopped nor blocked in the kernel; `None` if it was not followed at
    /// the first of them.
    pub fn slept(&self, from: Nanos, to: Nanos) -> Option<Nanos> {
        if self.stretches.first()?.running > from {
            return None;
        }
        let end = self.sums_at(to, self.after(to));
        let sums = end.since(self.sums_at(from, self.after(from)));
        Some(sums.asleep - sums.blocked)
    }

    /// True if the thread was awake at that moment; `None` if it was not followed then, or only
    /// coarsely.
    pub fn was_awake(&self, at: Nanos) -> Option<bool> {
        if self.stretches.first()?.running > at {
            return None;
        }
        let next = self.after(at);
        let Some(stretch) = self.stretches.get(next) else { return Some(true) };
        stretch.rest.map(|(left, woken)| at <= left || at >= woken)
    }

    /// Fills in who had the CPU between two moments, whose quota was used up and who let go. `begin` is the first stretch
    /// that ends after the first of them.
    fn name(&self, begin: usize, (from, to): (Nanos, Nanos), rested: &mut OffCpu) {
        let (mut throttled, mut locked) = (Nanos(0), Nanos(0));
        let (mut was_timed, mut was_by_data) = (false, false);
        for (begins, stretch) in self.within(begin, to) {
            let (part, whole) = stretch.held_within(begins, from, to);
            for holder in stretch.own.holders() {
                rested.add_held(holder, holder.held.share(part, whole));
            }
            rested.rest += stretch.own.rest.share(part, whole);
            if stretch.slept_until(to) {
                was_timed = stretch.own.timed_poll > Nanos(0);
                was_by_data = stretch.own.by_data > Nanos(0);
            }
            if stretch.own.throttled > throttled {
                (throttled, rested.cgroup) = (stretch.own.throttled, stretch.own.cgroup);
            }
            if stretch.own.locked > locked {
                (locked, rested.waker) = (stretch.own.locked, stretch.own.waker);
            }
        }
        if rested.throttled == Nanos(0) {
            rested.cgroup = OffCpu::NONE.cgroup;
        }
        if rested.locked == Nanos(0) {
            rested.waker = Holder::NOBODY;
        }
        if !was_timed {
            rested.timed_poll = Nanos(0);
        }
        if !was_by_data {
            rested.by_data = Nanos(0);
        }
    }

    /// The sums until a moment; `next` is the first stretch that ends after it.
    fn sums_at(&self, at: Nanos, next: usize) -> OffCpuSums {
        let index = next.checked_sub(1);
        let before = index.map(|index| self.stretches[index].sums).unwrap_or_default();
        let Some(stretch) = self.stretches.get(next) else { return before };
        let own = OffCpuSums::of(&stretch.own);
        let so_far = if let Some((left, woken)) = stretch.rest {
            let (asleep, waited) = (at.min(woken) - left, at - woken);
            let throttled = waited.min(own.throttled);
            OffCpuSums { asleep, waited, throttled, ..own.part(|time| time.min(asleep)) }
        } else {
            let begins = index.map_or(Nanos(0), |index| self.stretches[index].running);
            own.part(|time| time.share(at - begins, stretch.running - begins))
        };
        before.and(so_far)
    }
}

/// True if nothing that came in could have ended the thread's rest.
fn is_deaf(wake: &Wake) -> bool {
    let is_asleep = wake.reason == OffCpuReason::Asleep;
    is_blocked(wake) || is_asleep && wake.sleep == SleepCall::Timer
}

/// True if a timer ended its sleep: a sleep of its own choice, or a wait with a time limit.
fn is_timed(wake: &Wake) -> bool {
    let by_timer = wake.sleep == SleepCall::Lock && wake.from_irq;
    wake.reason == OffCpuReason::Asleep && (by_timer || wake.sleep == SleepCall::Timer)
}

/// True if the thread was stopped, or blocked in the kernel.
fn is_blocked(wake: &Wake) -> bool {
    matches!(wake.reason, OffCpuReason::Stopped | OffCpuReason::Blocked)
}

/// True if data on any of the sockets that the thread watched would have ended its rest.
fn is_polling(wake: &Wake) -> bool {
    let polls = matches!(wake.sleep, SleepCall::Poll | SleepCall::TimedPoll);
    wake.reason == OffCpuReason::Asleep && polls
}

/// True if the thread waited for something outside of its process: data that came in ended its rest.
fn is_ended_by_data(wake: &Wake) -> bool {
    wake.reason == OffCpuReason::Asleep && wake.sleep.ended_by_data(wake.from_irq)
}

/// True if it was a timer of the thread's own that ended such a rest.
fn is_timed_poll(wake: &Wake) -> bool {
    wake.reason == OffCpuReason::Asleep && wake.sleep == SleepCall::TimedPoll
}

/// The thread that a sleeper waited for: the one that let go of a lock, or another process's. A timer or data that
/// came in ends other sleeps, and threads that hand their work to others wake them from system calls.
fn awaited(wake: &Wake) -> Option<Holder> {
    let by_thread = wake.reason == OffCpuReason::Asleep && !wake.from_irq && wake.waker.tid.0 != 0;
    let is_other = wake.waker.pid != wake.task.pid;
    let awaits = match wake.sleep {
        SleepCall::Lock => wake.waker.tid != wake.task.tid,
        SleepCall::Call | SleepCall::Poll => is_other,
        SleepCall::Timer | SleepCall::TimedPoll | SleepCall::Unknown => false,
    };
    let waker = Holder { task: wake.waker, comm: wake.waker_comm, held: Nanos(0) };
    (by_thread && awaits).then_some(waker)
}

impl OffCpuSpan {
    /// True if the thread slept, and was woken by a moment.
    fn slept_until(&self, to: Nanos) -> bool {
        self.rest.is_some_and(|(left, woken)| left < woken && woken <= to)
    }

    /// The part of the time in which others had the CPU that lies between two moments, and the whole of it.
    fn held_within(&self, begins: Nanos, from: Nanos, to: Nanos) -> (Nanos, Nanos) {
        let since = self.rest.map_or(begins, |(_, woken)| woken + self.own.throttled);
        (self.running.min(to) - since.max(from), self.running - since)
    }
}

#[cfg(test)]
mod tests;
