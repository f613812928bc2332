//! Between a forwarder's read of a message and its send.

use super::super::awaited::Awaited;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::LegParts;
use super::held_back::kept_by;
use super::span::Span;
use wirelap_events::{Hop, Leg, Nanos, OffCpu, OffCpuReason, Segment, SleepCall, Stage};
use wirelap_flow::has_slept;
use wirelap_limits::causes::{LONGEST_HANDING_ON, NOTICEABLE_TIME, SHORTEST_STALL};

impl LegParts<'_> {
    /// Between the read of the leg before and the send of this one.
    #[expect(
        clippy::too_many_lines,
        reason = "each kind of wait in the order in which they are charged"
    )]
    pub fn charge_dwell(&mut self, before: &Leg, time: Nanos) {
        let Some((_, read)) = before.times.seen().next_back() else { return };
        let sent = read + time;
        let fan_out = self.leg.circumstances.fan_out.map_or(sent, |fan_out| fan_out.first_sent);
        let mut rest = Span { from: read, to: sent, fan_out };
        let released = self.charge_release(&mut rest);
        if let Some(ready) = self.leg.circumstances.subscription.ready {
            let kind = match &self.leg.circumstances {
                seen if seen.subscription.sender_was_gone => VerdictKind::BrokerAway,
                seen if seen.subscription.handed_over => VerdictKind::GroupRebalance,
                _ => VerdictKind::SubscriberAway,
            };
            self.charge_kind(Segment::BrokerDwell, kind, rest.advance(ready));
        }
        // Before the message is stored, nobody gets it, whoever asks.
        let replica = self.leg.circumstances.permission.replica;
        if let Some(replica) = replica {
            let waited = rest.advance(rest.from + replica.time);
            self.charge_replica(Segment::BrokerDwell, waited);
        }
        // A broker that pushes sends to whom it does not read, too.
        if let Some((from, until)) = self.leg.circumstances.permission.requests_unread
            && self.leg.circumstances.allowed().is_some()
        {
            let before = rest.from;
            let waited = rest.advance(from);
            self.charge_idle(before, waited, VerdictKind::FetchWait);
            self.charge_kind(
                Segment::BrokerDwell,
                VerdictKind::ClientThrottled,
                rest.advance(until),
            );
        }
        // Without the subscriber's permission, it would not be in the socket.
        let credit = self.leg.circumstances.awaited_credit();
        if let Some(credit) = credit {
            self.charge_unacknowledged(&credit, &mut rest);
        }
        self.charge_earlier(&mut rest);
        let asked = self.leg.circumstances.request.made;
        let seen = &self.leg.circumstances;
        let (was_lost, taken) =
            (seen.request.after_loss, seen.request.read.filter(|_| seen.request.resent));
        if let Some(asked) = asked {
            // It could not ask before it had what came before; from then on, it is late by its own doing.
            let from = rest.from;
            let waited =
                rest.advance(seen.request.free_since.map_or(asked, |free| free.min(asked)));
            let (between, free) = (seen.request.between, rest.from);
            let late = rest.advance(asked);
            self.charge_unasked(from, waited, (between, late), was_lost);
            self.charge_late_request(free, late, between);
        }
        if let Some(taken) = taken {
            let taken = rest.advance(taken);
            self.charge_awaited(VerdictKind::Retransmission, Awaited::Request, taken);
        }
        // The way of the request, which nobody is late with.
        if let (Some(asked), Some(there)) = (asked, seen.request.there)
            && there >= asked + NOTICEABLE_TIME
        {
            self.charge_awaited(VerdictKind::FetchWait, Awaited::Answer, rest.advance(there));
        }
        let mut is_awaited = asked.is_some();
        if let Some(until) = asked.and_then(|asked| self.request_may_wait_until(asked, sent)) {
            self.charge_kind(Segment::BrokerDwell, VerdictKind::FetchWait, rest.advance(until));
            is_awaited = false;
        }
        // A thread of the broker's leads to the send when the transaction has ended; what others did before is not about it.
        if seen.request.awaits_commit
            && let Some(last) = self.leg.before.last()
        {
            self.charge_kind(
                Segment::BrokerDwell,
                VerdictKind::FetchWait,
                rest.advance(last.woken),
            );
        }
        self.charge_unread_publisher(&mut rest);
        if seen.subscription.has_expired {
            // What the broker did from then on is its own matter.
            let until = self.leg.before.last().map_or(sent, |last| last.woken);
            self.charge_awaited(VerdictKind::FetchWait, Awaited::Expiry, rest.advance(until));
        }
        if before.times.get(Stage::Read).is_none() {
            return self.charge_dwell_unread(rest.advance(sent));
        }
        let mut woken_by_own = false;
        for hop in &self.leg.before {
            if hop.running <= rest.from {
                woken_by_own = true;
                continue;
            }
            if !is_awaited && has_slept(hop, read, before.reader) {
                let work = Cause::Of(VerdictKind::BrokerCpuBound);
                let dwell = awake(self.rests.dwell.as_ref(), released);
                self.charge_broker_work(&mut rest, hop.woken, dwell.as_ref(), work);
            }
            self.charge_dwell_hop(hop, &mut rest, woken_by_own, is_awaited);
            woken_by_own = true;
        }
        let seen = !self.leg.before.is_empty();
        let rested = awake(self.rests.sender.as_ref(), released);
        self.charge_broker_work(
            &mut rest,
            sent,
            rested.as_ref(),
            Cause::when(seen, VerdictKind::BrokerCpuBound),
        );
    }

    /// The forwarder sent the beginning of a message before it had read the end, which was in its socket.
    fn charge_dwell_unread(&mut self, time: Nanos) {
        let segment = Segment::BrokerDwell;
        let Some(rested) = self.rests.dwell else {
            return self.charge(segment, Cause::Ordinary, time);
        };
        let asleep = rested.asleep.min(time);
        let slept = asleep - self.charge_lock(segment, &rested, asleep);
        let slept = self.charge_unread_end(rested.polled, slept);
        let slept = slept - self.charge_others(rested.by_data - rested.polled, slept);
        self.charge(segment, self.cause_of_sleep(slept), slept);
        let is_followed = !self.leg.before.is_empty();
        let work = Cause::when(is_followed, VerdictKind::BrokerCpuBound);
        self.charge_work(segment, &rested, time - asleep, work);
    }

    /// Earlier bytes were in the socket when the broker had the message, or was permitted to send it.
    fn charge_earlier(&mut self, rest: &mut Span) {
        if let Some(earlier) = self.leg.circumstances.socket.behind
            && earlier.since <= rest.from
            && let Some(cause) = kept_by(self.leg, &earlier)
        {
            let from = rest.from;
            let held = rest.advance(earlier.since + earlier.time);
            let kept = held - self.charge_lost_within(from, held, held);
            let kept = self.charge_queued(Segment::BrokerDwell, cause, (from, from + held), kept);
            self.charge(Segment::BrokerDwell, cause, kept);
        }
    }

    /// Puts down what of `time` from `from` on earlier bytes were in the socket, `most` at most. Returns how much that is.
    pub fn charge_earlier_within(&mut self, from: Nanos, time: Nanos, most: Nanos) -> Nanos {
        let Some(earlier) = self.leg.circumstances.socket.behind else { return Nanos(0) };
        let until = (earlier.since + earlier.time).min(from + time);
        let held = (until - earlier.since.max(from).min(until)).min(most);
        match kept_by(self.leg, &earlier).filter(|_| held >= NOTICEABLE_TIME) {
            Some(cause) => {
                let segment = Segment::BrokerDwell;
                let kept =
                    self.charge_queued(segment, cause, (earlier.since.max(from), until), held);
                self.charge(segment, cause, kept);
                held
            }
            None => Nanos(0),
        }
    }

    /// The cause where a thread of the forwarder slept. One that is asked for messages hands them out when all is done that
    /// this takes: other threads write them down, other brokers copy them.
    pub fn cause_of_sleep(&self, asleep: Nanos) -> Cause {
        if self.leg.circumstances.request.made.is_some() && asleep < LONGEST_HANDING_ON {
            return Cause::Of(VerdictKind::FetchWait);
        }
        Cause::when(asleep >= SHORTEST_STALL, VerdictKind::BrokerStalled)
    }

    /// True if data of another connection led to the send: the thread that it woke first after the read was waiting for that.
    fn awaited_others(&self) -> bool {
        let read = self.before.and_then(|before| before.times.get(Stage::Read));
        let first = read.and_then(|read| self.leg.before.iter().find(|hop| hop.running > read));
        first.is_some_and(Hop::is_ended_by_data)
    }

    /// Charges what a thread of the forwarder slept until data of others came, `most` at most, where a thread that slept as long would be
    /// stalled. Returns how much that is.
    fn charge_others(&mut self, slept: Nanos, most: Nanos) -> Nanos {
        let slept = slept.min(most);
        if self.cause_of_sleep(slept) != Cause::Of(VerdictKind::BrokerStalled) {
            return Nanos(0);
        }
        self.charge_awaited(VerdictKind::FetchWait, Awaited::Others, slept);
        slept
    }

    /// A thread of the forwarder was at work until some moment, and now and then was not. From the first of several sends
    /// of the message on, its work is that of sending it to the others.
    fn charge_broker_work(
        &mut self,
        rest: &mut Span,
        until: Nanos,
        rested: Option<&OffCpu>,
        work: Cause,
    ) {
        let segment = Segment::BrokerDwell;
        let before = rest.advance(until.min(rest.fan_out));
        let after = rest.advance(until);
        let Some(rested) = rested else {
            // What the thread did was not followed.
            return self.charge(segment, Cause::Ordinary, before + after);
        };
        let asleep = rested.asleep.min(before + after);
        let slept = asleep - self.charge_lock(segment, rested, asleep);
        // A request that does not say how long it may wait leaves that to whoever is asked.
        let seen = &self.leg.circumstances;
        let may_wait = seen.request.made.is_some() && seen.request.limits.is_none();
        // What ended its last sleep may be another thread, which had the data first (Go): it was ready for data all the same.
        let for_others = rested.by_data.max(rested.polled);
        let by_others = if may_wait || !self.awaited_others() { Nanos(0) } else { for_others };
        let slept = slept - self.charge_others(by_others, slept);
        let stalled = if may_wait { rested.deaf.min(slept) } else { slept };
        self.charge(segment, self.cause_of_sleep(stalled), stalled);
        self.charge_kind(segment, VerdictKind::FetchWait, slept - stalled);
        // How the rests are shared out is not known. Most of the time is where most of the rests are.
        let is_last_longer = after >= before;
        let (first, last) = shorten((before, after), asleep, is_last_longer);
        let waited = rested.waited.min(first + last);
        self.charge_wait(segment, rested, waited);
        let (first, last) = shorten((first, last), waited, is_last_longer);
        let hidden = rested.hidden.min(first + last);
        self.charge(segment, Cause::Ordinary, hidden);
        let (first, last) = shorten((first, last), hidden, is_last_longer);
        self.charge(segment, work, first);
        self.charge_kind(segment, VerdictKind::SerialFanOut, last);
    }

    /// The forwarder had nothing to do with the message for `time` from `from` on. What of it passed while bytes of the
    /// connection were missing, a request or an acknowledgement perhaps, is the network's.
    pub fn charge_idle(&mut self, from: Nanos, time: Nanos, kind: VerdictKind) {
        let rest = self.charge_hindrances(from, time);
        self.charge_awaited(kind, Awaited::Request, rest);
    }

    /// Returns `time` from `from` on less the parts that are charged because bytes of the connection were missing, or kept the
    /// message back.
    pub fn charge_hindrances(&mut self, from: Nanos, time: Nanos) -> Nanos {
        let rest = time - self.charge_lost_within(from, time, time);
        rest - self.charge_earlier_within(from, rest, rest)
    }

    /// Puts down what of `time` from `from` on passed while bytes of the connection were missing, `most` at most. Returns how
    /// much that is.
    pub fn charge_lost_within(&mut self, from: Nanos, time: Nanos, most: Nanos) -> Nanos {
        let seen = &self.leg.circumstances;
        let (begin, there) = seen.loss.missing.unwrap_or_default();
        let there = there.min(from + time);
        let lost = (there - begin.max(from).min(there)).min(most);
        if lost < NOTICEABLE_TIME {
            return Nanos(0);
        }
        let is_readers = seen.loss.missing_by.is_none_or(|bytes| bytes.by_receiver);
        let awaited = match (is_readers, seen.request.made) {
            (true, Some(_)) => Awaited::Request,
            (true, None) => Awaited::Acknowledgement,
            (false, _) => Awaited::Earlier,
        };
        self.charge_awaited(VerdictKind::Retransmission, awaited, lost);
        lost
    }

    /// Takes as much of the rests of the forwarder's threads before they woke others as fits into `time`, and returns it.
    fn take_handing(&mut self, time: Nanos) -> OffCpu {
        let all = self.handing;
        let asleep = all.asleep.min(time);
        let waited = all.waited.min(time - asleep);
        let throttled = all.throttled.min(waited);
        self.handing = OffCpu {
            asleep: all.asleep - asleep,
            locked: all.locked - asleep,
            waited: all.waited - waited,
            throttled: all.throttled - throttled,
            hidden: Nanos(0),
            ..all
        };
        OffCpu { asleep, locked: all.locked.min(asleep), waited, throttled, ..all }
    }

    /// One thread of the forwarder: asleep, or the one that woke it at work; then waiting for a CPU.
    fn charge_dwell_hop(
        &mut self,
        hop: &Hop,
        rest: &mut Span,
        woken_by_own: bool,
        is_awaited: bool,
    ) {
        let segment = Segment::BrokerDwell;
        let work = Cause::Of(VerdictKind::BrokerCpuBound);
        if woken_by_own {
            let rested = self.take_handing(rest.left_until(hop.woken));
            self.charge_broker_work(rest, hop.woken, Some(&rested), work);
        } else {
            let until = hop.left.unwrap_or(rest.from).min(hop.woken);
            let dwell = self.rests.dwell;
            self.charge_broker_work(rest, until, dwell.as_ref(), work);
        }
        let from = rest.from;
        let asleep = rest.advance(hop.woken);
        // Who sleeps for a time of its own choice waits for no request's end.
        let is_awaited = is_awaited && hop.sleep != SleepCall::Timer;
        let cause = match hop.reason {
            OffCpuReason::Asleep if is_awaited => Cause::Of(VerdictKind::FetchWait),
            OffCpuReason::Asleep => self.cause_of_sleep(asleep),
            OffCpuReason::Blocked | OffCpuReason::Stopped | OffCpuReason::Preempted => {
                Cause::Of(VerdictKind::BrokerStalled)
            }
        };
        match hop.reason {
            OffCpuReason::Asleep => {
                let own = self.charge_hindrances(from, asleep);
                let by_others = if !is_awaited && hop.is_ended_by_data() { own } else { Nanos(0) };
                let own = own - self.charge_others(by_others, own);
                self.charge(segment, cause, own);
            }
            _ => self.charge(segment, cause, asleep),
        }
        let wait = rest.advance(hop.running);
        self.charge_hop_wait(segment, hop, &self.rests.before, wait);
    }
}

/// Two stretches less some time, of the last one or the first one as far as it reaches, and then of the other.
fn shorten((first, last): (Nanos, Nanos), time: Nanos, of_last: bool) -> (Nanos, Nanos) {
    if of_last {
        (first - (time - last), last - time)
    } else {
        (first - time, last - (time - first))
    }
}

/// The thread's times off the CPU less so much sleep, which is accounted for.
fn awake(rested: Option<&OffCpu>, slept: Nanos) -> Option<OffCpu> {
    rested.map(|rested| OffCpu { asleep: rested.asleep - rested.asleep.min(slept), ..*rested })
}
