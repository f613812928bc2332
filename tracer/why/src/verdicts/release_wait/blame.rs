//! Time for which a broker waited until the publisher had released a message.

use crate::awaited::Awaited;
use crate::blame::{LegParts, Span};
use crate::explanation::Cause;
use crate::kind::VerdictKind;
use wirelap_events::{Nanos, Receipt, Segment};
use wirelap_limits::causes::NOTICEABLE_TIME;

impl LegParts<'_> {
    /// The sender of the message had not let it go: how long the broker waited for that. What the broker did with
    /// the permission once that was there is its own matter.
    pub fn charge_release(&mut self, rest: &mut Span) -> Nanos {
        let begin = rest.from;
        let release = self.leg.circumstances.permission.release;
        let Some(release) =
            release.filter(|release| release.read > rest.from && release.read <= rest.to)
        else {
            return Nanos(0);
        };
        let is_owed = match release.receipt {
            Some(receipt) => self.charge_receipt(&receipt, release.sent, rest),
            None => false,
        };
        // From here on the publisher owes it.
        let awaited = if is_owed { Awaited::Release } else { Awaited::UnseenRelease };
        self.charge_awaited(VerdictKind::ReleaseWait, awaited, rest.advance(release.sent));
        // The release is in the publisher's socket, and then on its way.
        let left = rest.advance(release.left);
        self.charge_awaited(VerdictKind::ReleaseWait, Awaited::Release, left);
        let kind =
            if release.resent { VerdictKind::Retransmission } else { VerdictKind::ReleaseWait };
        self.charge_awaited(kind, Awaited::Release, rest.advance(release.arrived));
        rest.from - begin
    }

    /// The publisher had to have the broker's confirmation before it could release the message at `sent`: how long that took.
    /// Returns whether it is known when the publisher had it.
    fn charge_receipt(&mut self, receipt: &Receipt, sent: Nanos, rest: &mut Span) -> bool {
        let work = rest.advance(receipt.sent.min(sent));
        self.charge(Segment::BrokerDwell, Cause::Ordinary, work);
        let Some(arrived) = receipt.arrived else {
            let lost = rest.advance((rest.from + receipt.lost).min(sent));
            self.charge_awaited(VerdictKind::Retransmission, Awaited::Receipt, lost);
            return false;
        };
        let way = rest.advance(arrived.min(sent));
        let lost = receipt.lost.min(way);
        let lost = if lost < NOTICEABLE_TIME { Nanos(0) } else { lost };
        self.charge_awaited(VerdictKind::Retransmission, Awaited::Receipt, lost);
        self.charge_awaited(VerdictKind::ReleaseWait, Awaited::Receipt, way - lost);
        true
    }
}
