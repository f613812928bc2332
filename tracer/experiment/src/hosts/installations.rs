//! Places in which the workloads of a run are started: this host, hosts of their own, or other hosts.

use super::commands;
use super::host::Host;
use super::links::Links;
use super::namespace::Namespace;
use crate::cases::unique;
use crate::catalogue::Catalogue;
use crate::placement::Placement;
use crate::processes::WorkloadInstallation;
use crate::request::RunRequest;
use std::path::PathBuf;
use wirelap_contract::Role;
use wirelap_process::Failure;
use wirelap_process::steward::{Steward, StewardRole};

/// The environment variables that tell the workloads where the programs of other projects are.
type Programs = [(&'static str, PathBuf)];

/// The installation on this host, and those on other hosts. Dropping it removes hosts that were made.
#[derive(Debug)]
pub struct Installations {
    /// That of this host, or of the sender's.
    own: WorkloadInstallation,
    networks: Vec<HostNetwork>,
    placement: Option<Placement>,
}

/// The hosts that links of one kind join.
#[derive(Debug)]
struct HostNetwork {
    links: Links,
    /// In the order of [`Host::ALL`].
    hosts: Vec<WorkloadInstallation>,
    /// No process is in it.
    _switch: Namespace,
}

impl From<WorkloadInstallation> for Installations {
    fn from(own: WorkloadInstallation) -> Installations {
        Installations { own, networks: Vec::new(), placement: None }
    }
}

impl From<Placement> for Installations {
    fn from(placement: Placement) -> Installations {
        let own = placement.host(Role::Pub).installation.clone();
        Installations { placement: Some(placement), ..Installations::from(own) }
    }
}

impl Installations {
    /// The installation on this host.
    pub fn own(&self) -> &WorkloadInstallation {
        &self.own
    }

    /// Makes the hosts and links that a request wants. Needs root's rights.
    ///
    /// # Errors
    /// The links cannot be made on this machine, or are described by values that do not go together.
    pub fn open(
        own: WorkloadInstallation,
        request: &RunRequest,
        programs: &Programs,
    ) -> Result<Installations, Failure> {
        let variants = request.ab.iter().flat_map(|comparison| &comparison.variants);
        let all: Vec<&RunRequest> =
            if request.ab.is_some() { variants.collect() } else { vec![request] };
        let links: Vec<Links> = all.iter().filter_map(|request| request.workloads.links).collect();
        let mut installations = Installations::from(own);
        for links in unique(&links) {
            links.check().map_err(Failure::Usage)?;
            installations.networks.push(HostNetwork::make(links, programs)?);
        }
        Ok(installations)
    }

    /// The hosts on which the roles are placed, if they are.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }

    /// Middlewares that can be run.
    ///
    /// # Errors
    /// The workloads' program cannot be started, or its output cannot be parsed.
    pub fn catalogue(&self) -> Result<Catalogue, Failure> {
        match &self.placement {
            Some(placement) => Ok(placement.catalogue()),
            None => Catalogue::read(self.any()),
        }
    }

    /// The place in which a process of a role is started: where it is placed, or on the hosts that are joined by `links`; this host without both.
    pub fn of(&self, links: Option<&Links>, role: Role) -> &WorkloadInstallation {
        if let Some(placement) = &self.placement {
            return &placement.host(role).installation;
        }
        let network = self.networks.iter().find(|network| Some(&network.links) == links);
        let host = Host::ALL.iter().position(|host| *host == Host::of(role));
        network.zip(host).and_then(|(network, host)| network.hosts.get(host)).unwrap_or(&self.own)
    }

    /// The installation that knows what can be run: that of a sender's host, if there is one.
    fn any(&self) -> &WorkloadInstallation {
        self.of(self.networks.first().map(|network| &network.links), Role::Ping)
    }
}

impl HostNetwork {
    fn make(links: Links, programs: &Programs) -> Result<HostNetwork, Failure> {
        let switch = Namespace::new()?;
        switch.within(|| commands::run(&commands::switch()))?;
        let host = |host: &Host| {
            let namespace = Namespace::new()?;
            let port = commands::port(*host, &namespace.path(), &links);
            switch.within(|| commands::run(&port))?;
            namespace.within(|| {
                commands::run(&commands::host(host.address(), &links))?;
                WorkloadInstallation::open(Steward::start(StewardRole::Workloads)?, programs)
            })
        };
        let hosts = Host::ALL.iter().map(host).collect::<Result<Vec<_>, Failure>>()?;
        Ok(HostNetwork { links, hosts, _switch: switch })
    }
}
