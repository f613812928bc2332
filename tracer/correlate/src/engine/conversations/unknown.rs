//! Traffic that is not decoded: where it goes and how much it is.

use super::Conversations;
use crate::rows::{Rows, Server};
use wirelap_events::{GroupId, SocketId, Transport};
use wirelap_flow::{
    Conversation, Direction, Holes, Marks, State, Stuck, UnknownKey, UnknownTraffic, normal,
};
use wirelap_limits::network::MIN_UNRECOGNISED_BYTES;
use wirelap_protocols::Side;

impl Conversations {
    /// The open sockets of the TCP conversations whose bytes are only counted, and that have carried at least so many.
    pub fn only_counted(&self, least: u64) -> Vec<SocketId> {
        let conversations = self.flows.iter().filter(|(direction, one)| {
            one.flow(direction.side).key.transport == Transport::Tcp
                && one.is_only_counted()
                && one.unread.total() >= least
        });
        let ends = conversations.flat_map(|(_, one)| &one.flows);
        let sockets = ends.flat_map(|flow| [flow.sender, flow.receiver]).flatten();
        let is_open = |id: &SocketId| self.sockets.get(*id).is_some_and(|one| one.closed.is_none());
        sockets.filter(is_open).collect()
    }

    /// One conversation as a row; `None` if it is decoded, carried nothing, or belongs to a row that the caller has named.
    pub fn unknown_of(
        &self,
        direction: Direction,
        rows: &Rows,
    ) -> Option<(UnknownKey, UnknownTraffic)> {
        let conversation = self.flows.get(direction)?;
        if matches!(conversation.state, State::Decoding(..))
            || conversation.unread.total() == 0
            || self.labelled_row(direction, rows).is_some()
        {
            return None;
        }
        let serves = self.flows.server(direction)?;
        let key = conversation.flow(serves).key;
        let row = self.row_of_unknown(conversation, direction, serves);
        let (addr, scope) = self.flows.place(key.src, key.scope);
        Some(((normal(addr), scope, key.transport, row.protocol.clone()), row))
    }

    /// The rows of which a conversation that is not decoded may hide messages, and what it adds to what is not known of them.
    pub fn hidden_of(&self, direction: Direction, rows: &Rows) -> Vec<(GroupId, Holes)> {
        let Some(conversation) = self.flows.get(direction) else { return Vec::new() };
        let bytes = conversation.unread.total();
        if bytes == 0
            || conversation.row.is_some()
            || matches!(conversation.state, State::Decoding(..))
        {
            return Vec::new();
        }
        match conversation.foreign_name() {
            Some(_) if conversation.hides_text() => {
                let holes = Holes { encrypted_connections: 1, ..Holes::default() };
                let ends = [self.sender_of(direction), self.receiver_of(direction)];
                let brokers = ends.into_iter().flatten().flat_map(|pid| rows.of_broker(pid));
                brokers.map(|row| (row, holes)).collect()
            }
            Some(_) => Vec::new(),
            None if bytes < MIN_UNRECOGNISED_BYTES => Vec::new(),
            None if conversation.flow(direction.side).key.transport != Transport::Tcp => Vec::new(),
            None => {
                let holes = Holes { undecoded_bytes: bytes, ..Holes::default() };
                self.row_at_server(direction, rows).map(|row| (row, holes)).into_iter().collect()
            }
        }
    }

    /// The row of the server that a conversation is with.
    fn row_at_server(&self, direction: Direction, rows: &Rows) -> Option<GroupId> {
        let conversation = self.flows.get(direction)?;
        let serves = Direction { side: self.flows.server(direction)?, ..direction };
        let key = conversation.flow(serves.side).key;
        let (addr, scope) = self.flows.place(conversation.end(serves.side), key.scope);
        let (pid, netns) = (self.sender_of(serves), self.netns_of(serves));
        rows.of_server(Server { addr, scope, pid, netns })
    }

    /// The directions on which bytes do not arrive, with the rows that they are of.
    pub fn stuck(&self, rows: &Rows) -> Vec<(GroupId, Direction, Stuck)> {
        let stuck = self.stuck.iter().filter_map(|&direction| {
            let conversation = self.flows.get(direction).filter(|one| !one.life.is_closed)?;
            let Marks::Tcp(marks) = &conversation.flow(direction.side).marks else { return None };
            let own = conversation.row.map(|(row, _)| row);
            let row = own.or_else(|| self.row_at_server(direction, rows))?;
            Some((rows.root(row), direction, marks.stuck()?))
        });
        stuck.collect()
    }

    fn row_of_unknown(
        &self,
        conversation: &Conversation,
        direction: Direction,
        serves: Side,
    ) -> UnknownTraffic {
        let key = conversation.flow(serves).key;
        let down = Direction { side: serves, ..direction };
        let process = |direction| Some(self.sockets.name(self.sender_of(direction)?)?.to_owned());
        let name = |pid| (pid, self.sockets.name(pid).unwrap_or_default().to_owned());
        let ends = [down, down.back()].into_iter().filter_map(|end| self.sender_of(end)).map(name);
        let [from_server, to_server] =
            [down, down.back()].map(|direction| conversation.unread.bytes[direction.side as usize]);
        UnknownTraffic {
            protocol: conversation.foreign_name().cloned(),
            is_udp: key.transport == Transport::Udp,
            endpoint: Some(key.src),
            server: process(down),
            clients: process(down.back()).into_iter().collect(),
            ends: ends.collect(),
            not_read: None,
            joined_late: conversation.flows.iter().all(|flow| flow.start.isn.is_none()),
            connections: 1,
            bytes_to_server: to_server,
            bytes_from_server: from_server,
            first: conversation.unread.first,
            last: conversation.unread.last,
            bit_per_s: 0.0,
        }
    }
}
