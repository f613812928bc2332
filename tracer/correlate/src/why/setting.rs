//! What surrounds a row.

use crate::threads::{CpuTime, QuotaSeen};
use rustc_hash::{FxHashMap, FxHashSet};
use wirelap_events::{CgroupId, Comm, Nanos, Pid, TaskId, Tid};

/// What surrounds a row.
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
    /// How long threads were on a CPU.
    pub busy: FxHashMap<Tid, CpuTime>,
    /// The processes that send, forward or read its messages.
    pub members: FxHashSet<Pid>,
    /// CPU quotas that were used up.
    pub quotas: FxHashMap<CgroupId, QuotaSeen>,
    /// Its processes that waited for one.
    pub throttled: Vec<Throttled>,
    /// When the observation began; `None` for several observations together.
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

/// How much of the time a process of a row could have run and had no quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// One of its threads.
    pub task: TaskId,
    /// Whose quota it was.
    pub cgroup: CgroupId,
    /// Time in which at least one of its threads waited for quota.
    pub time: Nanos,
    /// Of so much that was watched.
    pub watched: Nanos,
    /// The leg that it sends on, or reads from if it sends none; 0 for the first.
    pub leg: usize,
    /// It does not send.
    pub only_reads: bool,
}
