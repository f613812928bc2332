//! CPU quotas that were used up: whose, and how often.

use rustc_hash::FxHashMap;
use wirelap_events::{CgroupId, Quota};

/// Cgroups that are remembered.
const LIMIT: usize = 1024;

/// Every quota that was used up.
#[derive(Clone, Debug, Default)]
pub struct Quotas(FxHashMap<CgroupId, QuotaSeen>);

impl Quotas {
    /// A limit that has been taken away by now is not what was used up: then the one before it stands.
    pub fn see(&mut self, quota: &Quota) {
        if self.0.len() < LIMIT || self.0.contains_key(&quota.cgroup) {
            let first = QuotaSeen { first: *quota, last: *quota };
            let seen = self.0.entry(quota.cgroup).or_insert(first);
            let known = if quota.limit().is_some() { quota } else { &seen.last };
            seen.last = Quota { quota: known.quota, period: known.period, ..*quota };
        }
    }

    /// All quotas that were used up, by cgroup.
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

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Nanos;

    #[test]
    fn a_limit_that_is_taken_away_is_not_what_was_used_up() {
        let cgroup = CgroupId(5);
        let quota = |quota, periods| Quota {
            cgroup,
            quota,
            period: Nanos::from_millis(100),
            periods,
            ..Quota::default()
        };
        let last = |quotas: &Quotas| {
            let last = quotas.all()[&cgroup].last;
            (last.limit(), last.periods)
        };
        let mut quotas = Quotas::default();
        quotas.see(&quota(Quota::UNLIMITED, 1));
        assert_eq!(last(&quotas), (None, 1));
        let limit = Nanos::from_millis(10);
        quotas.see(&quota(limit, 2));
        assert_eq!(last(&quotas), (Some(limit), 2));
        quotas.see(&quota(Quota::UNLIMITED, 3));
        assert_eq!(last(&quotas), (Some(limit), 3));
        quotas.see(&quota(Nanos::from_millis(20), 4));
        assert_eq!(last(&quotas), (Some(Nanos::from_millis(20)), 4));
    }
}
