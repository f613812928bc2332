//! The off-CPU times: why and how long the threads of a leg did not run while they had the message.

use crate::{CgroupId, Holder, Nanos, OTHERS, Saturate};
use std::ops::{Add, AddAssign};

/// Why and how long a thread did not run in an interval. It ran for the rest of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpu {
    /// Time for which the thread slept or was stopped.
    pub asleep: Nanos,
    /// Time for which the thread was runnable and waited for a CPU.
    pub waited: Nanos,
    /// Number of times that the thread was preempted.
    pub preemptions: u32,
    /// The thread that had the CPU the longest while this one waited.
    pub holder: Holder,
    /// The other threads that had the CPU, the longest first.
    pub others: [Holder; OTHERS],
    /// Time for which still others had the CPU, together. Who had it for what then remains of `waited`, without `throttled`, is not known.
    pub rest: Nanos,
    /// The part of `asleep` that a timer ended, while the thread slept in a call by which it also waits for others: a sleep (as Java's
    /// `Thread.sleep`), or a wait with a time limit.
    pub timed: Nanos,
    /// The part of `polled` that a timer of the thread's own ended; 0 if something else ended its last sleep.
    pub timed_poll: Nanos,
    /// The thread that slept until a timer ended that, while this one waited for it to let go, for most of `blocked`: then `blocker` is it.
    pub behind_timer: bool,
    /// The part of `waited` in which the thread's cgroup had no CPU quota left.
    pub throttled: Nanos,
    /// The cgroup that had no quota left; 0 if `throttled` is 0.
    pub cgroup: CgroupId,
    /// The part of `asleep` in which the thread waited for another thread: it slept on a lock until a thread of its own process
    /// released it, or until another process woke it.
    pub locked: Nanos,
    /// The part of `asleep` in which no received data could have woken the thread: it was stopped, blocked in the kernel, or slept
    /// for a fixed time.
    pub deaf: Nanos,
    /// The part of `asleep` in which the thread was stopped or blocked in the kernel, or waited for a thread that was: it is no part of
    /// `locked`.
    pub blocked: Nanos,
    /// The part of `blocked` in which the thread itself was stopped.
    pub stopped: Nanos,
    /// The thread that was blocked in the kernel while this one waited for it, or for what it has; nobody if this one was itself.
    pub blocker: Holder,
    /// The part of `asleep` in which the thread waited in `epoll_wait`, `poll` or `select`: data on any socket that it watched would have
    /// woken it.
    pub polled: Nanos,
    /// The part of `asleep` that data ended which came in from another process or host; 0 if something else ended its last sleep.
    pub by_data: Nanos,
    /// The thread that ended the longest of the sleeps in which the thread waited for another. `held` is how long that thread had a CPU meanwhile, 0 if it is not
    /// known.
    pub waker: Holder,
    /// Time for which it is not known whether the thread ran or rested, because a switch to it was not seen.
    pub hidden: Nanos,
}

impl OffCpu {
    /// An interval in which the thread always ran.
    pub const NONE: OffCpu = OffCpu {
        asleep: Nanos(0),
        waited: Nanos(0),
        preemptions: 0,
        holder: Holder::NOBODY,
        others: [Holder::NOBODY; OTHERS],
        rest: Nanos(0),
        timed: Nanos(0),
        timed_poll: Nanos(0),
        behind_timer: false,
        throttled: Nanos(0),
        cgroup: CgroupId(0),
        locked: Nanos(0),
        deaf: Nanos(0),
        blocked: Nanos(0),
        stopped: Nanos(0),
        blocker: Holder::NOBODY,
        polled: Nanos(0),
        by_data: Nanos(0),
        waker: Holder::NOBODY,
        hidden: Nanos(0),
    };

