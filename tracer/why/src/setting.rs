//! The surroundings of a row.

use rustc_hash::{FxHashMap, FxHashSet};
use wirelap_events::{CgroupId, Comm, Nanos, Pid, TaskId, Tid};
use wirelap_flow::{CpuTime, QuotaSeen};

/// The surroundings of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// The middleware.
    pub middleware: String,
    /// The protocol that it speaks, by its name.
    pub protocol: &'static str,
    /// The implementation of it that its programs use; empty if that is not known, or they use several.
    pub implementation: &'static str,
    /// The broker's name.
    pub broker: Option<String>,
    /// The senders send as fast as they can, so that something is always full.
    pub saturating: bool,
    /// Some messages were not watched, on purpose or because events were lost, so that missing ones tell
    /// nothing.
    pub sampled: bool,
    /// Names of processes.
    pub names: FxHashMap<Pid, Comm>,
    /// Time on a CPU of threads.
    pub busy: FxHashMap<Tid, CpuTime>,
    /// The processes that send, forward or read its messages.
    pub members: FxHashSet<Pid>,
    /// CPU quotas that were used up.
    pub quotas: FxHashMap<CgroupId, QuotaSeen>,
    /// Processes of the row that waited for quota.
    pub throttled: Vec<Throttled>,
    /// Time at which the observation began; `None` for several observations together.
    pub since: Option<Nanos>,
}

impl Setting {
    /// Takes in what surrounds others of it.
    pub(super) fn add(&mut self, other: &Setting) {
        if self.middleware.is_empty() {
            self.middleware.clone_from(&other.middleware);
            self.protocol = other.protocol;
            self.implementation = other.implementation;
            self.broker.clone_from(&other.broker);
            self.since = other.since;
        } else {
            // Times of several observations do not go together.
            self.since = None;
        }
        self.saturating |= other.saturating;
        self.sampled |= other.sampled;
        self.names.extend(&other.names);
        self.busy.extend(&other.busy);
        self.members.extend(&other.members);
        self.quotas.extend(&other.quotas);
        self.throttled.extend(&other.throttled);
    }
}

/// A process of a row that could have run and had no quota for a part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// One of its threads.
    pub task: TaskId,
    /// The cgroup whose quota it was.
    pub cgroup: CgroupId,
    /// Time in which at least one of its threads waited for quota.
    pub time: Nanos,
    /// Time that was watched.
    pub watched: Nanos,
    /// The leg that it sends on, or reads from if it sends none; 0 for the first.
    pub leg: usize,
    /// True if the process does not send.
    pub only_reads: bool,
}
