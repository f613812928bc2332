//! Times of threads on their way to a message: asleep, at work, or without a CPU.

use super::super::awaited::Awaited;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::super::waits;
use super::{BlamedPart, LegParts, NOTICED, SHORT_SLEEP};
use arrayvec::ArrayVec;
use wirelap_events::{Holder, Hop, MAX_HOPS, Nanos, OffCpu, Segment, SleepCall};

impl LegParts<'_> {
    /// A thread ran, and woke the next.
    pub(super) fn handoff(&mut self, time: Nanos) {
        let segment = Segment::Handoff;
        let rested = self.rests.handoff;
        let asleep = rested.asleep.min(time);
        let stalled = asleep - self.locked(segment, &rested, asleep);
        self.put(segment, Cause::when(stalled >= SHORT_SLEEP, self.stalled()), stalled);
        self.worked(segment, &rested, time - asleep, Cause::Ordinary);
    }

    /// The data was ready, and nothing woke the reader.
    pub(super) fn wakeup(&mut self, time: Nanos) {
        let segment = Segment::Wakeup;
        let (Some(hop), true) = (self.leg.chain.first(), time >= NOTICED) else {
            return self.put(segment, Cause::Ordinary, time);
        };
        let whole = time;
        let time = if self.is_last {
            time
        } else {
            let rest = self.not_throttled(segment, time, Nanos(0));
            self.not_ahead(rest)
        };
        let throttled = whole - time;
        let Some(rested) = self.rests.before_wakeup else {
            // All that is known is its last rest.
            let asleep = hop.left.map_or(whole, |left| hop.woken - left).min(whole);
            let asleep = asleep - throttled.min(asleep);
            let unwatched = if hop.sleep == SleepCall::Poll { asleep } else { Nanos(0) };
            self.put(segment, Cause::Ordinary, time - asleep);
            return self.left_unread(
                segment,
                &OffCpu { polled: unwatched, ..OffCpu::NONE },
                asleep,
            );
        };
        let mut left = time;
        let asleep = rested.asleep.min(whole);
        let asleep = (asleep - throttled.min(asleep)).min(left);
        left -= asleep;
        self.left_unread(segment, &rested, asleep);
        self.worked(segment, &rested, left, Cause::Of(self.work()));
    }

    /// The reader slept, and its data was there. Data on a connection that it watched would have woken it.
    pub(super) fn left_unread(&mut self, segment: Segment, rested: &OffCpu, asleep: Nanos) {
        let locked = self.locked(segment, rested, asleep);
        let mut left = asleep - locked;
        if !self.is_last {
            let unwatched = rested.polled.min(left);
            // Until it has answered an earlier request, it is meant to read nothing: what held that one up is not known.
            let in_turn = self.leg.circumstances.answers_in_turn;
            let backpressure = Cause::Of(VerdictKind::Backpressure);
            let cause = if in_turn { Cause::Ordinary } else { backpressure };
            self.put(segment, cause, unwatched);
            left -= unwatched;
        }
        self.put_of(segment, self.stalled(), left);
    }

    /// A thread that was awake worked, or had no CPU to work on.
    pub(super) fn worked(&mut self, segment: Segment, rested: &OffCpu, time: Nanos, work: Cause) {
        let waited = rested.waited.min(time);
        self.waited(segment, rested, waited);
        let hidden = rested.hidden.min(time - waited);
        self.put(segment, Cause::Ordinary, hidden);
        self.put(segment, work, time - waited - hidden);
    }

    /// Charges the part of a thread's sleep in which it waited for another to let go, and returns
    /// it.
    pub(super) fn locked(&mut self, segment: Segment, rested: &OffCpu, asleep: Nanos) -> Nanos {
        let locked = rested.locked.min(asleep);
        let blocked = rested.blocked.min(asleep - locked);
        let stalled = match segment {
            Segment::BrokerDwell => VerdictKind::BrokerStalled,
            _ => self.stalled(),
        };
        // What the thread itself was blocked for is not told apart here.
        let is_behind = rested.blocker.task != Holder::NOBODY.task;
        let blocked = if is_behind { blocked } else { Nanos(0) };
        let mut put = Nanos(0);
        let parts =
            [(VerdictKind::LockWait, locked, &rested.waker), (stalled, blocked, &rested.blocker)];
        for (kind, time, holder) in parts {
            if time >= SHORT_SLEEP {
                let holder_slept = kind == stalled && rested.behind_timer;
                let (leg, awaited, cause) = (self.index, Awaited::Nothing, Cause::Of(kind));
                let holder = Some(holder);
                let part = BlamedPart { leg, segment, cause, time, holder, awaited, holder_slept };
                self.out.part(part);
                put += time;
            }
        }
        put
    }

    /// The verdict for a reader that is at work on something else.
    pub(super) fn work(&self) -> VerdictKind {
        if self.is_last { VerdictKind::ReaderBusy } else { VerdictKind::BrokerCpuBound }
    }

    /// The verdict for a reader that is off the CPU though there is something to read.
    pub(super) fn stalled(&self) -> VerdictKind {
        if self.is_last { VerdictKind::ClientStalled } else { VerdictKind::BrokerStalled }
    }

    pub(super) fn run_queue(&mut self, time: Nanos) {
        let segment = Segment::RunQueue;
        let mut left = time;
        let waits: ArrayVec<_, MAX_HOPS> = self.leg.run_queue_waits().take(MAX_HOPS).collect();
        for (hop, wait) in waits {
            let wait = wait.min(left);
            left -= wait;
            self.hop_waited(segment, hop, &self.rests.chain, wait);
        }
        self.put(segment, Cause::Ordinary, left);
    }

    /// A thread waited for a CPU, in the way that `seen` says of all in its chain, or it alone if that is not known.
    pub(super) fn hop_waited(&mut self, segment: Segment, hop: &Hop, seen: &OffCpu, time: Nanos) {
        if seen.waited > Nanos(0) {
            return self.waited(segment, seen, time);
        }
        let mut alone = OffCpu { waited: hop.running - hop.woken, ..OffCpu::NONE };
        alone.add_holder(&hop.holder);
        self.waited(segment, &alone, time);
    }

    /// A thread waited for a CPU.
    pub(super) fn waited(&mut self, segment: Segment, rested: &OffCpu, time: Nanos) {
        if time > Nanos(0) {
            waits::parts(rested, time, |cause, time, holder| {
                self.part(segment, cause, time, holder);
            });
        }
    }

    /// The reader had the CPU, or another had it in its place.
    pub(super) fn own_work(&mut self, segment: Segment, time: Nanos, is_long: bool) {
        let Some(rested) = self.rests.reader else {
            return self.put(segment, Cause::Ordinary, time);
        };
        let asleep = rested.asleep.min(time);
        let stalled = asleep - self.locked(segment, &rested, asleep);
        self.put(segment, Cause::when(stalled >= SHORT_SLEEP, self.stalled()), stalled);
        self.worked(segment, &rested, time - asleep, Cause::when(is_long, self.work()));
    }
}
