//! The ICMP socket: one for everybody where `net.ipv4.ping_group_range` allows it, otherwise a raw one, which needs
//! `CAP_NET_RAW`.

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Interval at which a blocked call looks whether the run is over.
const TICK: Duration = Duration::from_millis(100);

/// Kind of socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// The kernel sets the identifier and delivers only the replies to it.
    Datagram,
    /// All ICMP packets of the host come, in IPv4 with their IP header.
    Raw,
}

/// An open socket, connected to the host.
pub struct Open {
    /// Only `send` and `recv` are used, which are the same for all datagram sockets.
    pub socket: UdpSocket,
    /// Kind of the socket, on which depends what it delivers.
    pub sort: SocketKind,
    /// The identifier that requests must carry; `None` where the kernel sets it.
    pub identifier: Option<u16>,
}

/// Opens the first kind that this process may.
pub fn open(target: IpAddr) -> io::Result<Open> {
    let datagram = connected(target, SocketType::DGRAM);
    let (socket, sort) = match datagram {
        Ok(socket) => (socket, SocketKind::Datagram),
        Err(denied) => match connected(target, SocketType::RAW) {
            Ok(socket) => (socket, SocketKind::Raw),
            Err(_) => return Err(denied),
        },
    };
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let identifier = (sort == SocketKind::Raw).then(|| u16::from_be_bytes([high, low]));
    Ok(Open { socket, sort, identifier })
}

fn connected(target: IpAddr, kind: SocketType) -> io::Result<UdpSocket> {
    let (family, protocol) = match target {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some::<Protocol>(protocol))?;
    let socket = UdpSocket::from(socket);
    socket.connect(SocketAddr::new(target, 0))?;
    socket.set_read_timeout(Some(TICK))?;
    socket.set_write_timeout(Some(TICK))?;
    Ok(socket)
}
