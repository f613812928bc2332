//! The numbers and facts that a verdict about time stands on.

use super::awaited::Awaited;
use super::blame::NOTICED;
use super::clause::{Clause, Named};
use super::evidence::Evidence;
use super::finding::Finding;
use super::kind::VerdictKind;
use super::quotas;
use super::weigh::Cost;
use wirelap_events::{
    DropCause, LinkQueue, Nanos, Receipt, Recovery, Segment, SleepCall, TaskId, Total,
};

/// One clause a number.
pub fn of(
    evidence: &Evidence,
    messages: u64,
    kind: VerdictKind,
    finding: &Finding,
    cost: Cost,
) -> Vec<Clause> {
    // Each wait of this kind is short, and what they add up to has been said.
    let is_short = kind == VerdictKind::IdleWakeup;
    let often = (!is_short).then(|| how_often(messages, finding, cost));
    let mut clauses: Vec<Clause> = often.into_iter().collect();
    match kind {
        VerdictKind::RunQueueContention => {
            let members = &evidence.setting.members;
            // Who it was is said first, and whether they belong to the row.
            clauses.splice(0..0, finding.culprits.of_the_cpu(finding.task, members));
        }
        VerdictKind::BottleneckLink => clauses.extend(on_path(finding)),
        VerdictKind::QdiscQueueing => clauses.extend(in_qdisc(finding)),
        VerdictKind::NagleDelayedAck
        | VerdictKind::Corked
        | VerdictKind::ReceiveWindow
        | VerdictKind::CongestionWindow
        | VerdictKind::Pacing
        | VerdictKind::SendBuffer
        | VerdictKind::LateWrite => {
            clauses.extend(in_socket(kind, finding));
            if kind == VerdictKind::CongestionWindow {
                clauses.push(Clause::RoundTrip(finding.circumstances.round_trip));
            }
        }
        VerdictKind::Retransmission => clauses.extend(lost(evidence, finding)),
        VerdictKind::CpuThrottled => {
            clauses.extend(quotas::used_up(&evidence.setting, finding.cgroup));
        }
        VerdictKind::LockWait => clauses.extend(let_go(finding)),
        VerdictKind::TracerInfluence => clauses.push(Clause::TracerHadCpu),
        VerdictKind::IdleWakeup => clauses.push(Clause::CpuIdle),
        VerdictKind::SoftirqDeferral => clauses.push(Clause::LeftToKsoftirqd),
        VerdictKind::BrokerCpuBound => clauses.extend(busy(evidence, finding)),
        VerdictKind::ReaderBusy => {
            clauses.extend(asked_late(finding));
            clauses.extend(busy(evidence, finding));
        }
        VerdictKind::SerialFanOut => clauses.extend(in_turn(finding)),
        VerdictKind::FetchWait => clauses.push(asked(finding)),
        VerdictKind::SubscriberAway => clauses.push(Clause::SubscribedLate),
        VerdictKind::BrokerAway => clauses.push(Clause::CameBackAfterBroker),
        VerdictKind::GroupRebalance => clauses.push(Clause::HandedOver),
        VerdictKind::ClientThrottled => {
            // Of a message that the broker has, the consumer comes first.
            let is_publisher = finding.segment() != Segment::BrokerDwell
                || finding.circumstances.requests_unread.is_none();
            clauses.push(Clause::Throttled { is_publisher });
        }
        VerdictKind::Backpressure => clauses.push(Clause::LeftUnread),
        VerdictKind::ReleaseWait => clauses.extend(released(finding)),
        VerdictKind::BrokerStalled => clauses.extend(off_cpu(finding)),
        VerdictKind::ClientStalled => {
            clauses.extend(asked_late(finding));
            clauses.extend(off_cpu(finding));
        }
        _ => {}
    }
    clauses
}

fn how_often(messages: u64, finding: &Finding, cost: Cost) -> Clause {
    // Where it makes some messages slow, these are told; a little of it in the others is not what is meant.
    let (hits, each) = (cost.messages(), Nanos::from_f64(cost.each()));
    if hits > 0 && cost.each() > cost.median {
        return Clause::Hits { hits, messages, each, most: finding.most };
    }
    let median = Nanos(finding.time.quantile(0.5));
    Clause::Often { some: finding.messages, messages, median, most: finding.most }
}

/// The clause for what kept bytes in their sender's socket, by the state of TCP at the send.
fn in_socket(kind: VerdictKind, finding: &Finding) -> Option<Clause> {
    // The message itself came into the socket later than those that it had to wait for.
    let behind = finding.circumstances.behind.filter(|_| finding.segment() == Segment::BrokerDwell);
    let (tx, bytes) = match behind {
        Some(behind) => (Some(behind.tx), behind.send_len),
        None => (finding.circumstances.tx, finding.circumstances.send_len),
    };
    Some(match kind {
        VerdictKind::Corked => Clause::Corked,
        VerdictKind::LateWrite => Clause::LateWrite,
        VerdictKind::NagleDelayedAck => {
            Clause::Nagle { tx: tx?, was_acked: finding.circumstances.acked.is_some() }
        }
        VerdictKind::ReceiveWindow => Clause::ReceiveWindow(tx?),
        VerdictKind::CongestionWindow => Clause::CongestionWindow { tx: tx?, bytes },
        VerdictKind::Pacing => Clause::Paced { tx: tx?, bytes },
        VerdictKind::SendBuffer => Clause::SendBuffer { tx: tx?, bytes },
        _ => return None,
    })
}

