//! Bytes that do not arrive, though TCP sends them again and again.

use super::clause::{Circumstance, Clause, Named, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict};
use super::kind::VerdictKind;
use super::timeline::Period;
use std::net::SocketAddr;
use wirelap_events::{DropCause, Nanos, NetNs, Segment, TaskId, Tid};

/// Connections of a row that are told of, those that are stuck the longest.
const TOLD: usize = 3;

/// Where this host threw packets away.
#[derive(Clone, Debug, PartialEq)]
pub struct DropPlace {
    /// What for.
    pub cause: DropCause,
    /// How many packets.
    pub packets: u32,
    /// The network namespace, with its name if it has one; `None` if it is not known.
    pub netns: Option<(NetNs, Option<String>)>,
    /// The MTU of the device that they were to leave by, where they were too big for it.
    pub mtu: Option<u32>,
}

/// A connection whose bytes do not arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckConnection {
    /// Who sends, as far as that is known.
    pub sender: Option<Named>,
    /// The sender's and the receiver's address.
    pub ends: (SocketAddr, SocketAddr),
    /// When the first of the bytes had left first, after the observation began.
    pub after: Nanos,
    /// For how long it has been under way.
    pub age: Nanos,
    /// How often TCP sent it again.
    pub resent: u32,
    /// How many bytes were written from there on.
    pub bytes: u64,
    /// Where this host threw it away, if it did.
    pub dropped: Option<DropPlace>,
}

/// Adds what is said of them. A verdict about messages that wait for the same bytes is about the same.
pub fn tell(evidence: &Evidence, found: &mut Vec<Verdict>) {
    let mut all: Vec<&StuckConnection> = evidence.stuck.iter().collect();
    all.sort_by_key(|stuck| std::cmp::Reverse(stuck.age));
    for stuck in all.into_iter().take(TOLD) {
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
