//! The activity of threads and CPUs, in words.

use wirelap_correlate::{Clause, CpuHolders, Named, VerdictKind};
use wirelap_events::{OffCpuReason, Quota, SleepCall, ThreadActivity, Tid};

/// The threads that had the CPU, each with its part of the waits.
pub fn who_had_the_cpu(
    by: CpuHolders,
    named: &[(Named, f64)],
    more: Option<(usize, f64)>,
) -> String {
    let before = match by {
        CpuHolders::Foreign => "programs that have nothing to do with these messages had the CPU: ",
        CpuHolders::Members => "other processes of these messages had the CPU: ",
        CpuHolders::Own => "other threads of the waiting process had the CPU: ",
    };
    let one = |((pid, comm), share): &(Named, f64)| {
        format!("{} (pid {}) {:.0} %", comm.as_str(), pid.number(), share * 100.0)
    };
    let mut names: Vec<String> = named.iter().map(one).collect();
    names.extend(more.map(|(count, share)| format!("{count} more {:.0} %", share * 100.0)));
    format!("{before}{}", names.join(", "))
}

/// The size of a quota, and how often it was used up.
pub fn quota(quota: &Quota, used: Option<(u32, u32)>) -> String {
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

/// A thread that is on a CPU for less than this part of the time worked in bursts.
const IN_BURSTS: f64 = 0.1;

pub fn busy(tid: Tid, share: f64) -> String {
    let (tid, percent) = (tid.0, share * 100.0);
    if share < IN_BURSTS {
        return format!(
            "thread {tid} was on a CPU at that time, and {percent:.0} % of all the time: it works in bursts"
        );
    }
    format!("thread {tid} was on a CPU {percent:.0} % of the time")
}

/// The reason why a thread was off the CPU.
pub const fn off_cpu(reason: OffCpuReason, sleep: SleepCall) -> &'static str {
    match (reason, sleep) {
        (OffCpuReason::Asleep, SleepCall::Timer) => {
            "the thread slept for a time of its own choice: a sleep, or a wait with a time limit that ran out"
        }
        (OffCpuReason::Asleep, SleepCall::Lock) => {
            "the thread slept on a lock or a condition variable, and no thread was seen to let go"
        }
        (OffCpuReason::Asleep, SleepCall::Poll) => {
            "the thread waited for data of other connections, or for a time (epoll_wait, poll, select)"
        }
        (OffCpuReason::Stopped, _) => "the thread was stopped (SIGSTOP, or a debugger)",
        (OffCpuReason::Blocked, _) => {
            "the thread was blocked in the kernel without taking signals, as for a disk"
        }
        (OffCpuReason::Asleep, _) => {
            "the thread slept: it waited for something else than this message"
        }
        (OffCpuReason::Preempted, _) => "the thread had been preempted",
    }
}

/// The activity of the process that has messages which ought to have arrived.
pub const fn activity(activity: ThreadActivity) -> &'static str {
    match activity {
        ThreadActivity::Stopped => "its threads are stopped (SIGSTOP, a debugger)",
        ThreadActivity::Blocked => {
            "a thread of it is blocked in the kernel without taking signals, as for a disk"
        }
        ThreadActivity::Asleep => "its threads sleep, though there is something to do",
        ThreadActivity::Running => "a thread of it is running, at something else",
    }
}

