//! Datagrams: bytes, marks, the ledger.

use super::super::accounts::Accounts;
use super::super::sockets::Outgoing;
use super::super::totals::Totals;
use super::Conversations;
use crate::join::Messages;
use wirelap_events::{
    FlowRange, Nanos, Packet, PacketHook, PacketKind, Saturate, SocketId, Transport,
};
use wirelap_flow::{Direction, Marks, State, UdpMarks};

/// Packets in memory that are remembered; when there are more, those of flows that are gone go.
const PACKETS: usize = 262_144;

impl Conversations {
    pub(super) fn udp_packet(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        messages: &mut Messages,
        accounts: &mut Accounts,
    ) -> Option<Direction> {
        let known = self.datagrams.get(&packet.id).copied();
        if matches!(packet.kind, PacketKind::Fragment { start, .. } if start > 0) {
            return self.later_fragment(at, packet, known);
        }
        let direction = self.direction_of(at, packet, false, accounts);
        let direction =
            known.map_or(direction, |known| self.same_datagram(packet, known, direction, messages));
        let conversation = self.flows.get_mut(direction)?;
        conversation.life.note_event(at);
        if matches!(conversation.state, State::Ignored) {
            conversation.count_datagram(direction.side, packet, at);
            return None;
        }
        let flow = conversation.flow_mut(direction.side);
        let is_sent_here = flow.packets.devices.is_sent_here();
        let Marks::Udp(marks) = &mut flow.marks else {
            return None;
        };
        let same = again(marks, known.filter(|&(w, _)| w == direction), packet, at, is_sent_here);
        let same = same.or_else(|| {
            let may_be_late = packet.hook == PacketHook::Xmit && self.clock_error > Nanos(0);
            let late = may_be_late.then(|| marks.leaves_late(packet, at, self.clock_error))??;
            flow.packets.devices.counts(packet, true);
            Some(late)
        });
        let number = if let Some(number) = same {
            // At another host, it has other memory, which is what that host's reads name.
            if self.clock_error > Nanos(0) && known != Some((direction, number)) {
                self.remember(packet, direction, number, &mut accounts.totals);
            }
            number
        } else {
            let (number, range) = marks.add(packet, at, known);
            flow.packets.devices.counts(packet, packet.hook == PacketHook::Xmit);
            conversation.ledger.packet(direction.side, packet, 0);
            conversation.unread.count(direction.side, u64::from(packet.payload_len), at);
            conversation.datagram_packet(direction.side, range, (packet, at), &mut self.found);
            self.note_control_frames(at, direction);
            self.remember(packet, direction, number, &mut accounts.totals);
            number
        };
        if packet.hook == PacketHook::Rx
            && let Some(flow) = self.flows.flow_mut(direction)
        {
            flow.packets.devices.note_received(packet.netns.host(), || same.is_some());
        }
        self.carries(direction, number);
        // Only loopback counts no link header.
        if packet.hook == PacketHook::Xmit && packet.link_header == 0 {
            self.add_to_inbox(packet, direction, number);
        }
        match (packet.hook, packet.socket) {
            (PacketHook::Rx, _) => self.add_to_inbox(packet, direction, number),
            (PacketHook::Xmit, Some(socket))
                if same.is_none() || self.leaves_now(at, direction, number) =>
            {
                self.leaves(at, packet, socket, direction, number);
            }
            (PacketHook::Xmit, _) => {}
        }
        self.activate(direction);
        Some(direction)
    }

    /// A datagram of a conversation that is muted. Where its receiver has a socket that others use as well, it is remembered that it
    /// came: a read of that socket may take it.
    pub fn muted_datagram(&mut self, at: Nanos, packet: &Packet<'_>, totals: &mut Totals) {
        if packet.flow.transport != Transport::Udp
            || matches!(packet.kind, PacketKind::Fragment { start, .. } if start > 0)
        {
            return;
        }
        let Some(direction) = self.flows.find(packet.flow) else { return };
        let known = self.datagrams.get(&packet.id).copied();
        let Some(flow) = self.flows.flow_mut(direction) else { return };
        if flow.receiver.is_some_and(|receiver| self.sockets.is_muted(receiver, at)) {
            return;
        }
        let is_sent_here = flow.packets.devices.is_sent_here();
        let Marks::Udp(marks) = &mut flow.marks else { return };
        let same = known.filter(|&(of, _)| of == direction);
        let number = if let Some(number) = again(marks, same, packet, at, is_sent_here) {
            number
        } else {
            let (number, _) = marks.add(packet, at, known);
            self.remember(packet, direction, number, totals);
            number
        };
        if packet.hook == PacketHook::Rx || packet.link_header == 0 {
            self.add_to_inbox(packet, direction, number);
        }
    }

