//! Sockets and connections over Unix sockets that are open now, found by a walk over the open files of all processes.

use super::Capture;
use crate::decode::UnixConnection;
use crate::{CaptureError, decode, hooks, programs};

impl Capture {
    /// Announces the sockets that are open already.
    pub(super) fn list_existing(&mut self) -> Result<(), CaptureError> {
        if self.observes(hooks::EXISTING_SOCKETS) {
            programs::walk_files(&mut self.ebpf, "existing_sockets")?;
        }
        Ok(())
    }

    /// The connections over Unix sockets that there are now, by the process that accepted them; none on a kernel that
    /// cannot tell. Walks the open files of all processes.
    ///
    /// # Errors
    /// [`CaptureError::Existing`] when the kernel refuses.
    pub fn unix_connections(&mut self) -> Result<Vec<UnixConnection>, CaptureError> {
        if !self.observes(hooks::UNIX_CONNECTIONS) {
            return Ok(Vec::new());
        }
        let written = programs::walk_files(&mut self.ebpf, "unix_connections")?;
        Ok(decode::unix_connections(&written))
    }

    fn observes(&self, observation: &str) -> bool {
        self.hooks.iter().any(|hook| hook.observation == observation && hook.hook.is_some())
    }
}
