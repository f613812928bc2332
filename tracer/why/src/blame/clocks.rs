//! Times between two hosts: what may be nothing but the difference of their clocks is blamed on nobody.

use super::super::explanation::Cause;
use super::{Awaited, BlameSink, BlamedPart, blame_parts};
use wirelap_events::{Delivery, Leg, Nanos, Segment};

/// Hands out every part of a delivery. Together they are last stage − first stage. What lies between two hosts, and may be nothing but the
/// difference of their clocks, has no cause.
pub fn blame(delivery: &Delivery, out: &mut dyn BlameSink) {
    if delivery.legs.iter().any(|leg| error_of(leg) > Nanos(0)) {
        blame_parts(delivery, &mut BeyondClocks { delivery, out });
    } else {
        blame_parts(delivery, out);
    }
}

/// Hands parts on, without the causes of those that are no longer than the error of the clocks that they are measured by.
struct BeyondClocks<'a> {
    delivery: &'a Delivery,
    out: &'a mut dyn BlameSink,
}

impl BlameSink for BeyondClocks<'_> {
    fn part(&mut self, part: BlamedPart<'_>) {
        let is_known = part.time > clock_error(self.delivery, &part);
        self.out.part(match part.cause {
            Cause::Of(_) if !is_known => {
                BlamedPart::new(part.leg, part.segment, Cause::Ordinary, part.time)
            }
            _ => part,
        });
    }
}

/// The largest error of a part of a message's time: of one that lies between two hosts, or that a broker waited for what was sent on another
/// host.
fn clock_error(delivery: &Delivery, part: &BlamedPart<'_>) -> Nanos {
    let Some(leg) = delivery.legs.get(part.leg) else { return Nanos(0) };
    if part.segment == Segment::BrokerDwell {
        let before = part.leg.checked_sub(1).and_then(|before| delivery.legs.get(before));
        let is_awaited = part.awaited != Awaited::Nothing;
        return if is_awaited {
            error_of(leg).max(before.map_or(Nanos(0), error_of))
        } else {
            Nanos(0)
        };
    }
    error_in(leg, part.segment)
}

fn error_of(leg: &Leg) -> Nanos {
    leg.circumstances.path.hosts.error
}

/// The error of a leg's segment: above 0 if it lies between two hosts.
pub fn error_in(leg: &Leg, segment: Segment) -> Nanos {
    let is_crossing = leg.crossing().is_some_and(|(crossing, _)| crossing == segment);
    if is_crossing { error_of(leg) } else { Nanos(0) }
}
