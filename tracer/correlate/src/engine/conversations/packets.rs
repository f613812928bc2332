//! Packets: bytes in order, marks, the ledger.

use super::super::accounts::Accounts;
use super::Conversations;
use crate::join::Messages;
use wirelap_events::{Nanos, Packet, PacketKind, Saturate, Transport};
use wirelap_flow::Direction;

impl Conversations {
    /// Takes a packet in. Returns the direction that it goes, on which messages may have been found. Legs of `messages` are moved
    /// where two conversations turn out to be one.
    pub fn packet(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        messages: &mut Messages,
        accounts: &mut Accounts,
    ) -> Option<Direction> {
        if packet.kind == PacketKind::IcmpError {
            self.refused(packet);
            return None;
        }
        match (packet.flow.transport, &packet.tcp) {
            (Transport::Tcp, Some(tcp)) => self.tcp_packet(at, packet, tcp, messages, accounts),
            (Transport::Tcp, None) => {
                accounts.totals.anomalies.grow(1);
                None
            }
            (Transport::Udp, _) => self.udp_packet(at, packet, messages, accounts),
        }
    }

    /// The direction of a packet. A conversation of which only the `last` packet is seen ends with it.
    pub(super) fn direction_of(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        last: bool,
        accounts: &mut Accounts,
    ) -> Direction {
        if let Some(direction) = self.flows.find_in(packet.flow, packet.netns, packet.tcp.as_ref())
        {
            return direction;
        }
        self.make_room(accounts);
        let direction = self.flows.add(packet.flow, packet.netns, at, &self.config);
        if last {
            self.ends(at, direction);
        }
        direction
    }

    /// Somebody answers a packet of the other direction with an error: bytes of that conversation.
    fn refused(&mut self, packet: &Packet<'_>) {
        let Some(direction) = self.flows.find(packet.flow) else {
            return;
        };
        let Some(conversation) = self.flows.get_mut(direction) else {
            return;
        };
        if conversation.flow_mut(direction.side).packets.devices.counts(packet, false) {
            conversation.ledger.packet(direction.side, packet, 0);
        }
    }
}
