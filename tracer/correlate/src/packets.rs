//! Packets: bytes in order, marks, the ledger.

use crate::Correlator;
use crate::flow::{Claim, Conversation, Flow, Marks, Request, State, Way};
use crate::marks::UdpMarks;
use crate::sockets::Outgoing;
use wirelap_events::Saturate;
use wirelap_events::{
    ByteRange, Credit, DropCause, DroppedPacket, FlowRange, Nanos, Packet, PacketHook, Portion,
    Retransmit, SocketId, TcpFields, Transport, tcp_flags,
};

/// What a conversation that was given up sends after this long is looked at again.
const PAUSE: Nanos = Nanos::from_millis(1_000);

/// Packets in memory that are remembered; when there are more, those of flows that are gone go.
const PACKETS: usize = 262_144;

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
    fn weigh(&mut self, current: Way) {
        if self.flows.weigh(current) <= self.config.max_bytes {
            return;
        }
        let others = |way: Way, one: &Conversation| one.held > 0 && way.serial != current.serial;
        for way in self.flows.idlest(others) {
            self.give_up(way);
        }
    }

    /// The way of a packet. A conversation of which only the `last` packet is seen ends with it.
    fn way_of(&mut self, at: Nanos, packet: &Packet<'_>, last: bool) -> Way {
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

    fn tcp_packet(&mut self, at: Nanos, packet: &Packet<'_>, tcp: &TcpFields) {
        let way = if tcp.flags & tcp_flags::SYN == 0 {
            let last = tcp.flags & tcp_flags::FIN != 0;
            self.way_of(at, packet, last)
        } else {
            self.syn(at, packet, tcp)
        };
        if self.flows.get(way).is_some_and(|conversation| conversation.claim == Claim::Refused) {
            self.totals.anomalies.grow(1);
            return;
        }
        let way = self.same_elsewhere(at, packet, tcp, way);
        let Some(conversation) = self.flows.get_mut(way) else { return };
        if !conversation.accepts(way.side, packet, tcp) {
            self.totals.anomalies.grow(1);
            return;
        }
        let since = at - conversation.seen;
        conversation.seen = conversation.seen.max(at);
        if tcp.flags & tcp_flags::RST != 0 {
            self.ends(way);
        }
        let Some(conversation) = self.flows.get_mut(way) else { return };
        if !matches!(conversation.state, State::Decoding(..)) {
            conversation.count_unread(way.side, packet, tcp, at);
            if packet.payload_len > 0 && since > PAUSE {
                conversation.look_again();
            }
        }
        if matches!(conversation.state, State::Ignored) {
            let missing = u64::from(packet.payload_len).saturating_sub(packet.payload.len() as u64);
            conversation.watch(way.side, packet.payload, missing);
            return;
        }
        let flow = conversation.flow_mut(way.side);
        let Some(range) = flow.payload_range(tcp, packet.payload_len) else {
            self.totals.anomalies.grow(1);
            if flow.devices.counts(packet, false) {
                conversation.ledger.packet(way.side, packet, 0);
            }
            return;
        };
        let repeated = mark(flow, packet, range, at);
        self.carried = (!range.is_empty()).then_some(FlowRange { flow: way.id(), range });
        let sent_here = flow.devices.is_sent_here();
        if let Some(repeated) = repeated {
            conversation.ledger.packet(way.side, packet, repeated);
        }
        // The copy of a packet at its receiver, or on its way through a router, usually comes without its bytes.
        let is_copy = match packet.hook {
            PacketHook::Rx => sent_here,
            PacketHook::Xmit => repeated.is_none() && packet.socket.is_none(),
        };
        let tells_nothing = packet.payload.is_empty() && is_copy;
        if !range.is_empty() && !tells_nothing {
            conversation.packet(way.side, range, packet.payload, at, &mut self.found);
            self.note_asides(at, way);
        }
        if tcp.flags & tcp_flags::ACK != 0 {
            self.acknowledged(at, way.back(), packet.hook, tcp);
        }
        self.activate(way);
        self.sight_found(at, way);
        self.weigh(way);
    }

    /// Notes when there were frames that bear on messages and are none.
    fn note_asides(&mut self, at: Nanos, way: Way) {
        let Some(conversation) = self.flows.get_mut(way) else { return };
        let asides = std::mem::take(&mut conversation.asides);
        if let Some(end) = asides.asked {
            let after_loss = conversation.flow(way.back().side).came_late();
            let ask = asides.ask;
            let free_since = conversation.flow(way.back().side).last_arrived();
            let request = Request { at, end, free_since, after_loss, ask, ..Request::default() };
            conversation.flow_mut(way.side).asks(request);
        }
        if asides.room {
            let arrived = conversation.flow(way.back().side).last_arrived();
            let before = conversation.flow(way.side).room.map(|room| room.at);
            conversation.flow_mut(way.side).room = Some(made_room(at, arrived, before));
        }
        if asides.committed {
            conversation.flow_mut(way.back().side).answered_at_commit();
        }
        if asides.upkeep
            && let Some((row, _)) = conversation.row
            && let Some(row) = self.rows.get_mut(row)
        {
            row.note_upkeep(at);
        }
    }

    /// A packet was thrown away. That a datagram's message is lost is recognised by its never being read. What TCP
    /// sends is never lost: it comes again.
    pub(crate) fn dropped(&mut self, at: Nanos, drop: &DroppedPacket) {
        let Some(way) = self.flows.find(drop.flow) else { return };
        let is_lost = match (drop.flow.transport, &drop.tcp) {
            (Transport::Udp, _) => drop.len > 0,
            (Transport::Tcp, Some(tcp)) => self.segment_dropped(at, way, drop, tcp),
            (Transport::Tcp, None) => false,
        };
        if is_lost && let Some(row) = self.row_of(way) {
            let reader = self.receiver_of(way);
            let Some(row) = self.rows.get_mut(row) else { return };
            match drop.flow.transport {
                Transport::Udp => row.evidence.dropped(drop.cause, reader),
                Transport::Tcp => row.evidence.segment_dropped(drop.cause),
            }
        }
    }

    /// TCP's bytes, or an acknowledgement, were thrown away. Returns whether bytes were lost with it.
    fn segment_dropped(
        &mut self,
        at: Nanos,
        way: Way,
        drop: &DroppedPacket,
        tcp: &TcpFields,
    ) -> bool {
        if tcp.flags & (tcp_flags::SYN | tcp_flags::RST) != 0 {
            return false;
        }
        // A socket that is full, or has the bytes already, has heard the acknowledgement.
        let is_heard = matches!(drop.cause, DropCause::SocketBuffer | DropCause::Duplicate);
        if !is_heard && tcp.flags & tcp_flags::ACK != 0 {
            self.acknowledgement_dropped(at, way.back(), drop.cause, tcp);
        }
        let Some(flow) = self.flows.flow_mut(way) else { return false };
        // What nobody may ever have sent must not move what is known of the flow.
        let mut unwrap = flow.unwrap;
        let start = unwrap.offset(tcp.seq).filter(|_| flow.unwrap.is_based());
        let (Some(start), Marks::Tcp(marks)) = (start, &mut flow.marks) else { return false };
        let range = ByteRange::new(start, u64::from(drop.len));
        let is_known = drop.outward || !flow.devices.is_sent_here() || marks.has_left(range);
        !range.is_empty()
            && is_known
            && marks.dropped(range, at, drop.cause, drop.outward, drop.queued)
    }

    fn acknowledgement_dropped(&mut self, at: Nanos, way: Way, cause: DropCause, tcp: &TcpFields) {
        let Some(flow) = self.flows.flow_mut(way).filter(|flow| flow.unwrap.is_based()) else {
            return;
        };
        let Some(upto) = flow.counter(tcp.ack) else { return };
        if let Marks::Tcp(marks) = &mut flow.marks {
            marks.unheard(upto, at, cause);
        }
    }

    /// TCP sends a segment again.
    pub(crate) fn retransmit(&mut self, at: Nanos, retransmit: &Retransmit) {
        let Some(way) = self.sockets.get(retransmit.socket).and_then(|entry| entry.tx) else {
            return;
        };
        let Some(conversation) = self.flows.get_mut(way) else { return };
        conversation.ledger.resent();
        let flow = conversation.flow_mut(way.side);
        if let Some(start) = flow.unwrap.offset(retransmit.start)
            && let Marks::Tcp(marks) = &mut flow.marks
        {
            let range = ByteRange::new(start, u64::from(retransmit.len));
            if !range.is_empty() {
                marks.resent(range, at, retransmit.recovery);
            }
        }
    }

    fn syn(&mut self, at: Nanos, packet: &Packet<'_>, tcp: &TcpFields) -> Way {
        let way = self.flows.opened_by(packet.flow, packet.netns, tcp).unwrap_or_else(|| {
            self.make_room();
            self.flows.add(packet.flow, packet.netns, at, &self.config)
        });
        if let Some(conversation) = self.flows.get_mut(way) {
            let flow = conversation.flow_mut(way.side);
            if flow.isn.is_none() {
                flow.open(tcp.seq);
            }
            conversation.opened.get_or_insert(at);
            let is_reply = tcp.flags & tcp_flags::ACK != 0;
            conversation.server = Some(if is_reply { way.side } else { way.back().side });
        }
        way
    }

    /// What the receiver has acknowledged and no packet was seen of will not be seen.
    fn acknowledged(&mut self, at: Nanos, way: Way, hook: PacketHook, tcp: &TcpFields) {
        let packets_only = self.config.packets_only;
        let Some(flow) = self.flows.flow_mut(way).filter(|flow| flow.unwrap.is_based()) else {
            return;
        };
        let Some(upto) = flow.counter(tcp.ack) else { return };
        flow.seen_by(hook).acknowledged(upto);
        // Where the sockets' own numbers are known, a packet's claim proves nothing.
        if packets_only {
            flow.proven(upto);
        }
        if hook == PacketHook::Rx
            && let Marks::Tcp(marks) = &mut flow.marks
        {
            marks.acknowledged(upto, at);
        }
        if flow.bytes.is_waiting() {
            self.passed(way, upto);
        }
    }

    /// The receiver has everything before `upto`.
    pub(crate) fn passed(&mut self, way: Way, upto: wirelap_events::Offset) {
        if let Some(conversation) = self.flows.get_mut(way) {
            conversation.reassemble(way.side, &mut self.found, |flow, out| flow.passed(upto, out));
        }
    }

    fn udp_packet(&mut self, at: Nanos, packet: &Packet<'_>) {
        let known = self.packets.get(&packet.id).copied();
        if matches!(packet.portion, Portion::Fragment { start, .. } if start > 0) {
            return self.later_fragment(at, packet, known);
        }
        let way = self.way_of(at, packet, false);
        let way = known.map_or(way, |known| self.same_datagram(packet, known, way));
        let Some(conversation) = self.flows.get_mut(way) else { return };
        conversation.seen = conversation.seen.max(at);
        if matches!(conversation.state, State::Ignored) {
            conversation.count_datagram(way.side, packet, at);
            return;
        }
        let flow = conversation.flow_mut(way.side);
        let is_sent_here = flow.devices.is_sent_here();
        let Marks::Udp(marks) = &mut flow.marks else { return };
        let same = again(marks, known.filter(|&(w, _)| w == way), packet, at, is_sent_here);
        let number = if let Some(number) = same {
            number
        } else {
            let (number, range) = marks.add(packet, at, known);
            flow.devices.counts(packet, packet.hook == PacketHook::Xmit);
            conversation.ledger.packet(way.side, packet, 0);
            conversation.unread.count(way.side, u64::from(packet.payload_len), at);
            conversation.datagram_packet(way.side, range, packet, &mut self.found);
            self.note_asides(at, way);
            self.remember(packet, way, number);
            number
        };
        self.carries(way, number);
        // Only loopback counts no link header.
        if packet.hook == PacketHook::Xmit && packet.link_header == 0 {
            self.comes_in(packet, way, number);
        }
        match (packet.hook, packet.socket) {
            (PacketHook::Rx, _) => self.comes_in(packet, way, number),
            (PacketHook::Xmit, Some(socket)) if same.is_none() => {
                self.leaves(at, packet, socket, way, number);
            }
            (PacketHook::Xmit, _) => {}
        }
        self.activate(way);
        self.sight_found(at, way);
        self.weigh(way);
    }

    /// The packet at hand is this datagram's.
    fn carries(&mut self, way: Way, number: u64) {
        let flow = self.flows.flow(way);
        let datagram = flow.and_then(|flow| match &flow.marks {
            Marks::Udp(marks) => marks.get(number),
            Marks::Tcp(_) => None,
        });
        self.carried = datagram.map(|sent| FlowRange { flow: way.id(), range: sent.range });
    }

    /// A fragment without ports: what is known of the first one's datagram holds for it. One whose
    /// datagram is not known any more only costs bytes.
    fn later_fragment(&mut self, at: Nanos, packet: &Packet<'_>, known: Option<(Way, u64)>) {
        let Some(way) = self.flows.find(packet.flow) else { return };
        let Some(conversation) = self.flows.get_mut(way) else { return };
        conversation.seen = conversation.seen.max(at);
        if matches!(conversation.state, State::Ignored) {
            conversation.count_datagram(way.side, packet, at);
            return;
        }
        let flow = conversation.flow_mut(way.side);
        let Marks::Udp(marks) = &mut flow.marks else { return };
        let number = known.filter(|&(of, _)| of == way).map(|(_, number)| number);
        let Some(number) = number.filter(|&number| marks.get(number).is_some()) else {
            if flow.devices.counts(packet, false) {
                conversation.ledger.packet(way.side, packet, 0);
            }
            return;
        };
        if let Some(range) = marks.fragment(number, packet, at) {
            conversation.ledger.packet(way.side, packet, 0);
            conversation.datagram_packet(way.side, range, packet, &mut self.found);
        }
        if packet.hook == PacketHook::Rx {
            self.comes_in(packet, way, number);
        }
        self.activate(way);
        self.sight_found(at, way);
    }

    /// Somebody answers a packet of the other direction with an error: bytes of that conversation.
    fn refused(&mut self, packet: &Packet<'_>) {
        let Some(way) = self.flows.find(packet.flow) else { return };
        let Some(conversation) = self.flows.get_mut(way) else { return };
        if conversation.flow_mut(way.side).devices.counts(packet, false) {
            conversation.ledger.packet(way.side, packet, 0);
        }
    }

    fn remember(&mut self, packet: &Packet<'_>, way: Way, number: u64) {
        if self.packets.len() >= PACKETS && !self.packets.contains_key(&packet.id) {
            let flows = &self.flows;
            self.packets.retain(|_, (way, number)| {
                flows.flow(*way).is_some_and(
                    |flow| matches!(&flow.marks, Marks::Udp(marks) if marks.get(*number).is_some()),
                )
            });
            if self.packets.len() >= PACKETS {
                self.packets.clear();
                self.totals.evicted.grow(1);
            }
        }
        self.packets.insert(packet.id, (way, number));
    }

    /// A datagram leaves `socket`: its send call is reported later, or was before if a qdisc held it.
    fn leaves(&mut self, at: Nanos, packet: &Packet<'_>, socket: SocketId, way: Way, number: u64) {
        let left = packet.queued.unwrap_or(at);
        let Some(flow) = self.flows.flow_mut(way) else { return };
        flow.sender = Some(socket);
        let Some(entry) = self.sockets.get_mut(socket) else { return };
        let own = entry.datagrams();
        let call = own.calls.iter().find(|call| call.spans(left));
        if let (Some(call), Marks::Udp(marks)) = (call, &mut flow.marks) {
            marks.sent(number, call.sending, &call.led);
        } else {
            own.put_out(Outgoing { way, number, tid: packet.task.tid, left });
        }
    }
}

