//! TCP's packets: bytes in order, marks, the ledger.

use super::super::accounts::Accounts;
use super::Conversations;
use crate::join::Messages;
use wirelap_events::{
    ByteRange, FlowRange, Nanos, Offset, Packet, PacketHook, Saturate, TcpFields, WrittenBytes,
    tcp_flags,
};
use wirelap_flow::{
    Acknowledgement, Answered, Claim, Conversation, Direction, Flow, Marks, Request, State,
};
use wirelap_protocols::Side;

/// Time after which the bytes of a conversation that was given up are looked at again.
const PAUSE: Nanos = Nanos::from_millis(1_000);

impl Conversations {
    pub(super) fn tcp_packet(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        tcp: &TcpFields,
        messages: &mut Messages,
        accounts: &mut Accounts,
    ) -> Option<Direction> {
        let direction = if tcp.flags & tcp_flags::SYN == 0 {
            let last = tcp.flags & tcp_flags::FIN != 0;
            self.direction_of(at, packet, last, accounts)
        } else {
            self.syn(at, packet, tcp, accounts)
        };
        if self
            .flows
            .get(direction)
            .is_some_and(|conversation| conversation.places.claim == Claim::Refused)
        {
            accounts.totals.anomalies.grow(1);
            return None;
        }
        // What a conversation would not take tells nothing of it either, such as that it is the same as another one.
        let mut is_taken = self.accepts(direction, packet, tcp);
        let by_address = direction;
        let direction = if is_taken {
            self.same_elsewhere(at, packet, tcp, direction, messages)
        } else {
            direction
        };
        if direction != by_address {
            is_taken = self.accepts(direction, packet, tcp);
        }
        if !is_taken {
            accounts.totals.anomalies.grow(1);
            return None;
        }
        let conversation = self.flows.get_mut(direction)?;
        let has_no_reads = self.config.packets_only || conversation.is_subflow;
        let since = conversation.life.note_event(at);
        let is_answer = conversation.life.closed_by.is_some_and(|side| side != direction.side);
        if tcp.flags & (tcp_flags::FIN | tcp_flags::RST) != 0 {
            conversation.life.closed_by.get_or_insert(direction.side);
        }
        if tcp.flags & tcp_flags::RST != 0 {
            conversation.life.reset.get_or_insert((direction.side, at));
            self.note_refused(direction);
            self.ends(at, direction);
        }
        if packet.payload_len > 0 {
            self.note_processes(direction);
        }
        let conversation = self.flows.get_mut(direction)?;
        if packet.payload_len > 0
            && let Some(range) =
                conversation.flow_mut(direction.side).payload_range(tcp, packet.payload_len)
        {
            count_unread(conversation, direction.side, range, (at, since));
        }
        if matches!(conversation.state, State::Ignored) {
            let missing = u64::from(packet.payload_len).saturating_sub(packet.payload.len() as u64);
            conversation.watch(direction.side, packet.payload, missing);
            return None;
        }
        let flow = conversation.flow_mut(direction.side);
        let Some(range) = flow.payload_range(tcp, packet.payload_len) else {
            accounts.totals.anomalies.grow(1);
            if flow.packets.devices.counts(packet, false) {
                conversation.ledger.packet(direction.side, packet, 0);
            }
            return None;
        };
        let repeated = mark(flow, packet, range, at);
        self.carried = (!range.is_empty()).then_some(FlowRange { flow: direction.id(), range });
        let sent_here = flow.packets.devices.is_sent_here();
        if let Some(repeated) = repeated {
            conversation.ledger.packet(direction.side, packet, repeated);
        }
        // The copy of a packet at its receiver, or on its way through a router, usually comes without its bytes; so does one that a packet
        // filter makes (nftables' `dup`), which may leave before the packet itself.
        let is_copy = match packet.hook {
            PacketHook::Rx => sent_here,
            PacketHook::Xmit if packet.socket.is_some() => false,
            PacketHook::Xmit => repeated.is_none() || !self.config.packets_only,
        };
        let tells_nothing = packet.payload.is_empty() && is_copy;
        if !range.is_empty() && !tells_nothing {
            conversation.packet(direction.side, range, packet.payload, at, &mut self.found);
            self.note_control_frames(at, direction);
        }
        if has_no_reads && packet.hook == PacketHook::Rx {
            self.read_arrived(at, direction);
        }
        if tcp.flags & tcp_flags::ACK != 0 {
            let is_bare = packet.payload_len == 0;
            self.acknowledged(at, direction.back(), (packet.hook, is_bare), tcp);
        }
        // Where no sockets are seen, a connection has ended when both ends have said so.
        if self.config.packets_only && is_answer && tcp.flags & tcp_flags::FIN != 0 {
            self.ends(at, direction);
        }
        self.activate(direction);
        Some(direction)
    }