/// Clauses about who was asked for messages, or let them go; `None` for any other.
pub fn request(clause: &Clause) -> Option<String> {
    Some(match clause {
        Clause::ConsumerAskedLate => {
            "the consumer asked for messages only after the broker had them".into()
        }
        Clause::AnswerAwaited => "the consumer had earlier requests open and asked again when it had their answers: the messages waited for these, unless it had left them out (a paused partition, one with a full queue)".into(),
        Clause::AskedLate => "it asked for messages only after the broker had them".into(),
        Clause::AcknowledgedLate => "the broker sends it only so many messages before one is acknowledged, and it was late to acknowledge".into(),
        Clause::AwaitsCommit => "the messages are a transaction's, and the consumer is given only what is committed (`isolation.level`)".into(),
        Clause::Expired => "the messages lay in a queue of the broker until their time there was over, which handed them on as dead letters (`x-death`: `expired`)".into(),
        Clause::AcknowledgementUnderWay => "the broker sends the subscriber only so many messages before one is acknowledged, and the acknowledgement was on its way".into(),
        Clause::RequestWaits(Some(ask)) => format!(
            "the consumer had asked, and the broker let it wait for more: for {} B, or {}, as its request says",
            ask.least_bytes, ask.longest
        ),
        Clause::RequestWaits(None) => {
            "the consumer had asked, and the broker let it wait for more".into()
        }
        Clause::SubscribedLate => "the subscriber connected, or subscribed, only after the broker had the message, which the broker kept until then".into(),
        Clause::CameBackAfterBroker => "the broker had been gone (nobody listened at its address, or another process has served there since), and with it the subscriber's connection; the subscriber came back after that".into(),
        Clause::HandedOver => "no member of its consumer group read the partition then: one had stopped, and the one that got the message had not yet taken it over".into(),
        Clause::LeftUnread => "the message was in its socket, and its thread waited for data of other connections (epoll_wait, poll, select): it did not watch this one".into(),
        Clause::Throttled { is_publisher: true } => "the broker had said that it reads nothing from the publisher for a time: a quota, or an alarm for memory or disk".into(),
        Clause::Throttled { is_publisher: false } => "the broker had said that it reads nothing from the consumer for a time, its requests neither: a quota, or an alarm".into(),
        Clause::AcknowledgementUnseen => "the broker sends the subscriber only so many messages before one is acknowledged, and the subscriber had not acknowledged; how long that took itself is not known".into(),
        Clause::SubscriberAcknowledgedLate => "the broker sends the subscriber only so many messages before one is acknowledged, and the subscriber had messages that it had not acknowledged".into(),
        Clause::NotReleased => "the broker had the message, and the publisher had not sent what lets it deliver (MQTT's PUBREL, AMQP's tx.commit)".into(),
        Clause::ReleaseUnseen => "the broker had the message, and what lets it deliver (MQTT's PUBREL, AMQP's tx.commit) had not come from the publisher; how long that took the publisher itself is not known".into(),
        Clause::ReceiptInSocket { waited, by } => format!(
            "the broker had read the PUBLISH, and its PUBREC, which the publisher has to have before it sends the PUBREL, waited {waited} in the broker's socket{}",
            match by {
                Some(VerdictKind::NagleDelayedAck) => ": Nagle's algorithm kept it until bytes before it were acknowledged",
                Some(VerdictKind::ReceiveWindow) => ": the publisher's socket had no room for it",
                _ => "",
            }
        ),
        Clause::ReceiptUnderWay(time) => format!(
            "the broker had read the PUBLISH, and its PUBREC, which the publisher has to have before it sends the PUBREL, was on its way for {time}"
        ),
        Clause::ReleaseWaitedForCpu(waited) => {
            format!("of the longest, the publisher's threads waited {waited} for a CPU")
        }
        Clause::ReleaseInSocket { waited, nagle: true } => format!(
            "the publisher had sent the PUBREL or commit that lets the broker deliver, and for {waited} Nagle's algorithm kept it in the publisher's socket, because bytes before it were not acknowledged: TCP_NODELAY is not set there"
        ),
        Clause::ReleaseInSocket { waited, nagle: false } => format!(
            "the publisher had sent the PUBREL or commit that lets the broker deliver, and it waited {waited} in the publisher's socket"
        ),
        Clause::ReleaseUnderWay(time) => format!(
            "the PUBREL or commit that lets the broker deliver was on its way from the publisher for {time}"
        ),
        _ => return None,
    })
}
