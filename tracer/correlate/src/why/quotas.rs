//! CPU quotas that were used up: whose, how often, and what is to be said of it.

use super::explanation::{Severity, Verdict, VerdictKind};
use super::setting::{Setting, Throttled};
use crate::threads::QuotaSeen;
use wirelap_events::{CgroupId, Nanos, Segment};

/// A process that waits for quota so much of the time is late even where no latency shows it …
const OFTEN: f64 = 0.1;

/// … if it adds up to this.
const MUCH: Nanos = Nanos::from_millis(20);

/// Processes that wait for quota much of the time, and of whom no latency tells: they do it before they send, or after
/// they have read.
pub fn unseen(setting: &Setting, found: &[Verdict]) -> Vec<Verdict> {
    let named = |pid| {
        found.iter().any(|verdict| {
            verdict.kind == VerdictKind::CpuThrottled
                && verdict.process.is_some_and(|(task, _)| task.pid == pid)
        })
    };
    let often = |one: &&Throttled| {
        one.time >= MUCH && one.time.as_secs_f64() >= OFTEN * one.watched.as_secs_f64()
    };
    let all = setting.throttled.iter().filter(often).filter(|one| !named(one.task.pid));
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

fn evidence(setting: &Setting, one: &Throttled) -> Vec<String> {
    let share = one.time.as_secs_f64() / one.watched.as_secs_f64().max(1e-9) * 100.0;
    let when = if one.only_reads {
        "after it had read messages, so that no latency here shows it"
    } else {
        "before it sent messages, so that no latency here shows it"
    };
    let mut clauses =
        vec![format!("it waited for CPU quota {share:.0} % of the time, mostly {when}")];
    clauses.extend(used_up(setting, one.cgroup));
    clauses
}

/// What the quota is, and how often it was used up.
pub fn used_up(setting: &Setting, cgroup: CgroupId) -> Option<String> {
    let QuotaSeen { first, last } = setting.quotas.get(&cgroup)?;
    let cpus = last.quota.as_secs_f64() / last.period.as_secs_f64().max(1e-9);
    let limit = format!(
        "its cgroup {} may use {} of CPU time in each {} ({cpus:.2} CPUs)",
        last.name, last.quota, last.period
    );
    let periods = last.periods.wrapping_sub(first.periods).wrapping_add(1);
    let used = last.throttled_periods.wrapping_sub(first.throttled_periods).wrapping_add(1);
    // A group that was made anew under the same name begins again.
    Some(if used <= periods {
        format!("{limit}, and used that up in {used} of {periods} periods")
    } else {
        limit
    })
}

/// What helps.
pub fn remedy(setting: &Setting, cgroup: CgroupId) -> String {
    let quota = setting.quotas.get(&cgroup).map(|seen| &seen.last);
    let (of, file) = match quota {
        Some(quota) if quota.is_v2 => (format!(" of the cgroup {}", quota.name), "`cpu.max`"),
        Some(quota) => (format!(" of the cgroup {}", quota.name), "`cpu.cfs_quota_us`"),
        None => (String::new(), "`cpu.max`, `cpu.cfs_quota_us`"),
    };
    format!(
        "raise the CPU limit{of} or take it away: {file}, in Docker `--cpus`, in Kubernetes `resources.limits.cpu`, in systemd `CPUQuota=`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::Quotas;
    use wirelap_events::{Pid, Quota, TaskId, Tid};

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
        assert_eq!(
            used_up(&setting(0), CgroupId(5)).unwrap(),
            "its cgroup /docker/0123 may use 20.0 ms of CPU time in each 100.0 ms (0.20 CPUs), \
             and used that up in 105 of 110 periods"
        );
        assert_eq!(used_up(&setting(0), CgroupId(6)), None);
    }

    #[test]
    fn the_limit_is_called_what_it_is_called_there() {
        let mut setting = setting(0);
        assert!(
            remedy(&setting, CgroupId(5))
                .contains("/docker/0123 or take it away: `cpu.cfs_quota_us`")
        );
        setting.quotas.get_mut(&CgroupId(5)).unwrap().last.is_v2 = true;
        assert!(remedy(&setting, CgroupId(5)).contains("`cpu.max`"));
    }

    #[test]
    fn a_publisher_without_quota_is_late_though_no_latency_shows_it() {
        let found = unseen(&setting(1_000), &[]);
        let [verdict] = &found[..] else { panic!("{found:?}") };
        assert_eq!((verdict.kind, verdict.leg), (VerdictKind::CpuThrottled, Some(1)));
        assert_eq!(
            verdict.evidence[0],
            "it waited for CPU quota 10 % of the time, mostly before it sent messages, so that no latency here shows it"
        );
        // Nothing is said twice, and nothing of a little.
        assert_eq!(unseen(&setting(1_000), &found), []);
        assert_eq!(unseen(&setting(990), &[]), []);
    }
}
