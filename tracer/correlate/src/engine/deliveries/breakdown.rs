//! Figures that messages add to the rows that the user asked for.

use super::super::conversations::Conversations;
use super::Context;
use crate::breakdown::{ClientNames, Dimension, Introduction, MessageEnd, Owner, ReaderGroup};
use crate::ids::Direction;
use crate::lag::Pair;
use wirelap_events::{Delivery, FlowId, GroupId, Nanos, Pid, TopicId};
use wirelap_protocols::Protocol;

/// The group in which who gets messages in this direction reads.
fn members_of(
    direction: Direction,
    conversations: &Conversations,
    clients: &ClientNames,
) -> Option<TopicId> {
    let back = direction.back();
    let address = || Some(conversations.flows().flow(back)?.key.src.ip());
    let pid = conversations.sender_of(back);
    let owner = pid.map(Owner::Process).or_else(|| address().map(Owner::Address))?;
    clients.group(back.id(), owner)
}

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

    /// Forgets who is behind on topics that another member of its group gets now.
    pub(super) fn drop_handed_over(&mut self, now: Nanos) {
        let (clients, conversations) = (&self.accounts.clients, &*self.conversations);
        let group_of = |pair: &Pair| members_of(pair.direction, conversations, clients);
        self.accounts.lag.drop_handed_over(now, group_of);
    }

    /// The group in which who gets messages in this direction reads.
    pub(super) fn members_of(&self, direction: Direction) -> Option<TopicId> {
        members_of(direction, self.conversations, &self.accounts.clients)
    }

    /// Looks who has missed messages that a broker sends at once to who is there.
    pub(super) fn look_for_missing(&mut self, now: Nanos) {
        let conversations = &*self.conversations;
        let should_get_all = |pair: &Pair| {
            let Some(conversation) = conversations.flows().get(pair.direction) else {
                return false;
            };
            // Who publishes itself may not want its own messages.
            let publishes = conversation.flow(pair.direction.back().side).messages.count > 0;
            let is_told = |protocol: &dyn Protocol| {
                protocol.hears_unsubscriptions() && !protocol.keeps_messages()
            };
            !publishes && conversation.protocol().is_some_and(is_told)
        };
        let reader_of = |pair: &Pair| conversations.receiver_of(pair.direction);
        self.accounts.lag.look_for_missing(now, should_get_all, reader_of);
    }

    /// Notes who was behind at the last look and is gone by now, and who has come back.
    pub(super) fn note_gone(&mut self) {
        let (conversations, clients) = (&*self.conversations, &self.accounts.clients);
        self.accounts.behind.note_gone(&self.accounts.lag, |behind| {
            let conversation = conversations.flows().get(behind.direction);
            if conversation.is_some_and(|conversation| !conversation.life.is_closed) {
                return None;
            }
            conversations.closing_of((behind.direction, behind.pid))
        });
        self.accounts.behind.look_for_returned(&self.accounts.lag, |((flow, _), _)| {
            // The other direction of the same conversation.
            clients.of(FlowId(flow.0 ^ 1))
        });
        let group_of = |pair: &Pair| members_of(pair.direction, conversations, clients);
        self.accounts.behind.look_for_taken_over(&self.accounts.lag, group_of);
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
            group: ReaderGroup::None,
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
        let end = MessageEnd { flow, addresses, pid, client: clients.of(flow), group };
        let of = (delivery.group, delivery.topic);
        breakdown.delivered(of, &end, delivery.payload_len, one_way);
    }
}
