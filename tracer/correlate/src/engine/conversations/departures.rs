//! Why who had got a topic's messages gets no more of them.

use super::Conversations;
use crate::rows::LastReader;
use wirelap_events::{Nanos, Pid, SocketId};
use wirelap_flow::{ClosedBy, ClosedConnection, Direction};
use wirelap_protocols::Protocol;

impl Conversations {
    /// The way in which the connection that a process read from was closed; `None` if it was not, or
    /// too long ago.
    pub fn closing_of(&self, reader: (Direction, Option<Pid>)) -> Option<ClosedConnection> {
        let mut closed = self.closed.of(reader)?;
        if closed.by == ClosedBy::Server && self.outages.has_ended(reader.0.serial) {
            closed.by = ClosedBy::EndOfServer;
        }
        Some(closed)
    }

    /// The socket that reads in a direction and is open, though the connection was reset for the other end before `since`: by nobody who has that
    /// socket, which would be closed then.
    pub fn cut_off(&self, direction: Direction, since: Nanos) -> Option<SocketId> {
        let conversation = self.flows.get(direction)?;
        let (side, at) = conversation.life.reset?;
        let socket = conversation.flow(direction.side).receiver?;
        let is_cut = side != direction.side && at <= since && self.sockets.is_open(socket);
        is_cut.then_some(socket)
    }

    /// The way in which a reader left: its connection was closed, or it unsubscribed after its last message. `None` if it is still
    /// there, if it left too long ago, or if it unsubscribed from a broker that keeps nothing: then it misses nothing.
    pub fn departure(&self, reader: LastReader) -> Option<ClosedConnection> {
        let since = |said: Option<Nanos>| said.filter(|&said| said >= reader.last);
        if let Some(closed) = self.closing_of((reader.direction, reader.pid)) {
            return Some(ClosedConnection { unsubscribed: since(closed.unsubscribed), ..closed });
        }
        let conversation = self.flows.get(reader.direction)?;
        let said = since(conversation.flow(reader.direction.back().side).control().unsubscribed)?;
        let keeps = conversation.protocol().is_some_and(Protocol::keeps_messages);
        keeps.then_some(ClosedConnection {
            pid: reader.pid,
            is_abrupt: false,
            by: ClosedBy::Reader,
            unsubscribed: Some(said),
            session_until: None,
        })
    }
}
