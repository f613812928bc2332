//! Packets: bytes in order, marks, the ledger.

use super::super::accounts::Accounts;
use super::Conversations;
use crate::ids::Way;
use crate::join::Messages;
use wirelap_events::{Nanos, Packet, PacketKind, Saturate, Transport};

impl Conversations {
    /// Takes a packet in. Returns the way that it goes, on which messages may have been found. Legs of `messages` are moved
    /// where two conversations turn out to be one.
    pub fn packet(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        messages: &mut Messages,
        accounts: &mut Accounts,
    ) -> Option<Way> {
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

    /// The way of a packet. A conversation of which only the `last` packet is seen ends with it.
    pub(super) fn way_of(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        last: bool,
        accounts: &mut Accounts,
    ) -> Way {
        if let Some(way) = self.flows.find_in(packet.flow, packet.netns, packet.tcp.as_ref()) {
            return way;
        }
        self.make_room(accounts);
        let way = self.flows.add(packet.flow, packet.netns, at, &self.config);
        if last {
            self.ends(way);
        }
        way
    }

    /// Somebody answers a packet of the other direction with an error: bytes of that conversation.
    fn refused(&mut self, packet: &Packet<'_>) {
        let Some(way) = self.flows.find(packet.flow) else {
            return;
        };
        let Some(conversation) = self.flows.get_mut(way) else {
            return;
        };
        if conversation.flow_mut(way.side).devices.counts(packet, false) {
            conversation.ledger.packet(way.side, packet, 0);
        }
    }
}
