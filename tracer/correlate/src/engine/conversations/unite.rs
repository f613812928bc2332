//! Two conversations that turn out to be one.

use super::Conversations;
use crate::join::Messages;
use wirelap_events::{FlowKey, Nanos, Packet, PacketHook, Saturate, TcpFields};
use wirelap_flow::{COMPARED, Conversation, Direction, Marks};

impl Conversations {
    /// The conversation that a packet is of: another one than its addresses tell if they were translated.
    pub(super) fn same_elsewhere(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        tcp: &TcpFields,
        direction: Direction,
        messages: &mut Messages,
    ) -> Direction {
        let Some(conversation) = self.flows.get_mut(direction) else {
            return direction;
        };
        if conversation.places.compared >= COMPARED {
            return direction;
        }
        conversation.places.compared.grow(1);
        let seen = self.recent_packets.see(at, packet, tcp, direction);
        match self.socket_of(packet, direction).or(seen) {
            Some((before, key)) if self.flows.get(before).is_some() => {
                self.unite((before, key), (direction, packet.flow), messages)
            }
            _ => direction,
        }
    }

    /// The conversation that a datagram is of, which was seen in the same memory before: a router that translates addresses
    /// sends on what it got.
    pub(super) fn same_datagram(
        &mut self,
        packet: &Packet<'_>,
        (before, number): (Direction, u64),
        direction: Direction,
        messages: &mut Messages,
    ) -> Direction {
        if before.serial == direction.serial {
            return direction;
        }
        let Some(flow) = self.flows.flow(before) else {
            return direction;
        };
        let key = flow.key;
        let goes_on = match &flow.marks {
            Marks::Udp(marks) => {
                marks.goes_on(number, packet)
                    && marks.get(number).is_some_and(|datagram| {
                        datagram.range.len() == u64::from(packet.datagram_len())
                    })
            }
            Marks::Tcp(_) => false,
        };
        let Some(conversation) = self.flows.get_mut(direction).filter(|_| goes_on) else {
            return direction;
        };
        if conversation.places.compared >= COMPARED {
            return direction;
        }
        conversation.places.compared.grow(1);
        self.unite((before, key), (direction, packet.flow), messages)
    }

    /// The conversation that the sending socket of a packet has, if it has other addresses than the packet.
    fn socket_of(&self, packet: &Packet<'_>, direction: Direction) -> Option<(Direction, FlowKey)> {
        let socket = packet.socket.filter(|_| packet.hook == PacketHook::Xmit)?;
        let of = self.sockets.get(socket)?.tx.filter(|of| of.serial != direction.serial)?;
        let key = self.flows.flow(of)?.key;
        // The addresses of one that was replaced by a newer one are the same.
        (key != packet.flow).then_some((of, key))
    }

    /// Makes one of two. A packet was in the first direction with the first addresses, and then on the second with the second.
    fn unite(
        &mut self,
        first: (Direction, FlowKey),
        second: (Direction, FlowKey),
        messages: &mut Messages,
    ) -> Direction {
        let carried = |direction| self.flows.get(direction).map_or(0, Conversation::carried);
        let is_second = carried(second.0) > carried(first.0);
        let (keep, gone) = if is_second { (second.0, first.0) } else { (first.0, second.0) };
        let Some(mut other) = self.flows.remove(gone) else {
            return second.0;
        };
        for (keep, gone) in [(keep, gone), (keep.back(), gone.back())] {
            self.take_sockets(keep, gone, &other);
        }
        let Some(conversation) = self.flows.get_mut(keep) else {
            return second.0;
        };
        conversation.absorb(keep.side, &mut other, gone.side);
        let known = conversation.translation_mut();
        known.ends[keep.side as usize] = first.1.src;
        known.ends[keep.back().side as usize] = second.1.dst;
        (conversation.row, conversation.ends) = (None, None);
        for direction in [keep, keep.back()] {
            let legs = self
                .flows
                .flow(direction)
                .map(|flow| flow.messages.pending.clone())
                .unwrap_or_default();
            if let Some(ends) = self.ends_of(direction) {
                for leg in legs {
                    messages.change_direction(leg, direction, &ends);
                }
            }
        }
        let theirs = other.flow(gone.side).key;
        self.flows.add_alias(theirs, keep);
        for &key in other.places.aliases() {
            let side = if gone.side == wirelap_protocols::Side::A { keep } else { keep.back() };
            self.flows.add_alias(key, side);
        }
        self.activate(keep);
        keep
    }

    /// The sockets of one direction send and receive in another direction now.
    fn take_sockets(&mut self, keep: Direction, gone: Direction, other: &Conversation) {
        let theirs = other.flow(gone.side);
        let Some(flow) = self.flows.flow_mut(keep) else {
            return;
        };
        flow.sender = flow.sender.or(theirs.sender);
        flow.receiver = flow.receiver.or(theirs.receiver);
        for (socket, tx) in [(theirs.sender, keep), (theirs.receiver, keep.back())] {
            if let Some(entry) = socket.and_then(|socket| self.sockets.get_mut(socket)) {
                entry.tx = Some(tx);
            }
        }
    }
}
