//! What can go wrong: each message is a sentence with the remedy.

use std::io;
use std::path::PathBuf;
use wirelap_process::remedy::of_cause;

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
        "this kernel's BTF type information cannot be read (/sys/kernel/btf/vmlinux: {source}): {remedy}",
        remedy = of_cause(source).unwrap_or("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as current distributions' kernels are".into())
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
        "the kernel has no memory for the probes' maps with a ring buffer of {ring_bytes} bytes: choose a smaller one (--ring-size), or raise the limits of this process (memory.max of its cgroup; before Linux 5.11, ulimit -l)"
    )]
    NoMemory {
        /// What was asked for.
        ring_bytes: u32,
    },
    /// The ring's size is not one that the kernel takes.
    #[error("a ring buffer of {0} bytes is not possible: take a power of two from {page} bytes up", page = rustix::param::page_size())]
    BadRingSize(u32),
    /// The object could not be loaded.
    #[error("the kernel does not take the probes: {}{}", with_causes(&**.0), advice(find_io(&**.0)))]
    Load(#[source] Box<aya::EbpfError>),
    /// An observation could not be made for a reason that has nothing to do with this kernel's probes.
    #[error("the probes cannot be attached ({observation}): {source}{}", advice(Some(source)))]
    Refused {
        /// What was to be observed.
        observation: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
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
    #[error("the probes' map `{map}` cannot be used: {}{}", with_causes(&**source), advice(find_io(&**source)))]
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
    #[error("waiting for events failed: {0}{advice}", advice = advice(Some(.0)))]
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

/// The error of the operating system among the causes of another.
pub(crate) fn find_io<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// An error with its causes, each once.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        next = error.source();
    }
    text
}

/// What to do about it, behind the error's own words.
fn advice(error: Option<&io::Error>) -> String {
    error.and_then(of_cause).map(|remedy| format!(": {remedy}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttachError;

    #[test]
    fn what_the_operating_system_said_is_found_among_the_causes() {
        let io_error = io::Error::from_raw_os_error(libc::EMFILE);
        let map = aya::maps::MapError::CreateError { name: "ring".into(), io_error };
        let error = AttachError::Load(Box::new(aya::EbpfError::MapError(map)));
        let text = error.to_string();
        assert!(text.contains("Too many open files") && text.contains("ulimit -n"), "{text}");
        assert!(!text.contains("kernel from 6.1"), "{text}");
    }
}
