//! Sockets whose conversations cannot be followed: the probes report less of them.

use super::Capture;
use super::maps::map_error;
use crate::CaptureError;
use aya::maps::{HashMap, MapData};
use std::collections::HashSet;
use wirelap_events::SocketId;

/// The most sockets that are muted at once: the room in the map.
const MOST: usize = 65_536;

impl Capture {
    /// Mutes sockets until they are closed: their sends and reads are not reported any more, and the packets that they send only
    /// without payload. Sockets beyond 65,536 are not muted.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change.
    pub fn mute(&mut self, sockets: &[SocketId]) -> Result<(), CaptureError> {
        let room = MOST.saturating_sub(self.muted.len());
        let more = sockets.iter().filter(|socket| !self.muted.contains(socket)).take(room);
        let more: HashSet<SocketId> = more.copied().collect();
        if more.is_empty() {
            return Ok(());
        }
        let mut map = self.muted_map()?;
        for socket in &more {
            map.insert(socket.0, 1, 0).map_err(map_error("muted"))?;
        }
        self.muted.extend(more);
        // The probes look again at each socket.
        self.mutes = self.mutes.wrapping_add(1);
        self.write_settings()
    }

    /// Sockets that were closed need no room any more. The number of a socket is never used again.
    pub(super) fn forget_closed(&mut self) {
        if self.muted_closed.is_empty() {
            return;
        }
        let closed = std::mem::take(&mut self.muted_closed);
        for socket in &closed {
            self.muted.remove(socket);
        }
        if let Ok(mut map) = self.muted_map() {
            for socket in &closed {
                // The kernel cannot refuse to remove what is there.
                let _ = map.remove(&socket.0);
            }
        }
    }

    /// How many open sockets are muted.
    pub fn muted(&self) -> usize {
        self.muted.len()
    }

    fn muted_map(&mut self) -> Result<HashMap<&mut MapData, u64, u8>, CaptureError> {
        let map = self.ebpf.map_mut("muted").ok_or(CaptureError::NoMap("muted"))?;
        HashMap::try_from(map).map_err(map_error("muted"))
    }
}
