//! The TCP ports that programs in this network namespace listen on. They tell which end of a connection is the server if the
//! connection was open before wirelap attached.

use std::fs::read_to_string;

/// The state `LISTEN` in `/proc/net/tcp` (`include/net/tcp_states.h`).
const LISTEN: &str = "0A";

/// The ports, in ascending order; none if `/proc/net/tcp` cannot be read.
pub fn ports() -> Vec<u16> {
    let files =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| read_to_string(path).unwrap_or_default());
    let mut ports: Vec<u16> = files.iter().flat_map(|text| listening(text)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The ports of the listening sockets in a table of `/proc/net` (`Documentation/networking/proc_net_tcp.rst`).
fn listening(table: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (_, port) = fields.next()?.rsplit_once(':')?;
        let is_listening = fields.nth(1)? == LISTEN;
        u16::from_str_radix(port, 16).ok().filter(|_| is_listening)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_have_their_port_in_hexadecimal_digits() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
               0: 0100007F:075B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n\
               1: 0100007F:9C40 0100007F:075B 01 00000000:00000000 00:00000000 00000000     0\n";
        assert_eq!(listening(table).collect::<Vec<_>>(), [1883]);
        assert_eq!(listening("").count(), 0);
    }
}
