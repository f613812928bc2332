//! One number, or fact, that a verdict stands on, as a clause without a full stop.

use super::causes::{activity, busy, off_cpu, quota, request, who_had_the_cpu};
use super::losses;
use super::titles::{place, title};
use wirelap_correlate::{Clause, Overdue};
use wirelap_events::{AckRoundTrip, Holder, Nagle, Nanos, TxState, human};

/// A clause in words.
pub fn clause(clause: &Clause) -> String {
    match clause {
        Clause::Hits { hits, messages, each, most } => hit(*hits, *messages, *each, *most),
        Clause::Often { some, messages, median, most } => format!(
            "{:.0} % of the messages, {median} each in the median, {most} at most",
            percent(*some, *messages)
        ),
        Clause::InTurn { readers, position, waited } => in_turn(*readers, *position, *waited),
        Clause::Nagle { tx, was_acked } => nagle(tx, *was_acked),
        Clause::Corked => "TCP_CORK or MSG_MORE was set when it was sent".into(),
        Clause::ReceiveWindow(tx) => format!(
            "the receiver had room for {} B, of which {} B were under way and {} B waited before it",
            tx.window, tx.in_flight, tx.unsent
        ),
        Clause::CongestionWindow { tx, bytes } => congestion(tx, *bytes),
        Clause::RoundTrip(trip) => round_trip(*trip),
        Clause::QueueOnPath { longest, least, rate } => format!(
            "bytes of the connection waited in a queue on the path: a round trip took up to {longest}, and {least} at the shortest; {} of payload came through",
            payload(*rate)
        ),
        Clause::QueueInQdisc { longest, rate } => format!(
            "packets of the connection were in the qdisc for up to {longest}; {} of payload came through",
            payload(*rate)
        ),
        Clause::Paced { tx, bytes } => {
            format!("TCP spread {bytes} B at {} B a second", tx.pacing)
        }
        Clause::SendBuffer { tx, bytes } => send_buffer(tx, *bytes),
        Clause::LateWrite => {
            "when the sender came with the rest, its socket was empty and nothing was under way"
                .into()
        }
        Clause::CpuHeld { by, named, more } => who_had_the_cpu(*by, named, *more),
        Clause::CpuHeldBySeveral(share) => format!(
            "many others, each for a short time, had the CPU for {:.0} % of the wait",
            share * 100.0
        ),
        Clause::CpuHolderUnknown(share) => {
            format!("who had the CPU for {:.0} % of the wait is not known", share * 100.0)
        }
        Clause::QuotaUsed { quota: limit, used } => quota(limit, *used),
        Clause::WaitedForQuota { share, only_reads } => waited_for_quota(*share, *only_reads),
        Clause::LetGo { waited, holder, is_own } => let_go(*waited, holder, *is_own),
        Clause::HolderSlept { waited, holder, is_own } => format!(
            "the longest time it waited {waited} for {}, which slept meanwhile for a time of its own choice (a sleep, or a wait with a time limit)",
            whom(holder, *is_own)
        ),
        Clause::HolderBlocked { waited, holder, is_own } => {
            holder_blocked(*waited, holder, *is_own)
        }
        Clause::TracerHadCpu => {
            "wirelap, which reads the events, had the CPU that the thread waited for".into()
        }
        Clause::CpuIdle => "meanwhile the CPU was idle: it had to wake up first".into(),
        Clause::LeftToKsoftirqd => {
            "its packet was left to ksoftirqd, which had to be scheduled first".into()
        }
        Clause::Busy { tid, share } => busy(*tid, *share),
        Clause::OffCpu(reason, sleep) => off_cpu(*reason, *sleep).into(),
        Clause::AlikeAt(processes) => format!("so it is at {processes} processes"),
        Clause::Unexplained { time, segment, leg, is_cpu } => format!(
            "{time} of it in {} on leg {}, and nothing that was seen says {}",
            segment.name(),
            leg.saturating_add(1),
            if *is_cpu { "who had the CPU" } else { "why" }
        ),
        Clause::UpkeepBeside { slow, usual } => format!(
            "a keep-alive or discovery frame was beside {:.0} % of the slowest messages, and beside {:.1} % of all",
            slow * 100.0,
            usual * 100.0
        ),
        Clause::Kept { median, p99, under_way } => format!(
            "{median} from publish to the send call in the median, {p99} at the 99th percentile, before {under_way} on the way"
        ),
        Clause::Overdue(open) => overdue(open),
        Clause::Activity(state) => activity(*state).into(),
        Clause::FirstMessages { messages, mean, later } => format!(
            "the first {messages:.0} messages of their connections took {mean} in the mean, later ones {later}"
        ),
        Clause::FirstMessagesMost { time, segment, leg, kind, later } => format!(
            "most of it, {time}, in {} on leg {}{}; later ones spend {later} there",
            segment.name(),
            leg.saturating_add(1),
            kind.map(|kind| format!(" ({})", title(kind))).unwrap_or_default()
        ),
        Clause::NotAtWork(share) => format!(
            "its reader was not waiting in a receive call, and its process was on a CPU {:.1} % of the time: it was not at \
             work, and what it waited for was not seen",
            share * 100.0
        ),
        other => request(other).unwrap_or_else(|| losses::clause(other)),
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

fn in_turn(readers: u32, position: u32, waited: Nanos) -> String {
    let before = position.saturating_sub(1).max(1);
    let each = Nanos(waited.0.checked_div(u64::from(before)).unwrap_or(0));
    format!(
        "one thread sends to {readers} subscribers one after the other, about {each} each: number {position} waited {waited}"
    )
}

fn nagle(tx: &TxState, was_acked: bool) -> String {
    let state = match tx.nagle {
        Nagle::On => "TCP_NODELAY was not set",
        Nagle::Off => "TCP_NODELAY was set",
        Nagle::Corked => "TCP_CORK was set",
    };
    let ended = if was_acked {
        "when their ACK came"
    } else {
        "before their ACK, when enough for a whole segment had come together"
    };
    format!("{state}, {} B were unacknowledged, and it was sent {ended}", tx.in_flight)
}

fn congestion(tx: &TxState, bytes: u32) -> String {
    let waiting = tx.unsent.saturating_add(bytes);
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

/// The possible reason for a full congestion window, by what a round trip took.
fn round_trip(trip: Option<AckRoundTrip>) -> String {
    match trip {
        Some(trip @ AckRoundTrip { time, least, .. }) if trip.is_short() => format!(
            "a round trip took {time} then, and {least} at the shortest: no queue on the path was in the way"
        ),
        Some(AckRoundTrip { time, least, .. }) => format!(
            "a round trip took {time} then, and {least} at the shortest that was seen: a slow link on the path may be why the window is full"
        ),
        None => "what a round trip took was not seen: a slow link on the path may be why the window is full".into(),
    }
}

/// So many bytes a second, as links are named.
fn payload(bytes: u64) -> String {
    human::traffic_rate(bytes as f64 * 8.0)
}

fn send_buffer(tx: &TxState, bytes: u32) -> String {
    match (tx.unsent, tx.send_buffer) {
        (0, room) => format!(
            "{bytes} B were to be sent, and the socket's buffer has {room} B with all book-keeping: what did not fit waited for an ACK"
        ),
        (unsent, _) => format!("{unsent} B were waiting in the socket before it"),
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

/// The longest wait for another thread.
fn let_go(waited: Nanos, holder: &Holder, is_own: bool) -> String {
    let ran = match holder.held {
        Nanos(0) => String::new(),
        held => format!(", which had a CPU for {held} of that"),
    };
    format!("the longest time it waited {waited} for {} to let go{ran}", whom(holder, is_own))
}

/// The longest wait for a thread that waits for a disk, or was stopped.
fn holder_blocked(waited: Nanos, holder: &Holder, is_own: bool) -> String {
    format!(
        "the longest time it waited {waited} for {}, which was itself stopped, or blocked in the kernel without taking signals, as for a disk",
        whom(holder, is_own)
    )
}

/// A thread of the same process or another's.
fn whom(holder: &Holder, is_own: bool) -> String {
    let name = holder.comm.as_str();
    let (pid, tid) = (holder.task.pid.number(), holder.task.tid.number());
    match (is_own, name) {
        (true, "") => format!("thread {tid} of its own process"),
        (true, _) => format!("thread {tid} ({name}) of its own process"),
        (false, _) => format!("the process {name} (pid {pid})"),
    }
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
