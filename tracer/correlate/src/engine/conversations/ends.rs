//! The processes at the ends of a conversation, the queues of its server, and the row that it belongs to.

use super::Conversations;
use super::queues::QueueServer;
use crate::rows::{RowEnds, Rows, Server};
use arrayvec::ArrayVec;
use std::net::SocketAddr;
use std::sync::Arc;
use wirelap_events::{GroupId, Nanos, NetNs, Pid};
use wirelap_flow::{
    Conversation, Direction, EndsState, FlowEnds, KnownEnds, Node, ServerEnd, State,
    SubscriptionChange,
};
use wirelap_protocols::{Protocol, Side};

impl Conversations {
    /// The process that sends in a direction.
    pub fn sender_of(&self, direction: Direction) -> Option<Pid> {
        let back = self.flows.flow(direction.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(direction).and_then(|flow| flow.sender);
        self.sockets.pid(sender.or(back))
    }

    /// The namespace of the socket that sends in a direction.
    pub fn netns_of(&self, direction: Direction) -> Option<NetNs> {
        let back = self.flows.flow(direction.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(direction).and_then(|flow| flow.sender);
        Some(self.sockets.get(sender.or(back)?)?.netns)
    }

    /// The process that receives in a direction.
    pub fn receiver_of(&self, direction: Direction) -> Option<Pid> {
        let back = self.flows.flow(direction.back()).and_then(|flow| flow.sender);
        let receiver = self.flows.flow(direction).and_then(|flow| flow.receiver);
        self.sockets.pid(receiver.or(back))
    }

    /// The address that serves in a conversation.
    pub fn server_address(&self, direction: Direction) -> Option<SocketAddr> {
        let server = self.flows.server(direction)?;
        Some(self.flows.get(direction)?.end(server))
    }

    /// The addresses of a direction, and who is at its ends. They are looked up again when something new is known of sockets.
    pub fn ends_of(&mut self, direction: Direction) -> Option<Arc<FlowEnds>> {
        let conversation = self.flows.get(direction)?;
        let state = EndsState {
            learned: self.sockets.version(),
            sockets: conversation.flows.each_ref().map(|flow| [flow.sender, flow.receiver]),
        };
        let of = |known: &KnownEnds| Arc::clone(&known.ends[direction.side as usize]);
        let parties = [Side::A, Side::B].map(|side| conversation.party(side));
        let is_current = |known: &&KnownEnds| {
            let [ab, _] = &known.ends;
            known.state == state && [ab.sender.party, ab.receiver.party] == parties
        };
        if let Some(known) = conversation.ends.as_deref().filter(is_current) {
            return Some(of(known));
        }
        let [ab, ba] = conversation.flows.each_ref().map(|flow| flow.key);
        let at_a = Direction { side: Side::A, ..direction };
        let (a, b) = (self.node(at_a)?, self.node(at_a.back())?);
        let ends = [
            FlowEnds { flow: ab, sender: a, receiver: b },
            FlowEnds { flow: ba, sender: b, receiver: a },
        ];
        let known = KnownEnds { state, ends: ends.map(Arc::new) };
        let found = of(&known);
        self.flows.get_mut(direction)?.ends = Some(Box::new(known));
        Some(found)
    }

    /// The end that sends in a direction.
    pub fn node(&self, direction: Direction) -> Option<Node> {
        let conversation = self.flows.get(direction)?;
        let key = conversation.flow(direction.side).key;
        let (addr, scope) = self.flows.place(conversation.end(direction.side), key.scope);
        let (pid, netns) = (self.sender_of(direction), self.netns_of(direction));
        Some(Node { pid, addr, scope, netns, party: conversation.party(direction.side) })
    }

    /// Takes in a change of the subscriptions of who sends in a direction. Returns the queue that a subscription reads, and when that held no
    /// message, if its server has said so of a queue that it is known to be.
    pub fn note_queue(
        &mut self,
        at: Nanos,
        direction: Direction,
        change: SubscriptionChange,
    ) -> Option<(u32, Nanos)> {
        let server = || Some(QueueServer::at(&self.node(direction.back())?));
        match change {
            SubscriptionChange::QueueIsEmpty { queue, is_server_wide: true } => {
                let server = server()?;
                self.empty_queues.note(server, queue, at);
                None
            }
            SubscriptionChange::Begins { queue, .. } if queue != 0 => {
                Some((queue, self.empty_queues.was_empty(server()?, queue)?))
            }
            SubscriptionChange::QueueIsEmpty { .. }
            | SubscriptionChange::Begins { .. }
            | SubscriptionChange::Renumbered { .. } => None,
        }
    }

    /// Notes who is at the ends of a conversation whose protocol is not known: what their servers speak elsewhere helps to
    /// recognise it.
    pub fn note_processes(&mut self, direction: Direction) {
        let undecided = self.flows.get(direction).map(|one| &one.state);
        if !matches!(undecided, Some(State::Undecided(_))) {
            return;
        }
        let at = |side| {
            let direction = Direction { side, ..direction };
            Some((self.sender_of(direction)?, self.netns_of(direction)?))
        };
        let processes = [at(Side::A), at(Side::B)];
        self.flows.note_processes(direction, processes);
    }

    /// True if this direction leads to a server that reads nothing more of the connection until it has answered what it read last.
    pub fn answers_in_turn(&self, direction: Direction) -> bool {
        let protocol = self.flows.get(direction).and_then(Conversation::protocol);
        protocol.is_some_and(Protocol::answers_in_turn)
            && self.flows.server(direction).is_some_and(|server| server != direction.side)
    }

    /// The row of a conversation, once its protocol is known.
    pub fn row_of(&mut self, direction: Direction, rows: &mut Rows) -> Option<GroupId> {
        let conversation = self.flows.get(direction)?;
        let Some(protocol) = conversation.protocol() else {
            return self.labelled_row(direction, rows);
        };
        let told = u64::from(conversation.tells_server());
        let state = self.sockets.learned.saturating_add(rows.version()) << 1 | told;
        if let Some((row, known)) = conversation.row
            && known == state
        {
            return Some(row);
        }
        let key = conversation.flows[0].key;
        let participants = conversation.participants;
        let pids = self.pids_of(direction);
        let serves = Direction { side: self.flows.server(direction)?, ..direction };
        let (addr, scope) = self.flows.place(self.server_address(direction)?, key.scope);
        let server =
            Server { addr, scope, pid: self.sender_of(serves), netns: self.netns_of(serves) };
        let process = server.pid.zip(server.netns);
        self.flows.learn(&ServerEnd { process, ..ServerEnd::new(addr, scope) }, protocol);
        let sockets = &self.sockets;
        let row =
            rows.row_of(protocol, key, server, RowEnds { pids: &pids, participants }, &|pid| {
                sockets.has_open(pid)
            });
        self.note_served(direction);
        let state = self.sockets.learned.saturating_add(rows.version()) << 1 | told;
        self.flows.get_mut(direction)?.row = Some((row, state));
        Some(row)
    }

    /// The row of a conversation in no known protocol: what a process says that the caller has named
    /// belongs to that name, if something else has made its row.
    pub fn labelled_row(&self, direction: Direction, rows: &Rows) -> Option<GroupId> {
        rows.labelled(&self.pids_of(direction))
    }

    fn pids_of(&self, direction: Direction) -> ArrayVec<Pid, 2> {
        [self.sender_of(direction), self.receiver_of(direction)].into_iter().flatten().collect()
    }
}
