//! Packets: bytes in order, marks, the ledger.

use super::correlator::Correlator;
use crate::flow::Conversation;
use crate::ids::Way;
use wirelap_events::{Nanos, Packet, Portion, Saturate, Transport};

impl Correlator {
    pub(crate) fn packet(&mut self, at: Nanos, packet: &Packet<'_>) {
        if packet.portion == Portion::Refusal {
            return self.refused(packet);
        }
        match (packet.flow.transport, &packet.tcp) {
            (Transport::Tcp, Some(tcp)) => self.tcp_packet(at, packet, tcp),
            (Transport::Tcp, None) => self.totals.anomalies.grow(1),
            (Transport::Udp, _) => self.udp_packet(at, packet),
        }
    }

    /// Forgets the conversations that matter least when there are too many.
    pub(crate) fn make_room(&mut self) {
        if self.flows.len() < self.config.max_flows {
            return;
        }
        for way in self.flows.idlest(|_, _| true) {
            self.give_up(way);
        }
    }

    fn give_up(&mut self, way: Way) {
        // Nothing is lost with one that has ended.
        let is_over = self.flows.get(way).is_some_and(|c| c.closed && !c.active);
        self.totals.evicted.grow(u64::from(!is_over));
        self.forget(way);
    }

    /// Forgets the conversations that matter least when all together hold on to too much memory. The one at hand stays.
    pub(super) fn weigh(&mut self, current: Way) {
        if self.flows.weigh(current) <= self.config.max_bytes {
            return;
        }
        let others = |way: Way, one: &Conversation| one.held > 0 && way.serial != current.serial;
        for way in self.flows.idlest(others) {
            self.give_up(way);
        }
    }

    /// The way of a packet. A conversation of which only the `last` packet is seen ends with it.
    pub(super) fn way_of(&mut self, at: Nanos, packet: &Packet<'_>, last: bool) -> Way {
        if let Some(way) = self.flows.find_in(packet.flow, packet.netns, packet.tcp.as_ref()) {
            return way;
        }
        self.make_room();
        let way = self.flows.add(packet.flow, packet.netns, at, &self.config);
        if last {
            self.ends(way);
        }
        way
    }

    /// Somebody answers a packet of the other direction with an error: bytes of that conversation.
    fn refused(&mut self, packet: &Packet<'_>) {
        let Some(way) = self.flows.find(packet.flow) else { return };
        let Some(conversation) = self.flows.get_mut(way) else { return };
        if conversation.flow_mut(way.side).devices.counts(packet, false) {
            conversation.ledger.packet(way.side, packet, 0);
        }
    }
}