    /// Takes the bytes of a send in. Returns the direction that they go, on which messages may have been found.
    pub fn written(
        &mut self,
        at: Nanos,
        written: &WrittenBytes<'_>,
        accounts: &mut Accounts,
    ) -> Option<Direction> {
        let direction = self.tx_way(written.socket, &mut accounts.totals)?;
        self.note_processes(direction);
        let conversation = self.flows.get_mut(direction)?;
        let since = conversation.life.note_event(at);
        let Some(start) = conversation.flow_mut(direction.side).unwrap.offset(written.start) else {
            accounts.totals.anomalies.grow(1);
            return None;
        };
        let range = ByteRange::new(start, u64::from(written.len));
        count_unread(conversation, direction.side, range, (at, since));
        if matches!(conversation.state, State::Ignored) {
            let missing = range.len().saturating_sub(written.bytes.len() as u64);
            conversation.watch(direction.side, written.bytes, missing);
            return None;
        }
        self.carried = Some(FlowRange { flow: direction.id(), range });
        conversation.packet(direction.side, range, written.bytes, at, &mut self.found);
        self.note_control_frames(at, direction);
        self.activate(direction);
        Some(direction)
    }

    /// True if a packet can be of a conversation.
    fn accepts(&mut self, direction: Direction, packet: &Packet<'_>, tcp: &TcpFields) -> bool {
        let conversation = self.flows.get_mut(direction);
        conversation.is_some_and(|one| one.accepts(direction.side, packet, tcp))
    }

    /// Notes when there were frames that bear on messages and are none.
    pub(super) fn note_control_frames(&mut self, at: Nanos, direction: Direction) {
        let Some(conversation) = self.flows.get_mut(direction) else {
            return;
        };
        let control = std::mem::take(&mut conversation.control);
        if let Some(end) = control.asked {
            let after_loss = conversation.flow(direction.back().side).was_last_resent();
            let ask = control.ask;
            let answers = conversation.flow(direction.back().side);
            // Of a consumer on another host, it is left open if it or the way took the time.
            let reached = || answers.last_reached().filter(|_| conversation.copies_log());
            let free_since = answers.last_arrived().or_else(reached);
            let line = control.asked_line;
            let before = conversation.flow(direction.side).control().request_on(line).copied();
            let came =
                |before: &Request| conversation.flow(direction.back().side).arrived(before.answer?);
            if let Some(before) = before
                && let Some(came) = came(&before)
            {
                let control = conversation.flow_mut(direction.side).control_mut();
                control.note_arrived_answer(&before, came.min(at));
            }
            let by = conversation.flow(direction.side).writer_of(end);
            let seen = Request { at, by, end, line, free_since, ..Request::default() };
            let request = Request { after_loss, ask, ..seen };
            conversation.flow_mut(direction.side).control_mut().add_request(request);
        }
        let has_asked = control.asked.is_some();
        if control.subscribes {
            conversation.flow_mut(direction.side).control_mut().subscribed = at;
        }
        // Who gets messages already is there, whatever else it subscribes to.
        if control.set_up && conversation.flow(direction.back().side).messages.count == 0 {
            conversation.flow_mut(direction.side).control_mut().set_up = at;
        }
        for found in control.acknowledgements.into_iter().flatten() {
            let back = conversation.flow(direction.back().side);
            let had = found.message.and_then(|message| back.arrived(message));
            let full = found.full_with.and_then(|end| back.sent_at(end));
            let flow = conversation.flow_mut(direction.side);
            let answered = match had.zip(flow.sent_at(found.end)) {
                Some((had, sent)) => Answered::Within(had, sent),
                None => Answered::By(at),
            };
            let mut permits = flow.control_mut().permits.take().unwrap_or_default();
            let (end, by) = (found.end, flow.writer_of(found.end));
            let acknowledgement = Acknowledgement { at, end, full, answered, by };
            permits.acknowledged(found.line, &acknowledgement, found.permits_more, |end| {
                flow.arrived(end)
            });
            flow.control_mut().permits = Some(permits);
        }
        if let Some(throttle) = control.throttle {
            let client = conversation.flow_mut(direction.back().side);
            client.reader_pauses.throttles.get_or_insert_default().tell(at, throttle);
        }
        for side in [Side::A, Side::B] {
            if control.unsubscribes[side as usize] {
                conversation.flow_mut(side).control_mut().unsubscribed = Some(at);
            }
        }
        if control.resumes {
            conversation.flow_mut(direction.back().side).control_mut().resumes = true;
        }
        for (line, end) in control.answers.into_iter().flatten() {
            conversation.flow_mut(direction.back().side).control_mut().note_answered(line, end);
        }
        if control.committed {
            conversation.flow_mut(direction.back().side).control_mut().note_awaited_commit();
        }
        if has_asked {
            self.note_follower(direction);
        }
    }

