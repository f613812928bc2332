//! Sockets and the calls on them: send, ready, read.

use super::super::accounts::Accounts;
use super::super::coverage::Coverage;
use super::super::sockets::Call;
use super::super::totals::Totals;
use super::Conversations;
use super::reads::ReadOutput;
use crate::join::Assemblies;
use wirelap_events::{
    ByteRange, FlowKey, Nanos, Offset, PacketHook, Probe, ReadCall, ReadKind, Ready, ReadyKind,
    Saturate, SendCall, SendKind, Socket, SocketId, SocketOrigin, Transport, TxState,
};
use wirelap_flow::{Claim, Direction, Marks, Sending, Threads};
use wirelap_protocols::{LeftMessages, Protocol, Side};

impl Conversations {
    /// A socket comes into view. Threads that use it first at the same time announce it more than once.
    pub fn socket(&mut self, at: Nanos, socket: &Socket, accounts: &mut Accounts) {
        if self.sockets.is_open(socket.id) {
            return;
        }
        let tx = match (socket.transport, socket.tx_flow()) {
            (Transport::Tcp, Some(key)) => {
                let direction = self.conversation_of(key, socket).unwrap_or_else(|| {
                    self.make_room(accounts);
                    self.flows.add(key, socket.netns, at, &self.config)
                });
                if let Some(conversation) = self.flows.get_mut(direction) {
                    conversation.places.namespaces.add(socket.netns);
                }
                self.bind(at, direction, socket);
                Some(direction)
            }
            _ => None,
        };
        self.sockets.add(socket, tx);
    }

    /// The conversation of a socket: one whose numbers are the socket's, or that is in its namespace, or of which neither is
    /// known.
    fn conversation_of(&self, key: FlowKey, socket: &Socket) -> Option<Direction> {
        let takes = |direction| self.takes(direction, socket.id);
        match socket.tx_next {
            Some(next) => self.flows.nearest(key, socket.netns, next, socket.rx_next, takes),
            None => self.flows.find(key).filter(|&direction| takes(direction)),
        }
    }

    /// True if `socket` can be the sender in `direction`: no other socket is.
    fn takes(&self, direction: Direction, socket: SocketId) -> bool {
        self.flows
            .flow(direction)
            .is_some_and(|flow| flow.sender.is_none_or(|sender| sender == socket))
    }

    fn bind(&mut self, at: Nanos, direction: Direction, socket: &Socket) {
        let Some(conversation) = self.flows.get_mut(direction) else {
            return;
        };
        let other = direction.back().side;
        conversation.places.claim = Claim::Possible;
        conversation.is_subflow |= socket.is_subflow;
        conversation.flow_mut(other).receiver = Some(socket.id);
        if socket.origin == SocketOrigin::Existing && !socket.is_subflow {
            conversation.flow_mut(direction.side).start.found_open[0] = socket.tx_next;
            conversation.flow_mut(other).start.found_open[1] = socket.rx_next;
            for flow in &mut conversation.flows {
                flow.start.found_at = at;
            }
        }
        if matches!(socket.origin, SocketOrigin::Connected | SocketOrigin::Accepted) {
            conversation.life.opened.get_or_insert(at);
        }
        match socket.origin {
            SocketOrigin::Connected => conversation.server = Some(other),
            SocketOrigin::Accepted => conversation.server = Some(direction.side),
            SocketOrigin::Existing | SocketOrigin::FirstSeen => {}
        }
        let flow = conversation.flow_mut(direction.side);
        flow.sender = Some(socket.id);
        if flow.is_fresh()
            && !flow.unwrap.is_based()
            && let Some(next) = socket.tx_next
        {
            flow.start.boundary = flow.unwrap.offset(next);
        }
        if let Some(next) = socket.rx_next {
            conversation.flow_mut(other).received_to(next);
        }
    }

    pub fn closed(&mut self, at: Nanos, id: SocketId) {
        if let Some(direction) = self.sockets.close(id, at) {
            self.ends(at, direction);
        }
    }

    /// Programs listen on these TCP ports, too.
    pub fn learn_listening(&mut self, ports: &[u16]) {
        self.flows.learn_listening(ports);
    }

