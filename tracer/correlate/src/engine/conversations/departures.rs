//! Why who had got a topic's messages gets no more of them.

use super::Conversations;
use crate::flow::ClosedConnection;
use crate::rows::LastReader;
use wirelap_events::Nanos;
use wirelap_protocols::Protocol;

impl Conversations {
    /// How a reader left: its connection was closed, or it unsubscribed after its last message. `None` if it is still there, or that is
    /// too long ago. Where a broker keeps nothing, who unsubscribes misses nothing.
    pub fn departure(&self, reader: LastReader) -> Option<ClosedConnection> {
        let since = |said: Option<Nanos>| said.filter(|&said| said >= reader.last);
        if let Some(closed) = self.closed.of((reader.direction, reader.pid)) {
            return Some(ClosedConnection { unsubscribed: since(closed.unsubscribed), ..closed });
        }
        let conversation = self.flows.get(reader.direction)?;
        let said = since(conversation.flow(reader.direction.back().side).unsubscribed)?;
        let keeps = conversation.protocol().is_some_and(Protocol::keeps_messages);
        keeps.then_some(ClosedConnection {
            pid: reader.pid,
            is_abrupt: false,
            by_server: false,
            unsubscribed: Some(said),
        })
    }
}
