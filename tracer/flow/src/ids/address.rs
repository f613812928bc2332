//! Addresses, and the namespaces that they are told apart by.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wirelap_events::{FlowKey, NetNs};

/// The namespace that an address is told by. A host that talks to itself at an address that others reach it at serves there
/// for all.
pub fn scope_of(addr: SocketAddr, scope: NetNs) -> NetNs {
    if addr.ip().is_loopback() { scope } else { NetNs(0) }
}

/// One broker listens on both loopback addresses.
pub fn normal(server: SocketAddr) -> SocketAddr {
    if server.ip().is_loopback() {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), server.port())
    } else {
        server
    }
}

/// Both ends of a flow, the sender first, each with the namespace that its address is told by.
pub fn ends(key: FlowKey) -> [(SocketAddr, NetNs); 2] {
    [(key.src, key.scope), (key.dst, key.scope)]
}
