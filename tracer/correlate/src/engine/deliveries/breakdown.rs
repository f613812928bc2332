//! Figures that messages add to the rows that the user asked for.

use super::Context;
use std::net::SocketAddr;
use wirelap_events::{Delivery, FlowId, GroupId, Leg, LegHosts, Nanos, Pid, Stage, TopicId};
use wirelap_figures::{Dimension, Introduction, LinkEnd, MessageEnd, Owner, ReaderGroup};
use wirelap_flow::Direction;

impl Context<'_> {
    /// Takes in what ends said of themselves.
    pub(super) fn note_introduced(&mut self, direction: Direction) {
        if self.conversations.found_mut().introduced.is_empty() {
            return;
        }
        let mut introduced = std::mem::take(&mut self.conversations.found_mut().introduced);
        for (side, said) in introduced.drain(..) {
            let direction = Direction { side, ..direction };
            if let Introduction::Client { name, .. } = said
                && let Some(conversation) = self.conversations.flows_mut().get_mut(direction)
                && conversation.participants[side as usize] != name
            {
                // Its row may be that of the domain that this one takes part in.
                conversation.participants[side as usize] = name;
                conversation.row = None;
                if let Some(name) = name {
                    self.conversations.note_name(self.coverage.now(), direction, name);
                }
            }
            if let Some(flow) = self.conversations.flows().flow(direction)
                && let address = flow.key.src.ip()
                // Many are at the other end.
                && !address.is_multicast()
            {
                let pid = self.conversations.sockets().pid(flow.sender);
                let owner = pid.map_or(Owner::Address(address), Owner::Process);
                self.accounts.clients.introduce(direction.id(), owner, said);
            }
        }
        self.conversations.found_mut().introduced = introduced;
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
        // The legs of a message are counted when it has passed them.
        if breakdown.by.contains(&Dimension::Link) {
            return;
        }
        let Some(flow) = self.conversations.flows().flow(direction) else { return };
        let end = MessageEnd {
            flow: direction.id(),
            addresses: [flow.key.src, flow.key.dst],
            pid: self.conversations.sockets().pid(flow.sender),
            client: self.accounts.clients.of(direction.id()),
            group: ReaderGroup::None,
            link: None,
        };
        let group = self.accounts.rows.root(group);
        if is_sent {
            breakdown.sent(group, topic, &end);
        } else {
            breakdown.not_sent(group, topic, &end);
        }
    }

    /// A message was read.
    pub(super) fn note_delivered(
        &mut self,
        delivery: &Delivery,
        group: ReaderGroup,
        one_way: Option<Nanos>,
    ) {
        let Some(breakdown) = &mut self.accounts.breakdown else { return };
        let Some(last) = delivery.legs.last() else { return };
        let reader = last.reader.map(|task| task.pid).filter(|&pid| pid != Pid(0));
        // The other direction of the same conversation.
        let flow = FlowId(last.flow_range.flow.0 ^ 1);
        let addresses = [last.flow.dst, last.flow.src];
        let pid = reader.or_else(|| self.conversations.sockets().pid(last.to));
        let clients = &self.accounts.clients;
        let group = if group == ReaderGroup::Unknown && breakdown.by.contains(&Dimension::Group) {
            let owner = pid.map_or(Owner::Address(addresses[0].ip()), Owner::Process);
            clients.group(flow, owner).map_or(ReaderGroup::Unknown, ReaderGroup::Named)
        } else {
            group
        };
        let end = MessageEnd { flow, addresses, pid, client: clients.of(flow), group, link: None };
        let of = (delivery.group, delivery.topic);
        if breakdown.by.contains(&Dimension::Link) {
            for leg in &delivery.legs {
                let end = MessageEnd { link: Some(link(leg)), ..end };
                let error = leg.circumstances.path.hosts.error;
                breakdown.passed(of, &end, delivery.payload_len, took(leg), error);
            }
            return;
        }
        breakdown.delivered(of, &end, delivery.payload_len, one_way, delivery.clock_error);
    }
}

/// The hosts that a leg joins.
fn link(leg: &Leg) -> [LinkEnd; 2] {
    let LegHosts { from, to, .. } = leg.circumstances.path.hosts;
    let end = |number: u8, address: SocketAddr| match number {
        0 => LinkEnd::Address(address.ip()),
        number => LinkEnd::Host(number),
    };
    [end(from, leg.flow.src), end(to, leg.flow.dst)]
}

/// The time of a leg from its first stage until it was read; `None` if one of its ends was not seen, or if nothing is known of the clocks.
fn took(leg: &Leg) -> Option<Nanos> {
    let (first, from) = leg.times.seen().next()?;
    let read = leg.times.get(Stage::Read)?;
    let error = leg.circumstances.path.hosts.error;
    let is_known = first < Stage::Rx && error != LegHosts::UNKNOWN;
    is_known.then_some(read - from)
}