    /// The packet at hand is this datagram's.
    fn carries(&mut self, direction: Direction, number: u64) {
        let flow = self.flows.flow(direction);
        let datagram = flow.and_then(|flow| match &flow.marks {
            Marks::Udp(marks) => marks.get(number),
            Marks::Tcp(_) => None,
        });
        self.carried = datagram.map(|sent| FlowRange { flow: direction.id(), range: sent.range });
    }

    /// True if a datagram that was seen before is first seen to leave at this time: its group has readers on this host, who got a copy.
    fn leaves_now(&self, at: Nanos, direction: Direction, number: u64) -> bool {
        let flow = self.flows.flow(direction);
        flow.is_some_and(|flow| match &flow.marks {
            Marks::Udp(marks) => marks.get(number).is_some_and(|sent| sent.xmit == Some(at)),
            Marks::Tcp(_) => false,
        })
    }

    /// A fragment without ports: what is known of the first one's datagram holds for it. One whose
    /// datagram is not known any more only costs bytes.
    fn later_fragment(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        known: Option<(Direction, u64)>,
    ) -> Option<Direction> {
        let direction = self.flows.find(packet.flow)?;
        let conversation = self.flows.get_mut(direction)?;
        conversation.life.note_event(at);
        if matches!(conversation.state, State::Ignored) {
            conversation.count_datagram(direction.side, packet, at);
            return None;
        }
        let flow = conversation.flow_mut(direction.side);
        let Marks::Udp(marks) = &mut flow.marks else {
            return None;
        };
        let number = known.filter(|&(of, _)| of == direction).map(|(_, number)| number);
        let Some(number) = number.filter(|&number| marks.get(number).is_some()) else {
            if flow.packets.devices.counts(packet, false) {
                conversation.ledger.packet(direction.side, packet, 0);
            }
            return None;
        };
        if let Some(range) = marks.fragment(number, packet, at) {
            conversation.ledger.packet(direction.side, packet, 0);
            conversation.datagram_packet(direction.side, range, (packet, at), &mut self.found);
        }
        if packet.hook == PacketHook::Rx {
            self.add_to_inbox(packet, direction, number);
        }
        self.activate(direction);
        Some(direction)
    }

    fn remember(
        &mut self,
        packet: &Packet<'_>,
        direction: Direction,
        number: u64,
        totals: &mut Totals,
    ) {
        if self.datagrams.len() >= PACKETS && !self.datagrams.contains_key(&packet.id) {
            let flows = &self.flows;
            self.datagrams.retain(|_, (direction, number)| {
                flows.flow(*direction).is_some_and(
                    |flow| matches!(&flow.marks, Marks::Udp(marks) if marks.get(*number).is_some()),
                )
            });
            if self.datagrams.len() >= PACKETS {
                self.datagrams.clear();
                totals.evicted.grow(1);
            }
        }
        self.datagrams.insert(packet.id, (direction, number));
    }

    /// A datagram leaves `socket`: its send call is reported later, or was before if a qdisc held it.
    fn leaves(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        socket: SocketId,
        direction: Direction,
        number: u64,
    ) {
        let left = packet.queued.unwrap_or(at);
        let Some(flow) = self.flows.flow_mut(direction) else {
            return;
        };
        flow.sender = Some(socket);
        let Some(entry) = self.sockets.get_mut(socket) else {
            return;
        };
        let own = entry.datagrams();
        let call = own.calls.iter().find(|call| call.spans(left));
        if let (Some(call), Marks::Udp(marks)) = (call, &mut flow.marks) {
            marks.sent(number, call.sending, &call.led);
        } else {
            own.put_out(Outgoing { direction, number, tid: packet.task.tid, left });
        }
    }
}

/// The datagram that `packet` is, if it was seen before: by its memory, or, for a packet that was
/// copied on its way, by its place in the order of its flow.
fn again(
    marks: &mut UdpMarks,
    known: Option<(Direction, u64)>,
    packet: &Packet<'_>,
    at: Nanos,
    is_sent_here: bool,
) -> Option<u64> {
    if let Some((_, number)) = known
        && marks.again(number, packet, at)
    {
        return Some(number);
    }
    if packet.hook == PacketHook::Xmit || !is_sent_here {
        return None;
    }
    let number = marks.unreceived(packet.datagram_len(), at)?;
    marks.again(number, packet, at).then_some(number)
}
