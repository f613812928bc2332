//! The TCP ports that programs in this network namespace listen on. They tell which end of a connection is the server if the
//! connection was open before wirelap attached.

use procfs::process::FDTarget;
use std::fs::read_to_string;
use std::net::{SocketAddr, UdpSocket};

/// The state `LISTEN` in `/proc/net/tcp` (`include/net/tcp_states.h`).
const LISTEN: &str = "0A";

/// The ports, in ascending order; none if `/proc/net/tcp` cannot be read.
pub fn ports() -> Vec<u16> {
    let files = tables();
    let mut ports: Vec<u16> =
        files.iter().flat_map(|text| listening(text)).map(|(port, _)| port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The process that listens on an address of this machine; `None` for an address of another machine, and if the process cannot
/// be found.
pub fn process(address: SocketAddr) -> Option<u32> {
    // An address is this machine's if a socket can be bound to it.
    UdpSocket::bind((address.ip(), 0)).ok()?;
    let inodes: Vec<u64> = tables()
        .iter()
        .flat_map(|text| listening(text))
        .filter(|&(port, _)| port == address.port())
        .map(|(_, inode)| inode)
        .collect();
    let has = |process: &procfs::process::Process| {
        let files = process.fd().into_iter().flatten().flatten();
        files.into_iter().any(|file| match file.target {
            FDTarget::Socket(inode) => inodes.contains(&inode),
            _ => false,
        })
    };
    let found = procfs::process::all_processes().ok()?.flatten().find(has)?;
    u32::try_from(found.pid).ok()
}

fn tables() -> [String; 2] {
    ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| read_to_string(path).unwrap_or_default())
}

/// The port and the inode of each listening socket in a table of `/proc/net` (`Documentation/networking/proc_net_tcp.rst`).
fn listening(table: &str) -> impl Iterator<Item = (u16, u64)> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (_, port) = fields.next()?.rsplit_once(':')?;
        let is_listening = fields.nth(1)? == LISTEN;
        let inode = fields.nth(5)?.parse().ok()?;
        let port = u16::from_str_radix(port, 16).ok();
        port.filter(|_| is_listening).map(|port| (port, inode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_have_their_port_in_hexadecimal_digits() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
               0: 0100007F:075B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711\n\
               1: 0100007F:9C40 0100007F:075B 01 00000000:00000000 00:00000000 00000000     0        0 4712\n";
        assert_eq!(listening(table).collect::<Vec<_>>(), [(1883, 4711)]);
        assert_eq!(listening("").count(), 0);
    }

    #[test]
    fn a_listening_process_is_found_by_its_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(process(address), Some(std::process::id()));
        drop(listener);
        assert_eq!(process(address), None);
        assert_eq!(process("192.0.2.1:1883".parse().unwrap()), None);
    }
}