    /// The threads that had the CPU while this one waited, the longest first.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.holder)
            .chain(&self.others)
            .take_while(|holder| holder.held > Nanos(0))
    }

    /// Adds a thread that had the CPU for a part of the wait. Those that had it the shortest are added up if there are too many.
    pub fn add_holder(&mut self, holder: &Holder) {
        self.add_held(holder, holder.held);
    }

    /// Adds a thread that had the CPU for a part of the wait, as if it had it for this time.
    pub fn add_held(&mut self, holder: &Holder, held: Nanos) {
        if held == Nanos(0) {
            return;
        }
        let is_same = |known: &Holder| known.held > Nanos(0) && known.task == holder.task;
        if self.holder.held == Nanos(0) {
            self.holder = Holder { held, ..*holder };
            return;
        }
        if is_same(&self.holder) {
            self.holder.held += held;
            return;
        }
        let known = self.others.iter().position(is_same);
        let place = known.unwrap_or(OTHERS.saturating_sub(1));
        let Some(other) = self.others.get_mut(place) else { return };
        if known.is_some() {
            other.held += held;
        } else if other.held < held {
            self.rest += other.held;
            *other = Holder { held, ..*holder };
        } else {
            self.rest += held;
        }
        // It goes before those that had it for a shorter time.
        for after in (1..=place).rev() {
            let before = after.saturating_sub(1);
            if self.others[before].held < self.others[after].held {
                self.others.swap(before, after);
            }
        }
        if self.holder.held < self.others[0].held {
            std::mem::swap(&mut self.holder, &mut self.others[0]);
        }
    }
}

impl AddAssign<&OffCpu> for OffCpu {
    fn add_assign(&mut self, rhs: &OffCpu) {
        if rhs.throttled > self.throttled {
            self.cgroup = rhs.cgroup;
        }
        if rhs.locked > self.locked {
            self.waker = rhs.waker;
        }
        if rhs.blocked > self.blocked {
            (self.blocker, self.behind_timer) = (rhs.blocker, rhs.behind_timer);
        }
        self.asleep += rhs.asleep;
        self.waited += rhs.waited;
        self.preemptions.grow(rhs.preemptions);
        self.rest += rhs.rest;
        self.timed += rhs.timed;
        self.timed_poll += rhs.timed_poll;
        self.throttled += rhs.throttled;
        self.locked += rhs.locked;
        self.deaf += rhs.deaf;
        self.blocked += rhs.blocked;
        self.stopped += rhs.stopped;
        self.polled += rhs.polled;
        self.by_data += rhs.by_data;
        self.hidden += rhs.hidden;
        rhs.holders().for_each(|holder| self.add_holder(holder));
    }
}

impl Add for OffCpu {
    type Output = OffCpu;
    fn add(mut self, rhs: OffCpu) -> OffCpu {
        self += &rhs;
        self
    }
}

/// The off-CPU times of the threads of a leg while they had the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegOffCpu {
    /// Times of the first thread of the wake chain, between ready and wakeup; `None` if that thread was not followed.
    pub before_wakeup: Option<OffCpu>,
    /// Times of the reader, between running (or ready, if it was running then) and read; `None` if it was not followed.
    pub reader: Option<OffCpu>,
    /// Times of the forwarder's thread that had read the message, on a leg after the first: during the dwell until it woke the
    /// next thread or was woken the last time; `None` if it was not followed.
    pub dwell: Option<OffCpu>,
    /// Times of the sender, between the last time that it was woken during the dwell and its send; `None` if it was not followed.
    pub sender: Option<OffCpu>,
    /// Times of the reader, while the forwarder had the message and the reader could have requested it but had not yet; `None` if
    /// it had requested it before, or was not followed.
    pub requester: Option<OffCpu>,
    /// Times of the threads of the wake chain, while they waited for a CPU after their wakeups.
    pub chain: OffCpu,
    /// Times of the threads that ran before the send, while they waited for a CPU after their wakeups.
    pub before: OffCpu,
    /// Times of the threads of the wake chain except the last, from when they ran until they woke the next one.
    pub handoff: OffCpu,
    /// Times of the threads that ran before the send except the last, from when they ran until they woke the next one.
    pub handoff_before: OffCpu,
    /// Between send and sent, of the thread that the rest of the message had to wait for: the reader, or the sender of a
    /// [late write](crate::Circumstances::is_late_write).
    pub writing: OffCpu,
    /// Off-CPU time of the reader, after sent, within [`Circumstances::unread`](crate::Circumstances::unread).
    pub unread: OffCpu,
}

impl LegOffCpu {
    /// All threads always ran.
    pub const NONE: LegOffCpu = LegOffCpu {
        before_wakeup: None,
        reader: Some(OffCpu::NONE),
        dwell: Some(OffCpu::NONE),
        sender: Some(OffCpu::NONE),
        requester: None,
        chain: OffCpu::NONE,
        before: OffCpu::NONE,
        handoff: OffCpu::NONE,
        handoff_before: OffCpu::NONE,
        writing: OffCpu::NONE,
        unread: OffCpu::NONE,
    };
}
