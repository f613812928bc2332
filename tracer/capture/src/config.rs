//! The configuration of a capture.

use std::path::PathBuf;
use wirelap_events::{Pid, TraceDetail};

/// Settings that decide what a capture traces. An event passes if it matches at least one of the filters (ports, processes, cgroup);
/// without filters, every event passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureConfig {
    /// Local or remote ports; empty for all.
    pub ports: Vec<u16>,
    /// Processes; their present and future children are traced, too. Empty for all.
    pub pids: Vec<Pid>,
    /// A cgroup v2 directory, for the processes in this cgroup and below it.
    pub cgroup: Option<PathBuf>,
    /// Payload bytes captured of each packet, at most 65,536.
    pub snap_bytes: u32,
    /// Bytes of the ring buffer: a power of two and a multiple of the page size.
    pub ring_bytes: u32,
    /// True for the kernel's ring buffer even where one of our own is possible, which is faster: for comparisons.
    pub kernel_ring: bool,
    /// True if the probes keep their CPU while they run, where the kernel has what that takes; `None` for: if it would take it.
    pub keeps_cpu: Option<bool>,
    /// The time to attach the hooks that only UDP needs.
    pub datagrams: UdpHooks,
    /// The part of a message's way that is observed.
    pub detail: TraceDetail,
    /// True to read the text of TLS, where a library is found to write it.
    pub tls: bool,
    /// True to exclude the sockets of this process.
    pub exclude_self: bool,
    /// The file with the kernel's types; `None` to find them.
    pub btf: Option<PathBuf>,
}

/// The time to attach the hooks that only UDP needs: at the exit of every send, and at its entry, which is that of a function or
/// of every system call of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpHooks {
    /// Never. Sends of datagrams are not observed then.
    Never,
    /// The hook at the entry is attached when a traced socket has sent a datagram, so that a host without datagrams has no cost. The
    /// entries of earlier sends are not observed. Where the exit is that of a function, the entry is observed from the beginning.
    WhenSeen,
    /// From the beginning.
    Always,
}

impl CaptureConfig {
    /// True if there is a filter. Ports and processes can be added to a filter of any kind later.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.ports.is_empty() || !self.pids.is_empty() || self.cgroup.is_some()
    }
}

impl Default for CaptureConfig {
    /// All traffic, complete packets, and a ring buffer of 64 MiB.
    fn default() -> CaptureConfig {
        CaptureConfig {
            ports: Vec::new(),
            pids: Vec::new(),
            cgroup: None,
            snap_bytes: 65_536,
            ring_bytes: 64 << 20,
            kernel_ring: false,
            keeps_cpu: None,
            datagrams: UdpHooks::WhenSeen,
            detail: TraceDetail::Full,
            tls: false,
            exclude_self: true,
            btf: None,
        }
    }
}