/// Marks a TCP packet. `Some` with the bytes that were sent before, if it is to be counted here.
fn mark(flow: &mut Flow, packet: &Packet<'_>, range: ByteRange, at: Nanos) -> Option<u64> {
    flow.seen_by(packet.hook).packet(range);
    let is_new = flow.carried.is_beyond(range);
    let counts = flow.devices.counts(packet, is_new);
    let Marks::Tcp(marks) = &mut flow.marks else { return None };
    match packet.hook {
        PacketHook::Xmit if counts => marks.xmit(range, packet.queued, at),
        PacketHook::Xmit => {}
        PacketHook::Rx => marks.rx(range, at, packet.deferred),
    }
    if packet.hook == PacketHook::Xmit
        && let Some(socket) = packet.socket
    {
        flow.sender.get_or_insert(socket);
    }
    counts.then(|| flow.carried.add(range))
}

/// The datagram that `packet` is, if it was seen before: by its memory, or, for a packet that was
/// copied on its way, by its place in the order of its flow.
fn again(
    marks: &mut UdpMarks,
    known: Option<(Way, u64)>,
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
/// A receiver acknowledged at `at` one of as many messages as ever, of which the last had arrived at `arrived`, when it had
/// done so at `before`. If it had them all for most of the time between, it is slow, and was so before.
fn made_room(at: Nanos, arrived: Option<Nanos>, before: Option<Nanos>) -> Credit {
    let slow = arrived.zip(before).is_some_and(|(arrived, before)| {
        let (had, between) = (at - arrived, at - before);
        had.0 >= between.0 / 2
    });
    Credit { at, free_since: if slow { Some(Nanos(0)) } else { arrived } }
}
