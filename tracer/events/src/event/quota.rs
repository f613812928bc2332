//! Limits on the CPU time of a cgroup (`cpu.max`, `cpu.cfs_quota_us`).

use crate::{CgroupId, Nanos, TaskId};
use arrayvec::ArrayString;

/// The most bytes of a cgroup's name that are kept, enough for the last two directories of its path.
pub const CGROUP_NAME: usize = 192;

/// The CPU quota of a cgroup and how often it was used up, read when a thread runs again that had waited for quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The cgroup whose quota was used up: the thread's own, or one above it.
    pub cgroup: CgroupId,
    /// The thread that had waited for quota.
    pub task: TaskId,
    /// The last two directories of the cgroup's path; begins with `/` if the path has no more.
    pub name: ArrayString<CGROUP_NAME>,
    /// True if the cgroup is in the version 2 hierarchy, where the limit is `cpu.max`.
    pub is_v2: bool,
    /// The CPU time that the cgroup may use in each period; [`Quota::UNLIMITED`] if it has no limit (any more).
    pub quota: Nanos,
    /// The length of a period.
    pub period: Nanos,
    /// The number of periods so far in which the cgroup was active (`nr_periods` of `cpu.stat`).
    pub periods: u32,
    /// The number of periods so far in which the quota was used up (`nr_throttled`).
    pub throttled_periods: u32,
    /// The time so far without quota, summed over the CPUs (`throttled_usec`, `throttled_time`).
    pub throttled: Nanos,
}

impl Quota {
    /// Value of the kernel for "no limit" (`RUNTIME_INF` in `kernel/sched/sched.h`).
    pub const UNLIMITED: Nanos = Nanos(u64::MAX);

    /// The CPU time that the cgroup may use in each period; `None` if it has no limit.
    pub fn limit(&self) -> Option<Nanos> {
        (self.quota != Quota::UNLIMITED).then_some(self.quota)
    }
}
