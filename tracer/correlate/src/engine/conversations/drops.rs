//! Packets that this host threw away, and segments that TCP sent again.

use super::Conversations;
use crate::rows::Rows;
use wirelap_events::{
    ByteRange, DropCause, DroppedPacket, Nanos, Retransmit, TcpFields, Transport, tcp_flags,
};
use wirelap_flow::{Direction, Marks, State};

/// Directions that are remembered because bytes may be stuck on them.
const STUCK: usize = 64;

impl Conversations {
    /// A packet was thrown away. That a datagram's message is lost is recognised by its never being read. What TCP
    /// sends is never lost: it comes again.
    pub fn dropped(&mut self, at: Nanos, drop: &DroppedPacket, rows: &mut Rows) {
        let Some(direction) = self.flows.seek_anywhere(drop.flow, drop.tcp.as_ref()) else {
            return;
        };
        let is_lost = match (drop.flow.transport, &drop.tcp) {
            (Transport::Udp, _) => drop.len > 0,
            (Transport::Tcp, Some(tcp)) => self.segment_dropped(at, direction, drop, tcp),
            (Transport::Tcp, None) => false,
        };
        let is_twice = drop.cause == DropCause::Duplicate && drop.len > 0;
        if (is_lost || is_twice)
            && let Some(row) = self.row_of(direction, rows)
        {
            // Of a group's datagram, each member has a copy, and it is not said whose was thrown away.
            let is_for_one = !drop.flow.dst.ip().is_multicast();
            let reader = self.receiver_of(direction).filter(|_| is_for_one);
            let Some(row) = rows.get_mut(row) else { return };
            match drop.flow.transport {
                Transport::Udp => row.evidence.dropped(drop.cause, reader),
                Transport::Tcp if is_twice => row.evidence.segment_twice(),
                Transport::Tcp => row.evidence.segment_dropped(drop.cause),
            }
        }
    }

    /// TCP's bytes, or an acknowledgement, were thrown away. Returns whether bytes were lost with it.
    fn segment_dropped(
        &mut self,
        at: Nanos,
        direction: Direction,
        drop: &DroppedPacket,
        tcp: &TcpFields,
    ) -> bool {
        if tcp.flags & (tcp_flags::SYN | tcp_flags::RST) != 0 {
            return false;
        }
        // A socket that is full, or has the bytes already, has heard the acknowledgement.
        let is_heard = matches!(drop.cause, DropCause::SocketBuffer | DropCause::Duplicate);
        if !is_heard && tcp.flags & tcp_flags::ACK != 0 {
            self.acknowledgement_dropped(at, direction.back(), drop.cause, tcp);
        }
        let Some(flow) = self.flows.flow_mut(direction) else {
            return false;
        };
        // What nobody may ever have sent must not move what is known of the flow.
        let mut unwrap = flow.unwrap;
        let start = unwrap.offset(tcp.seq).filter(|_| flow.unwrap.is_based());
        let (Some(start), Marks::Tcp(marks)) = (start, &mut flow.marks) else {
            return false;
        };
        let range = ByteRange::new(start, u64::from(drop.len));
        let is_known =
            drop.outward || !flow.packets.devices.is_sent_here() || marks.has_left(range);
        if is_known {
            marks.note_drop(range, drop);
        }
        !range.is_empty()
            && is_known
            && marks.dropped(range, at, drop.cause, drop.outward, drop.queued)
    }

    fn acknowledgement_dropped(
        &mut self,
        at: Nanos,
        direction: Direction,
        cause: DropCause,
        tcp: &TcpFields,
    ) {
        let Some(flow) = self.flows.flow_mut(direction).filter(|flow| flow.unwrap.is_based())
        else {
            return;
        };
        let Some(upto) = flow.counter(tcp.ack) else {
            return;
        };
        if let Marks::Tcp(marks) = &mut flow.marks {
            marks.unheard(upto, at, cause);
        }
    }

    /// TCP sends a segment again.
    pub fn retransmit(&mut self, at: Nanos, retransmit: &Retransmit) {
        let Some(direction) = self.sockets.get(retransmit.socket).and_then(|entry| entry.tx) else {
            return;
        };
        let Some(conversation) = self.flows.get_mut(direction) else {
            return;
        };
        conversation.ledger.resent();
        // Of what is only counted, no acknowledgement is looked at.
        if matches!(conversation.state, State::Ignored) {
            return;
        }
        let flow = conversation.flow_mut(direction.side);
        if let Some(start) = flow.unwrap.offset(retransmit.start)
            && let Marks::Tcp(marks) = &mut flow.marks
        {
            let range = ByteRange::new(start, u64::from(retransmit.len));
            if !range.is_empty() {
                marks.resent(range, at, retransmit.recovery);
                if marks.stuck().is_some() && !self.stuck.contains(&direction) {
                    if self.stuck.len() >= STUCK {
                        self.stuck.pop_front();
                    }
                    self.stuck.push_back(direction);
                }
            }
        }
    }
}
