//! Permits that a broker needs to pass a message on: the publisher's release, and the subscriber's acknowledgement of
//! messages before.

use super::super::awaited::Awaited;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::span::Span;
use super::{LegParts, NOTICED, SHORT_SLEEP};
use wirelap_events::{Credit, Nanos, OffCpu, Receipt, Segment};

impl LegParts<'_> {
    /// The sender of the message had not let it go: how long the broker waited for that. What the broker did with
    /// the permission once that was there is its own matter.
    pub(super) fn released(&mut self, rest: &mut Span) -> Nanos {
        let begin = rest.from;
        let release = self.leg.circumstances.release;
        let Some(release) =
            release.filter(|release| release.read > rest.from && release.read <= rest.to)
        else {
            return Nanos(0);
        };
        let is_owed = match release.receipt {
            Some(receipt) => self.confirmed(&receipt, release.sent, rest),
            None => false,
        };
        // From here on the publisher owes it.
        let awaited = if is_owed { Awaited::Release } else { Awaited::UnseenRelease };
        self.await_of(VerdictKind::ReleaseWait, awaited, rest.advance(release.sent));
        // It is in the publisher's socket, and then on its way.
        let left = rest.advance(release.left);
        self.await_of(VerdictKind::ReleaseWait, Awaited::Release, left);
        let kind =
            if release.resent { VerdictKind::Retransmission } else { VerdictKind::ReleaseWait };
        self.await_of(kind, Awaited::Release, rest.advance(release.arrived));
        rest.from - begin
    }

    /// The publisher had to have the broker's confirmation before it could release the message at `sent`: how long that took.
    /// Returns whether it is known when the publisher had it.
    fn confirmed(&mut self, receipt: &Receipt, sent: Nanos, rest: &mut Span) -> bool {
        let work = rest.advance(receipt.sent.min(sent));
        self.put(Segment::BrokerDwell, Cause::Ordinary, work);
        let Some(arrived) = receipt.arrived else {
            let lost = rest.advance((rest.from + receipt.lost).min(sent));
            self.await_of(VerdictKind::Retransmission, Awaited::Receipt, lost);
            return false;
        };
        let way = rest.advance(arrived.min(sent));
        let lost = receipt.lost.min(way);
        let lost = if lost < NOTICED { Nanos(0) } else { lost };
        self.await_of(VerdictKind::Retransmission, Awaited::Receipt, lost);
        self.await_of(VerdictKind::ReleaseWait, Awaited::Receipt, way - lost);
        true
    }

    /// The broker sends only so many messages before one is acknowledged. The time in which the subscriber had messages that it
    /// had not acknowledged is its own; the rest is that of the way there and back. While there were fewer, the broker might send:
    /// that time is its own.
    pub(super) fn unacknowledged(&mut self, credit: &Credit, rest: &mut Span) {
        let from = rest.from;
        let waited = rest.advance(credit.at.min(rest.from + credit.full));
        let own = credit.own.min(waited);
        self.late_acknowledgement(own, credit);
        let left = waited - own;
        let left = left - self.lost_within(from, waited, left);
        let left = left - self.behind_within(from, waited, left);
        let unknown = credit.unknown.min(left);
        self.await_of(VerdictKind::FetchWait, Awaited::UnseenAcknowledgement, unknown);
        self.await_of(VerdictKind::FetchWait, Awaited::Acknowledgement, left - unknown);
    }

    /// The subscriber had messages for `own`, which it had not acknowledged. What is known of its thread in the longest
    /// interval holds for all.
    fn late_acknowledgement(&mut self, own: Nanos, credit: &Credit) {
        let followed = credit.longest.map_or(Nanos(0), |(from, to)| to - from);
        let Some(rested) = self.rests.requester.filter(|_| self.is_last && own >= SHORT_SLEEP)
        else {
            return self.await_of(VerdictKind::FetchWait, Awaited::LateAcknowledgement, own);
        };
        self.late(own, &scaled(&rested, own, followed), Awaited::LateAcknowledgement);
    }

    /// The reader let `time` pass in which it rested so, before it asked or acknowledged.
    pub(super) fn late(&mut self, time: Nanos, rested: &OffCpu, awaited: Awaited) {
        let asleep = rested.asleep.min(time);
        let waited = rested.waited.min(time - asleep);
        let hidden = rested.hidden.min(time - asleep - waited);
        self.await_of(VerdictKind::ClientStalled, awaited, asleep);
        // Others had the CPU that it needed to ask, or what it did is not known.
        self.await_of(VerdictKind::FetchWait, awaited, waited + hidden);
        self.await_of(VerdictKind::ReaderBusy, awaited, time - asleep - waited - hidden);
    }

    /// Puts down a part of the dwell in which the broker waited for something.
    pub(super) fn await_of(&mut self, kind: VerdictKind, awaited: Awaited, time: Nanos) {
        if time > Nanos(0) {
            self.awaits(Segment::BrokerDwell, Cause::Of(kind), time, awaited);
        }
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
