//! The address of a host that the processes on other hosts use.

use super::{PlacedHost, Placement, place};
use crate::hosts::Host;
use std::net::{IpAddr, Ipv4Addr};
use wirelap_contract::{HostAddress, Role};
use wirelap_process::Failure;

impl Placement {
    /// The address at which the processes of `others` reach a role, with its network interface: that of the loopback device if all are on one
    /// host.
    ///
    /// # Errors
    /// The host has no such address.
    pub fn address(&self, role: Role, others: &[Role]) -> Result<HostAddress, Failure> {
        let own = self.host(role);
        let peers: Vec<&PlacedHost> = others
            .iter()
            .map(|other| self.host(*other))
            .filter(|host| !std::ptr::eq(*host, own))
            .collect();
        let host = Host::of(role);
        if let Some(named) = self.named[host as usize] {
            let known = own.addresses.iter().find(|known| known.address == named).cloned();
            return known.ok_or_else(|| lacks(own, host, Some(named)));
        }
        if peers.is_empty() {
            let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
            return Ok(HostAddress { interface: "lo".into(), address });
        }
        let peers: Vec<&[HostAddress]> =
            peers.iter().map(|peer| peer.addresses.as_slice()).collect();
        nearest(&own.addresses, &peers).cloned().ok_or_else(|| lacks(own, host, None))
    }
}

fn lacks(host: &PlacedHost, role: Host, named: Option<IpAddr>) -> Failure {
    let (name, role) = (&host.name, place::name(role));
    let known: Vec<String> = host.addresses.iter().map(|one| one.address.to_string()).collect();
    Failure::Usage(match (named, known.is_empty()) {
        (Some(named), false) => {
            format!(
                "--place {role}={name}/{named}: {name} does not have this address, but {}",
                known.join(", ")
            )
        }
        _ => format!(
            "--place {role}={name}: {name} has no address at which other hosts could reach it"
        ),
    })
}

/// The address that is in one network with most of the peers' addresses; of several, the first.
fn nearest<'a>(own: &'a [HostAddress], peers: &[&[HostAddress]]) -> Option<&'a HostAddress> {
    let bits = |address: &HostAddress| {
        let to = |peer: &&[HostAddress]| peer.iter().map(|one| address.common_bits(one)).max();
        peers.iter().map(|peer| to(peer).unwrap_or(0)).min().unwrap_or(0)
    };
    own.iter().rev().max_by_key(|address| bits(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(interface: &str, address: &str) -> HostAddress {
        HostAddress { interface: interface.into(), address: address.parse().unwrap() }
    }

    #[test]
    fn the_address_in_the_peers_network_is_used() {
        let own = [at("docker0", "172.17.0.1"), at("eth0", "10.0.0.9"), at("eth0", "fd00::9")];
        let peer = [at("docker0", "172.18.0.1"), at("wlan0", "10.0.0.7")];
        let other = [at("eth0", "10.0.1.7")];
        assert_eq!(nearest(&own, &[&peer, &other]).unwrap().interface, "eth0");
        assert_eq!(nearest(&own, &[]), Some(&own[0]));
        assert_eq!(nearest(&[], &[&peer]), None);
    }
}
