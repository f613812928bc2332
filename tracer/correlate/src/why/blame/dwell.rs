//! Between a forwarder's read of a message and its send.

use super::super::awaited::Awaited;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::held_back::kept_by;
use super::span::Span;
use super::{LegParts, NOTICED, SHORT_SLEEP};
use crate::threads::has_slept;
use wirelap_events::{Hop, Leg, Nanos, OffCpu, OffCpuReason, Segment, SleepCall};

/// A broker's timers may be so late: they are looked at only now and then, and hand on to other threads.
const TIMERS: Nanos = Nanos::from_millis(5);

/// A timer of a broker that counts whole milliseconds may be so early.
const EARLY: Nanos = Nanos::from_millis(2);

/// A thread of a broker that is asked for messages may sleep so long while others work for it.
const HANDED_ON: Nanos = Nanos::from_millis(3);

impl LegParts<'_> {
    /// Between the read of the leg before and the send of this one.
    pub(super) fn dwell(&mut self, before: &Leg, time: Nanos) {
        let Some((_, read)) = before.times.seen().next_back() else { return };
        let sent = read + time;
        let fan_out = self.leg.circumstances.fan_out.map_or(sent, |fan_out| fan_out.first_sent);
        let mut rest = Span { from: read, to: sent, fan_out };
        let released = self.released(&mut rest);
        if let Some(ready) = self.leg.circumstances.ready {
            let kind = match &self.leg.circumstances {
                seen if seen.sender_was_gone => VerdictKind::BrokerAway,
                seen if seen.handed_over => VerdictKind::GroupRebalance,
                _ => VerdictKind::SubscriberAway,
            };
            self.put_of(Segment::BrokerDwell, kind, rest.advance(ready));
        }
        // A broker that pushes sends to whom it does not read, too.
        if let Some((from, until)) = self.leg.circumstances.requests_unread
            && self.leg.circumstances.allowed().is_some()
        {
            let before = rest.from;
            let waited = rest.advance(from);
            self.idle_dwell(before, waited, Cause::Of(VerdictKind::FetchWait));
            self.put_of(Segment::BrokerDwell, VerdictKind::ClientThrottled, rest.advance(until));
        }
        // Without the subscriber's permission, it would not be in the socket.
        let credit = self.leg.circumstances.awaited_credit();
        if let Some(credit) = credit {
            self.unacknowledged(&credit, &mut rest);
        }
        self.behind_earlier(&mut rest);
        let asked = self.leg.circumstances.requested;
        let seen = &self.leg.circumstances;
        let (was_lost, taken) =
            (seen.requested_after_loss, seen.request_read.filter(|_| seen.request_resent));
        if let Some(asked) = asked {
            // It could not ask before it had what came before; from then on, it is late by its own doing.
            let from = rest.from;
            let waited = rest.advance(seen.free_since.map_or(asked, |free| free.min(asked)));
            self.unasked(from, waited, seen.between_requests, was_lost);
            let from = rest.from;
            let late = rest.advance(asked);
            self.asked_late(from, late);
        }
        if let Some(taken) = taken {
            let taken = rest.advance(taken);
            self.await_of(VerdictKind::Retransmission, Awaited::Request, taken);
        }
        let mut is_awaited = asked.is_some();
        if let Some(until) = asked.and_then(|asked| self.may_wait_until(asked, sent)) {
            self.put_of(Segment::BrokerDwell, VerdictKind::FetchWait, rest.advance(until));
            is_awaited = false;
        }
        // A thread of the broker's leads to the send when the transaction has ended; what others did before is not about it.
        if seen.awaits_commit
            && let Some(last) = self.leg.before.last()
        {
            self.put_of(Segment::BrokerDwell, VerdictKind::FetchWait, rest.advance(last.woken));
        }
        self.publisher_unread(&mut rest);
        if seen.has_expired {
            // What the broker did from then on is its own matter.
            let until = self.leg.before.last().map_or(sent, |last| last.woken);
            self.await_of(VerdictKind::FetchWait, Awaited::Expiry, rest.advance(until));
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
                self.broker_worked(&mut rest, hop.woken, dwell.as_ref(), work);
            }
            self.dwell_hop(hop, &mut rest, woken_by_own, is_awaited);
            woken_by_own = true;
        }
        let seen = !self.leg.before.is_empty();
        let rested = awake(self.rests.sender.as_ref(), released);
        self.broker_worked(
            &mut rest,
            sent,
            rested.as_ref(),
            Cause::when(seen, VerdictKind::BrokerCpuBound),
        );
    }

    /// Earlier bytes were in the socket when the broker had the message, or was permitted to send it.
    fn behind_earlier(&mut self, rest: &mut Span) {
        if let Some(earlier) = self.leg.circumstances.behind
            && earlier.since <= rest.from
            && let Some(cause) = kept_by(self.leg, &earlier)
        {
            let from = rest.from;
            let held = rest.advance(earlier.since + earlier.time);
            let kept = held - self.lost_within(from, held, held);
            let kept = self.not_on_link(Segment::BrokerDwell, cause, (from, from + held), kept);
            self.put(Segment::BrokerDwell, cause, kept);
        }
    }

    /// A broker that reads nothing more from a publisher, as it lacks memory or disk, may keep what it had just read of it. One that is
    /// asked for messages hands these out whoever is throttled.
    fn publisher_unread(&mut self, rest: &mut Span) {
        let seen = &self.leg.circumstances;
        let Some((from, until)) = seen.publisher_unread.filter(|_| seen.requested.is_none()) else {
            return;
        };
        let before = rest.advance(from);
        self.put(Segment::BrokerDwell, self.slept(before), before);
        self.put_of(Segment::BrokerDwell, VerdictKind::ClientThrottled, rest.advance(until));
    }

    /// Puts down what of `time` from `from` on earlier bytes were in the socket, `most` at most. Returns how much that is.
    pub(super) fn behind_within(&mut self, from: Nanos, time: Nanos, most: Nanos) -> Nanos {
        let Some(earlier) = self.leg.circumstances.behind else { return Nanos(0) };
        let until = (earlier.since + earlier.time).min(from + time);
        let held = (until - earlier.since.max(from).min(until)).min(most);
        match kept_by(self.leg, &earlier).filter(|_| held >= NOTICED) {
            Some(cause) => {
                let segment = Segment::BrokerDwell;
                let kept = self.not_on_link(segment, cause, (earlier.since.max(from), until), held);
                self.put(segment, cause, kept);
                held
            }
            None => Nanos(0),
        }
    }

    /// From `from` on, the reader did not ask for `time`: for `own` it had what it had asked for, and else it awaited answers.
    fn unasked(&mut self, from: Nanos, time: Nanos, own: Nanos, was_lost: bool) {
        if was_lost {
            return self.idle_dwell(from, time, Cause::Of(VerdictKind::Retransmission));
        }
        // Bytes are missing, or kept back, while an answer is awaited.
        let rest = self.not_hindered(from, time);
        let own = own.min(rest);
        self.await_of(VerdictKind::FetchWait, Awaited::Answer, rest - own);
        self.await_of(VerdictKind::FetchWait, Awaited::Request, own);
    }

    /// The reader let `time` pass from `from` on before it asked.
    fn asked_late(&mut self, from: Nanos, time: Nanos) {
        let Some(rested) = self.rests.requester.filter(|_| self.is_last && time >= SHORT_SLEEP)
        else {
            return self.idle_dwell(from, time, Cause::Of(VerdictKind::FetchWait));
        };
        let own = time - self.lost_within(from, time, time);
        self.late(own, &rested, Awaited::Request);
    }

    /// Until when a broker that was asked at `asked` and answered at `sent` did what the request let it do: wait for more
    /// (KIP-74). It is answered when the bytes are there that the request wants, or when its time is over. `None`: the
    /// request does not say, or not all that it was answered with was seen.
    fn may_wait_until(&self, asked: Nanos, sent: Nanos) -> Option<Nanos> {
        let seen = &self.leg.circumstances;
        let ask = seen.request_limits?;
        let due = seen.request_read.unwrap_or(asked) + ask.longest;
        let slack = TIMERS.max(Nanos(ask.longest.0 / 4));
        let wants_more = ask.least_bytes > 1;
        if sent + EARLY >= due && (wants_more || sent <= due + slack) {
            return Some(sent.min(due + slack));
        }
        if wants_more {
            return seen.filled;
        }
        // One byte is enough for it: whatever keeps the broker, it is not the request.
        Some(asked)
    }

    /// The cause where a thread of the forwarder slept. One that is asked for messages hands them out when all is done that
    /// this takes: other threads write them down, other brokers copy them.
    fn slept(&self, asleep: Nanos) -> Cause {
        if self.leg.circumstances.requested.is_some() && asleep < HANDED_ON {
            return Cause::Of(VerdictKind::FetchWait);
        }
        Cause::when(asleep >= SHORT_SLEEP, VerdictKind::BrokerStalled)
    }

    /// A thread of the forwarder was at work until some moment, and now and then was not. From the first of several sends
    /// of the message on, its work is that of sending it to the others.
    fn broker_worked(
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
            return self.put(segment, Cause::Ordinary, before + after);
        };
        let asleep = rested.asleep.min(before + after);
        let slept = asleep - self.locked(segment, rested, asleep);
        // A request that does not say how long it may wait leaves that to whoever is asked.
        let seen = &self.leg.circumstances;
        let may_wait = seen.requested.is_some() && seen.request_limits.is_none();
        let stalled = if may_wait { rested.deaf.min(slept) } else { slept };
        self.put(segment, self.slept(stalled), stalled);
        self.put_of(segment, VerdictKind::FetchWait, slept - stalled);
        // How the rests are shared out is not known. Most of the time is where most of the rests are.
        let is_last_longer = after >= before;
        let (first, last) = shorten((before, after), asleep, is_last_longer);
        let waited = rested.waited.min(first + last);
        self.waited(segment, rested, waited);
        let (first, last) = shorten((first, last), waited, is_last_longer);
        let hidden = rested.hidden.min(first + last);
        self.put(segment, Cause::Ordinary, hidden);
        let (first, last) = shorten((first, last), hidden, is_last_longer);
        self.put(segment, work, first);
        self.put_of(segment, VerdictKind::SerialFanOut, last);
    }

    /// The forwarder had nothing to do with the message for `time` from `from` on. What of it passed while bytes of the
    /// connection were missing, a request or an acknowledgement perhaps, is the network's.
    fn idle_dwell(&mut self, from: Nanos, time: Nanos, cause: Cause) {
        let rest = self.not_hindered(from, time);
        if rest > Nanos(0) {
            self.awaits(Segment::BrokerDwell, cause, rest, Awaited::Request);
        }
    }

    /// Returns `time` from `from` on less the parts that are charged because bytes of the connection were missing, or kept the
    /// message back.
    fn not_hindered(&mut self, from: Nanos, time: Nanos) -> Nanos {
        let rest = time - self.lost_within(from, time, time);
        rest - self.behind_within(from, rest, rest)
    }

    /// Puts down what of `time` from `from` on passed while bytes of the connection were missing, `most` at most. Returns how
    /// much that is.
    pub(super) fn lost_within(&mut self, from: Nanos, time: Nanos, most: Nanos) -> Nanos {
        let seen = &self.leg.circumstances;
        let (begin, there) = seen.missing.unwrap_or_default();
        let there = there.min(from + time);
        let lost = (there - begin.max(from).min(there)).min(most);
        if lost < NOTICED {
            return Nanos(0);
        }
        let is_readers = seen.missing_by.is_none_or(|bytes| bytes.by_receiver);
        let awaited = match (is_readers, seen.requested) {
            (true, Some(_)) => Awaited::Request,
            (true, None) => Awaited::Acknowledgement,
            (false, _) => Awaited::Earlier,
        };
        self.await_of(VerdictKind::Retransmission, awaited, lost);
        lost
    }

    /// Takes as much of the rests of the forwarder's threads before they woke others as fits into `time`, and returns it.
    fn handing_for(&mut self, time: Nanos) -> OffCpu {
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
    fn dwell_hop(&mut self, hop: &Hop, rest: &mut Span, woken_by_own: bool, is_awaited: bool) {
        let segment = Segment::BrokerDwell;
        let work = Cause::Of(VerdictKind::BrokerCpuBound);
        if woken_by_own {
            let rested = self.handing_for(rest.left_until(hop.woken));
            self.broker_worked(rest, hop.woken, Some(&rested), work);
        } else {
            let until = hop.left.unwrap_or(rest.from).min(hop.woken);
            let dwell = self.rests.dwell;
            self.broker_worked(rest, until, dwell.as_ref(), work);
        }
        let from = rest.from;
        let asleep = rest.advance(hop.woken);
        // Who sleeps for a time of its own choice waits for no request's end.
        let is_awaited = is_awaited && hop.sleep != SleepCall::Timer;
        let cause = match hop.reason {
            OffCpuReason::Asleep if is_awaited => Cause::Of(VerdictKind::FetchWait),
            OffCpuReason::Asleep => self.slept(asleep),
            OffCpuReason::Blocked | OffCpuReason::Stopped | OffCpuReason::Preempted => {
                Cause::Of(VerdictKind::BrokerStalled)
            }
        };
        match hop.reason {
            OffCpuReason::Asleep => {
                let own = self.not_hindered(from, asleep);
                self.put(segment, cause, own);
            }
            _ => self.put(segment, cause, asleep),
        }
        let wait = rest.advance(hop.running);
        self.hop_waited(segment, hop, &self.rests.before, wait);
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
