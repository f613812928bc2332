//! Words of `cpu_throttled`.

use super::VerdictWords;
use wirelap_correlate::Clause;
use wirelap_events::Quota;

pub const WORDS: VerdictWords = VerdictWords {
    title: "CPU quota used up",
    short: "CPU quota",
    means: "a thread could have run, but its cgroup had used up its CPU quota",
    evidence: "the scheduler's own count of that time, also if another thread or the sender's socket waited for such a thread; the cgroup's name, quota and period, and the number of periods in which it was used up",
    helps: "a higher limit (`cpu.max`, `cpu.cfs_quota_us`, `--cpus`, `resources.limits.cpu`)",
    remedy: |_| "raise the CPU limit of its cgroup, or take it away",
    clause: |clause| {
        Some(match clause {
            Clause::QuotaUsed { quota: limit, used } => quota(limit, *used),
            Clause::WaitedForQuota { share, only_reads } => waited_for_quota(*share, *only_reads),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The size of a quota, and how often it was used up.
fn quota(quota: &Quota, used: Option<(u32, u32)>) -> String {
    let Some(time) = quota.limit() else {
        let often = used
            .map_or(String::new(), |(used, periods)| format!(" in {used} of {periods} periods"));
        return format!(
            "its cgroup {} had used up its CPU time{often}; its limit was taken away before it was read",
            quota.name
        );
    };
    let cpus = time.as_secs_f64() / quota.period.as_secs_f64().max(1e-9);
    let limit = format!(
        "its cgroup {} may use {} of CPU time in each {} ({cpus:.2} CPUs)",
        quota.name, time, quota.period
    );
    match used {
        Some((used, periods)) => {
            format!("{limit}, and used that up in {used} of {periods} periods")
        }
        None => limit,
    }
}

fn waited_for_quota(share: f64, only_reads: bool) -> String {
    let when = if only_reads {
        "after it had read messages, so that no latency here shows it"
    } else {
        "before it sent messages, so that no latency here shows it"
    };
    format!("it waited for CPU quota {:.0} % of the time, mostly {when}", share * 100.0)
}

/// Against a CPU quota that is used up: that one, where it is known.
pub fn cpu_limit(quota: Option<&Quota>) -> String {
    let (of, file) = match quota {
        Some(quota) if quota.is_v2 => (format!(" of the cgroup {}", quota.name), "`cpu.max`"),
        Some(quota) => (format!(" of the cgroup {}", quota.name), "`cpu.cfs_quota_us`"),
        None => (String::new(), "`cpu.max`, `cpu.cfs_quota_us`"),
    };
    format!(
        "raise the CPU limit{of} or take it away: {file}, in Docker `--cpus`, in Kubernetes `resources.limits.cpu`, in systemd `CPUQuota=`"
    )
}
