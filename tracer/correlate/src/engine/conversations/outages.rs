//! Servers that were gone: what conversations tell of it.

use super::Conversations;
use wirelap_events::{Nanos, ProcessEnd};
use wirelap_flow::{ClientOf, ClosedByServer, Conversation, Direction, GoneServer, ServerAt};
use wirelap_limits::network::ENDED_TOGETHER;
use wirelap_protocols::Protocol;

impl Conversations {
    /// The server of a conversation, and the direction in which it sends.
    pub(super) fn server_of(&self, direction: Direction) -> Option<(ServerAt, Direction)> {
        let side = self.flows.server(direction)?;
        let conversation = self.flows.get(direction)?;
        let scope = conversation.flow(side).key.scope;
        let server = self.flows.place(conversation.end(side), scope);
        Some((server, Direction { side, ..direction }))
    }

    /// The client at the other end of a server's conversation; the server sends in direction `serves`.
    pub(super) fn client_of(&self, serves: Direction) -> Option<ClientOf> {
        if let Some(pid) = self.receiver_of(serves) {
            return Some(ClientOf::Process(pid));
        }
        let conversation = self.flows.get(serves)?;
        Some(ClientOf::Host(conversation.end(serves.back().side).ip()))
    }

    /// The sender of a direction has closed its conversation at `at`.
    pub(super) fn note_closed_by(&mut self, at: Nanos, direction: Direction) {
        let Some((server, serves)) = self.server_of(direction) else { return };
        if serves.side != direction.side {
            return;
        }
        let Some(client) = self.client_of(serves) else { return };
        let socket = self.flows.flow(serves).and_then(|flow| flow.sender);
        // A process that was forked for one connection ends with it.
        let is_own = socket.is_none_or(|socket| !self.sockets.was_handed_over(socket));
        let pid = self.sender_of(serves).filter(|_| is_own);
        let row = self.flows.get(direction).and_then(|conversation| conversation.row);
        let (serial, row) = (direction.serial, row.map(|(row, _)| row));
        self.outages.close(at, ClosedByServer { serial, server, pid, client, row });
    }

    /// A process ends, and with it what it serves.
    pub fn ended(&mut self, at: Nanos, end: ProcessEnd) {
        self.outages.end(at, end);
    }

    /// The servers that went while clients were connected to them.
    pub fn gone_servers(&self) -> impl Iterator<Item = &GoneServer> {
        self.outages.gone()
    }

    /// True if a client is seen to live on after a server went at `at`. That is not known of one on another host.
    pub fn has_outlived(&self, client: ClientOf, at: Nanos, now: Nanos) -> bool {
        let (soon, is_known) = (at + ENDED_TOGETHER, now >= at + ENDED_TOGETHER);
        match client {
            ClientOf::Process(pid) => is_known && !self.outages.has_ended_by(pid, soon),
            ClientOf::Host(_) => false,
        }
    }

    /// The sender of a direction has reset its conversation, which it may have refused to open.
    pub(super) fn note_refused(&mut self, direction: Direction) {
        let Some(conversation) = self.flows.get(direction) else { return };
        let (own, asked) =
            (conversation.flow(direction.side), conversation.flow(direction.back().side));
        let is_refused = own.start.isn.is_none()
            && asked.start.isn.is_some()
            && own.messages.count == 0
            && conversation.server == Some(direction.side)
            && !conversation.life.is_closed;
        if is_refused && let Some((server, _)) = self.server_of(direction) {
            self.outages.refuse(server);
        }
    }

    /// Notes that the server of a conversation became known: its address is served again since the
    /// conversation was opened.
    pub(super) fn note_served(&mut self, direction: Direction) {
        let Some((server, serves)) = self.server_of(direction) else { return };
        let opened = self.flows.get(direction).and_then(|conversation| conversation.life.opened);
        let (pid, sockets) = (self.sender_of(serves), &self.sockets);
        let at = opened.unwrap_or_default();
        self.outages.accept(at, server, pid, |pid| !sockets.has_open(pid));
    }

    /// True if the client of a conversation, which was opened at `opened`, came back with it to a server that had been gone, or came from
    /// another one of its cluster that was gone.
    pub fn has_returned(&self, direction: Direction, opened: Nanos) -> bool {
        if self.outages.is_empty() {
            return false;
        }
        let Some((server, serves)) = self.server_of(direction) else { return false };
        let client = self.client_of(serves);
        let is_of_cluster = self
            .flows
            .get(direction)
            .and_then(Conversation::protocol)
            .is_some_and(Protocol::is_log);
        client.is_some_and(|client| {
            self.outages.has_returned(opened, server, client)
                || is_of_cluster && self.outages.has_moved(opened, server, client)
        })
    }
}