    /// Nothing is seen any more of what happens on a host: ends there are as those on hosts that are not observed.
    pub fn lose_host(&mut self, at: Nanos, host: u8) {
        let is_elsewhere = |id: &SocketId| id.host() != host;
        for flow in self.flows.iter_mut().flat_map(|conversation| &mut conversation.flows) {
            flow.sender = flow.sender.filter(is_elsewhere);
            flow.receiver = flow.receiver.filter(is_elsewhere);
        }
        self.sockets.lose_host(at, host);
    }

    /// One end of a conversation is gone.
    pub fn ends(&mut self, at: Nanos, direction: Direction) {
        if let Some(conversation) = self.flows.get_mut(direction)
            && !conversation.life.is_closed
        {
            let (left, session_until) = (conversation.left(), conversation.session_until(at));
            conversation.close();
            let has_farewell = conversation.protocol().is_some_and(Protocol::announces_close);
            let farewell = conversation.ledger.farewell();
            let is_abrupt = has_farewell && farewell.is_none();
            // Whoever is told so closes the connection first, often.
            let by = farewell.or(conversation.life.closed_by).unwrap_or(direction.side);
            let unsubscribed =
                conversation.flows.each_ref().map(|flow| flow.control().unsubscribed);
            let closer = Direction { side: by, ..direction };
            self.closed.note(closer, is_abrupt, unsubscribed, session_until);
            self.closing.push_back(Direction { side: Side::A, ..direction });
            if left != LeftMessages::default() {
                self.left.push((direction, left));
            }
            self.note_closed_by(at, closer);
            self.note_named_end(at, direction, Some(by));
        }
    }

    /// The direction that a TCP socket sends on.
    pub(super) fn tx_way(&self, id: SocketId, totals: &mut Totals) -> Option<Direction> {
        let entry = self.sockets.get(id);
        if entry.is_none() {
            totals.unknown_sockets.grow(1);
        }
        entry?.tx
    }

    pub fn send(
        &mut self,
        at: Nanos,
        send: &SendCall,
        threads: &Threads,
        assemblies: &mut Assemblies,
        totals: &mut Totals,
    ) {
        self.sockets.used_by(send.socket, send.task);
        match send.kind {
            SendKind::Stream { start, len, state } => {
                let Some(direction) = self.tx_way(send.socket, totals) else {
                    return;
                };
                let Some(flow) = self.flows.flow_mut(direction) else {
                    return;
                };
                let Some(start) = flow.unwrap.offset(start) else {
                    totals.anomalies.grow(1);
                    return;
                };
                flow.has_sends = true;
                if flow.stream.is_none() {
                    flow.start.add_write(start);
                }
                flow.packets.begin_at(start);
                if let Marks::Tcp(marks) = &mut flow.marks {
                    let range = ByteRange::new(start, u64::from(len));
                    marks.send(range, at, send.task, state);
                    marks.led(range, threads.chain(send.task, at));
                }
                if let Some(state) = state {
                    self.note_acknowledged(direction, start, state);
                }
            }
            SendKind::Datagram { entered, .. } => {
                let sent = self.datagram_sent(at, send, entered, threads, assemblies);
                totals.unknown_sockets.grow(u64::from(sent.is_none()));
            }
        }
    }

