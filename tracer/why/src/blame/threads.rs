//! Times of threads on their way to a message: asleep, at work, or without a CPU.

use super::super::awaited::Awaited;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::super::waits;
use super::{BlamedPart, LegParts};
use arrayvec::ArrayVec;
use wirelap_events::{Holder, Hop, Leg, MAX_HOPS, Nanos, OffCpu, Segment, SleepCall};
use wirelap_limits::causes::{NOTICEABLE_TIME, SHORTEST_STALL};

impl LegParts<'_> {
    /// A thread ran, and woke the next.
    pub fn charge_handoff(&mut self, time: Nanos) {
        let segment = Segment::Handoff;
        let rested = self.rests.handoff;
        let asleep = rested.asleep.min(time);
        let stalled = asleep - self.charge_lock(segment, &rested, asleep);
        self.charge(segment, Cause::when(stalled >= SHORTEST_STALL, self.kind_of_stall()), stalled);
        self.charge_work(segment, &rested, time - asleep, Cause::Ordinary);
    }

    /// The data was ready, and nothing woke the reader.
    pub fn charge_wakeup(&mut self, time: Nanos) {
        let segment = Segment::Wakeup;
        let (Some(hop), true) = (self.leg.chain.first(), time >= NOTICEABLE_TIME) else {
            return self.charge(segment, Cause::Ordinary, time);
        };
        let whole = time;
        let time = if self.is_last {
            time
        } else {
            let rest = self.charge_throttled(segment, time, Nanos(0));
            let rest = self.charge_to_next_leg(rest);
            // It answers an earlier request first, which is stored only with its copies.
            rest - self.charge_replica(segment, rest)
        };
        let throttled = whole - time;
        let Some(rested) = self.rests.before_wakeup else {
            // All that is known is its last rest.
            let asleep = hop.left.map_or(whole, |left| hop.woken - left).min(whole);
            let asleep = asleep - throttled.min(asleep);
            let polls = matches!(hop.sleep, SleepCall::Poll | SleepCall::TimedPoll);
            let unwatched = if polls { asleep } else { Nanos(0) };
            self.charge(segment, Cause::Ordinary, time - asleep);
            return self.charge_unread(
                segment,
                &OffCpu { polled: unwatched, ..OffCpu::NONE },
                asleep,
            );
        };
        let mut left = time;
        let asleep = rested.asleep.min(whole);
        let asleep = (asleep - throttled.min(asleep)).min(left);
        left -= asleep;
        self.charge_unread(segment, &rested, asleep);
        self.charge_work(segment, &rested, left, Cause::Of(self.kind_of_work()));
    }

    /// The reader slept, and its data was there. Data on a connection that it watched would have woken it.
    pub fn charge_unread(&mut self, segment: Segment, rested: &OffCpu, asleep: Nanos) {
        let at_earlier = self.at_earlier(segment, asleep);
        self.charge_kind(segment, VerdictKind::BrokerStalled, at_earlier);
        let asleep = asleep - at_earlier;
        let locked = self.charge_lock(segment, rested, asleep);
        let mut left = asleep - locked;
        if !self.is_last {
            let unwatched = rested.polled.min(left);
            self.charge(segment, Self::cause_of_unwatched(self.leg), unwatched);
            left -= unwatched;
        }
        self.charge_kind(segment, self.kind_of_stall(), left);
    }

    /// The part of a forwarder's sleep in which it had the message before this one, and did not pass it on: another thread than the one that sleeps for
    /// that may wait for data meanwhile, or for work. Who answers in turn passes nothing on by itself.
    fn at_earlier(&self, segment: Segment, asleep: Nanos) -> Nanos {
        let seen = &self.leg.circumstances.permission;
        let is_meant = segment == Segment::Wakeup && !self.is_last && !seen.answers_in_turn;
        let time = seen.at_earlier.min(asleep);
        if is_meant && time >= SHORTEST_STALL { time } else { Nanos(0) }
    }

    /// Charges the part of `time` in which a server had not asked for what it copies, and returns it.
    pub fn charge_replica(&mut self, segment: Segment, time: Nanos) -> Nanos {
        let replica = self.leg.circumstances.permission.replica;
        let waited = replica.map_or(Nanos(0), |replica| replica.time.min(time));
        if waited > Nanos(0) {
            let cause = Cause::Of(VerdictKind::FetchWait);
            let part = BlamedPart::new(self.index, segment, cause, waited);
            self.out.part(BlamedPart { awaited: Awaited::Replica, ..part });
        }
        waited
    }

    /// A thread that was awake worked, or had no CPU to work on.
    pub fn charge_work(&mut self, segment: Segment, rested: &OffCpu, time: Nanos, work: Cause) {
        let waited = rested.waited.min(time);
        self.charge_wait(segment, rested, waited);
        let hidden = rested.hidden.min(time - waited);
        self.charge(segment, Cause::Ordinary, hidden);
        self.charge(segment, work, time - waited - hidden);
    }

    /// Charges the part of a thread's sleep in which it waited for another to let go, and returns
    /// it.
    pub fn charge_lock(&mut self, segment: Segment, rested: &OffCpu, asleep: Nanos) -> Nanos {
        let locked = rested.locked.min(asleep);
        let blocked = rested.blocked.min(asleep - locked);
        let stalled = match segment {
            Segment::BrokerDwell => VerdictKind::BrokerStalled,
            _ => self.kind_of_stall(),
        };
        // What the thread itself was blocked for is not told apart here.
        let is_behind = rested.blocker.task != Holder::NOBODY.task;
        let blocked = if is_behind { blocked } else { Nanos(0) };
        let mut put = Nanos(0);
        let lock = if self.is_at_earlier_request(segment, &rested.waker) {
            self.kind_of_work()
        } else {
            VerdictKind::LockWait
        };
        let parts = [(lock, locked, &rested.waker), (stalled, blocked, &rested.blocker)];
        for (kind, time, holder) in parts {
            if time >= SHORTEST_STALL {
                let holder_slept = kind == stalled && rested.behind_timer;
                let part = BlamedPart::new(self.index, segment, Cause::Of(kind), time);
                self.out.part(BlamedPart { holder: Some(holder), holder_slept, ..part });
                put += time;
            }
        }
        put
    }

    /// True if a thread that the reader waits for handles an earlier request of the same connection, before which it reads nothing.
    fn is_at_earlier_request(&self, segment: Segment, thread: &Holder) -> bool {
        let reader = self.leg.reader.map(|reader| reader.pid);
        segment == Segment::Wakeup
            && !self.is_last
            && self.leg.circumstances.permission.answers_in_turn
            && reader == Some(thread.task.pid)
    }

    /// The verdict for a reader that is at work on something else.
    pub fn kind_of_work(&self) -> VerdictKind {
        if self.is_last { VerdictKind::ReaderBusy } else { VerdictKind::BrokerCpuBound }
    }

    /// The verdict for a reader that is off the CPU though there is something to read.
    pub fn kind_of_stall(&self) -> VerdictKind {
        if self.is_last { VerdictKind::ClientStalled } else { VerdictKind::BrokerStalled }
    }

    pub fn charge_run_queue(&mut self, time: Nanos) {
        let segment = Segment::RunQueue;
        let mut left = time;
        let waits: ArrayVec<_, MAX_HOPS> = self.leg.run_queue_waits().take(MAX_HOPS).collect();
        for (hop, wait) in waits {
            let wait = wait.min(left);
            left -= wait;
            self.charge_hop_wait(segment, hop, &self.rests.chain, wait);
        }
        self.charge(segment, Cause::Ordinary, left);
    }

    /// A thread waited for a CPU, in the way that `seen` says of all in its chain, or it alone if that is not known.
    pub fn charge_hop_wait(&mut self, segment: Segment, hop: &Hop, seen: &OffCpu, time: Nanos) {
        if seen.waited > Nanos(0) {
            return self.charge_wait(segment, seen, time);
        }
        let mut alone = OffCpu { waited: hop.running - hop.woken, ..OffCpu::NONE };
        alone.add_holder(&hop.holder);
        self.charge_wait(segment, &alone, time);
    }

    /// A thread waited for a CPU.
    pub fn charge_wait(&mut self, segment: Segment, rested: &OffCpu, time: Nanos) {
        if time > Nanos(0) {
            waits::parts(rested, time, |cause, time, holder| {
                let part = BlamedPart::new(self.index, segment, cause, time);
                self.out.part(BlamedPart { holder, ..part });
            });
        }
    }

    /// A reader waited for a CPU before it asked or acknowledged, while the broker had the message. What nobody had of it is the time until
    /// it asked.
    pub fn charge_wait_of_late_reader(&mut self, rested: &OffCpu, time: Nanos, awaited: Awaited) {
        waits::parts(rested, time, |cause, time, holder| {
            let cause =
                if cause == Cause::Ordinary { Cause::Of(VerdictKind::FetchWait) } else { cause };
            let part = BlamedPart::new(self.index, Segment::BrokerDwell, cause, time);
            self.out.part(BlamedPart { holder, awaited, ..part });
        });
    }

    /// The reader had the CPU, or another had it in its place.
    pub fn charge_own_work(&mut self, segment: Segment, time: Nanos, is_long: bool) {
        let Some(rested) = self.rests.reader else {
            return self.charge(segment, Cause::Ordinary, time);
        };
        let asleep = rested.asleep.min(time);
        let stalled = asleep - self.charge_lock(segment, &rested, asleep);
        self.charge(segment, Cause::when(stalled >= SHORTEST_STALL, self.kind_of_stall()), stalled);
        self.charge_work(
            segment,
            &rested,
            time - asleep,
            Cause::when(is_long, self.kind_of_work()),
        );
    }

    /// The cause where a forwarder does not watch the connection of a leg.
    pub fn cause_of_unwatched(leg: &Leg) -> Cause {
        // Until it has answered an earlier request, it is meant to read nothing: what held that one up is not known.
        let in_turn = leg.circumstances.permission.answers_in_turn;
        if in_turn { Cause::Ordinary } else { Cause::Of(VerdictKind::Backpressure) }
    }
}
