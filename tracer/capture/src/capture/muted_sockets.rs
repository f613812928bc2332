//! The sockets that are muted, as user space knows them.

use std::collections::HashSet;
use wirelap_events::SocketId;

/// The sockets that are muted.
#[derive(Debug, Default)]
pub struct MutedSockets {
    /// Number of changes, by which the probes know that they have to look again.
    pub changes: u32,
    /// Those whose conversations cannot be followed.
    pub unfollowed: HashSet<SocketId>,
    /// Those of rows that the user has muted.
    pub by_user: HashSet<SocketId>,
    /// Those that were closed and are still in the map.
    pub closed: Vec<SocketId>,
}

impl MutedSockets {
    /// Returns the number of muted sockets.
    pub fn len(&self) -> usize {
        self.unfollowed.len() + self.by_user.len()
    }

    /// True if a socket is muted.
    pub fn contains(&self, socket: SocketId) -> bool {
        self.unfollowed.contains(&socket) || self.by_user.contains(&socket)
    }

    /// A socket is closed.
    pub fn close(&mut self, socket: SocketId) {
        if self.contains(socket) {
            self.closed.push(socket);
        }
    }
}
