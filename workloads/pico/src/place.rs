//! Address or group at which the programs meet.

use anyhow::Result;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wirelap_contract::Spec;
use wirelap_harness::foreign;
use wirelap_harness::{daemon, link};

/// Zenoh's own group, one up from the one for scouting.
const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 123);

/// A TCP address or a multicast group.
#[derive(Clone, Debug)]
pub enum PicoAddress {
    /// One listens here and the other connects.
    Tcp(SocketAddr),
    /// All join this group on an interface.
    Multicast(SocketAddr, String),
}

impl PicoAddress {
    /// The place of `--endpoint`; with a free port if it has none.
    pub fn tcp(spec: &Spec) -> Result<PicoAddress> {
        let address = link::resolve(&spec.endpoint)?;
        let chosen = if link::listens(spec.role) { daemon::choose(address)? } else { address };
        Ok(PicoAddress::Tcp(chosen))
    }

    /// The group of `--endpoint`, or Zenoh's own on its port, on `--interface`.
    pub fn multicast(spec: &Spec) -> Result<PicoAddress> {
        let mut address = link::resolve(&spec.endpoint)?;
        if !address.ip().is_multicast() {
            address.set_ip(IpAddr::V4(GROUP));
        }
        if address.port() == 0 {
            address.set_port(foreign::free_udp_port()?);
        }
        let interface = spec.interface.clone();
        Ok(PicoAddress::Multicast(address, interface))
    }

    /// As HOST:PORT.
    pub fn address(&self) -> SocketAddr {
        match self {
            PicoAddress::Tcp(address) | PicoAddress::Multicast(address, _) => *address,
        }
    }

    /// As Zenoh writes it.
    pub fn locator(&self) -> String {
        match self {
            PicoAddress::Tcp(address) => format!("tcp/{address}"),
            PicoAddress::Multicast(address, interface) => {
                format!("udp/{address}#iface={interface}")
            }
        }
    }

    /// Question for the user about what may be wrong when a program cannot open the place.
    pub fn doubt(&self) -> String {
        match self {
            PicoAddress::Tcp(address) => {
                format!("is {address} free, and does the other side listen there?")
            }
            PicoAddress::Multicast(_, interface) => {
                format!("does {interface} do multicast (ip link set {interface} multicast on)?")
            }
        }
    }

    /// True if a program waits at the place.
    pub fn is_taken(&self) -> bool {
        let protocol = match self {
            PicoAddress::Tcp(_) => "tcp",
            PicoAddress::Multicast(..) => "udp",
        };
        foreign::is_bound(protocol, self.address().port())
    }
}
