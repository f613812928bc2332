//! Who is at the ends of a conversation, and which row it belongs to.

use super::correlator::Correlator;
use crate::ids::{LegKey, Node, Way};
use crate::rows::Server;
use arrayvec::ArrayVec;
use wirelap_events::{GroupId, Pid, Saturate};

impl Correlator {
    /// The process that sends on a way.
    pub(crate) fn sender_of(&self, way: Way) -> Option<wirelap_events::Pid> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(way).and_then(|flow| flow.sender);
        self.sockets.pid(sender.or(back))
    }

    /// The namespace of the socket that sends on a way.
    pub(crate) fn netns_of(&self, way: Way) -> Option<wirelap_events::NetNs> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.receiver);
        let sender = self.flows.flow(way).and_then(|flow| flow.sender);
        Some(self.sockets.get(sender.or(back)?)?.netns)
    }

    /// The process that receives on a way.
    pub(crate) fn receiver_of(&self, way: Way) -> Option<wirelap_events::Pid> {
        let back = self.flows.flow(way.back()).and_then(|flow| flow.sender);
        let receiver = self.flows.flow(way).and_then(|flow| flow.receiver);
        self.sockets.pid(receiver.or(back))
    }

    /// The address that serves in a conversation.
    pub(crate) fn server_address(&self, way: Way) -> Option<std::net::SocketAddr> {
        let server = self.flows.server(way)?;
        Some(self.flows.get(way)?.end(server))
    }

    /// Who sends on a way.
    pub(crate) fn node(&self, way: Way) -> Option<Node> {
        let conversation = self.flows.get(way)?;
        let key = conversation.flow(way.side).key;
        let (addr, scope) = self.flows.place(conversation.end(way.side), key.scope);
        Some(Node { pid: self.sender_of(way), addr, scope, netns: self.netns_of(way) })
    }

    /// The row of a conversation, once its protocol is known.
    pub(crate) fn row_of(&mut self, way: Way) -> Option<GroupId> {
        let conversation = self.flows.get(way)?;
        let Some(protocol) = conversation.protocol() else { return self.labelled_row(way) };
        let told = u64::from(conversation.tells_server());
        let state = self.sockets.learned.saturating_add(self.rows.version()) << 1 | told;
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
        let row = self.rows.row_of(protocol, key, server, &pids);
        let pid = server.pid;
        if let Some(row) = self.rows.get_mut(row) {
            row.server = row.server.or(pid);
        }
        let state = self.sockets.learned.saturating_add(self.rows.version()) << 1 | told;
        self.flows.get_mut(way)?.row = Some((row, state));
        Some(row)
    }

    /// The row of a conversation in no known protocol: what a process says that the caller has named
    /// belongs to that name, if something else has made its row.
    pub(crate) fn labelled_row(&self, way: Way) -> Option<GroupId> {
        self.rows.labelled(&self.pids_of(way))
    }

    fn pids_of(&self, way: Way) -> ArrayVec<Pid, 2> {
        [self.sender_of(way), self.receiver_of(way)].into_iter().flatten().collect()
    }

    /// A conversation's first message may be found before it is known whose sockets carry it. It
    /// belongs to the row that the conversation is in when the message is complete.
    pub(crate) fn settle_row(&mut self, key: LegKey, way: Way) {
        let Some(row) = self.row_of(way) else { return };
        let Some((before, stamp)) = self.messages.move_to(key, row) else { return };
        // What was counted there is counted here by now.
        if self.rows.root(before) == row {
            return;
        }
        let is_warmup = stamp.is_some_and(|stamp| stamp.warmup);
        if let Some(before) = self.rows.get_mut(before) {
            let count = before.counts.of_sent(is_warmup);
            *count = count.saturating_sub(1);
        }
        if let Some(now) = self.rows.get_mut(row) {
            now.counts.of_sent(is_warmup).grow(1);
        }
    }
}
