//! What can go wrong: each message is a sentence with the remedy.

use std::path::PathBuf;

/// Why the probes could not be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The process may not load BPF programs.
    #[error(
        "attaching probes needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN (missing: {missing}): run it with sudo"
    )]
    NoPrivileges {
        /// The capabilities that are missing.
        missing: String,
    },
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no BTF type information (/sys/kernel/btf/vmlinux: {source}): boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as current distributions' kernels are"
    )]
    NoBtf {
        /// What reading it said.
        source: std::io::Error,
    },
    /// The kernel's description of its types cannot be read.
    #[error("the kernel's BTF type information cannot be understood: {0}")]
    BadBtf(#[from] aya::BtfError),
    /// The kernel refused a map for want of memory.
    #[error(
        "the kernel has no memory for a ring buffer of {ring_bytes} bytes: choose a smaller one, or raise the memory limit (ulimit -l) of this process"
    )]
    NoMemory {
        /// What was asked for.
        ring_bytes: u32,
    },
    /// The ring's size is not one that the kernel takes.
    #[error("a ring buffer of {0} bytes is not possible: take a power of two from {page} bytes up", page = rustix::param::page_size())]
    BadRingSize(u32),
    /// The object could not be loaded.
    #[error("the kernel does not take the probes: {0}")]
    Load(#[source] Box<aya::EbpfError>),
    /// No observation at all could be made.
    #[error(
        "this kernel takes none of the probes that tracing cannot do without ({observation}: {reason}): a kernel from 6.1 on is needed"
    )]
    NothingAttached {
        /// The observation that cannot be done without.
        observation: &'static str,
        /// What the kernel said to the last way tried.
        reason: String,
    },
    /// The cgroup of the filter is not there.
    #[error("{path} is no cgroup v2 directory: {source}")]
    BadCgroup {
        /// The directory.
        path: PathBuf,
        /// What looking said.
        source: std::io::Error,
    },
    /// Something else failed while attaching.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// What can go wrong while capturing.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A map could not be used.
    #[error("the probes' map `{map}` cannot be used: {source}")]
    Map {
        /// The map.
        map: &'static str,
        /// What the kernel said.
        source: Box<aya::maps::MapError>,
    },
    /// The object has no such map: it does not belong to this program.
    #[error("the compiled probes have no map `{0}`: they do not belong to this program")]
    NoMap(&'static str),
    /// Waiting for events failed.
    #[error("waiting for events failed: {0}")]
    Wait(#[source] std::io::Error),
    /// A record is not laid out as this program expects.
    #[error("the probes sent a record that cannot be read: {0}")]
    Record(#[from] crate::decode::Malformed),
    /// Listing the sockets that are open failed.
    #[error("the sockets that are already open cannot be listed: {0}")]
    Existing(String),
    /// Probes that were detached cannot be attached again.
    #[error("the probes cannot be attached again: {0}")]
    Attach(String),
    /// The process to follow is not there.
    #[error("there is no process {0} to follow")]
    NoProcess(u32),
}
