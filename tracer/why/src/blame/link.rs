//! Waits because a link is slower than its sender.

use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::LegParts;
use super::held_back::is_full;
use wirelap_events::{LinkQueue, Nanos, Segment, Stage};
use wirelap_limits::causes::{NOTICEABLE_TIME, SHORTEST_DISTANCE};

impl LegParts<'_> {
    /// The queues in which bytes of the leg's connection were seen, and what it is called to wait for them.
    fn queues(&self) -> [(Option<LinkQueue>, VerdictKind); 2] {
        let seen = &self.leg.circumstances;
        [
            (seen.path.qdisc_queue, VerdictKind::QdiscQueueing),
            (seen.path.queue, VerdictKind::BottleneckLink),
        ]
    }

    /// Charges to the link the part of `time` between two moments for which the bytes before were in a queue, if `cause` is a full window
    /// or buffer. Returns the time that is left.
    pub fn charge_queued(
        &mut self,
        segment: Segment,
        cause: Cause,
        (from, to): (Nanos, Nanos),
        time: Nanos,
    ) -> Nanos {
        let mut left = time;
        if !is_full(cause) {
            return left;
        }
        for (queue, kind) in self.queues() {
            let waited = queue.map_or(Nanos(0), |queue| queue.within(from, to)).min(left);
            if waited >= NOTICEABLE_TIME {
                self.charge_kind(segment, kind, waited);
                left -= waited;
            }
        }
        left
    }

    /// The same of time that the message spent in its sender's socket, or being written.
    pub fn charge_queued_in(&mut self, segment: Segment, cause: Cause, time: Nanos) -> Nanos {
        let times = &self.leg.times;
        let (send, sent) = (times.get(Stage::Send), times.get(Stage::Sent));
        let (from, until) = match segment {
            Segment::Write => (send, sent),
            _ => (sent.or(send), times.get(Stage::Lost).or(times.get(Stage::Queue))),
        };
        let until = until.or(times.get(Stage::Xmit));
        match from.zip(until) {
            Some(span) => self.charge_queued(segment, cause, span, time),
            None => time,
        }
    }

    /// What the message itself spent on its way: waiting for `ksoftirqd`, in a queue on the path, and on the distance, which all packets of
    /// the connection need. A link without a queue would have taken a round trip at most.
    pub fn charge_wire(&mut self, time: Nanos) {
        let segment = Segment::Wire;
        let seen = &self.leg.circumstances;
        let times = &self.leg.times;
        let span = times.get(Stage::Xmit).or(times.get(Stage::Queue)).zip(times.get(Stage::Rx));
        let deferred = match span.filter(|_| seen.path.deferred) {
            Some((left, came)) => (came - seen.path.deferred_since.max(left)).min(time),
            None => Nanos(0),
        };
        let time = time - deferred;
        let waited =
            seen.path.queue.zip(span).map_or(Nanos(0), |(queue, span)| {
                queue.within(span.0, span.1).min(time - queue.least)
            });
        let waited = if waited < NOTICEABLE_TIME { Nanos(0) } else { waited };
        let time = time - waited;
        let distance = if seen.path.distance < SHORTEST_DISTANCE {
            Nanos(0)
        } else {
            seen.path.distance.min(time)
        };
        self.charge_kind(segment, VerdictKind::RunQueueContention, deferred);
        self.charge_kind(segment, VerdictKind::BottleneckLink, waited);
        self.charge(segment, Cause::Distance, distance);
        self.charge(segment, Cause::Ordinary, time - distance);
    }
}
