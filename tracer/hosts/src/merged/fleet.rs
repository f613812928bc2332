//! The hosts of a fleet, which come and go.

use super::{MAX_HOSTS, MergedHosts};
use crate::host::Host;
use crate::stream::Question;
use std::net::SocketAddr;
use wirelap_events::HostStatus;

/// The most connections that are left out.
const MAX_CARRIERS: usize = 4_096;

impl MergedHosts {
    /// An agent waits on a host of the fleet.
    pub(super) fn join(&mut self, index: usize, name: &str) {
        let Some(fleet) = self.fleet.as_mut() else { return };
        if let Some(host) = self.hosts.get_mut(index) {
            if !host.is_up {
                host.state.status = HostStatus::Connecting;
            }
            return;
        }
        let last = self.hosts.iter().map(|host| host.state.number).max().unwrap_or(1);
        // Those beyond are not in the list, so that nothing is taken of them.
        if usize::from(last) >= MAX_HOSTS || self.hosts.len() != index {
            fleet.left_out.insert(name.to_owned());
            fleet.state.lacks = vec![format!(
                "{} of its hosts are left out ({name} is one), because at most {} hosts can be observed together",
                fleet.left_out.len(),
                MAX_HOSTS.saturating_sub(1)
            )];
            return;
        }
        fleet.names.push(name.to_owned());
        self.hosts.push(Host::new(last.saturating_add(1), name.to_owned()));
        self.clocks.add_host();
    }

    /// Something is wrong with the fleet as a whole, or nothing is any more.
    pub(super) fn know_of_fleet(&mut self, trouble: Option<String>) {
        let since = (self.now)();
        let Some(fleet) = self.fleet.as_mut() else { return };
        fleet.state.status = match trouble {
            Some(why) => HostStatus::Lost { since, why },
            None => HostStatus::Connected,
        };
    }

    /// A connection carries what agents of the fleet send. These know it themselves; of other hosts, one may have the router.
    pub(super) fn know_carrier(&mut self, (one, other): (SocketAddr, SocketAddr)) {
        let Some(fleet) = self.fleet.as_mut() else { return };
        if fleet.carriers.len() < MAX_CARRIERS && fleet.carriers.insert((one, other)) {
            let alone = self.hosts.len().saturating_sub(fleet.names.len());
            for index in 0..alone {
                self.ask_host(index, Question::Carrier(one, other));
            }
        }
    }

    /// Tells an agent that has begun which connections it has to leave out.
    pub(super) fn tell_carriers(&self, index: usize) {
        let Some(fleet) = &self.fleet else { return };
        if index < self.hosts.len().saturating_sub(fleet.names.len()) {
            for (one, other) in &fleet.carriers {
                self.ask_host(index, Question::Carrier(*one, *other));
            }
        }
    }

    /// Asks a host's agent.
    pub(super) fn ask_host(&self, index: usize, question: Question) {
        let names = self.fleet.as_ref().map_or(&[][..], |fleet| fleet.names.as_slice());
        let of_fleet = index.checked_sub(self.hosts.len().saturating_sub(names.len()));
        let name = of_fleet.and_then(|at| names.get(at));
        match (name, self.connections.last(), self.connections.get(index)) {
            (Some(name), Some(fleet), _) => fleet.ask_host(name, question),
            (None, _, Some(connection)) => connection.ask(question),
            _ => {}
        }
    }
}
