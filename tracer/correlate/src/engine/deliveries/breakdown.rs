//! What messages add to the rows that the user asked for.

use super::Context;
use crate::breakdown::MessageEnd;
use crate::ids::Direction;
use wirelap_events::{Delivery, FlowId, GroupId, Nanos, Pid, TopicId};

impl Context<'_> {
    /// Takes in which names clients gave themselves.
    pub(super) fn note_clients(&mut self, direction: Direction) {
        let found = self.conversations.found_mut();
        if found.clients.is_empty() {
            return;
        }
        for (side, name) in found.clients.drain(..) {
            self.accounts.clients.name(Direction { side, ..direction }.id(), name);
        }
    }

    /// A message begins in this direction, or turns out not to.
    pub(super) fn note_sent(
        &mut self,
        direction: Direction,
        group: GroupId,
        topic: Option<TopicId>,
        is_sent: bool,
    ) {
        let Some(breakdown) = &mut self.accounts.breakdown else { return };
        let Some(flow) = self.conversations.flows().flow(direction) else { return };
        let end = MessageEnd {
            flow: direction.id(),
            addresses: [flow.key.src, flow.key.dst],
            pid: self.conversations.sockets().pid(flow.sender),
            client: self.accounts.clients.of(direction.id()),
        };
        let group = self.accounts.rows.root(group);
        if is_sent {
            breakdown.sent(group, topic, &end);
        } else {
            breakdown.not_sent(group, topic, &end);
        }
    }

    /// A message was read.
    pub(super) fn note_delivered(&mut self, delivery: &Delivery, one_way: Option<Nanos>) {
        let Some(breakdown) = &mut self.accounts.breakdown else { return };
        let Some(last) = delivery.legs.last() else { return };
        let reader = last.reader.map(|task| task.pid).filter(|&pid| pid != Pid(0));
        // The other direction of the same conversation.
        let flow = FlowId(last.flow_range.flow.0 ^ 1);
        let end = MessageEnd {
            flow,
            addresses: [last.flow.dst, last.flow.src],
            pid: reader.or_else(|| self.conversations.sockets().pid(last.to)),
            client: self.accounts.clients.of(flow),
        };
        let of = (delivery.group, delivery.topic);
        breakdown.delivered(of, &end, delivery.payload_len, one_way);
    }
}
