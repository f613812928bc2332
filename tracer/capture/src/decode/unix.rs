//! Records of connections over Unix sockets, which the iterator over open files writes.

use super::record::RecordBytes;
use wirelap_ebpf::layout::wl_unix as f;
use wirelap_events::Pid;

/// A connection over a Unix socket, at the end of the process that accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixConnection {
    /// Tells connections apart; a process that was forked has its parent's, too.
    pub socket: u64,
    /// The process that accepted it.
    pub server: Pid,
    /// The process that connected.
    pub client: Pid,
    /// The path that the server listens on, or an abstract name with `@` before it.
    pub name: String,
}

/// The connections in what the iterator wrote. Bytes behind the last whole record are left out.
pub fn unix_connections(written: &[u8]) -> Vec<UnixConnection> {
    let records = written.chunks_exact(f::SIZE);
    records
        .filter_map(|bytes| RecordBytes::checked(bytes, 0, f::SIZE).ok().map(connection))
        .collect()
}

fn connection(r: RecordBytes<'_>) -> UnixConnection {
    let name: [u8; f::SIZE - f::NAME] = r.bytes(f::NAME);
    let len = (r.u32(f::NAME_LEN) as usize).min(name.len());
    UnixConnection {
        socket: r.u64(f::SOCKET),
        server: Pid(r.u32(f::PID)),
        client: Pid(r.u32(f::PEER)),
        name: text(name.get(..len).unwrap_or_default()),
    }
}

/// A path ends at its first NUL; an abstract name begins with one (unix(7)).
fn text(name: &[u8]) -> String {
    let is_abstract = name.first() == Some(&0);
    let visible = name.split(|&byte| byte == 0).find(|part| !part.is_empty()).unwrap_or_default();
    let text = String::from_utf8_lossy(visible);
    if is_abstract { format!("@{text}") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(socket: u64, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; f::SIZE];
        bytes[f::SOCKET..][..8].copy_from_slice(&socket.to_ne_bytes());
        bytes[f::PID..][..4].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[f::PEER..][..4].copy_from_slice(&9_u32.to_ne_bytes());
        let len = u32::try_from(name.len()).unwrap();
        bytes[f::NAME_LEN..][..4].copy_from_slice(&len.to_ne_bytes());
        bytes[f::NAME..][..name.len()].copy_from_slice(name);
        bytes
    }

    #[test]
    fn paths_and_abstract_names_are_read_and_half_a_record_is_left_out() {
        let mut written = record(1, b"/run/mosquitto.sock\0");
        written.extend(record(2, b"\0bus"));
        written.extend(&record(3, b"/run/x")[..20]);
        let names: Vec<_> = unix_connections(&written)
            .into_iter()
            .map(|c| (c.socket, c.server.0, c.client.0, c.name))
            .collect();
        let expected = [(1, 7, 9, "/run/mosquitto.sock".to_owned()), (2, 7, 9, "@bus".to_owned())];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_length_beyond_the_record_is_cut() {
        let mut bytes = record(1, b"/run/x");
        bytes[f::NAME_LEN..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(unix_connections(&bytes)[0].name, "/run/x");
    }
}
