//! Times off the CPU of a delivery's threads, while they had its message.

use super::scheduling::Processes;
use super::wakeups::Threads;
use wirelap_events::{
    Credit, Delivery, Holder, Hop, Leg, LegOffCpu, Nanos, OffCpu, SleepCall, Stage, TaskId,
    Transport,
};
use wirelap_limits::causes::NOTICEABLE_TIME;

/// The threads' histories, and the times in which their processes had no CPU quota.
#[derive(Clone, Copy)]
pub struct Schedules<'a> {
    /// Wakeups and rests of single threads.
    pub threads: &'a Threads,
    /// Waits that the threads of a process have in common.
    pub processes: &'a Processes,
}

impl Schedules<'_> {
    /// Fills it in, for all legs.
    pub fn fill(self, delivery: &mut Delivery) {
        let is_known = |leg: &Leg| leg.reader.is_some() || leg.sender.is_some();
        if !delivery.legs.iter().any(is_known) {
            return;
        }
        let mut before: Option<&Leg> = None;
        // They are large, and so filled in where they are.
        delivery.off_cpu.clear();
        delivery.legs.iter().for_each(|_| delivery.off_cpu.push(LegOffCpu::NONE));
        for (leg, rests) in delivery.legs.iter().zip(&mut delivery.off_cpu) {
            self.reader(leg, rests);
            self.too_slow(leg, rests);
            if let Some(before) = before
                && let Some((stage, read)) = before.times.seen().next_back()
            {
                self.dwell(leg, ForwarderRead { read, by: before.reader }, rests);
                if stage < Stage::Read {
                    rests.dwell = self.until_send(leg, read);
                }
            }
            before = Some(leg);
        }
    }

    fn reader(self, leg: &Leg, rests: &mut LegOffCpu) {
        let seen = |until: Stage| leg.times.seen().rfind(|&(stage, _)| stage < until);
        let Some(read) = leg.times.get(Stage::Read) else { return };
        if let (Some(hop), Some(wakeup), Some((_, ready))) =
            (leg.chain.first(), leg.times.get(Stage::Wakeup), seen(Stage::Wakeup))
        {
            rests.before_wakeup = self.before_wakeup(hop.task, &leg.chain, ready, wakeup);
        }
        if let (Some(reader), Some((_, since))) = (leg.reader, seen(Stage::Read)) {
            rests.reader = self.rested(reader, since, read);
        }
        let since = leg.times.get(Stage::Wakeup).unwrap_or(read);
        self.add_waits(&leg.chain, (since, read), &mut rests.chain);
        self.add_handoffs(&leg.chain, (since, read), &mut rests.handoff);
    }

    /// Times off the CPU of the first thread of a chain. If it waited for a later thread of the chain, as in a pool, it did
    /// not keep that one waiting: then they are those of the later one.
    fn before_wakeup(self, first: TaskId, chain: &[Hop], from: Nanos, to: Nanos) -> Option<OffCpu> {
        let rested = self.followed(first, from, to)?;
        let waker = rested.waker.task;
        let is_circular = rested.locked > Nanos(0)
            && waker != first
            && chain.iter().skip(1).any(|hop| hop.task == waker);
        if is_circular { self.followed(waker, from, to) } else { Some(rested) }
    }

    /// Sets the times off the CPU of the threads because of which bytes had to wait in their
    /// sender's socket, or to be written.
    fn too_slow(self, leg: &Leg, rests: &mut LegOffCpu) {
        let Some(sent) = leg.times.get(Stage::Sent) else { return };
        let did = |task: Option<TaskId>, from: Nanos, to: Nanos| {
            let task = task.filter(|_| to >= from + NOTICEABLE_TIME)?;
            let mut rested = self.rested(task, from, to)?;
            let asleep = rested.asleep - rested.by_data;
            self.count_quota_waits(task, (from, to), &mut rested, asleep);
            Some(rested)
        };
        let seen = &leg.circumstances;
        let is_own_pace = seen.is_late_write()
            || seen.writes_at_own_pace()
            || leg.flow.transport == Transport::Udp;
        if let Some(send) = leg.times.get(Stage::Send) {
            let task = if is_own_pace { leg.sender } else { leg.reader };
            rests.writing = did(task, send, sent).unwrap_or(OffCpu::NONE);
        }
        if let Some((from, until)) = leg.circumstances.unread {
            let left = leg.times.seen().find(|&(stage, _)| stage > Stage::Sent);
            let (from, until) = (sent.max(from), left.map_or(sent, |(_, left)| left.min(until)));
            // The work of a reader that was not followed is not known.
            let unknown = || OffCpu { hidden: until - from, ..OffCpu::NONE };
            rests.unread = did(leg.reader, from, until).unwrap_or_else(unknown);
            if leg.to.is_none() {
                keep_deaf_sleep(&mut rests.unread);
            }
        }
    }

    /// Adds the times for which threads waited for a CPU after their wakeups, within two moments.
    fn add_waits(self, hops: &[Hop], (from, to): (Nanos, Nanos), sum: &mut OffCpu) {
        for hop in hops {
            let (from, to) = (hop.woken.max(from), hop.running.min(to));
            if from < to
                && let Some(mut seen) = self.followed(hop.task, from, to)
            {
                (seen.asleep, seen.locked) = (Nanos(0), Nanos(0));
                *sum += &seen;
            }
        }
    }

    /// Adds the times off the CPU of each of several threads, from when it ran until it woke the next, within two moments.
    fn add_handoffs(self, hops: &[Hop], (from, to): (Nanos, Nanos), sum: &mut OffCpu) {
        for (hop, next) in hops.iter().zip(hops.iter().skip(1)) {
            let (from, to) = (hop.running.max(from), next.woken.min(to));
            if from + NOTICEABLE_TIME <= to
                && let Some(seen) = self.followed(hop.task, from, to)
            {
                *sum += &seen;
            }
        }
    }

    /// Between the read of the leg before and the send of this one.
    fn dwell(self, leg: &Leg, ForwarderRead { read, by }: ForwarderRead, rests: &mut LegOffCpu) {
        let Some(sent) = leg.times.get(Stage::Send) else { return };
        let seen = &leg.circumstances;
        let asking = || Some((seen.request.free_since?.max(read), seen.request.made?.min(sent)));
        // While it awaited answers, or had nothing to acknowledge, it slept.
        let rested_but = |idle: Nanos, task, from, to| {
            let rested = self.rested(task, from, to)?;
            Some(OffCpu { asleep: rested.asleep - idle.min(rested.asleep), ..rested })
        };
        // Another thread than the one that reads may do the work, and ask or acknowledge when it is done.
        let asker = seen.request.by.or(leg.reader);
        let answerer = |credit: &Credit| credit.by.or(leg.reader);
        if let (Some((from, to)), Some(reader)) = (asking(), asker)
            && to > from
        {
            let earlier = seen.request.between;
            let since = if earlier > Nanos(0) { read } else { from };
            rests.requester = rested_but(from - since - earlier, reader, since, to);
        } else if let Some(credit) = seen.awaited_credit()
            && let Some(reader) = answerer(&credit)
            && credit.own > Nanos(0)
        {
            let idle = credit.at - read - credit.own;
            rests.requester = rested_but(idle, reader, read, credit.at);
        }
        self.add_waits(&leg.before, (read, sent), &mut rests.before);
        self.add_handoffs(&leg.before, (read, sent), &mut rests.handoff_before);
        let mut woken = leg.before.iter().filter(|hop| hop.running > read);
        if let Some(first) = woken.next() {
            let has_slept = has_slept(first, read, by);
            let until = if has_slept { first.woken } else { first.left.unwrap_or(read) };
            rests.dwell = self.rested(first.task, read, until);
        }
        if let Some(sender) = leg.sender {
            let last = leg.before.last().map_or(read, |hop| hop.running.max(read));
            rests.sender = self.rested(sender, last, sent);
        }
    }

    /// Times off the CPU of a forwarder's sending thread, from when the end of a message was in its socket until it sent the beginning.
    fn until_send(self, leg: &Leg, ready: Nanos) -> Option<OffCpu> {
        let sent = leg.times.get(Stage::Send)?;
        self.rested(leg.sender?, ready, sent)
    }

    /// Times off the CPU of a thread; `None` if it was not followed. Its sleep counts as a wait
    /// while its process had no quota, or while other threads of the process were blocked or waited
    /// for a CPU.
    fn followed(self, task: TaskId, from: Nanos, to: Nanos) -> Option<OffCpu> {
        // Large, and so changed where it is.
        let mut found = self.threads.rested(task.tid, from, to);
        if let Some(rested) = &mut found {
            // While none of its process's threads may run, nobody brings what it sleeps for, unless that is a time, a disk or comes from
            // outside.
            let asleep = rested.asleep - rested.deaf - rested.by_data;
            self.count_quota_waits(task, (from, to), rested, asleep);
            self.count_disk_waits(task, (from, to), rested);
            self.count_cpu_waits(task, (from, to), rested);
        }
        found
    }

    /// Counts sleep as blocked where threads of the process that hand their work to others were blocked in the kernel, unless it was for
    /// a time, a disk, a lock or data from outside: it waited for them.
    fn count_disk_waits(self, task: TaskId, (from, to): (Nanos, Nanos), rested: &mut OffCpu) {
        let idle = idle(rested);
        if idle < NOTICEABLE_TIME {
            return;
        }
        let (blocked, blocker) = self.processes.blocked_within(task.pid, from, to);
        let more = blocked.min(idle);
        if more == Nanos(0) || blocker.task == task {
            return;
        }
        rested.blocked += more;
        (rested.blocker, rested.behind_timer) = (blocker, false);
        rested.polled -= more;
    }

    /// Counts sleep as a wait for a CPU where other threads of the process waited for one, unless it was for a time, a disk, a lock or data
    /// from outside: they have what the thread sleeps for.
    fn count_cpu_waits(self, task: TaskId, (from, to): (Nanos, Nanos), rested: &mut OffCpu) {
        let idle = idle(rested);
        if idle < NOTICEABLE_TIME {
            return;
        }
        let (queued, holder) = self.processes.queued_within(task.pid, from, to);
        let more = (queued - rested.waited).min(idle);
        if more == Nanos(0) {
            return;
        }
        rested.asleep -= more;
        rested.polled -= more;
        rested.waited += more;
        rested.add_holder(&Holder { held: holder.held.min(more), ..holder });
    }

    /// `None` where the thread was first followed after `from`, or the scheduler is not observed. One that was never seen to leave its
    /// CPU while others were did not rest.
    fn rested(self, task: TaskId, from: Nanos, to: Nanos) -> Option<OffCpu> {
        match self.followed(task, from, to) {
            None if self.threads.are_followed() && !self.threads.is_followed(task.tid) => {
                Some(OffCpu::NONE)
            }
            rested => rested,
        }
    }

    /// Counts as a wait for quota that part of `asleep`, which is a part of a thread's sleep, in which
    /// its process had no quota.
    fn count_quota_waits(
        self,
        task: TaskId,
        (from, to): (Nanos, Nanos),
        rested: &mut OffCpu,
        asleep: Nanos,
    ) {
        if asleep == Nanos(0) {
            return;
        }
        let (throttled, cgroup) = self.processes.throttled_within(task.pid, from, to);
        let more = (throttled - rested.throttled).min(asleep);
        if more == Nanos(0) {
            return;
        }
        rested.asleep -= more;
        for part in [&mut rested.locked, &mut rested.blocked, &mut rested.polled] {
            *part = (*part - more).min(rested.asleep);
        }
        rested.waited += more;
        rested.throttled += more;
        rested.cgroup = cgroup;
    }
}

