//! Facts about a host that `wirelap-workload host` prints as JSON, for a wirelap on another host that starts workloads there.

use crate::About;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A host on which workloads can be started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadHost {
    /// Version of `wirelap-workload`.
    pub version: String,
    /// Addresses at which other hosts may reach it.
    pub addresses: Vec<HostAddress>,
    /// Middlewares that can be run there, as `wirelap-workload list` prints them.
    pub middlewares: Vec<About>,
}

/// An address of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAddress {
    /// Network interface that has it.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
}

impl HostAddress {
    /// Leading bits that two addresses of one family share: the more, the nearer they are in most networks.
    pub fn common_bits(&self, other: &HostAddress) -> u32 {
        match (self.address, other.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_nearer() {
        let at = |address: &str| HostAddress {
            interface: "eth0".into(),
            address: address.parse().unwrap(),
        };
        let own = at("10.77.0.1");
        let bits = ["10.77.0.2", "10.78.0.1", "fd00::1"].map(|other| own.common_bits(&at(other)));
        assert_eq!(bits, [30, 14, 0]);
        assert_eq!(at("fd00::1").common_bits(&at("fd00::2")), 126);
    }
}
