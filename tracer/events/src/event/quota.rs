//! Limits on the CPU time of a cgroup (`cpu.max`, `cpu.cfs_quota_us`).

use crate::{CgroupId, Nanos, TaskId};
use arrayvec::ArrayString;

/// Bytes of a cgroup's name that are kept: two directories of a path, as deep as container engines name them.
pub const CGROUP_NAME: usize = 192;

/// A cgroup's CPU quota and how often it was used up, read when a thread ran again that had waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The cgroup whose quota was used up: the thread's own, or one above it.
    pub cgroup: CgroupId,
    /// The thread that had waited.
    pub task: TaskId,
    /// The last two directories of its path; begins with `/` if these are all.
    pub name: ArrayString<CGROUP_NAME>,
    /// It is of the version 2 hierarchy, where the limit is `cpu.max`.
    pub is_v2: bool,
    /// CPU time that it may use in each period.
    pub quota: Nanos,
    /// The period.
    pub period: Nanos,
    /// Periods so far in which it had something to do (`nr_periods` of `cpu.stat`).
    pub periods: u32,
    /// Periods so far in which its quota was used up (`nr_throttled`).
    pub throttled_periods: u32,
    /// Time so far that its CPUs had no quota, summed over CPUs (`throttled_usec`, `throttled_time`).
    pub throttled: Nanos,
}
