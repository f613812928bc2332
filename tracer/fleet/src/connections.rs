//! The TCP connections of this process: they carry what agents send.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state `ESTABLISHED` in `/proc/net/tcp` (`include/net/tcp_states.h`).
const ESTABLISHED: &str = "01";

/// The connections of this process, each with its own address and that of the other end.
pub fn own() -> Vec<(SocketAddr, SocketAddr)> {
    let inodes = own_sockets();
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(fs::read_to_string);
    let tables = tables.into_iter().flatten();
    tables.flat_map(|table| established(&table, &inodes)).collect()
}

/// Inodes of the sockets of this process (`proc_pid_fd(5)`).
fn own_sockets() -> HashSet<u64> {
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |link: std::path::PathBuf| {
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    links.filter_map(inode).collect()
}

/// The established connections of a table (`Documentation/networking/proc_net_tcp.rst`) that have one of these inodes.
fn established(table: &str, inodes: &HashSet<u64>) -> Vec<(SocketAddr, SocketAddr)> {
    let connection = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (one, other) = (fields.next()?, fields.next()?);
        let is_established = fields.next()? == ESTABLISHED;
        let inode: u64 = fields.nth(5)?.parse().ok()?;
        let both = address(one).zip(address(other));
        both.filter(|_| is_established && inodes.contains(&inode))
    };
    table.lines().skip(1).filter_map(connection).collect()
}

/// An address as that table has it: words of the host's byte order, in hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at.checked_add(8)?)?, 16).ok();
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?].map(u32::to_ne_bytes);
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_of_this_process_are_those_that_it_has_opened() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let [client, server] = [client, server];
        let addresses = |socket: &std::net::TcpStream| {
            (socket.local_addr().unwrap(), socket.peer_addr().unwrap())
        };
        let own = own();
        assert!(own.contains(&addresses(&client)) && own.contains(&addresses(&server)), "{own:?}");
        assert!(!own.iter().any(|(local, _)| local.port() == 0));
    }

    #[test]
    fn addresses_of_both_kinds_are_read() {
        assert_eq!(address("0100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        let mapped = "0000000000000000FFFF00000200000A:0050";
        assert_eq!(address(mapped), Some("10.0.0.2:80".parse().unwrap()));
        let plain = "00000000000000000000000001000000:0001";
        assert_eq!(address(plain), Some("[::1]:1".parse().unwrap()));
        for text in ["", "1:2", "0100007F", "0100007G:1", "0100007F:12345"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
