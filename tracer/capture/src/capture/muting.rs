//! Sockets of which the probes report less: their conversations cannot be followed, or the user has muted their rows.

use super::Capture;
use super::maps::map_error;
use crate::CaptureError;
use aya::maps::{HashMap, MapData};
use std::collections::HashSet;
use wirelap_events::SocketId;

/// The most sockets that are muted at once: the room in the map.
const MOST: usize = 65_536;

impl Capture {
    /// Mutes sockets whose conversations cannot be followed, until they are closed: their sends and reads are not reported any more,
    /// and the packets that they send only without payload. Sockets beyond 65,536 are not muted.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change.
    pub fn mute(&mut self, sockets: &[SocketId]) -> Result<(), CaptureError> {
        let more = self.add_muted(sockets)?;
        self.muted.unfollowed.extend(more);
        Ok(())
    }

    /// Mutes the sockets of rows that the user has muted: all of `sockets`, and of those of an earlier call only these. It is the same
    /// for the probes as [`Capture::mute`].
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change.
    pub fn mute_for_user(&mut self, sockets: &[SocketId]) -> Result<(), CaptureError> {
        let wanted: HashSet<SocketId> = sockets.iter().copied().collect();
        let gone: Vec<SocketId> = self.muted.by_user.difference(&wanted).copied().collect();
        if !gone.is_empty() {
            let mut map = self.muted_map()?;
            for socket in &gone {
                map.remove(&socket.0).map_err(map_error("muted"))?;
            }
            self.muted.by_user.retain(|socket| wanted.contains(socket));
            self.tell_muted()?;
        }
        let more = self.add_muted(sockets)?;
        self.muted.by_user.extend(more);
        Ok(())
    }

    /// Puts sockets into the map, as far as there is room. Returns those that are new there.
    fn add_muted(&mut self, sockets: &[SocketId]) -> Result<HashSet<SocketId>, CaptureError> {
        let room = MOST.saturating_sub(self.muted.len());
        let more = sockets.iter().filter(|socket| !self.muted.contains(**socket)).take(room);
        let more: HashSet<SocketId> = more.copied().collect();
        if more.is_empty() {
            return Ok(more);
        }
        let mut map = self.muted_map()?;
        for socket in &more {
            map.insert(socket.0, 1, 0).map_err(map_error("muted"))?;
        }
        self.tell_muted()?;
        Ok(more)
    }

    /// Has the probes look again at each socket.
    fn tell_muted(&mut self) -> Result<(), CaptureError> {
        self.muted.changes = self.muted.changes.wrapping_add(1);
        self.write_settings()
    }

    /// Sockets that were closed need no room any more. The number of a socket is never used again.
    pub(super) fn forget_closed(&mut self) {
        if self.muted.closed.is_empty() {
            return;
        }
        let closed = std::mem::take(&mut self.muted.closed);
        for socket in &closed {
            self.muted.unfollowed.remove(socket);
            self.muted.by_user.remove(socket);
        }
        if let Ok(mut map) = self.muted_map() {
            for socket in &closed {
                // The kernel cannot refuse to remove what is there.
                let _ = map.remove(&socket.0);
            }
        }
    }

    /// Returns the number of open sockets that are muted because their conversations cannot be followed.
    pub fn muted(&self) -> usize {
        self.muted.unfollowed.len()
    }

    /// Returns the number of open sockets that are muted because the user has muted their rows.
    pub fn muted_by_user(&self) -> usize {
        self.muted.by_user.len()
    }

    fn muted_map(&mut self) -> Result<HashMap<&mut MapData, u64, u8>, CaptureError> {
        let map = self.ebpf.map_mut("muted").ok_or(CaptureError::NoMap("muted"))?;
        HashMap::try_from(map).map_err(map_error("muted"))
    }
}
