//! Messages that have not arrived, one by one. Everything that is said of them is summed up from these.
//!
//! ```text
//! publisher ──▶ socket ─────▶ broker ──▶ socket ─────▶ subscriber
//!      Network  BrokerQueue   Broker     ReaderQueue
//!               Throttled
//!
//! by subscriber and topic          `under_way`   slow subscribers, and who left before it had everything
//! by row, place, leg and process   `overdue`     verdicts about what is open, and whose state is looked at
//! by row, without a reader         `overdue`     messages that were abandoned
//! ```

use super::{Deliveries, Observed};
use crate::join::{LegState, Message};
use wirelap_events::Nanos;
use wirelap_flow::{Flow, Marks};
use wirelap_why::Whereabouts;

/// Tells whether the bytes of a leg lie unread in a socket.
pub type LiesUnread = fn(&Deliveries, &Flow, &LegState, Observed<'_>) -> bool;

/// A leg of a message that no delivery was handed out with.
#[derive(Clone, Copy)]
pub struct Outstanding<'a> {
    pub message: &'a Message,
    pub leg: &'a LegState,
    /// True if whoever gets the message on this leg is to pass it on.
    pub goes_on: bool,
}

impl Deliveries {
    /// The messages that were found before a time and have not arrived, but for those of which that is not known because of a pause.
    pub(super) fn outstanding<'a>(
        &'a self,
        before: Nanos,
        seen: Observed<'a>,
    ) -> impl Iterator<Item = Outstanding<'a>> {
        self.uncut(self.messages.unfinished(before), seen)
    }

    /// The messages that a server keeps in its log and that nobody has got, but for those of which that is not known because of a pause.
    pub(super) fn kept_for_nobody<'a>(
        &'a self,
        seen: Observed<'a>,
    ) -> impl Iterator<Item = Outstanding<'a>> {
        self.uncut(self.messages.kept_for_nobody(), seen)
    }

    /// Those of these messages that no pause has cut.
    fn uncut<'a>(
        &'a self,
        all: impl Iterator<Item = (&'a Message, &'a LegState)>,
        seen: Observed<'a>,
    ) -> impl Iterator<Item = Outstanding<'a>> {
        let whole = all.filter(move |(message, _)| !seen.coverage.pauses().has_cut(message.at));
        whole.map(move |(message, leg)| {
            let goes_on = self.messages.goes_on(message, leg);
            Outstanding { message, leg, goes_on }
        })
    }

    /// The place of a message that has not arrived; `None` where it is not known to be anywhere on this host.
    pub(super) fn place_of(
        &self,
        one: &Outstanding<'_>,
        flow: &Flow,
        lies_unread: LiesUnread,
        seen: Observed<'_>,
    ) -> Option<Whereabouts> {
        if one.leg.was_read() {
            return one.goes_on.then_some(Whereabouts::Broker);
        }
        if !lies_unread(self, flow, one.leg, seen) {
            return None;
        }
        match (self.has_arrived(flow, one.leg), one.goes_on) {
            // A socket that is closed sends nothing again.
            (Some(false), _) if is_sender_closed(flow, seen) => None,
            (Some(false), _) => Some(Whereabouts::Network),
            (_, false) => Some(Whereabouts::ReaderQueue),
            (_, true) if is_throttled(flow, seen.coverage.now()) => Some(Whereabouts::Throttled),
            (_, true) => Some(Whereabouts::BrokerQueue),
        }
    }

    /// True if a leg's bytes are in their receiver's socket; `None` if that is not observed. Then its reader is the likelier place: both
    /// ends are on this host.
    pub(super) fn has_arrived(&self, flow: &Flow, leg: &LegState) -> Option<bool> {
        flow.marks.has_arrived(leg.extent, self.config.sees_packets())
    }

    /// True if a message that nobody read on this host is on its way to another one, which has not acknowledged it.
    pub(super) fn is_leaving_host(&self, flow: &Flow, leg: &LegState) -> bool {
        let Marks::Tcp(marks) = &flow.marks else { return false };
        !leg.was_read()
            && !self.config.packets_only
            && flow.receiver.is_none()
            && marks.hears()
            && !marks.was_heard(leg.extent.last())
    }
}

/// True if the socket that sends a flow is closed, and so keeps nothing that is still to arrive.
fn is_sender_closed(flow: &Flow, seen: Observed<'_>) -> bool {
    // What was closed long ago is forgotten.
    flow.sender.is_some_and(|id| !seen.conversations.sockets().is_open(id))
}

/// True if the receiver of a flow has said that it reads nothing from it now.
pub fn is_throttled(flow: &Flow, now: Nanos) -> bool {
    flow.reader_pauses
        .throttles
        .as_ref()
        .is_some_and(|all| all.within(now, now + Nanos(1)) > Nanos(0))
}
