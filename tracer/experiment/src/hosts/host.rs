//! The hosts of a network.

use std::net::Ipv4Addr;
use strum::{IntoStaticStr, VariantArray};
use wirelap_contract::Role;
use wirelap_events::all_variants;

/// The network interface of each host.
pub const HOST_INTERFACE: &str = "eth0";

/// A host: a network namespace in which the processes of one role run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Host {
    /// The host of publisher or ping.
    Sender,
    /// The host of subscriber or pong.
    Receiver,
    /// The host of the broker.
    Broker,
}

impl Host {
    /// All hosts.
    pub const ALL: [Host; Host::VARIANTS.len()] = all_variants();

    /// The host of a role.
    pub const fn of(role: Role) -> Host {
        match role {
            Role::Pub | Role::Ping | Role::Connect => Host::Sender,
            Role::Sub | Role::Pong => Host::Receiver,
            Role::Broker => Host::Broker,
        }
    }

    /// The name in messages, and of the port of the switch.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The address, in a network of 24 bits. No other host can be reached from there, so it collides with none.
    pub const fn address(self) -> Ipv4Addr {
        match self {
            Host::Sender => Ipv4Addr::new(10, 77, 0, 1),
            Host::Receiver => Ipv4Addr::new(10, 77, 0, 2),
            Host::Broker => Ipv4Addr::new(10, 77, 0, 3),
        }
    }
}
