//! Time for which a broker had a message and was not asked for it, or was not allowed to send it.

use crate::awaited::Awaited;
use crate::blame::{LegParts, Span};
use crate::kind::VerdictKind;
use wirelap_events::{Credit, Nanos, OffCpu};
use wirelap_limits::causes::{
    BROKER_TIMER_EARLINESS, BROKER_TIMER_LATENESS, REQUEST_LATENESS_DIVISOR, SHORTEST_STALL,
};

impl LegParts<'_> {
    /// The broker sends only so many messages before one is acknowledged. The time in which the subscriber had messages that it
    /// had not acknowledged is its own; the rest is that of the way there and back. While there were fewer, the broker might send:
    /// that time is its own.
    pub fn charge_unacknowledged(&mut self, credit: &Credit, rest: &mut Span) {
        let from = rest.from;
        let waited = rest.advance(credit.at.min(rest.from + credit.full));
        let own = credit.own.min(waited);
        self.charge_late_acknowledgement(own, credit);
        let left = waited - own;
        let left = left - self.charge_lost_within(from, waited, left);
        let left = left - self.charge_earlier_within(from, waited, left);
        let unknown = credit.unknown.min(left);
        self.charge_awaited(VerdictKind::FetchWait, Awaited::UnseenAcknowledgement, unknown);
        self.charge_awaited(VerdictKind::FetchWait, Awaited::Acknowledgement, left - unknown);
    }

    /// The subscriber had messages for `own`, which it had not acknowledged. That is a part of all of its time that its thread was
    /// followed for.
    fn charge_late_acknowledgement(&mut self, own: Nanos, credit: &Credit) {
        let Some(rested) = self.rests.requester.filter(|_| self.is_last && own >= SHORTEST_STALL)
        else {
            return self.charge_awaited(VerdictKind::FetchWait, Awaited::LateAcknowledgement, own);
        };
        self.charge_late_reader(
            own,
            &scaled(&rested, own, credit.own),
            Awaited::LateAcknowledgement,
        );
    }

    /// The reader let `time` pass in which it rested so, before it asked or acknowledged.
    pub fn charge_late_reader(&mut self, time: Nanos, rested: &OffCpu, awaited: Awaited) {
        let asleep = rested.asleep.min(time);
        let waited = rested.waited.min(time - asleep);
        let hidden = rested.hidden.min(time - asleep - waited);
        self.charge_awaited(VerdictKind::ClientStalled, awaited, asleep);
        // Others had the CPU that it needed to ask.
        self.charge_wait_of_late_reader(rested, waited, awaited);
        // What it did is not known.
        self.charge_awaited(VerdictKind::FetchWait, awaited, hidden);
        self.charge_awaited(VerdictKind::ReaderBusy, awaited, time - asleep - waited - hidden);
    }

    /// From `from` on, the reader did not ask for `time`: for `between` it had what it had asked for, and else it awaited answers. After that,
    /// it was `late` with its request.
    pub fn charge_unasked(
        &mut self,
        from: Nanos,
        time: Nanos,
        (between, late): (Nanos, Nanos),
        was_lost: bool,
    ) {
        if was_lost {
            return self.charge_idle(from, time, VerdictKind::Retransmission);
        }
        // Bytes are missing, or kept back, while an answer is awaited.
        let rest = self.charge_hindrances(from, time);
        let own = between.min(rest);
        self.charge_awaited(VerdictKind::FetchWait, Awaited::Answer, rest - own);
        match self.requester_for(own, between + late) {
            Some(rested) => self.charge_late_reader(own, &rested, Awaited::Request),
            None => self.charge_awaited(VerdictKind::FetchWait, Awaited::Request, own),
        }
    }

    /// The reader let `time` pass from `from` on before it asked, and `between` before that.
    pub fn charge_late_request(&mut self, from: Nanos, time: Nanos, between: Nanos) {
        let Some(rested) = self.requester_for(time, between + time) else {
            return self.charge_idle(from, time, VerdictKind::FetchWait);
        };
        let own = time - self.charge_lost_within(from, time, time);
        self.charge_late_reader(own, &rested, Awaited::Request);
    }

    /// The rests of the reader's thread in `time`, a part of `all` the time in which it might have asked; `None` where they are not known,
    /// or it is short.
    fn requester_for(&self, time: Nanos, all: Nanos) -> Option<OffCpu> {
        let rested = self.rests.requester.filter(|_| self.is_last && time >= SHORTEST_STALL)?;
        Some(scaled(&rested, time, all))
    }

    /// Until when a broker that was asked at `asked` and answered at `sent` did what the request let it do: wait for more
    /// (KIP-74). It is answered when the bytes are there that the request wants, or when its time is over. `None`: the
    /// request does not say, or not all that it was answered with was seen.
    pub fn request_may_wait_until(&self, asked: Nanos, sent: Nanos) -> Option<Nanos> {
        let seen = &self.leg.circumstances;
        let ask = seen.request.limits?;
        let due = seen.request.read.unwrap_or(asked) + ask.longest;
        let slack = BROKER_TIMER_LATENESS.max(Nanos(ask.longest.0 / REQUEST_LATENESS_DIVISOR));
        let wants_more = ask.least_bytes > 1;
        if sent + BROKER_TIMER_EARLINESS >= due && (wants_more || sent <= due + slack) {
            return Some(sent.min(due + slack));
        }
        if wants_more {
            return seen.request.filled;
        }
        // One byte is enough for it: whatever keeps the broker, it is not the request.
        Some(asked)
    }
}

/// Scales a thread's times off the CPU from `followed` to `time`.
fn scaled(rested: &OffCpu, time: Nanos, followed: Nanos) -> OffCpu {
    let part = |some: Nanos| {
        let all = u128::from(some.0).saturating_mul(u128::from(time.0));
        let part = all.checked_div(u128::from(followed.0)).unwrap_or(0);
        Nanos(u64::try_from(part).unwrap_or(u64::MAX))
    };
    OffCpu {
        asleep: part(rested.asleep),
        waited: part(rested.waited),
        hidden: part(rested.hidden),
        ..*rested
    }
}
