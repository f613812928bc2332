//! The numbers that a verdict stands on, in words.

use super::blame::NOTICED;
use super::evidence::Evidence;
use super::explanation::VerdictKind as Kind;
use super::finding::Finding;
use super::quotas;
use super::weigh::Cost;
use wirelap_events::Total;
use wirelap_events::human::one_or;
use wirelap_events::{
    DropCause, Nagle, Nanos, OffCpuReason, Recovery, Segment, Sleep, TaskId, TxState,
};

/// One clause a number.
pub fn of(
    evidence: &Evidence,
    messages: u64,
    kind: Kind,
    finding: &Finding,
    cost: Cost,
) -> Vec<String> {
    // Each wait of this kind is short, and what they add up to has been said.
    let is_short = kind == Kind::IdleWakeup;
    let mut clauses: Vec<String> =
        (!is_short).then(|| how_often(messages, finding, cost)).into_iter().collect();
    let tx = finding.circumstances.tx;
    match kind {
        Kind::NagleDelayedAck => clauses.extend(tx.map(|tx| nagle(tx, finding))),
        Kind::Corked => clauses.push("TCP_CORK or MSG_MORE was set when it was sent".into()),
        Kind::ReceiveWindow => clauses.extend(tx.map(window)),
        Kind::CongestionWindow => clauses.extend(tx.map(|tx| congestion(tx, finding))),
        Kind::Pacing => clauses.extend(tx.map(|tx| {
            format!("TCP spread {} B at {} B a second", finding.circumstances.send_len, tx.pacing)
        })),
        Kind::SendBuffer => clauses.extend(tx.map(|tx| buffer(tx, finding))),
        Kind::LateWrite => clauses.push(
            "when the sender came with the rest, its socket was empty and nothing was under way"
                .into(),
        ),
        Kind::Retransmission => clauses.extend(lost(evidence, finding)),
        Kind::RunQueueContention => {
            let members = &evidence.setting.members;
            // Who it was is said first, and whether they belong to the row.
            clauses.splice(0..0, finding.culprits.of_the_cpu(finding.task, members));
        }
        Kind::CpuThrottled => clauses.extend(quotas::used_up(&evidence.setting, finding.cgroup)),
        Kind::LockWait => clauses.extend(let_go(finding)),
        Kind::TracerInfluence => clauses
            .push("wirelap, which reads the events, had the CPU that the thread waited for".into()),
        Kind::IdleWakeup => {
            clauses.push("meanwhile the CPU was idle: it had to wake up first".into());
        }
        Kind::SoftirqDeferral => {
            clauses
                .push("its packet was left to ksoftirqd, which had to be scheduled first".into());
        }
        Kind::BrokerCpuBound => clauses.extend(busy(evidence, finding)),
        Kind::ReaderBusy => {
            clauses.extend(asked_late(finding));
            clauses.extend(busy(evidence, finding));
        }
        Kind::SerialFanOut => clauses.extend(in_turn(finding)),
        Kind::FetchWait => clauses.push(asked(finding)),
        Kind::ReleaseWait => clauses.extend(released(finding)),
        Kind::BrokerStalled => clauses.extend(stalled(finding)),
        Kind::ClientStalled => {
            clauses.extend(asked_late(finding));
            clauses.extend(stalled(finding));
        }
        _ => {}
    }
    clauses
}

fn how_often(messages: u64, finding: &Finding, cost: Cost) -> String {
    let percent = |part: u64| part.min(messages) as f64 / messages.max(1) as f64 * 100.0;
    let all = percent(finding.messages);
    // Where it makes some messages slow, these are told; a little of it in the others is not what is meant.
    let (hits, each) = (cost.messages(), Nanos::from_f64(cost.each()));
    if hits > 0 && cost.each() > cost.median {
        let share = percent(hits);
        let share = if share < 9.95 { format!("{share:.1}") } else { format!("{share:.0}") };
        return format!(
            "{hits} of {messages} messages ({share} %), {each} each in the mean, {} at most",
            finding.most
        );
    }
    format!(
        "{all:.0} % of the messages, {} each in the median, {} at most",
        Nanos(finding.time.quantile(0.5)),
        finding.most
    )
}

/// What each of several subscribers waits for those before it.
fn in_turn(finding: &Finding) -> Option<String> {
    let fan_out = finding.circumstances.fan_out?;
    let before = fan_out.position.saturating_sub(1).max(1);
    Some(format!(
        "one thread sends to {} subscribers one after the other, about {} each: number {} waited {}",
        fan_out.readers,
        Nanos(finding.longest.0.checked_div(u64::from(before)).unwrap_or(0)),
        fan_out.position,
        finding.longest
    ))
}

fn nagle(tx: TxState, finding: &Finding) -> String {
    let state = match tx.nagle {
        Nagle::On => "TCP_NODELAY was not set",
        Nagle::Off => "TCP_NODELAY was set",
        Nagle::Corked => "TCP_CORK was set",
    };
    let ended = match finding.circumstances.acked {
        Some(_) => "when their ACK came",
        None => "before their ACK, when enough for a whole segment had come together",
    };
    format!("{state}, {} B were unacknowledged, and it was sent {ended}", tx.in_flight)
}

