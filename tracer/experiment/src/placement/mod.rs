//! Placement of the roles of a run on several hosts: which process is started where, and at which addresses they meet.
//!
//! ```text
//!  --place publisher=robot,broker=hub            robot                hub                  here
//!                                              ┌────────┐          ┌────────┐          ┌────────────┐
//!  each process is started through the         │ pub  ──┼─ 10.0.0.9:PORT ─▶ broker ────┼─▶ sub      │
//!  command that reaches its host               └────────┘          └────────┘          └────────────┘
//! ```
//! A process ends with its stdin, so nothing is left on a host whatever ends wirelap or the connection.
//!
//! | file | what |
//! |---|---|
//! | `place` | [`RolePlace`]: a role and its host, as the user names them |
//! | `open` | asks the hosts what they are, and takes the workloads' program there |
//! | `ports` | the ports that the processes meet at, which the agents observe |
//! | `address` | which address of a host the others use |

mod address;
mod open;
mod place;
mod ports;

pub use open::PlacementMeans;
pub use place::RolePlace;
pub use ports::traced_ports;

use crate::catalogue::Catalogue;
use crate::hosts::Host;
use crate::processes::WorkloadInstallation;
use crate::request::RunRequest;
use std::net::IpAddr;
use wirelap_contract::{About, Availability, HostAddress, Role};
use wirelap_process::steward::{DeclaredCommand, StartedProcess};

/// Name of this host.
pub const HERE: &str = "here";

/// Hosts of a run, and which role is started on which.
#[derive(Debug)]
pub struct Placement {
    hosts: Vec<PlacedHost>,
    /// Place in `hosts`, by role in the order of [`Host::ALL`].
    places: [usize; Host::ALL.len()],
    /// Addresses that the user has named, in the same order.
    named: [Option<IpAddr>; Host::ALL.len()],
    /// Commands of the other hosts' installations.
    commands: Vec<DeclaredCommand>,
    /// Processes that keep the program on hosts that lacked it. They end with their stdin.
    _holders: Vec<StartedProcess>,
}

/// A host on which roles are started.
#[derive(Debug)]
pub struct PlacedHost {
    /// Its name.
    pub name: String,
    /// The workloads' program there.
    pub installation: WorkloadInstallation,
    addresses: Vec<HostAddress>,
    middlewares: Vec<About>,
}

impl PlacedHost {
    /// True for the host that wirelap runs on.
    pub fn is_here(&self) -> bool {
        self.installation.elsewhere.is_none()
    }
}

impl Placement {
    /// True if a role is on the host that wirelap runs on.
    pub fn is_here(&self) -> bool {
        Host::ALL.iter().any(|role| self.hosts[self.places[*role as usize]].is_here())
    }

    /// The request with what the places decide.
    pub fn add_to(&self, request: &mut RunRequest) {
        let variants = request.ab.iter_mut().flat_map(|comparison| &mut comparison.variants);
        let port = ports::chosen();
        for workloads in variants.map(|one| &mut one.workloads).chain([&mut request.workloads]) {
            workloads.is_broker_apart = self.is_broker_apart();
            // Agents are told before a broker could say which one it has.
            if workloads.port == 0 {
                workloads.port = port;
            }
        }
        request.chosen.insert("place".into(), self.words());
    }

    /// The host of a role.
    pub fn host(&self, role: Role) -> &PlacedHost {
        &self.hosts[self.places[Host::of(role) as usize]]
    }

    /// Commands that start the workloads' program on the other hosts. The steward must know them behind those of the agents.
    pub fn commands(&self) -> Vec<DeclaredCommand> {
        self.commands.clone()
    }

    /// True if the broker is on another host than one of its clients.
    fn is_broker_apart(&self) -> bool {
        let [sender, receiver, broker] = self.places;
        broker != sender || broker != receiver
    }

    /// Middlewares that can be run in these places: programs must be where they are started.
    pub fn catalogue(&self) -> Catalogue {
        let of = |role| &self.host(role).middlewares;
        let (senders, receivers, brokers) = (of(Role::Pub), of(Role::Sub), of(Role::Broker));
        let named = |all: &'_ [About], name: &str| all.iter().find(|one| one.name == name).cloned();
        let all = senders.iter().map(|about| {
            let mut about = about.clone();
            let (receiver, broker) = (named(receivers, &about.name), named(brokers, &about.name));
            if about.available.remedy().is_none()
                && let Some(Availability::Missing { remedy }) = receiver.map(|one| one.available)
            {
                about.available = Availability::Missing { remedy };
            }
            if let Some(broker) = broker {
                about.brokers = broker.brokers;
            }
            about
        });
        Catalogue::of(all.collect())
    }

    /// The places in words, for the report: `broker=hub,publisher=robot,subscriber=here`.
    fn words(&self) -> String {
        let host = |role: &Host| {
            format!("{}={}", place::name(*role), self.hosts[self.places[*role as usize]].name)
        };
        Host::ALL.iter().map(host).collect::<Vec<_>>().join(",")
    }
}
