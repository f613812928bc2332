//! The errors of attaching and capturing. Each message is a sentence that names the remedy.

use std::io;
use std::path::PathBuf;
use wirelap_events::human::bytes;
use wirelap_process::remedy::{is_shortage, of_cause};

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
        "this kernel's BTF type information cannot be read (/sys/kernel/btf/vmlinux: {source}; no vmlinux in /boot, /lib/modules or \
         /usr/lib/debug has it): {remedy}",
        remedy = of_cause(source).unwrap_or("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as current distributions' kernels are, or \
                                             name a file with the types of this kernel (--btf)".into())
    )]
    NoBtf {
        /// The error of opening it.
        source: std::io::Error,
    },
    /// This process has no room for the kernel's BTF type information.
    #[error("there is no room for the kernel's BTF type information{}", advice(Some(source)))]
    NoRoom {
        /// The error of taking memory.
        source: io::Error,
    },
    /// The kernel's BTF type information cannot be parsed.
    #[error("the kernel's BTF type information cannot be parsed: {0}")]
    BadBtf(#[from] aya::BtfError),
    /// A file with the kernel's types cannot be used.
    #[error("the kernel's types cannot be taken from {}: {what}", path.display())]
    BtfFile {
        /// The file.
        path: PathBuf,
        /// The fault of the file, and what to do.
        what: String,
    },
    /// The kernel refuses all probes whose types are from a file.
    #[error(
        "the kernel refuses the probes, whose types are from {}: a file tells where the kernel's fields are, but the kernel checks the \
         probes by its own types, with which it must be built (CONFIG_DEBUG_INFO_BTF=y). Its answer: {reason}", path.display()
    )]
    OnlyOutside {
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        reason: String,
    },
    /// The kernel is too old for any of the probes.
    #[error(
        "this kernel is too old for the probes: they keep what they know of a thread in the thread's own storage, which Linux has since 5.11: \
         boot a kernel from 6.1 on"
    )]
    TooOld,
    /// The kernel has not enough memory for a map.
    #[error(
        "the kernel has not enough memory for the maps of the probes with a ring buffer of {ring_bytes} bytes: choose a smaller one (--ring-size), or raise the memory limits of this process (memory.max of its cgroup; before Linux 5.11, ulimit -l)"
    )]
    NoMemory {
        /// The wanted size of the ring buffer.
        ring_bytes: u32,
    },
    /// The control group of this process leaves too little memory, and the kernel would end the process.
    #[error(
        "the control group of this process leaves it {free} of memory, and attaching the probes with a ring buffer of {ring} takes about {needed}: \
         raise the group's limit (memory.max; in a container: --memory), or choose a smaller ring buffer (--ring-size)",
        free = bytes(*.free as f64), ring = bytes(f64::from(*.ring_bytes)), needed = bytes(*.needed as f64)
    )]
    LittleMemory {
        /// The bytes that nobody in the group uses.
        free: u64,
        /// The bytes that attaching takes.
        needed: u64,
        /// The size of the ring buffer.
        ring_bytes: u32,
    },
    /// `/proc` shows the processes of another PID namespace.
    #[error(
        "/proc shows the processes of another PID namespace than wirelap is in, so that the numbers of processes mean different ones: mount a \
         /proc of its own there (`unshare --pid --fork --mount-proc`), or run wirelap outside"
    )]
    ForeignProc,
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
        "this kernel rejects all hooks of an observation that tracing needs ({observation}: {reason}): boot a kernel from 6.3 on, or on x86-64 from 6.1 on"
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

impl AttachError {
    /// The error, when the kernel's types were from a file outside of the kernel.
    pub(crate) fn with_types_of(self, outside: Option<PathBuf>) -> AttachError {
        match (outside, self) {
            (Some(path), AttachError::NothingAttached { reason, .. }) => {
                AttachError::OnlyOutside { path, reason }
            }
            (_, error) => error,
        }
    }

    /// True if the kernel has refused programs that later ones accept: neither a right nor room is lacking.
    pub(crate) fn is_of_old_kernel(&self) -> bool {
        matches!(
            self,
            AttachError::TooOld | AttachError::NothingAttached { .. } | AttachError::Load(_)
        ) && self.leaves_packets()
    }

    /// True if packets can be captured all the same: it is the kernel that does not let probes be attached, and not the user's settings or
    /// an exhausted resource.
    pub fn leaves_packets(&self) -> bool {
        let is_shortage = |error: Option<&io::Error>| {
            error.and_then(rustix::io::Errno::from_io_error).is_some_and(is_shortage)
        };
        match self {
            AttachError::NoPrivileges { .. }
            | AttachError::NoBtf { .. }
            | AttachError::BadBtf(_)
            | AttachError::OnlyOutside { .. }
            | AttachError::TooOld
            | AttachError::ForeignProc
            | AttachError::NothingAttached { .. } => true,
            AttachError::Load(error) => !is_shortage(find_io(&**error)),
            AttachError::Refused { source, .. } => !is_shortage(Some(source)),
            AttachError::BtfFile { .. }
            | AttachError::NoRoom { .. }
            | AttachError::NoMemory { .. }
            | AttachError::LittleMemory { .. }
            | AttachError::BadRingSize(_)
            | AttachError::BadCgroup { .. }
            | AttachError::Capture(_) => false,
        }
    }
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
    /// The memory of the ring buffer cannot be mapped.
    #[error("the memory of the ring buffer cannot be mapped: {0}{advice}", advice = advice(Some(.0)))]
    Memory(#[source] std::io::Error),
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
    /// The packet socket cannot go on.
    #[error(transparent)]
    Packets(#[from] crate::packets::PacketError),
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
    fn packets_are_left_where_the_kernel_allows_no_probes_and_not_where_it_lacks_room() {
        let refused = |errno: i32| AttachError::Refused {
            observation: "send",
            source: io::Error::from_raw_os_error(errno),
        };
        let source = io::Error::from_raw_os_error(libc::ENOENT);
        for error in [
            AttachError::NoPrivileges { missing: "CAP_BPF".into() },
            AttachError::NoBtf { source },
            AttachError::TooOld,
            refused(libc::EPERM),
        ] {
            assert!(error.leaves_packets(), "{error}");
        }
        let path = PathBuf::from("a");
        for error in [
            refused(libc::ENOMEM),
            refused(libc::EMFILE),
            AttachError::NoMemory { ring_bytes: 1 },
            AttachError::NoRoom { source: io::Error::from_raw_os_error(libc::ENOMEM) },
            AttachError::BtfFile { path, what: "it cannot be read".into() },
        ] {
            assert!(!error.leaves_packets(), "{error}");
        }
    }

    #[test]
    fn a_kernel_without_types_is_named_where_a_file_had_them() {
        let nothing = || AttachError::NothingAttached { observation: "send", reason: "no".into() };
        let error = nothing().with_types_of(Some("/boot/vmlinux".into())).to_string();
        assert!(
            error.contains("/boot/vmlinux") && error.contains("CONFIG_DEBUG_INFO_BTF"),
            "{error}"
        );
        assert!(matches!(nothing().with_types_of(None), AttachError::NothingAttached { .. }));
    }

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
