//! Verdicts about servers that went, about clients that take a name from each other, and about bytes that do not arrive.

use super::clause::{Circumstance, Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict};
use super::gone::ServerGone;
use super::kind::VerdictKind;
use super::stuck::StuckConnection;
use super::timeline::Period;
use wirelap_events::{Segment, TaskId, Tid};

/// Connections of a row that are told of, those that are stuck the longest.
const MAX_CONNECTIONS_TOLD: usize = 3;

/// Severity of a server's end. Whoever ends its clients with it wants that, and so does whoever starts it again. One of several peers may be
/// done and go, as far as is known.
fn severity(gone: &ServerGone) -> Severity {
    let is_missed = gone.refused > 0 && gone.again.is_none();
    let is_problem = if gone.meant_to_end() {
        gone.is_broker && is_missed
    } else {
        (gone.is_broker || gone.end.is_some()) && gone.is_outlived
    };
    if is_problem { Severity::Problem } else { Severity::Note }
}

/// Adds the verdicts about servers that went. A verdict about messages that waited meanwhile is about the same.
pub fn of_servers(evidence: &Evidence, found: &mut Vec<Verdict>) {
    for gone in &evidence.gone {
        let severity = severity(gone);
        // Nothing is to be said of a peer that is done.
        if !gone.is_broker && severity == Severity::Note {
            continue;
        }
        let clause = Clause::ServerGone(Box::new(gone.clone()));
        if let Some(known) = found.iter_mut().find(|one| one.kind == VerdictKind::BrokerAway) {
            known.severity = known.severity.max(severity);
            known.evidence.insert(0, clause);
            continue;
        }
        let process =
            gone.process.and_then(|(pid, comm)| Some((TaskId { pid, tid: Tid(pid.0) }, comm?)));
        let ended = gone.again.map(|(after, _)| gone.after + after);
        found.push(Verdict {
            process,
            period: Some(Period { began: gone.after, ended, times: 1 }),
            evidence: vec![clause],
            remedy: Remedy::Usual(Circumstance {
                at_broker: true,
                ..Circumstance::in_segment(Segment::BrokerDwell)
            }),
            ..Verdict::new(VerdictKind::BrokerAway, severity)
        });
    }
}

/// Adds the verdicts about subscribers that use one name at the same time. A verdict about messages that waited meanwhile is about the same.
pub fn of_names(evidence: &Evidence, found: &mut Vec<Verdict>) {
    for shared in evidence.shared_names.iter().filter(|shared| shared.subscribes) {
        let is_contested = shared.is_contested();
        let severity = if is_contested { Severity::Problem } else { Severity::Note };
        let clause = Clause::SharedName(Box::new(shared.clone()));
        let known = found.iter_mut().find(|one| one.kind == VerdictKind::SubscriberAway);
        if let Some(known) = known {
            known.severity = known.severity.max(severity);
            known.evidence.insert(0, clause);
            known.remedy = Remedy::OwnNames;
            continue;
        }
        let ended = (!is_contested).then_some(shared.last);
        found.push(Verdict {
            period: Some(Period {
                began: shared.first,
                ended,
                times: u32::try_from(shared.times).unwrap_or(u32::MAX),
            }),
            evidence: vec![clause],
            remedy: Remedy::OwnNames,
            ..Verdict::new(VerdictKind::SubscriberAway, severity)
        });
    }
}

/// Adds the verdicts about bytes that do not arrive. A verdict about messages that wait for the same bytes is about the same.
pub fn of_bytes(evidence: &Evidence, found: &mut Vec<Verdict>) {
    let mut all: Vec<&StuckConnection> = evidence.stuck.iter().collect();
    all.sort_by_key(|stuck| std::cmp::Reverse(stuck.age));
    for stuck in all.into_iter().take(MAX_CONNECTIONS_TOLD) {
        let clause = Clause::Stuck(Box::new(stuck.clone()));
        let process = stuck.sender.map(|(pid, comm)| (TaskId { pid, tid: Tid(pid.0) }, comm));
        let pid = |process: Option<(TaskId, _)>| process.map(|(task, _)| task.pid);
        let known = found.iter_mut().find(|one| {
            one.kind == VerdictKind::Retransmission && pid(one.process) == pid(process)
        });
        if let Some(known) = known {
            known.severity = Severity::Problem;
            known.evidence.insert(0, clause);
            continue;
        }
        let dropped = stuck.dropped.as_ref().map(|place| place.cause);
        found.push(Verdict {
            process,
            period: Some(Period { began: stuck.after, ended: None, times: 1 }),
            evidence: vec![clause],
            remedy: Remedy::Usual(Circumstance {
                dropped,
                ..Circumstance::in_segment(Segment::StackRx)
            }),
            ..Verdict::new(VerdictKind::Retransmission, Severity::Problem)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use wirelap_events::{Comm, Nanos, Pid, ProcessEnd};

    fn gone(status: u32, out_of_memory: bool) -> ServerGone {
        ServerGone {
            address: SocketAddr::from(([127, 0, 0, 1], 4222)),
            process: Some((Pid(10), Some(Comm::default()))),
            end: Some(ProcessEnd { status, out_of_memory, ..ProcessEnd::default() }),
            after: Nanos::from_millis(3_000),
            connections: 2,
            clients: Vec::new(),
            is_broker: true,
            is_outlived: true,
            refused: 0,
            again: None,
        }
    }

    #[test]
    fn a_peer_may_go_when_it_is_done() {
        let unknown = ServerGone { end: None, refused: 1, ..gone(0, false) };
        for (one, is_problem) in [(unknown, false), (gone(0, false), false), (gone(9, false), true)]
        {
            let peer = ServerGone { is_broker: false, refused: 1, ..one.clone() };
            assert_eq!(severity(&peer) == Severity::Problem, is_problem, "{peer:?}");
            let broker = ServerGone { refused: 1, ..one };
            assert_eq!(severity(&broker), Severity::Problem);
        }
    }

    #[test]
    fn who_is_asked_to_end_is_missed_only_by_who_comes_back() {
        for status in [15, 2, 0, 143 << 8, 130 << 8] {
            let asked = gone(status, false);
            assert_eq!(severity(&asked), Severity::Note, "{status}");
            let missed = ServerGone { refused: 3, ..asked };
            assert_eq!(severity(&missed), Severity::Problem, "{status}");
        }
        for (status, out_of_memory) in [(9, false), (9, true), (0x80 | 6, false), (3 << 8, false)] {
            let died = gone(status, out_of_memory);
            assert_eq!(severity(&died), Severity::Problem, "{status}");
            let with_all = ServerGone { is_outlived: false, ..died };
            assert_eq!(severity(&with_all), Severity::Note, "{status}: all was ended");
        }
    }
}
