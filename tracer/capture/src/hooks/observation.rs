//! Observations, their hooks and the programs of these, and the time when they are attached.

use crate::{CaptureConfig, UdpHooks};
use wirelap_events::{Probe, TraceDetail};

/// Place that a program attaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachPoint {
    /// A raw tracepoint with typed arguments (`tp_btf`).
    Tracepoint(&'static str),
    /// The entry of a kernel function.
    Entry(&'static str),
    /// The exit of a kernel function.
    Exit(&'static str),
    /// The creation or the release of a socket, in the root cgroup.
    Cgroup,
    /// The packets that leave sockets, in the root cgroup.
    Egress,
    /// A walk over the open files of all tasks.
    FileIterator,
}

/// A program of the object, and where it attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeProgram {
    /// The name of the program in the object.
    pub name: &'static str,
    /// Place that the program attaches to.
    pub attach: AttachPoint,
}

/// A hook: a way to make an observation, with programs that must all be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservationHook {
    /// The name of the hook in `wirelap doctor`.
    pub name: &'static str,
    /// The programs of the hook.
    pub programs: &'static [ProbeProgram],
}

/// The time when the programs of an observation are attached. An attached program has a cost at every such event of the host, even if the
/// event is not traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachTime {
    /// From the beginning.
    Always,
    /// From the beginning, unless [`crate::Datagrams::Never`].
    Udp,
    /// At the time that [`crate::CaptureConfig::datagrams`] tells.
    DatagramSent,
    /// As soon as a traced packet has passed a device with a qdisc.
    QdiscSeen,
    /// As soon as a traced socket has read a datagram.
    DatagramRead,
    /// As soon as a traced socket has read a datagram, or from a TCP socket whose peer may be on another host.
    PacketsNeeded,
}

impl AttachTime {
    /// True if the observation is attached from the beginning.
    pub(crate) fn is_at_once(self) -> bool {
        matches!(self, AttachTime::Always | AttachTime::Udp)
    }
}

impl ObservationHook {
    /// True if a program of this hook is at the entry of the same function as a program at its exit.
    pub(crate) fn enters_what(&self, exits: ProbeProgram) -> bool {
        let AttachPoint::Exit(function) = exits.attach else { return false };
        self.programs.iter().any(|program| program.attach == AttachPoint::Entry(function))
    }
}

/// Scope of an observation with less [`TraceDetail`] than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BelowDetail {
    /// No observation is made.
    Never,
    /// The observation is made for datagrams, which cannot be followed without it.
    Datagrams,
    /// The observation is made for datagrams, and for what other hosts send.
    Unsent,
}

/// An observation that wirelap makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelObservation {
    /// The observation's name.
    pub name: &'static str,
    /// The hooks for it, best first.
    pub hooks: &'static [ObservationHook],
    /// The part of the results that is missing without this observation.
    pub without: &'static str,
    /// The step that makes the best hook available.
    pub remedy: &'static str,
    /// True if nothing can be traced without the observation.
    pub required: bool,
    /// The time when its programs are attached, if its detail is wanted.
    pub when: AttachTime,
    /// The least detail with which it is made.
    pub detail: TraceDetail,
    /// Scope of the observation with less detail.
    pub below: BelowDetail,
    /// True if its programs run for every message, and not only when sockets or processes are created or end.
    pub per_message: bool,
    /// The probe that has lost an event when the kernel skips a run of one of its programs; `None` if no event is missing then.
    pub probe: Option<Probe>,
}

impl KernelObservation {
    /// Returns the time when its programs are attached with this detail; `None` if they are not.
    pub(crate) fn attach_time(&self, config: &CaptureConfig) -> Option<AttachTime> {
        let is_of_udp = matches!(self.when, AttachTime::Udp | AttachTime::DatagramSent);
        if is_of_udp && config.datagrams == UdpHooks::Never {
            return None;
        }
        if config.detail >= self.detail {
            let at_once =
                self.when == AttachTime::DatagramSent && config.datagrams == UdpHooks::Always;
            return Some(if at_once { AttachTime::Always } else { self.when });
        }
        match (self.below, config.datagrams) {
            (BelowDetail::Never, _) | (BelowDetail::Datagrams, UdpHooks::Never) => None,
            (_, UdpHooks::Always) => Some(AttachTime::Always),
            (BelowDetail::Datagrams, UdpHooks::WhenSeen) => Some(AttachTime::DatagramRead),
            (BelowDetail::Unsent, UdpHooks::WhenSeen | UdpHooks::Never) => {
                Some(AttachTime::PacketsNeeded)
            }
        }
    }
}