/// The clause for the rate of the path and the length of its queue.
fn on_path(finding: &Finding) -> Option<Clause> {
    let LinkQueue { longest, least, rate, .. } = finding.circumstances.path_queue?;
    Some(Clause::QueueOnPath { longest, least, rate })
}

/// The clause for the rate at which packets left the qdisc.
fn in_qdisc(finding: &Finding) -> Option<Clause> {
    let LinkQueue { longest, rate, .. } = finding.circumstances.qdisc_queue?;
    Some(Clause::QueueInQdisc { longest, rate })
}

/// The clause for subscribers that are served in turn, each of which waits for those before it.
fn in_turn(finding: &Finding) -> Option<Clause> {
    let fan_out = finding.circumstances.fan_out?;
    let (readers, position) = (fan_out.readers, fan_out.position);
    Some(Clause::InTurn { readers, position, waited: finding.longest })
}

/// The clauses for losses: whose bytes were lost, how they came again, and where they were lost, as
/// far as that was seen.
fn lost(evidence: &Evidence, finding: &Finding) -> Vec<Clause> {
    let lost = finding.lost;
    // Its own connection's bytes, or a request.
    let is_behind = |finding: &Finding| {
        let earlier = finding.circumstances.behind;
        earlier.is_some_and(|earlier| earlier.time >= Nanos(finding.longest.0 / 2))
    };
    if finding.segment() == Segment::BrokerDwell && !is_behind(finding) {
        let recoveries = finding.awaited_recoveries;
        let has_recoveries = recoveries.iter().any(|&count| count > 0);
        return [
            Some(Clause::AwaitedLost(finding.mostly_awaited())),
            has_recoveries.then_some(Clause::Recovered(recoveries)),
            in_all(evidence),
        ]
        .into_iter()
        .flatten()
        .collect();
    }
    let name = |task: Option<TaskId>| -> Option<Named> {
        let pid = task?.pid;
        Some((pid, *evidence.setting.names.get(&pid)?))
    };
    let ends = name(finding.task).zip(name(finding.reader));
    let (own, behind) = (lost.own, lost.messages.saturating_sub(lost.own));
    // Which datagram was lost, its protocol alone can say.
    let is_tcp = finding.circumstances.tx.is_some() || evidence.losses.resent > 0;
    let has_recoveries = lost.recoveries != [0; Recovery::ALL.len()];
    let datagrams = !is_tcp && !has_recoveries;
    let whose = Clause::Lost { datagrams, own, behind, ends };
    if datagrams {
        let losses = &evidence.losses;
        let dropped = [
            (DropCause::SocketBuffer, losses.socket_drops),
            (DropCause::Filter, losses.filter_drops),
            (DropCause::Queue, losses.queue_drops),
        ];
        let has_dropped = dropped.iter().any(|(_, count)| *count > 0);
        return [
            Some(whose),
            (own > 0).then_some(Clause::RepairedByProtocol),
            has_dropped.then_some(Clause::DatagramsDropped(dropped)),
            in_all(evidence),
        ]
        .into_iter()
        .flatten()
        .collect();
    }
    let losses = &evidence.losses;
    if lost.were_only_late(losses) {
        let (resent, twice) = (losses.resent, losses.twice);
        return vec![
            Clause::Overtaken { own, behind, resent, twice },
            Clause::Recovered(lost.recoveries),
        ];
    }
    let here = if lost.drops.iter().any(|&count| count > 0) {
        Clause::DroppedHere(lost.drops)
    } else {
        Clause::NotDroppedHere
    };
    [
        Some(whose),
        has_recoveries.then_some(Clause::Recovered(lost.recoveries)),
        Some(here),
        in_all(evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The clause for losses on all connections of the row; `None` if there were none.
fn in_all(evidence: &Evidence) -> Option<Clause> {
    let dropped: u64 = evidence.losses.segments_dropped.iter().total();
    let (resent, twice) = (evidence.losses.resent, evidence.losses.twice);
    (resent > 0 || dropped > 0).then_some(Clause::OnAllConnections { resent, twice, dropped })
}

/// The longest wait for another thread. Where a thread before it waited for the one that is named, that one did not wait for itself.
fn let_go(finding: &Finding) -> Option<Clause> {
    let (holder, task) = (finding.holder?, finding.task?);
    if holder.task == task {
        return None;
    }
    let is_own = holder.task.pid == task.pid;
    Some(Clause::LetGo { waited: finding.longest, holder, is_own })
}

fn busy(evidence: &Evidence, finding: &Finding) -> Option<Clause> {
    let task = finding.task?;
    let share = evidence.setting.busy.get(&task.tid)?.share;
    Some(Clause::Busy { tid: task.tid, share })
}

/// Most of it is that the reader had not asked.
fn asked_late(finding: &Finding) -> Option<Clause> {
    let is_late = finding.late_requests.saturating_mul(2) >= finding.parts.max(1)
        || finding.mostly_awaited() == Awaited::LateAcknowledgement;
    let is_window = is_window(finding) || finding.mostly_awaited() == Awaited::LateAcknowledgement;
    let late = if is_window { Clause::AcknowledgedLate } else { Clause::AskedLate };
    is_late.then_some(late)
}

/// True if the broker was kept by how many messages may be unacknowledged, and not by a request.
fn is_window(finding: &Finding) -> bool {
    finding.circumstances.awaited_credit().is_some()
}

fn released(finding: &Finding) -> Vec<Clause> {
    let Some(release) = finding.circumstances.release else { return vec![Clause::NotReleased] };
    match finding.mostly_awaited() {
        Awaited::UnseenRelease => return vec![Clause::ReleaseUnseen],
        Awaited::Receipt => return release.receipt.iter().map(confirmed).collect(),
        _ => {}
    }
    let (held, under_way) = (release.left - release.sent, release.arrived - release.left);
    // The longest part is one of three.
    if finding.longest <= held {
        return vec![Clause::ReleaseInSocket { waited: held, nagle: release.nagle }];
    }
    if finding.longest <= under_way {
        return vec![Clause::ReleaseUnderWay(under_way)];
    }
    let waited = release.waited;
    let for_cpu = (waited >= NOTICED).then_some(Clause::ReleaseWaitedForCpu(waited));
    std::iter::once(Clause::NotReleased).chain(for_cpu).collect()
}

/// The broker's confirmation had not come to the publisher.
fn confirmed(receipt: &Receipt) -> Clause {
    let in_socket = receipt.left - receipt.sent;
    let under_way = receipt.arrived.unwrap_or(receipt.left) - receipt.left;
    if in_socket < under_way {
        return Clause::ReceiptUnderWay(under_way);
    }
    let window = receipt.is_window_full.then_some(VerdictKind::ReceiveWindow);
    let nagle = receipt.nagle.then_some(VerdictKind::NagleDelayedAck);
    Clause::ReceiptInSocket { waited: in_socket, by: window.or(nagle) }
}

fn asked(finding: &Finding) -> Clause {
    if finding.circumstances.awaits_commit {
        return Clause::AwaitsCommit;
    }
    match finding.mostly_awaited() {
        Awaited::Answer => return Clause::AnswerAwaited,
        Awaited::Expiry => return Clause::Expired,
        Awaited::Acknowledgement => return Clause::AcknowledgementUnderWay,
        Awaited::UnseenAcknowledgement => return Clause::AcknowledgementUnseen,
        Awaited::LateAcknowledgement => return Clause::SubscriberAcknowledgedLate,
        Awaited::Request if asked_late(finding).is_some() => return Clause::ConsumerAskedLate,
        _ => {}
    }
    let limits = finding.circumstances.request_limits;
    Clause::RequestWaits(limits.filter(|limits| limits.longest < Nanos(u64::MAX)))
}

fn off_cpu(finding: &Finding) -> Option<Clause> {
    let (reason, sleep) = finding.rest?;
    if let (Some(holder), Some(task)) = (finding.holder, finding.task)
        && holder.task != task
    {
        let (waited, is_own) = (finding.longest, holder.task.pid == task.pid);
        return Some(if sleep == SleepCall::Timer {
            Clause::HolderSlept { waited, holder, is_own }
        } else {
            Clause::HolderBlocked { waited, holder, is_own }
        });
    }
    Some(Clause::OffCpu(reason, sleep))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Holder, OffCpuReason, Pid, Tid};

    #[test]
    fn nobody_is_said_to_wait_for_himself() {
        let task = |tid| TaskId { pid: Pid(7), tid: Tid(tid) };
        let rest = (OffCpuReason::Blocked, SleepCall::Unknown);
        let behind = |tid| Finding {
            task: Some(task(1)),
            holder: Some(Holder { task: task(tid), ..Holder::default() }),
            rest: Some(rest),
            ..Finding::default()
        };
        assert!(matches!(let_go(&behind(2)), Some(Clause::LetGo { is_own: true, .. })));
        assert_eq!(let_go(&behind(1)), None);
        assert!(matches!(off_cpu(&behind(2)), Some(Clause::HolderBlocked { .. })));
        assert_eq!(off_cpu(&behind(1)), Some(Clause::OffCpu(rest.0, rest.1)));
    }
}
