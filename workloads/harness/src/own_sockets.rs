//! The sockets that a library opened in this process and does not show.
//!
//! `pidfd_getfd(2)` on the own process duplicates a descriptor by its number without claiming to own
//! the original; what is asked or set through the duplicate holds for the socket itself.

use anyhow::{Context, Result};
use rustix::net::sockopt::{socket_acceptconn, socket_type};
use rustix::net::{SocketAddrAny, SocketType, getpeername, getsockname};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// A duplicate of a socket of this process.
pub struct Waiting {
    /// The duplicate.
    pub socket: OwnedFd,
    /// Local address of the socket.
    pub address: SocketAddr,
}

/// TCP sockets that listen.
///
/// # Errors
///
/// When the kernel shows no descriptors.
pub fn listening() -> Result<Vec<Waiting>> {
    find(|socket| socket_acceptconn(socket).unwrap_or(false))
}

/// UDP sockets with an address.
///
/// # Errors
///
/// When the kernel shows no descriptors.
pub fn datagram() -> Result<Vec<Waiting>> {
    find(|socket| socket_type(socket).is_ok_and(|kind| kind == SocketType::DGRAM))
}

/// Sockets that are connected to `peer`.
///
/// # Errors
///
/// When the kernel shows no descriptors.
pub fn connected_to(peer: SocketAddr) -> Result<Vec<Waiting>> {
    find(|socket| getpeername(socket).ok().flatten().and_then(internet) == Some(peer))
}

fn find(wanted: impl Fn(&OwnedFd) -> bool) -> Result<Vec<Waiting>> {
    let this = pidfd_open(getpid(), PidfdFlags::empty()).context("pidfd_open")?;
    let numbers: Vec<i32> = fs::read_dir("/proc/self/fd")
        .context("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // A descriptor may have been closed since the list was made: it is then left out.
    Ok(numbers
        .into_iter()
        .filter_map(|number| pidfd_getfd(&this, number, PidfdGetfdFlags::empty()).ok())
        .filter(|socket| wanted(socket))
        .filter_map(|socket| {
            let address = getsockname(&socket).ok().and_then(internet)?;
            (address.port() != 0).then_some(Waiting { socket, address })
        })
        .collect())
}

fn internet(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn listeners_and_datagram_sockets_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addresses =
            |found: Vec<Waiting>| found.into_iter().map(|w| w.address).collect::<Vec<_>>();
        let tcp = addresses(listening().unwrap());
        let udp = addresses(datagram().unwrap());
        assert!(tcp.contains(&listener.local_addr().unwrap()));
        assert!(!tcp.contains(&socket.local_addr().unwrap()));
        assert!(udp.contains(&socket.local_addr().unwrap()));
        assert!(!udp.contains(&listener.local_addr().unwrap()));
    }
}
