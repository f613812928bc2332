//! The messages of a service to systemd (`sd_notify(3)`): that it works now, its state in one line, and that it ends.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the address of systemd's socket.
const ADDRESS: &str = "NOTIFY_SOCKET";

/// The connection of a service to systemd.
#[derive(Debug)]
pub struct SystemdService {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl SystemdService {
    /// That of this process; `None` if systemd has not started it as a service that reports.
    pub fn here() -> Option<SystemdService> {
        SystemdService::at(&std::env::var_os(ADDRESS)?)
    }

    /// A connection to an address: a path, or a name after `@`.
    fn at(address: &OsStr) -> Option<SystemdService> {
        let address = match address.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok()?,
            [b'/', ..] => SocketAddr::from_pathname(address).ok()?,
            _ => return None,
        };
        let socket = UnixDatagram::unbound().ok()?;
        // A service does not wait for systemd.
        socket.set_nonblocking(true).ok()?;
        Some(SystemdService { socket, address })
    }

    /// The service works from now on.
    pub fn ready(&self, state: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", one_line(state)));
    }

    /// The service is about to end.
    pub fn stopping(&self, state: &str) {
        self.tell(&format!("STOPPING=1\nSTATUS={}", one_line(state)));
    }

    /// An error is ignored: it is a message, and nothing depends on it.
    fn tell(&self, text: &str) {
        let _ = self.socket.send_to_addr(text.as_bytes(), &self.address);
    }
}

/// A line would be another variable.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_told_in_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        let service = SystemdService::at(path.as_os_str()).unwrap();
        let heard = |text: &str| {
            let mut bytes = [0; 128];
            let length = systemd.recv(&mut bytes).unwrap();
            assert_eq!(std::str::from_utf8(&bytes[..length]), Ok(text));
        };
        service.ready("recording\nREADY=0");
        heard("READY=1\nSTATUS=recording READY=0");
        service.stopping("two files");
        heard("STOPPING=1\nSTATUS=two files");
    }

    #[test]
    fn an_abstract_name_is_an_address_too_and_other_text_is_none() {
        let name = format!("wirelap-test-{}", std::process::id());
        let systemd =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        SystemdService::at(OsStr::new(&format!("@{name}"))).unwrap().ready("");
        let mut bytes = [0; 64];
        assert_eq!(systemd.recv(&mut bytes).unwrap(), b"READY=1\nSTATUS=".len());
        assert!(
            SystemdService::at(OsStr::new("")).is_none()
                && SystemdService::at(OsStr::new("x")).is_none()
        );
    }

    #[test]
    fn nobody_who_listens_is_no_error() {
        SystemdService::at(OsStr::new("/nowhere/notify")).unwrap().ready("recording");
    }
}
