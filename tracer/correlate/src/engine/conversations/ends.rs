//! Who is at the ends of a conversation, and which row it belongs to.

use super::Conversations;
use crate::ids::{Node, Way};
use crate::rows::{Rows, Server};
use arrayvec::ArrayVec;
use std::net::SocketAddr;
use wirelap_events::{GroupId, NetNs, Pid};

impl Conversations {
    /// The process that sends on a way.
    pub fn sender_of(&self, way: Way) -> Option<Pid> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(way).and_then(|flow| flow.sender);
        self.sockets.pid(sender.or(back))
    }

    /// The namespace of the socket that sends on a way.
    pub fn netns_of(&self, way: Way) -> Option<NetNs> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(way).and_then(|flow| flow.sender);
        Some(self.sockets.get(sender.or(back)?)?.netns)
    }

    /// The process that receives on a way.
    pub fn receiver_of(&self, way: Way) -> Option<Pid> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.sender);
        let receiver = self.flows.flow(way).and_then(|flow| flow.receiver);
        self.sockets.pid(receiver.or(back))
    }

    /// The address that serves in a conversation.
    pub fn server_address(&self, way: Way) -> Option<SocketAddr> {
        let server = self.flows.server(way)?;
        Some(self.flows.get(way)?.end(server))
    }

    /// Who sends on a way.
    pub fn node(&self, way: Way) -> Option<Node> {
        let conversation = self.flows.get(way)?;
        let key = conversation.flow(way.side).key;
        let (addr, scope) = self.flows.place(conversation.end(way.side), key.scope);
        Some(Node { pid: self.sender_of(way), addr, scope, netns: self.netns_of(way) })
    }

    /// The row of a conversation, once its protocol is known.
    pub fn row_of(&mut self, way: Way, rows: &mut Rows) -> Option<GroupId> {
        let conversation = self.flows.get(way)?;
        let Some(protocol) = conversation.protocol() else {
            return self.labelled_row(way, rows);
        };
        let told = u64::from(conversation.tells_server());
        let state = self.sockets.learned.saturating_add(rows.version()) << 1 | told;
        if let Some((row, known)) = conversation.row
            && known == state
        {
            return Some(row);
        }
        let key = conversation.flows[0].key;
        let pids = self.pids_of(way);
        let serves = Way { side: self.flows.server(way)?, ..way };
        let (addr, scope) = self.flows.place(self.server_address(way)?, key.scope);
        let server =
            Server { addr, scope, pid: self.sender_of(serves), netns: self.netns_of(serves) };
        let row = rows.row_of(protocol, key, server, &pids);
        let pid = server.pid;
        if let Some(row) = rows.get_mut(row) {
            row.server = row.server.or(pid);
        }
        let state = self.sockets.learned.saturating_add(rows.version()) << 1 | told;
        self.flows.get_mut(way)?.row = Some((row, state));
        Some(row)
    }

    /// The row of a conversation in no known protocol: what a process says that the caller has named
    /// belongs to that name, if something else has made its row.
    pub fn labelled_row(&self, way: Way, rows: &Rows) -> Option<GroupId> {
        rows.labelled(&self.pids_of(way))
    }

    fn pids_of(&self, way: Way) -> ArrayVec<Pid, 2> {
        [self.sender_of(way), self.receiver_of(way)].into_iter().flatten().collect()
    }
}
