//! How the threads of a delivery rested while they had it.

use super::scheduling::Processes;
use super::wakeups::Threads;
use wirelap_events::{
    Delivery, Holder, Hop, Leg, LegOffCpu, Nanos, OffCpu, SleepCall, Stage, TaskId, Transport,
};

/// Shorter waits of a sender are not looked into.
const NOTICED: Nanos = Nanos::from_micros(50);

/// What threads did, and when their processes had no CPU quota.
#[derive(Clone, Copy)]
pub struct Schedules<'a> {
    pub threads: &'a Threads,
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
                && let Some(read) = before.times.get(Stage::Read)
            {
                self.dwell(leg, ForwarderRead { read, by: before.reader }, rests);
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
            rests.before_wakeup = self.followed(hop.task, ready, wakeup);
        }
        if let (Some(reader), Some((_, since))) = (leg.reader, seen(Stage::Read)) {
            rests.reader = self.rested(reader, since, read);
        }
        let since = leg.times.get(Stage::Wakeup).unwrap_or(read);
        rests.chain = self.waits(&leg.chain, since, read);
        rests.handoff = self.between(&leg.chain, since, read);
    }

    /// What those did for whom bytes had to wait in their sender's socket, or to be written.
    fn too_slow(self, leg: &Leg, rests: &mut LegOffCpu) {
        let Some(sent) = leg.times.get(Stage::Sent) else { return };
        let did = |task: Option<TaskId>, from: Nanos, to: Nanos| {
            let task = task.filter(|_| to >= from + NOTICED)?;
            let rested = self.rested(task, from, to)?;
            Some(self.without_quota(task, (from, to), rested, rested.asleep))
        };
        let is_own_pace = leg.circumstances.is_late_write() || leg.flow.transport == Transport::Udp;
        if let Some(send) = leg.times.get(Stage::Send) {
            let task = if is_own_pace { leg.sender } else { leg.reader };
            rests.writing = did(task, send, sent).unwrap_or(OffCpu::NONE);
        }
        if let Some(unread_until) = leg.circumstances.unread_until {
            let left = leg.times.seen().find(|&(stage, _)| stage > Stage::Sent);
            let until = left.map_or(sent, |(_, left)| left.min(unread_until));
            rests.unread = did(leg.reader, sent, until).unwrap_or(OffCpu::NONE);
        }
    }

    /// How threads waited for a CPU after their wakeups, within two moments.
    fn waits(self, hops: &[Hop], from: Nanos, to: Nanos) -> OffCpu {
        let of = |hop: &Hop| {
            let (from, to) = (hop.woken.max(from), hop.running.min(to));
            let seen = if from < to { self.followed(hop.task, from, to) } else { None };
            OffCpu { asleep: Nanos(0), locked: Nanos(0), ..seen.unwrap_or_default() }
        };
        hops.iter().map(of).fold(OffCpu::NONE, |sum, one| sum + one)
    }

    /// How each of several threads rested from when it ran until it woke the next, within two moments.
    fn between(self, hops: &[Hop], from: Nanos, to: Nanos) -> OffCpu {
        let of = |pair: &[Hop]| {
            let (from, to) = (pair[0].running.max(from), pair[1].woken.min(to));
            let seen =
                if from + NOTICED <= to { self.followed(pair[0].task, from, to) } else { None };
            seen.unwrap_or_default()
        };
        hops.windows(2).map(of).fold(OffCpu::NONE, |sum, one| sum + one)
    }

    /// Between the read of the leg before and the send of this one.
    fn dwell(self, leg: &Leg, ForwarderRead { read, by }: ForwarderRead, rests: &mut LegOffCpu) {
        let Some(sent) = leg.times.get(Stage::Send) else { return };
        let seen = &leg.circumstances;
        let asking = || Some((seen.free_since?.max(read), seen.requested?.min(sent)));
        let acknowledging = || seen.awaited_credit()?.longest;
        if let (Some((from, to)), Some(reader)) = (asking().or_else(acknowledging), leg.reader)
            && to > from
        {
            rests.requester = self.rested(reader, from, to);
        }
        rests.before = self.waits(&leg.before, read, sent);
        rests.handoff_before = self.between(&leg.before, read, sent);
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

    /// How a thread rested. What it slept while its process had no quota, it waited for quota.
    fn followed(self, task: TaskId, from: Nanos, to: Nanos) -> Option<OffCpu> {
        let rested = self.threads.rested(task.tid, from, to)?;
        // While none of its process's threads may run, nobody brings what it sleeps for, unless that is a time or a disk.
        let rested = self.without_quota(task, (from, to), rested, rested.asleep - rested.deaf);
        Some(self.without_cpu(task, (from, to), rested))
    }

    /// What a thread slept for something else than a time, a disk or a lock, while other threads of its process waited for a CPU, it waited
    /// for a CPU: they have what it sleeps for.
    fn without_cpu(self, task: TaskId, (from, to): (Nanos, Nanos), rested: OffCpu) -> OffCpu {
        let idle = rested.asleep - rested.locked - rested.deaf - rested.blocked;
        if idle < NOTICED {
            return rested;
        }
        let (queued, holder) = self.processes.queued_within(task.pid, from, to);
        let more = (queued - rested.waited).min(idle);
        if more == Nanos(0) {
            return rested;
        }
        let mut rested = OffCpu {
            asleep: rested.asleep - more,
            polled: rested.polled - more,
            waited: rested.waited + more,
            ..rested
        };
        rested.add_holder(&Holder { held: holder.held.min(more), ..holder });
        rested
    }

    /// `None` where the thread was first followed after `from`. One that was never seen to leave its CPU did not rest.
    fn rested(self, task: TaskId, from: Nanos, to: Nanos) -> Option<OffCpu> {
        match self.followed(task, from, to) {
            None if !self.threads.is_followed(task.tid) => Some(OffCpu::NONE),
            rested => rested,
        }
    }

    /// Of `asleep`, a part of a thread's sleep, what its process had no quota for is a wait for quota.
    fn without_quota(
        self,
        task: TaskId,
        (from, to): (Nanos, Nanos),
        rested: OffCpu,
        asleep: Nanos,
    ) -> OffCpu {
        if asleep == Nanos(0) {
            return rested;
        }
        let (throttled, cgroup) = self.processes.throttled_within(task.pid, from, to);
        let more = (throttled - rested.throttled).min(asleep);
        if more == Nanos(0) {
            return rested;
        }
        let asleep = rested.asleep - more;
        OffCpu {
            asleep,
            locked: (rested.locked - more).min(asleep),
            blocked: (rested.blocked - more).min(asleep),
            polled: (rested.polled - more).min(asleep),
            waited: rested.waited + more,
            throttled: rested.throttled + more,
            cgroup,
            ..rested
        }
    }
}

/// When the forwarder had read the message, and which of its threads.
#[derive(Clone, Copy)]
struct ForwarderRead {
    read: Nanos,
    by: Option<TaskId>,
}

/// Whether this is the forwarder's thread that had read the message, and slept on a lock after that: it was held up,
/// rather than handed something.
pub fn has_slept(hop: &Hop, read: Nanos, by: Option<TaskId>) -> bool {
    hop.sleep == SleepCall::Lock
        && Some(hop.task) == by
        && hop.left.is_some_and(|left| left >= read)
}
