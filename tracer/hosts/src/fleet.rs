//! A fleet of hosts as a whole.

use crate::target::HostTarget;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use wirelap_events::{HostClock, HostState};

/// A fleet as a whole.
pub struct Fleet {
    /// State as that of a host, for the user.
    pub state: HostState,
    /// By place from the first host of the fleet on: the names by which they are asked.
    pub names: Vec<String>,
    /// Hosts that are left out, because there are too many.
    pub left_out: BTreeSet<String>,
    /// Connections that carry what its agents send.
    pub carriers: BTreeSet<(SocketAddr, SocketAddr)>,
}

impl Fleet {
    pub fn of(target: &HostTarget) -> Option<Fleet> {
        matches!(target, HostTarget::Fleet { .. }).then(|| Fleet {
            state: HostState {
                number: 0,
                name: target.name(),
                clock: HostClock::Own,
                ..HostState::default()
            },
            names: Vec::new(),
            left_out: BTreeSet::new(),
            carriers: BTreeSet::new(),
        })
    }

    /// The fleet's state, if something of it is not well.
    pub fn shown(&self) -> Option<&HostState> {
        let is_well = self.state.is_well() && self.state.lacks.is_empty();
        Some(&self.state).filter(|_| !is_well)
    }
}
