//! The open sockets, which each file of a ring reports again.

use rustc_hash::FxHashMap;
use wirelap_events::{Body, Event, Socket, SocketId};

/// The most open sockets that a file reports again.
const MAX_SOCKETS: usize = 65_536;

/// The open sockets, and the events that they became known by.
#[derive(Debug, Default)]
pub struct OpenSockets {
    events: FxHashMap<SocketId, Event<'static>>,
}

impl OpenSockets {
    /// A socket has become known by this event.
    pub fn open(&mut self, event: &Event<'_>, socket: Socket) {
        if self.events.len() < MAX_SOCKETS || self.events.contains_key(&socket.id) {
            let event = Event { at: event.at, cpu: event.cpu, body: Body::Socket(socket) };
            self.events.insert(socket.id, event);
        }
    }

    /// A socket is no more.
    pub fn close(&mut self, socket: SocketId) {
        self.events.remove(&socket);
    }

    /// The event of an open socket.
    pub fn get(&self, socket: SocketId) -> Option<&Event<'static>> {
        self.events.get(&socket)
    }

    /// True if no socket is open.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events of all open sockets, the oldest first.
    pub fn in_order(&self) -> Vec<Event<'static>> {
        let mut events: Vec<_> = self.events.values().copied().collect();
        events.sort_unstable_by_key(|event| event.at);
        events
    }
}
