//! Time for which a broker said that it does not read a client.

use crate::blame::{LegParts, Span};
use crate::kind::VerdictKind;
use wirelap_events::{Nanos, Segment};
use wirelap_limits::causes::NOTICEABLE_TIME;

impl LegParts<'_> {
    /// Charges the part of `time` in which a broker said that it does not read its client, after `others` that have it
    /// first. Returns the time that is left.
    pub fn charge_throttled(&mut self, segment: Segment, time: Nanos, others: Nanos) -> Nanos {
        let spare = self.throttled - self.throttled.min(others);
        let throttled = spare.min(time);
        if throttled < NOTICEABLE_TIME {
            return time;
        }
        self.throttled -= throttled;
        self.charge_kind(segment, VerdictKind::ClientThrottled, throttled);
        time - throttled
    }

    /// A broker that reads nothing more from a publisher, as it lacks memory or disk, may keep what it had just read of it. One that is
    /// asked for messages hands these out whoever is throttled.
    pub fn charge_unread_publisher(&mut self, rest: &mut Span) {
        let seen = &self.leg.circumstances;
        let Some((from, until)) =
            seen.permission.publisher_unread.filter(|_| seen.request.made.is_none())
        else {
            return;
        };
        let before = rest.advance(from);
        self.charge(Segment::BrokerDwell, self.cause_of_sleep(before), before);
        self.charge_kind(Segment::BrokerDwell, VerdictKind::ClientThrottled, rest.advance(until));
    }
}
