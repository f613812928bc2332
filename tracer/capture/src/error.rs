//! The errors of attaching and capturing. Each message is a sentence that names the remedy.

use std::io;
use std::path::PathBuf;
use wirelap_process::remedy::of_cause;

/// Why the probes could not be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The process may not load BPF programs.
    #[error(
        "attaching probes needs root, or the capabilities CAP_BPF and CAP_PERFMON, and for all observations CAP_NET_ADMIN (missing: {missing}): run wirelap with sudo"
    )]
    NoPrivileges {
        /// The capabilities that are missing.
        missing: String,
    },
    /// The kernel's BTF type information cannot be opened.
    #[error(
        "this kernel's BTF type information cannot be read (/sys/kernel/btf/vmlinux: {source}): {remedy}",
        remedy = of_cause(source).unwrap_or("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as current distributions' kernels are".into())
    )]
    NoBtf {
        /// The error of opening it.
        source: std::io::Error,
    },
    /// The kernel's BTF type information cannot be parsed.
    #[error("the kernel's BTF type information cannot be parsed: {0}")]
    BadBtf(#[from] aya::BtfError),
    /// The kernel has not enough memory for a map.
    #[error(
        "the kernel has not enough memory for the maps of the probes with a ring buffer of {ring_bytes} bytes: choose a smaller one (--ring-size), or raise the memory limits of this process (memory.max of its cgroup; before Linux 5.11, ulimit -l)"
    )]
    NoMemory {
        /// The wanted size of the ring buffer.
        ring_bytes: u32,
    },
    /// The kernel does not accept this size of the ring buffer.
    #[error("a ring buffer of {0} bytes is not possible: choose a power of two, at least {page} bytes", page = rustix::param::page_size())]
    BadRingSize(u32),
    /// The object could not be loaded.
    #[error("the kernel rejects the probes: {}{}", with_causes(&**.0), advice(find_io(&**.0)))]
    Load(#[source] Box<aya::EbpfError>),
    /// The hooks of an observation cannot be attached because a resource is exhausted or the kernel forbids it.
    #[error("the probes cannot be attached ({observation}): {source}{}", advice(Some(source)))]
    Refused {
        /// The observation.
        observation: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A required observation has no hook on this kernel.
    #[error(
        "this kernel rejects all hooks of an observation that tracing needs ({observation}: {reason}): boot a kernel from 6.1 on"
    )]
    NothingAttached {
        /// The required observation.
        observation: &'static str,
        /// Why the last of its hooks was rejected.
        reason: String,
    },
    /// The path of the filter is not a cgroup.
    #[error("{path} is not a cgroup v2 directory: {source}")]
    BadCgroup {
        /// The directory.
        path: PathBuf,
        /// The error of looking it up.
        source: std::io::Error,
    },
    /// An error of the capture that happened while attaching.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// An error while capturing.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A map could not be used.
    #[error("the probes' map `{map}` cannot be used: {}{}", with_causes(&**source), advice(find_io(&**source)))]
    Map {
        /// The name of the map.
        map: &'static str,
        /// The error of the kernel.
        source: Box<aya::maps::MapError>,
    },
    /// The object has no such map, so it is of another build.
    #[error(
        "the compiled probes have no map `{0}`: they are of another build than this program, so build wirelap again"
    )]
    NoMap(&'static str),
    /// Waiting for events failed.
    #[error("waiting for events failed: {0}{advice}", advice = advice(Some(.0)))]
    Wait(#[source] std::io::Error),
    /// A record does not have the expected layout.
    #[error("the probes sent a record that cannot be read: {0}; this is a defect of wirelap")]
    Record(#[from] crate::decode::Malformed),
    /// Listing the open sockets failed.
    #[error("the sockets that are already open cannot be listed: {0}")]
    Existing(String),
    /// Detached probes cannot be attached again.
    #[error("the probes cannot be attached again: {0}")]
    Attach(String),
    /// There is no process with the id of the filter.
    #[error("there is no process {0} to trace")]
    NoProcess(u32),
}

/// The error of the operating system among the causes of an error.
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

/// The text of an error with its causes, each once.
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

/// The remedy for an error, to be appended to its text; empty if it is not known.
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
