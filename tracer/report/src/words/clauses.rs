//! One number, or fact, that a verdict stands on, as a clause without a full stop: those that several kinds of verdicts have.

use super::causes::{activity, busy, off_cpu};
use super::phrases::whom;
use super::titles::place;
use super::verdicts;
use wirelap_correlate::{Clause, Overdue};
use wirelap_events::{Holder, Nanos};

/// A clause in words.
pub fn clause(clause: &Clause) -> String {
    match clause {
        Clause::Hits { hits, messages, each, most } => hit(*hits, *messages, *each, *most),
        Clause::Often { some, messages, median, most } => format!(
            "{:.0} % of the messages, {median} each in the median, {most} at most",
            percent(*some, *messages)
        ),
        Clause::HolderSlept { waited, holder, is_own } => format!(
            "the longest time it waited {waited} for {}, which slept meanwhile for a time of its own choice (a sleep, or a wait with a time limit)",
            whom(holder, *is_own)
        ),
        Clause::HolderBlocked { waited, holder, is_own } => {
            holder_blocked(*waited, holder, *is_own)
        }
        Clause::Busy { tid, share } => busy(*tid, *share),
        Clause::OffCpu(reason, sleep) => off_cpu(*reason, *sleep).into(),
        Clause::OfRequests { requests, middle } => format!(
            "of {requests} requests, each followed until its reply was read: {middle}, the mean of the middle fifth of them"
        ),
        Clause::PageFaults { per_second } => format!(
            "it waited for {per_second:.0} pages of memory in a second to be read from the disk (major faults): it has too little memory (its cgroup's `memory.max` and `memory.pressure`)"
        ),
        Clause::AlikeAt(processes) => format!("so it is at {processes} processes"),
        Clause::Overdue(open) => overdue(open),
        Clause::Activity(state) => activity(*state).into(),
        other => verdicts::clause(other),
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part.min(whole) as f64 / whole.max(1) as f64 * 100.0
}

fn hit(hits: u64, messages: u64, each: Nanos, most: Nanos) -> String {
    let share = percent(hits, messages);
    let share = if share < 9.95 { format!("{share:.1}") } else { format!("{share:.0}") };
    format!("{hits} of {messages} messages ({share} %), {each} each in the mean, {most} at most")
}

/// The longest wait for a thread that waits for a disk, or was stopped.
fn holder_blocked(waited: Nanos, holder: &Holder, is_own: bool) -> String {
    format!(
        "the longest time it waited {waited} for {}, which was itself stopped, or blocked in the kernel without taking signals, as for a disk",
        whom(holder, is_own)
    )
}

fn overdue(open: &Overdue) -> String {
    let are = if open.messages == 1 { "message is" } else { "messages are" };
    format!("now {} {are} {}, the oldest for {}", open.messages, place(open.place), open.oldest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::CpuHolders;
    use wirelap_events::{Comm, Pid, Quota};

    fn named(pid: u32, name: &str) -> (Pid, Comm) {
        (Pid(pid), Comm::from_name(name))
    }

    #[test]
    fn who_had_the_cpu_is_told_by_what_it_has_to_do_with_the_messages() {
        let held = |by, more| {
            let named = vec![(named(50, "stress-ng"), 0.6)];
            clause(&Clause::CpuHeld { by, named, more })
        };
        assert_eq!(
            held(CpuHolders::Foreign, None),
            "programs that have nothing to do with these messages had the CPU: stress-ng (pid 50) 60 %"
        );
        assert_eq!(
            held(CpuHolders::Members, Some((2, 0.1))),
            "other processes of these messages had the CPU: stress-ng (pid 50) 60 %, 2 more 10 %"
        );
        assert_eq!(
            clause(&Clause::CpuHolderUnknown(0.04)),
            "who had the CPU for 4 % of the wait is not known"
        );
    }

    #[test]
    fn a_quota_is_told_with_how_often_it_was_used_up() {
        let quota = Quota {
            name: "/docker/0123".try_into().unwrap(),
            quota: Nanos::from_millis(20),
            period: Nanos::from_millis(100),
            ..Quota::default()
        };
        let quota = Box::new(quota);
        let told = |used| clause(&Clause::QuotaUsed { quota: quota.clone(), used });
        let limit =
            "its cgroup /docker/0123 may use 20.0 ms of CPU time in each 100.0 ms (0.20 CPUs)";
        assert_eq!(told(None), limit);
        let used = format!("{limit}, and used that up in 105 of 110 periods");
        assert_eq!(told(Some((105, 110))), used);
        let unlimited = Box::new(Quota { quota: Quota::UNLIMITED, ..*quota });
        assert_eq!(
            clause(&Clause::QuotaUsed { quota: unlimited, used: Some((105, 110)) }),
            "its cgroup /docker/0123 had used up its CPU time in 105 of 110 periods; its limit was taken away before it was read"
        );
    }

    #[test]
    fn whom_a_publisher_without_quota_keeps_waiting_no_latency_shows() {
        assert_eq!(
            clause(&Clause::WaitedForQuota { share: 0.1, only_reads: false }),
            "it waited for CPU quota 10 % of the time, mostly before it sent messages, so that no latency here shows it"
        );
    }

    #[test]
    fn what_is_lost_is_told_with_its_ends() {
        let ends = Some((named(1, "a"), named(2, "b")));
        let lost = |own, behind| clause(&Clause::Lost { datagrams: false, own, behind, ends });
        assert_eq!(
            lost(5, 5),
            "the network lost bytes of 5 messages from a (pid 1) to b (pid 2), and 5 more waited for what was lost before them"
        );
        assert_eq!(lost(1, 0), "the network lost bytes of 1 message from a (pid 1) to b (pid 2)");
    }

    #[test]
    fn who_is_seldom_at_work_worked_at_that_time() {
        let busy = |share| clause(&Clause::Busy { tid: wirelap_events::Tid(7), share });
        assert_eq!(busy(0.9), "thread 7 was on a CPU 90 % of the time");
        assert_eq!(
            busy(0.04),
            "thread 7 was on a CPU at that time, and 4 % of all the time: it works in bursts"
        );
    }
}
