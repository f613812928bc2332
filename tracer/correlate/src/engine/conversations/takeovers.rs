//! Clients that use one name at the same time: what conversations tell of it.

use super::Conversations;
use wirelap_events::{Nanos, TopicId};
use wirelap_flow::{Conversation, Direction, NamedConnection, Takeover};
use wirelap_protocols::{Protocol, Side};

impl Conversations {
    /// The client that sends in a direction says its name.
    pub fn note_name(&mut self, at: Nanos, direction: Direction, name: TopicId) {
        let protocol = self.flows.get(direction).and_then(Conversation::protocol);
        if protocol.is_some_and(Protocol::closes_namesakes) {
            self.takeovers.connect(at, name, direction);
        }
    }

    /// A conversation ends, which its side `by` has closed.
    pub(super) fn note_named_end(&mut self, at: Nanos, direction: Direction, by: Option<Side>) {
        let Some(conversation) = self.flows.get(direction) else { return };
        if !conversation.protocol().is_some_and(Protocol::closes_namesakes) {
            return;
        }
        let row = conversation.row.map(|(row, _)| row);
        let Some(server) = self.flows.server(direction) else { return };
        let Some(name) = conversation.participants[server.other() as usize] else { return };
        let client = Direction { side: server.other(), ..direction };
        let takers = self.takeovers.end(at, name, client, by == Some(server));
        for taker in takers {
            if let (Some(old), Some(new)) = (self.named(client), self.named(taker)) {
                self.takeovers.take(at, (name, row), &old, &new);
            }
        }
    }

    /// The names that clients took over from each other.
    pub fn takeovers(&self) -> impl Iterator<Item = &Takeover> {
        self.takeovers.iter()
    }

    /// The connection of a client that sends in a direction.
    fn named(&self, direction: Direction) -> Option<NamedConnection> {
        let (server, serves) = self.server_of(direction)?;
        let (own, from_server) = (self.flows.flow(direction)?, self.flows.flow(serves)?);
        Some(NamedConnection {
            direction,
            server,
            pid: self.sender_of(serves),
            client: self.client_of(serves)?,
            subscribes: own.control().subscribed > Nanos(0) || from_server.messages.count > 0,
        })
    }
}
