//! What to trace.

use std::path::PathBuf;
use wirelap_events::Pid;

/// What to trace. An event passes when it matches any of the given filters (ports, processes or
/// cgroup); with none given everything passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Local or remote ports; empty for all.
    pub ports: Vec<u16>,
    /// Roots of process trees: their children, present and future, follow. Empty for all.
    pub pids: Vec<Pid>,
    /// A cgroup v2 directory: processes in it and below it.
    pub cgroup: Option<PathBuf>,
    /// Payload bytes captured of each packet, at most 65,536.
    pub snap_bytes: u32,
    /// Bytes of the ring buffer: a power of two and a multiple of the page size.
    pub ring_bytes: u32,
    /// When to attach what only UDP needs.
    pub datagrams: Datagrams,
    /// Whether to leave out the sockets of this very process.
    pub exclude_self: bool,
}

/// When to attach what only UDP needs: the exit of every send, and the entry of every system call of the
/// host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagrams {
    /// Never: their sends are not seen.
    Never,
    /// The entry of system calls only once a traced socket has sent a datagram: a host without any pays
    /// nothing, and the sends until then are not seen.
    WhenSeen,
    /// From the start.
    Always,
}

impl Config {
    /// Whether anything is left out. Ports can then be added while it works, whatever it goes by.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.ports.is_empty() || !self.pids.is_empty() || self.cgroup.is_some()
    }
}

impl Default for Config {
    /// Everything, whole packets, a ring of 64 MiB.
    fn default() -> Config {
        Config {
            ports: Vec::new(),
            pids: Vec::new(),
            cgroup: None,
            snap_bytes: 65_536,
            ring_bytes: 64 << 20,
            datagrams: Datagrams::WhenSeen,
            exclude_self: true,
        }
    }
}