fn window(tx: TxState) -> String {
    format!(
        "the receiver had room for {} B, of which {} B were under way and {} B waited before it",
        tx.window, tx.in_flight, tx.unsent
    )
}

fn congestion(tx: TxState, finding: &Finding) -> String {
    let waiting = tx.unsent.saturating_add(finding.circumstances.send_len);
    if tx.segments_out > tx.cwnd {
        return format!(
            "{} segments of {} B were under way, and the congestion window had since been cut to {}: nothing more could leave before ACKs came",
            tx.segments_out, tx.mss, tx.cwnd
        );
    }
    format!(
        "{} of {} segments that the congestion window allowed were under way, of {} B each, when {waiting} B were to be sent{}",
        tx.segments_out,
        tx.cwnd,
        tx.mss,
        if tx.in_flight == 0 { " after a rest, which makes it small again" } else { "" }
    )
}

fn buffer(tx: TxState, finding: &Finding) -> String {
    match (tx.unsent, tx.send_buffer) {
        (0, room) => format!(
            "{} B were to be sent, and the socket's buffer has {room} B with all book-keeping: what did not fit waited for an ACK",
            finding.circumstances.send_len
        ),
        (unsent, _) => format!("{unsent} B were waiting in the socket before it"),
    }
}

/// Whose bytes were lost, how they came again, and where they were lost, as far as that was seen.
fn lost(evidence: &Evidence, finding: &Finding) -> Vec<String> {
    let lost = finding.lost;
    if finding.segment() == Segment::BrokerDwell {
        let whose = "TCP sent the consumer's request for messages again, or what it had to have before it asked";
        return std::iter::once(whose.to_owned()).chain(in_all(evidence)).collect();
    }
    let name = |task: Option<TaskId>| {
        let task = task?;
        let name = evidence.setting.names.get(&task.pid)?;
        Some(format!("{} (pid {})", name.as_str(), task.pid.0))
    };
    let ends = name(finding.task).zip(name(finding.reader));
    let ends = ends.map(|(from, to)| format!(" from {from} to {to}")).unwrap_or_default();
    let behind = lost.messages.saturating_sub(lost.own);
    // Which datagram was lost, its protocol alone can say.
    let is_tcp = finding.circumstances.tx.is_some() || evidence.losses.resent > 0;
    if !is_tcp && lost.recoveries == [0; Recovery::ALL.len()] {
        return datagrams_lost(evidence, &ends, (lost.own, behind));
    }
    let whose = match (lost.own, behind) {
        (own, 0) => format!("the network lost bytes of {}{ends}", messages(own)),
        (0, behind) => {
            format!(
                "{}{ends} waited for what was lost before them, bytes or an acknowledgement",
                messages(behind)
            )
        }
        (own, behind) => format!(
            "the network lost bytes of {}{ends}, and {behind} more waited for what was lost before them",
            messages(own)
        ),
    };
    let again = Recovery::ALL.map(|kind| (lost.recoveries[kind as usize], recovered(kind)));
    let where_to = DropCause::ALL.map(|cause| (lost.drops[cause as usize], thrown_away(cause)));
    let listed = |all: &[(u64, &str)]| {
        let some = all.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = some.map(|(count, what)| format!("{what} ({count})")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let thrown = listed(&where_to).map(|what| format!("where this host saw them go: {what}"));
    let unseen = || "this host threw none of them away: they were lost on the way".to_owned();
    [
        Some(whose),
        listed(&again).map(|what| format!("what brought them again: {what}")),
        Some(thrown.unwrap_or_else(unseen)),
        in_all(evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The same of datagrams of so many messages, for which so many others waited.
fn datagrams_lost(evidence: &Evidence, ends: &str, (own, behind): (u64, u64)) -> Vec<String> {
    let whose = match (own, behind) {
        (own, 0) => format!("the network lost datagrams of {}{ends}", messages(own)),
        (0, behind) => {
            format!("{}{ends} waited for messages that were lost before them", messages(behind))
        }
        (own, behind) => format!(
            "the network lost datagrams of {}{ends}, and {behind} more waited for what was lost before them",
            messages(own)
        ),
    };
    let losses = &evidence.losses;
    let thrown = [
        (losses.socket_drops, thrown_away(DropCause::SocketBuffer)),
        (losses.filter_drops, thrown_away(DropCause::Filter)),
        (losses.queue_drops, thrown_away(DropCause::Queue)),
    ];
    let thrown = thrown.iter().filter(|(count, _)| *count > 0);
    let thrown: Vec<String> = thrown.map(|(count, what)| format!("{what} ({count})")).collect();
    [
        Some(whose),
        (own > 0).then(|| "what brought them again: the protocol's own repair".to_owned()),
        (!thrown.is_empty())
            .then(|| format!("what this host threw away in all: {}", thrown.join(", "))),
        in_all(evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn messages(count: u64) -> String {
    format!("{count} {}", one_or(count, "message", "messages"))
}

fn recovered(kind: Recovery) -> &'static str {
    match kind {
        Recovery::Timeout => "TCP's timeout",
        Recovery::Fast => "fast retransmit",
        Recovery::TailProbe => "a tail loss probe",
        Recovery::Retry => "a later try, as they had not left the host",
    }
}

fn thrown_away(cause: DropCause) -> &'static str {
    match cause {
        DropCause::SocketBuffer => "receive buffer of the socket full",
        DropCause::Queue => "queue of a device full",
        DropCause::NoSocket => "nobody listened",
        DropCause::Filter => "dropped by a packet filter, as netfilter",
        DropCause::Duplicate => "had come before",
        DropCause::Other => "dropped by the stack for another reason",
    }
}

/// Of all connections of the row.
fn in_all(evidence: &Evidence) -> Option<String> {
    let dropped: u64 = evidence.losses.segments_dropped.iter().total();
    let count = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts = [
        count(evidence.losses.resent, "retransmissions"),
        count(dropped, "packets thrown away by this host"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("on all connections: {}", parts.join(", ")))
}

/// The longest wait for another thread.
fn let_go(finding: &Finding) -> Option<String> {
    let (by, task) = (finding.holder?, finding.task?);
    let name = by.comm.as_str();
    let (pid, tid) = (by.task.pid.number(), by.task.tid.number());
    let whom = match (by.task.pid == task.pid, name) {
        (true, "") => format!("thread {tid} of its own process"),
        (true, _) => format!("thread {tid} ({name}) of its own process"),
        (false, _) => format!("the process {name} (pid {pid})"),
    };
    let ran = match by.held {
        Nanos(0) => String::new(),
        held => format!(", which had a CPU for {held} of that"),
    };
    Some(format!("the longest time it waited {} for {whom} to let go{ran}", finding.longest))
}

fn busy(evidence: &Evidence, finding: &Finding) -> Option<String> {
    let task = finding.task?;
    let busy = evidence.setting.busy.get(&task.tid)?;
    Some(format!("thread {} was on a CPU {:.0} % of the time", task.tid.0, busy * 100.0))
}

/// Most of it is that the reader had not asked.
fn asked_late(finding: &Finding) -> Option<String> {
    let is_late = finding.late_requests.saturating_mul(2) >= finding.parts.max(1);
    is_late.then(|| {
        if is_window(finding) {
            "the broker sends it only so many messages before one is acknowledged, and it was late to acknowledge".into()
        } else {
            "it asked for messages only after the broker had them".into()
        }
    })
}

/// What kept the broker was how many messages may be unacknowledged, and not a request.
fn is_window(finding: &Finding) -> bool {
    let seen = &finding.circumstances;
    seen.requested.is_none() && seen.credit.is_some()
}

fn released(finding: &Finding) -> Vec<String> {
    let mut clauses = vec![
        "the broker had read the PUBLISH, and the publisher had not sent the PUBREL that lets it deliver".into(),
    ];
    let waited = finding.circumstances.permit.map_or(Nanos(0), |permit| permit.waited);
    if waited >= NOTICED {
        clauses.push(format!("of the longest, the publisher's threads waited {waited} for a CPU"));
    }
    clauses
}

fn asked(finding: &Finding) -> String {
    if finding.circumstances.awaits_commit {
        "the messages are a transaction's, and the consumer is given only what is committed (`isolation.level`)".into()
    } else if is_window(finding) {
        "the broker sends the subscriber only so many messages before one is acknowledged, and the acknowledgement was on its way".into()
    } else if asked_late(finding).is_some() {
        "the consumer asked for messages only after the broker had them".into()
    } else {
        match finding.circumstances.request_limits {
            Some(ask) => format!(
                "the consumer had asked before, and the broker let it wait for more: for {} B, or {}, as its request says",
                ask.least_bytes, ask.longest
            ),
            None => "the consumer had asked before, and the broker let it wait for more".into(),
        }
    }
}

fn stalled(finding: &Finding) -> Option<String> {
    let (rest, sleep) = finding.rest?;
    Some(
        match rest {
            OffCpuReason::Asleep if sleep == Sleep::Timer => {
                "the thread slept for a time of its own choice (sleep, nanosleep)"
            }
            OffCpuReason::Asleep if sleep == Sleep::Lock => {
                "the thread slept on a lock or a condition variable, and no thread was seen to let go"
            }
            OffCpuReason::Stopped => "the thread was stopped (SIGSTOP, or a debugger)",
            OffCpuReason::Blocked => {
                "the thread was blocked in the kernel without taking signals, as for a disk"
            }
            OffCpuReason::Asleep => "the thread slept: it waited for something else than this message",
            OffCpuReason::Preempted => "the thread had been preempted",
        }
        .into(),
    )
}
