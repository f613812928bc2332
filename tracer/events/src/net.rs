//! Flows and sockets.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The transport protocol under a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// A byte stream.
    Tcp,
    /// Datagrams.
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        })
    }
}

/// The kernel's socket cookie, which is unique on a host until it is booted again.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SocketId(pub u64);

/// The inode number of a network namespace; 0 where the namespace does not matter (see [`FlowKey::new`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetNs(pub u32);

/// One direction of a conversation, identified by its addresses.
///
/// Both ends of a flow, and every hook in between, must compute the same key. A flow that cannot leave a namespace (loopback, or
/// between addresses of one host) can exist in several namespaces with the same addresses, so its key contains the namespace. All
/// other keys have `scope` 0, because the two ends may be in different namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// TCP or UDP.
    pub transport: Transport,
    /// The sender's address and port.
    pub src: SocketAddr,
    /// The receiver's address and port.
    pub dst: SocketAddr,
    /// The namespace of a flow that cannot leave it; otherwise 0.
    pub scope: NetNs,
}

impl FlowKey {
    /// The key of a packet or socket in the namespace `netns`. IPv4-mapped IPv6 addresses become IPv4, so that a dual-stack socket and
    /// its packets have the same key.
    pub fn new(transport: Transport, src: SocketAddr, dst: SocketAddr, netns: NetNs) -> FlowKey {
        let (src, dst) = (canonical(src), canonical(dst));
        let confined = src.ip() == dst.ip() || src.ip().is_loopback() || dst.ip().is_loopback();
        FlowKey { transport, src, dst, scope: if confined { netns } else { NetNs(0) } }
    }

    /// The other direction of the same conversation.
    #[must_use]
    pub fn reversed(self) -> FlowKey {
        FlowKey { src: self.dst, dst: self.src, ..self }
    }
}

/// Hashes a few words and not each byte of the addresses, because every packet is looked up by its key.
impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for addr in [self.src, self.dst] {
            match addr.ip() {
                IpAddr::V4(ip) => {
                    state.write_u64(u64::from(ip.to_bits()) << 16 | u64::from(addr.port()));
                }
                IpAddr::V6(ip) => {
                    state.write_u128(ip.to_bits());
                    state.write_u16(addr.port());
                }
            }
        }
        state.write_u64(u64::from(self.scope.0) << 1 | self.transport as u64);
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} → {}", self.transport, self.src, self.dst)
    }
}

fn canonical(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn loopback_flows_are_confined_to_their_namespace() {
        let key =
            |ns| FlowKey::new(Transport::Tcp, addr("127.0.0.1:1"), addr("127.0.0.1:2"), NetNs(ns));
        assert_ne!(key(1), key(2));
    }

    #[test]
    fn routed_flows_are_the_same_from_both_namespaces() {
        let key =
            |ns| FlowKey::new(Transport::Tcp, addr("10.0.0.1:1"), addr("10.0.0.2:2"), NetNs(ns));
        assert_eq!(key(1), key(2));
    }

    #[test]
    fn mapped_addresses_are_ipv4() {
        let mapped = FlowKey::new(
            Transport::Tcp,
            addr("[::ffff:127.0.0.1]:1"),
            addr("[::ffff:127.0.0.1]:2"),
            NetNs(7),
        );
        let plain =
            FlowKey::new(Transport::Tcp, addr("127.0.0.1:1"), addr("127.0.0.1:2"), NetNs(7));
        assert_eq!(mapped, plain);
        assert_eq!(mapped.reversed().reversed(), plain);
    }
}
