//! Why packets cannot be captured.

use std::io;
use wirelap_process::remedy::of_cause;

/// Why packets cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// The process may not open packet sockets.
    #[error(
        "capturing packets needs CAP_NET_RAW: run wirelap with sudo, or give it this capability (setcap cap_net_raw=ep)"
    )]
    NoPrivileges,
    /// The kernel has no packet sockets.
    #[error(
        "this kernel has no packet sockets: boot one with CONFIG_PACKET=y, or load the module af_packet"
    )]
    NoPacketSockets,
    /// The kernel has no memory for the ring.
    #[error(
        "the kernel has not enough memory for a ring buffer of {0} bytes: choose a smaller one (--ring-size)"
    )]
    NoMemory(u64),
    /// There is no such device.
    #[error("there is no network device {0} in this network namespace: `ip link` lists them")]
    NoDevice(String),
    /// The kernel refuses something else.
    #[error("packets cannot be captured ({what}): {source}{}", of_cause(source).map(|remedy| format!(": {remedy}")).unwrap_or_default())]
    Kernel {
        /// The step that failed.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl PacketError {
    /// The error of something that was tried.
    pub(super) fn of(what: &'static str) -> PacketError {
        PacketError::from_kernel(what, io::Error::last_os_error())
    }

    pub(super) fn from_kernel(what: &'static str, source: io::Error) -> PacketError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => PacketError::NoPrivileges,
            Some(libc::EAFNOSUPPORT) => PacketError::NoPacketSockets,
            _ => PacketError::Kernel { what, source },
        }
    }
}
