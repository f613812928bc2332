//! CPU quotas that were used up: whose, and how often.

use rustc_hash::FxHashMap;
use wirelap_events::{CgroupId, Quota};

/// Cgroups that are remembered.
const LIMIT: usize = 1024;

/// Every quota that was used up.
#[derive(Clone, Debug, Default)]
pub struct Quotas(FxHashMap<CgroupId, QuotaSeen>);

impl Quotas {
    pub fn see(&mut self, quota: &Quota) {
        if self.0.len() < LIMIT || self.0.contains_key(&quota.cgroup) {
            let first = QuotaSeen { first: *quota, last: *quota };
            self.0.entry(quota.cgroup).or_insert(first).last = *quota;
        }
    }

    pub fn all(&self) -> FxHashMap<CgroupId, QuotaSeen> {
        self.0.clone()
    }
}

/// A quota when it was first seen to be used up, and as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaSeen {
    /// The first time.
    pub first: Quota,
    /// The last time.
    pub last: Quota,
}
