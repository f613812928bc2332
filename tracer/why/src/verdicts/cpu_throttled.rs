//! A thread could have run, and its cgroup's CPU quota was used up.
//!
//! The cause is found by the scheduler's own count of that time, at any thread that messages waited for; and at processes that wait for quota much
//! of the time, of whom no latency tells: they do it before they send, or after they have read.

use crate::clause::{Clause, Remedy};
use crate::definition::{Definition, InStartUp, Nature};
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use crate::setting::{Setting, Throttled};
use crate::weigh::ratio;
use wirelap_events::{CgroupId, Segment};
use wirelap_flow::QuotaSeen;
use wirelap_limits::kinds::CPU_THROTTLED;
use wirelap_limits::rules::{LEAST_THROTTLED, OFTEN_THROTTLED};

pub const DEFINITION: Definition = Definition {
    limits: Some(CPU_THROTTLED),
    nature: Nature::ThreadWait,
    in_start_up: InStartUp::Never,
    facts: |case| case.often_and(used_up(&case.evidence().setting, case.finding.longest.cgroup)),
    remedy: |case| Some(remedy(&case.evidence().setting, case.finding.longest.cgroup)),
    add_of_row: |row, found| {
        let unseen = unseen(&row.evidence.setting, found);
        found.extend(unseen);
    },
    ..Definition::USUAL
};

/// Processes that wait for quota much of the time, and of whom no latency tells: they do it before they send, or after
/// they have read.
fn unseen(setting: &Setting, found: &[Verdict]) -> Vec<Verdict> {
    let named = |pid| {
        found.iter().any(|verdict| {
            verdict.kind == VerdictKind::CpuThrottled
                && verdict.process.is_some_and(|(task, _)| task.pid == pid)
        })
    };
    let often = setting.throttled.iter().filter(|one| is_often(one));
    let all = often.filter(|one| !named(one.task.pid));
    all.map(|one| Verdict {
        leg: u8::try_from(one.leg.saturating_add(1)).ok(),
        segment: Some(if one.only_reads { Segment::ClientRx } else { Segment::ClientTx }),
        process: Some((one.task, setting.names.get(&one.task.pid).copied().unwrap_or_default())),
        evidence: evidence(setting, one),
        remedy: remedy(setting, one.cgroup),
        ..Verdict::new(VerdictKind::CpuThrottled, Severity::Problem)
    })
    .collect()
}

/// True if a process waits for quota much of the time.
pub fn is_often(one: &Throttled) -> bool {
    one.time >= LEAST_THROTTLED
        && one.time.as_secs_f64() >= OFTEN_THROTTLED * one.watched.as_secs_f64()
}

fn evidence(setting: &Setting, one: &Throttled) -> Vec<Clause> {
    let share = ratio(one.time.as_secs_f64(), one.watched.as_secs_f64());
    let waited = Clause::WaitedForQuota { share, only_reads: one.only_reads };
    std::iter::once(waited).chain(used_up(setting, one.cgroup)).collect()
}

/// The clause for a quota, and how often it was used up.
pub fn used_up(setting: &Setting, cgroup: CgroupId) -> Option<Clause> {
    let QuotaSeen { first, last } = setting.quotas.get(&cgroup)?;
    let periods = last.periods.wrapping_sub(first.periods).wrapping_add(1);
    let used = last.throttled_periods.wrapping_sub(first.throttled_periods).wrapping_add(1);
    // A group that was made anew under the same name begins again.
    let used = (used <= periods).then_some((used, periods));
    Some(Clause::QuotaUsed { quota: Box::new(*last), used })
}

/// The remedy against a quota that was used up.
pub fn remedy(setting: &Setting, cgroup: CgroupId) -> Remedy {
    Remedy::CpuLimit(setting.quotas.get(&cgroup).map(|seen| Box::new(seen.last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Nanos, Pid, Quota, TaskId, Tid};
    use wirelap_flow::Quotas;

    fn quota(periods: u32, throttled_periods: u32) -> Quota {
        Quota {
            cgroup: CgroupId(5),
            name: "/docker/0123".try_into().unwrap(),
            quota: Nanos::from_millis(20),
            period: Nanos::from_millis(100),
            periods,
            throttled_periods,
            ..Quota::default()
        }
    }

    fn setting(time: u64) -> Setting {
        let mut quotas = Quotas::default();
        quotas.see(&quota(1000, 800));
        quotas.see(&quota(1109, 904));
        let throttled = Throttled {
            task: TaskId { pid: Pid(7), tid: Tid(8) },
            cgroup: CgroupId(5),
            time: Nanos::from_millis(time),
            watched: Nanos::from_millis(10_000),
            leg: 0,
            only_reads: false,
        };
        Setting { quotas: quotas.all(), throttled: vec![throttled], ..Setting::default() }
    }

    #[test]
    fn a_quota_is_told_with_how_often_it_was_used_up() {
        let quota = Box::new(quota(1109, 904));
        assert_eq!(
            used_up(&setting(0), CgroupId(5)),
            Some(Clause::QuotaUsed { quota: quota.clone(), used: Some((105, 110)) })
        );
        assert_eq!(used_up(&setting(0), CgroupId(6)), None);
        assert_eq!(remedy(&setting(0), CgroupId(5)), Remedy::CpuLimit(Some(quota)));
    }

    #[test]
    fn a_publisher_without_quota_is_late_though_no_latency_shows_it() {
        let found = unseen(&setting(1_000), &[]);
        let [verdict] = &found[..] else { panic!("{found:?}") };
        assert_eq!((verdict.kind, verdict.leg), (VerdictKind::CpuThrottled, Some(1)));
        let waited = Clause::WaitedForQuota { share: 0.1, only_reads: false };
        assert_eq!(verdict.evidence[0], waited);
        // Nothing is said twice, and nothing of a little.
        assert_eq!(unseen(&setting(1_000), &found), []);
        assert_eq!(unseen(&setting(990), &[]), []);
    }
}