    fn syn(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        tcp: &TcpFields,
        accounts: &mut Accounts,
    ) -> Direction {
        let direction = self.flows.opened_by(packet.flow, packet.netns, tcp).unwrap_or_else(|| {
            self.make_room(accounts);
            self.flows.add(packet.flow, packet.netns, at, &self.config)
        });
        if let Some(conversation) = self.flows.get_mut(direction) {
            let flow = conversation.flow_mut(direction.side);
            if flow.start.isn.is_none() {
                flow.open(tcp.seq);
            }
            conversation.life.opened.get_or_insert(at);
            let is_reply = tcp.flags & tcp_flags::ACK != 0;
            conversation.server =
                Some(if is_reply { direction.side } else { direction.back().side });
        }
        direction
    }

    /// Notes what the receiver acknowledges: bytes before that of which no packet was seen will not
    /// be seen.
    fn acknowledged(
        &mut self,
        at: Nanos,
        direction: Direction,
        (hook, is_bare): (PacketHook, bool),
        tcp: &TcpFields,
    ) {
        let packets_only = self.config.packets_only;
        let Some(flow) = self.flows.flow_mut(direction).filter(|flow| flow.unwrap.is_based())
        else {
            return;
        };
        let Some(upto) = flow.counter(tcp.ack) else {
            return;
        };
        if tcp.flags & tcp_flags::RST == 0 {
            flow.reader_pauses.note_window(tcp.window > 0, at);
        }
        flow.packets.seen_by(hook).acknowledged(upto);
        // Where the sockets' own numbers are known, a packet's claim proves nothing.
        if packets_only {
            flow.packets.prove_passed(upto);
        }
        if hook == PacketHook::Rx
            && let Marks::Tcp(marks) = &mut flow.marks
        {
            // Where the receiver is seen, its own reads tell more.
            if flow.receiver.is_none() {
                marks.heard(upto, at, is_bare);
            }
            marks.acknowledged(upto, at);
            marks.has_room(tcp.window > 0, at);
        }
        if flow.bytes.is_waiting() {
            self.passed(direction, upto);
        }
    }

    /// Takes bytes that arrived, in order, as read, where no reads are seen.
    fn read_arrived(&mut self, at: Nanos, direction: Direction) {
        if let Some(flow) = self.flows.flow_mut(direction)
            && let Some(next) = flow.bytes.next()
            && let Marks::Tcp(marks) = &mut flow.marks
        {
            marks.came_in(next, at);
        }
    }

    /// The receiver has everything before `upto`.
    pub(super) fn passed(&mut self, direction: Direction, upto: Offset) {
        if let Some(conversation) = self.flows.get_mut(direction) {
            conversation
                .reassemble(direction.side, &mut self.found, |flow, out| flow.passed(upto, out));
        }
    }
}

/// Counts bytes of a conversation of which it is not known what it is. After a pause, it is looked at again. `times`: now, and how
/// long ago something was last seen of it.
fn count_unread(
    conversation: &mut Conversation,
    side: Side,
    range: ByteRange,
    (at, since): (Nanos, Nanos),
) {
    if matches!(conversation.state, State::Decoding(..)) {
        return;
    }
    conversation.unread.add(side, range, at);
    if since > PAUSE {
        conversation.look_again();
    }
}

/// Marks a TCP packet. `Some` with the bytes that were sent before, if it is to be counted here.
fn mark(flow: &mut Flow, packet: &Packet<'_>, range: ByteRange, at: Nanos) -> Option<u64> {
    flow.packets.seen_by(packet.hook).packet(range);
    let is_new = flow.packets.carried.is_beyond(range);
    let counts = flow.packets.devices.counts(packet, is_new);
    let Marks::Tcp(marks) = &mut flow.marks else {
        return None;
    };
    match packet.hook {
        PacketHook::Xmit if counts => marks.xmit(range, packet.queued, at),
        PacketHook::Xmit => {}
        PacketHook::Rx => {
            let had_come = || !range.is_empty() && marks.was_received(range);
            flow.packets.devices.note_received(packet.netns.host(), had_come);
            marks.rx(range, at, packet.deferred_since());
        }
    }
    if packet.hook == PacketHook::Xmit
        && let Some(socket) = packet.socket
    {
        flow.sender.get_or_insert(socket);
    }
    counts.then(|| flow.packets.carried.add(range))
}
