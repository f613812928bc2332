//! Waits for a lock: what a thread slept, and waited for a CPU, while another thread had it.

use super::{OffCpuSpan, OffCpuSums, ThreadHistory};
use wirelap_events::{Holder, Nanos, OffCpu, Tid};
use wirelap_limits::threads::LONGEST_LOCK_CHECK;

impl ThreadHistory {
    /// Notes that `waker` let go of a lock on which the thread had slept for a time since it left the CPU. Sleeps just before that ended by a time
    /// limit were for the same one, also where the thread was preempted between them. Returns true if there were any.
    /// `is_lock`: it slept on a lock for certain, and not perhaps in wait for data of another program, for which a CPU that this has is missing.
    pub(super) fn let_go(
        &mut self,
        waker: Holder,
        (left, asleep): (Nanos, Nanos),
        is_lock: bool,
    ) -> bool {
        let mut first = self.stretches.len();
        let mut next_left = left;
        let (mut any, mut before) = (false, None);
        while let Some(index) = first.checked_sub(1) {
            let stretch = &self.stretches[index];
            let Some((left, _)) = stretch.rest.filter(|_| stretch.only_looked(next_left)) else {
                break;
            };
            if !stretch.timed_out && stretch.own.asleep > Nanos(0) {
                before = is_lock.then_some(index);
                break;
            }
            any |= stretch.timed_out;
            (first, next_left) = (index, left);
        }
        let mut locked = asleep;
        for index in (first..self.stretches.len()).rev() {
            let stretch = &mut self.stretches[index];
            if std::mem::take(&mut stretch.timed_out) {
                (stretch.own.locked, stretch.own.waker) = (stretch.own.asleep, waker);
                stretch.own.timed = Nanos(0);
                locked += stretch.own.asleep;
            }
            if is_lock {
                stretch.keep_from(waker, locked);
            }
        }
        let before =
            before.filter(|&index| self.stretches[index].kept_from(waker, locked) > Nanos(0));
        if let Some(before) = before {
            self.split_off_wait(before);
            self.stretches[before.saturating_add(1)].keep_from(waker, locked);
        }
        self.add_up_from(before.unwrap_or(first));
        any
    }

    /// Makes two stretches of one: the sleep, and the wait for a CPU after it.
    fn split_off_wait(&mut self, index: usize) {
        let Some((left, woken)) = self.stretches[index].rest else { return };
        let whole = self.stretches[index];
        let OffCpu { waited, throttled, cgroup, holder, others, rest, .. } = whole.own;
        let own = OffCpu { waited, throttled, cgroup, holder, others, rest, ..OffCpu::NONE };
        let wait = OffCpuSpan { rest: Some((woken, woken)), own, ..whole };
        let none = OffCpu::NONE;
        let own = OffCpu {
            waited: none.waited,
            throttled: none.throttled,
            cgroup: none.cgroup,
            holder: none.holder,
            others: none.others,
            rest: none.rest,
            ..whole.own
        };
        self.stretches[index] =
            OffCpuSpan { running: woken, rest: Some((left, woken)), own, ..whole };
        self.stretches.insert(index.saturating_add(1), wait);
        self.ends[index] = woken;
        self.ends.insert(index.saturating_add(1), wait.running);
    }

    /// Adds the sums up again, from a stretch on that was changed.
    fn add_up_from(&mut self, first: usize) {
        let last = first.checked_sub(1).map(|before| self.stretches[before].sums);
        let mut sums = last.unwrap_or_default();
        for stretch in &mut self.stretches[first..] {
            sums = sums.and(OffCpuSums::of(&stretch.own));
            stretch.sums = sums;
        }
    }

    /// The times between two moments in which the thread waited until another one let go.
    pub fn locks(
        &self,
        waker: Tid,
        from: Nanos,
        to: Nanos,
    ) -> impl Iterator<Item = (Nanos, Nanos)> {
        let within = self.within(self.after(from), to).map(|(_, stretch)| stretch);
        within.filter_map(move |stretch| {
            let is_its = stretch.own.locked > Nanos(0) && stretch.own.waker.task.tid == waker;
            let (left, woken) = stretch.rest.filter(|_| is_its)?;
            let (left, woken) = (left.max(from), woken.min(to));
            (left < woken).then_some((left, woken))
        })
    }
}

impl OffCpuSpan {
    /// True if the thread ran no longer between this rest and its next than it takes to see that a lock is not free.
    fn only_looked(&self, next_left: Nanos) -> bool {
        next_left - self.running <= LONGEST_LOCK_CHECK
    }

    /// Time for which the thread waited for a CPU that `waker` had, if it then slept for as long on a lock that this one had: only then is it known that
    /// this one had the lock all the time.
    fn kept_from(&self, waker: Holder, locked: Nanos) -> Nanos {
        let held = self.own.holders().find(|holder| holder.task == waker.task);
        let held = held.map_or(Nanos(0), |holder| holder.held);
        let held = held.min(self.own.waited - self.own.throttled);
        if held <= locked { held } else { Nanos(0) }
    }

    /// Counts this time as a wait for the lock: on another CPU, the thread would have waited for the lock.
    fn keep_from(&mut self, waker: Holder, locked: Nanos) {
        let held = self.kept_from(waker, locked);
        let Some((left, woken)) = self.rest.filter(|_| held > Nanos(0)) else { return };
        let own = &mut self.own;
        let others = *own;
        (own.holder, own.others) = (OffCpu::NONE.holder, OffCpu::NONE.others);
        others
            .holders()
            .filter(|holder| holder.task != waker.task)
            .for_each(|holder| own.add_holder(holder));
        own.waited -= held;
        own.asleep += held;
        if own.locked == Nanos(0) {
            own.waker = waker;
        }
        own.locked += held;
        self.rest = Some((left, woken + held));
    }
}
