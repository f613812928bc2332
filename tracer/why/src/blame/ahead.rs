//! The reason for which a forwarder does not read because it cannot send.

use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::held_back::{is_full, kept_by};
use wirelap_events::{Leg, Nanos};

/// Bytes of the next leg were in their sender's socket while a message was on its way to that sender.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The cause that kept the bytes in the socket.
    pub cause: Cause,
    /// Time of that, less what was already charged to it.
    pub left: Nanos,
}

impl Ahead {
    /// Finds what kept the forwarder from sending on the leg `next`, by its socket while the message was on its way: at the send of
    /// the message itself, there may be room again.
    pub fn of(next: &Leg) -> Option<Ahead> {
        let earlier = next.circumstances.socket.held_before?;
        let cause = kept_by(next, &earlier).filter(|&cause| is_full(cause))?;
        let (from, to) = (earlier.since, earlier.since + earlier.time);
        let seen = &next.circumstances;
        let queues = [
            (seen.path.qdisc_queue, VerdictKind::QdiscQueueing),
            (seen.path.queue, VerdictKind::BottleneckLink),
        ];
        let is_most = |within: Nanos| within.0 > earlier.time.0 / 2;
        let mut on_link = queues
            .into_iter()
            .filter(|(queue, _)| queue.is_some_and(|queue| is_most(queue.within(from, to))));
        let cause = on_link.next().map_or(cause, |(_, kind)| Cause::Of(kind));
        Some(Ahead { cause, left: earlier.time })
    }
}
