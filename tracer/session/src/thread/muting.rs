//! Sockets of which the probes report less: those that cannot be followed, and those of rows that the user mutes.

use super::SessionThread;
use crate::machine;
use crate::settings::Muting;
use std::collections::HashSet;
use wirelap_capture::CaptureError;
use wirelap_correlate::{DeliverySink, Group, Snapshot};
use wirelap_events::GroupId;

/// From so many bytes on, a conversation that cannot be followed is muted. Shorter ones cost little.
const MUTED_FROM: u64 = 64 << 10;

/// Rows that are muted.
#[derive(Debug, Default)]
pub struct RowMuting {
    /// True if anything may be muted.
    is_allowed: bool,
    /// Rows of these middlewares or brokers are muted once they appear.
    names: Vec<String>,
    /// Rows with such a name that were muted, or that the user has muted or not since.
    seen: HashSet<GroupId>,
}

impl From<&Muting> for RowMuting {
    fn from(muting: &Muting) -> RowMuting {
        match muting {
            Muting::Nothing => RowMuting::default(),
            Muting::Allowed(names) => {
                RowMuting { is_allowed: true, names: names.clone(), ..RowMuting::default() }
            }
        }
    }
}

impl<S: DeliverySink> SessionThread<S> {
    /// Has the probes report less of conversations that cannot be followed, and of those of muted rows.
    pub(super) fn mute(&mut self) -> Result<(), CaptureError> {
        self.mute_sockets(None)
    }

    /// The same, `except` for the sockets of a row.
    fn mute_sockets(&mut self, except: Option<GroupId>) -> Result<(), CaptureError> {
        let Some(probes) = self.capture.probes_mut().filter(|_| self.muting.is_allowed) else {
            return Ok(());
        };
        probes.mute(&self.correlator.only_counted(MUTED_FROM))?;
        probes.mute_for_user(&self.correlator.muted_sockets(except))
    }

    /// Mutes a row, or ends that.
    pub(super) fn mute_row(&mut self, group: GroupId, mute: bool) -> Result<(), CaptureError> {
        if !self.muting.is_allowed || self.capture.is_packets() {
            return Ok(());
        }
        self.muting.seen.insert(group);
        if mute {
            self.correlator.mute(group, &mut self.sink);
            return self.mute_sockets(None);
        }
        // First the probes: what happens from now on is observed as a whole.
        self.mute_sockets(Some(group))?;
        self.correlator.unmute(group, machine::now());
        Ok(())
    }

    /// Mutes the rows of a snapshot that are to be muted by their names.
    pub(super) fn mute_named(&mut self, snapshot: &Snapshot) -> Result<(), CaptureError> {
        let muting = &self.muting;
        let is_meant = |group: &Group| muting.names.iter().any(|name| group.is_called(name));
        let groups = snapshot
            .groups
            .iter()
            .filter(|group| !muting.seen.contains(&group.id) && is_meant(group));
        let groups: Vec<GroupId> = groups.map(|group| group.id).collect();
        groups.into_iter().try_for_each(|group| self.mute_row(group, true))
    }
}
