//! Answers to a wirelap on another host: what this one is, and what it can reach.

use crate::registry;
use anyhow::{Context, Result, bail};
use nix::ifaddrs::getifaddrs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use wirelap_contract::{HostAddress, WorkloadHost};

/// The longest time that a connection is waited for.
const CONNECT: Duration = Duration::from_secs(5);

/// This host, as another host needs to know it.
pub fn describe() -> Result<WorkloadHost> {
    let all = getifaddrs().context("cannot list the addresses of this host")?;
    let addresses = all.filter_map(|one| {
        let socket = one.address?;
        let v4 = socket.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
        let address = v4.or_else(|| Some(IpAddr::V6(socket.as_sockaddr_in6()?.ip())))?;
        Some(HostAddress { interface: one.interface_name, address })
    });
    Ok(WorkloadHost {
        version: env!("CARGO_PKG_VERSION").into(),
        addresses: addresses.filter(|one| may_be_reached(one.address)).collect(),
        middlewares: registry::described(),
    })
}

/// True for addresses that another host may reach without naming a device.
fn may_be_reached(address: IpAddr) -> bool {
    let is_of_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || is_of_link)
}

/// Connects to an endpoint, and closes the connection at once.
pub fn reach(endpoint: &str) -> Result<()> {
    let mut found: Vec<SocketAddr> = endpoint
        .to_socket_addrs()
        .with_context(|| format!("{endpoint} cannot be resolved"))?
        .collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    let address = found.first().copied();
    let Some(address) = address.filter(|address| address.ip() != Ipv4Addr::UNSPECIFIED) else {
        bail!("{endpoint} is no address to connect to");
    };
    TcpStream::connect_timeout(&address, CONNECT)
        .with_context(|| format!("{endpoint} cannot be reached"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_need_a_device_are_left_out() {
        let is = |address: &str| may_be_reached(address.parse().unwrap());
        assert!(is("10.77.0.1") && is("fd00::1"));
        assert!(!is("127.0.0.1") && !is("::1") && !is("169.254.1.1") && !is("fe80::1"));
    }

    #[test]
    fn an_endpoint_is_reached_while_somebody_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap().to_string();
        assert!(reach(&endpoint).is_ok());
        drop(listener);
        let text = format!("{:#}", reach(&endpoint).unwrap_err());
        assert!(text.starts_with(&format!("{endpoint} cannot be reached: ")), "{text}");
    }
}