    /// Notes the bytes that had been acknowledged by a send, as the state of TCP tells: all before
    /// `snd_una`.
    fn note_acknowledged(&mut self, direction: Direction, write_seq: Offset, state: TxState) {
        let waiting = u64::from(state.in_flight).saturating_add(u64::from(state.unsent));
        let acked = Offset(write_seq.0.saturating_sub(waiting));
        let Some(conversation) = self.flows.get_mut(direction) else {
            return;
        };
        conversation.flow_mut(direction.side).packets.prove_passed(acked);
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            let answers = conversation.flow_mut(direction.back().side).packets.seen_by(hook);
            let carried = answers.unseen_with_data();
            if conversation
                .flow_mut(direction.side)
                .packets
                .seen_by(hook)
                .note_acknowledged(acked, carried)
            {
                conversation.flow_mut(direction.back().side).packets.seen_by(hook).missed_bare();
            }
        }
    }

    /// `None` if the socket is not known.
    fn datagram_sent(
        &mut self,
        at: Nanos,
        send: &SendCall,
        entered: Option<Nanos>,
        threads: &Threads,
        assemblies: &mut Assemblies,
    ) -> Option<()> {
        let entry = self.sockets.get_mut(send.socket)?;
        let sending = Sending { entered, task: send.task };
        // At its entry: what woke the thread inside the call did not lead to it.
        let led = threads.chain(send.task, entered.unwrap_or(at));
        let flows = &mut self.flows;
        let own = entry.datagrams();
        own.outbox.retain(|outgoing| {
            let is_it = outgoing.tid == send.task.tid
                && outgoing.left <= at
                && entered.is_none_or(|entered| outgoing.left >= entered);
            if is_it && let Some(flow) = flows.flow_mut(outgoing.direction) {
                flow.has_sends |= entered.is_some();
                if let Marks::Udp(marks) = &mut flow.marks {
                    marks.sent(outgoing.number, sending, &led);
                    let datagram = (outgoing.direction, outgoing.number);
                    for (id, ..) in marks.carried(outgoing.number) {
                        assemblies.sent(id, datagram, sending, threads);
                    }
                }
            }
            // Calls of one thread follow each other: what it sent earlier, no later call explains.
            !is_it && (outgoing.tid != send.task.tid || outgoing.left > at)
        });
        own.call(Call { sending, left: at, led });
        Some(())
    }

    /// A socket has data. Returns the direction in which messages may have been found by that.
    pub fn ready(
        &mut self,
        at: Nanos,
        ready: &Ready,
        coverage: &Coverage,
        totals: &mut Totals,
    ) -> Option<Direction> {
        match ready.kind {
            ReadyKind::Stream(next) => {
                let direction = self.tx_way(ready.socket, totals)?.back();
                let losses = coverage.lost_by(Probe::Ready);
                let flow = self.flows.flow_mut(direction)?;
                let end = flow.counter(next)?;
                flow.packets.prove_passed(end);
                let certain = std::mem::replace(&mut flow.ready_losses, losses) == losses;
                if let Marks::Tcp(marks) = &mut flow.marks {
                    marks.ready(end, at, certain);
                }
                self.note_passed(direction, end)
            }
            ReadyKind::Datagram { packet, seen } => {
                let found =
                    packet.and_then(|packet| self.datagram_in(packet, seen, coverage.certain()));
                let (direction, number) = found?;
                let flow = self.flows.flow_mut(direction)?;
                flow.receiver = Some(ready.socket);
                if let Marks::Udp(marks) = &mut flow.marks {
                    marks.ready(number, ready.socket, at);
                }
                if let Some(entry) = self.sockets.get_mut(ready.socket) {
                    entry.datagrams().put_in(direction, number);
                }
                None
            }
        }
    }

    /// The receiver has everything before `end`. Returns the direction if messages may have been found by that.
    fn note_passed(&mut self, direction: Direction, end: Offset) -> Option<Direction> {
        if !self.flows.flow(direction).is_some_and(|flow| flow.bytes.is_waiting()) {
            return None;
        }
        self.passed(direction, end);
        Some(direction)
    }

    /// True if bytes were read that no packet event brought, which it then notes as missed.
    fn is_read_unseen(&mut self, direction: Direction, end: Offset) -> bool {
        let Some(conversation) = self.flows.get(direction) else {
            return false;
        };
        let next = conversation.flow(direction.side).bytes.next();
        let is_unseen = conversation.protocol().is_some() && next.is_none_or(|next| end > next);
        self.found.gaps.missed[direction.side as usize] |= is_unseen;
        is_unseen
    }

    /// Data is read from a socket. Returns the direction in which messages may have been found by that.
    pub fn read(
        &mut self,
        at: Nanos,
        read: &ReadCall,
        threads: &Threads,
        out: &mut ReadOutput<'_>,
    ) -> Option<Direction> {
        self.sockets.used_by(read.socket, read.task);
        match read.kind {
            ReadKind::Stream { end, len } => {
                let direction = self.tx_way(read.socket, &mut out.accounts.totals)?.back();
                let flow = self.flows.flow_mut(direction)?;
                flow.start.found_open[1] = None;
                let end = flow.counter(end)?;
                let start = Offset(end.0.saturating_sub(u64::from(len)));
                flow.packets.prove_passed(end);
                if let Marks::Tcp(marks) = &mut flow.marks
                    && len > 0
                {
                    let led = threads.chain(read.task, at);
                    marks.read(ByteRange { start, end }, at, read.task, led);
                }
                flow.note_read(end, at);
                let passed = self.note_passed(direction, end);
                passed.or_else(|| self.is_read_unseen(direction, end).then_some(direction))
            }
            ReadKind::Datagram { .. } => {
                self.datagram_read(at, read, threads, out);
                None
            }
        }
    }
}