/// Time that a thread slept for something that others of its process may bring.
fn idle(rested: &OffCpu) -> Nanos {
    rested.asleep - rested.locked - rested.deaf - rested.blocked - rested.by_data
}

/// Leaves of a thread's sleep what no data could have ended: where a process speaks TCP itself, it is not known whether there was something to
/// read for it, or it delayed an acknowledgement.
fn keep_deaf_sleep(rested: &mut OffCpu) {
    rested.hidden += rested.asleep - rested.deaf;
    rested.asleep = rested.deaf;
    for part in [&mut rested.timed, &mut rested.blocked, &mut rested.stopped] {
        *part = (*part).min(rested.deaf);
    }
    (rested.locked, rested.polled, rested.timed_poll) = (Nanos(0), Nanos(0), Nanos(0));
    rested.by_data = Nanos(0);
}

/// The forwarder's read of the message: when, and by which of its threads.
#[derive(Clone, Copy)]
struct ForwarderRead {
    read: Nanos,
    by: Option<TaskId>,
}

/// True if this is the forwarder's thread that had read the message, and slept on a lock after that: it was held up,
/// rather than handed something.
pub fn has_slept(hop: &Hop, read: Nanos, by: Option<TaskId>) -> bool {
    hop.sleep == SleepCall::Lock
        && Some(hop.task) == by
        && hop.left.is_some_and(|left| left >= read)
}

#[cfg(test)]
mod tests;
