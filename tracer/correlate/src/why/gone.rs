//! Servers that went while clients were connected to them.

use super::clause::{Circumstance, Clause, Named, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict};
use super::kind::VerdictKind;
use super::timeline::Period;
use std::net::SocketAddr;
use wirelap_events::{Comm, Nanos, Pid, ProcessEnd, Segment, TaskId, Tid};

/// Signals by which a process is asked to end: SIGHUP, SIGINT and SIGTERM.
const ASKED: [u32; 3] = [1, 2, 15];

/// A program that ends because of a signal may say so by its exit code: the signal and this much.
const BY_SIGNAL: u32 = 128;

/// Servers of a row that are told of, the last ones.
pub(super) const TOLD: usize = 4;

/// A server that went while clients were connected to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerGone {
    /// Its address.
    pub address: SocketAddr,
    /// Its process and its name, as far as they are known.
    pub process: Option<(Pid, Option<Comm>)>,
    /// How that ended; `None` if that was not seen.
    pub end: Option<ProcessEnd>,
    /// How long after the observation's beginning.
    pub after: Nanos,
    /// The connections that ended with it.
    pub connections: u64,
    /// The clients of the first of these, each once.
    pub clients: Vec<Named>,
    /// Others depend on it: it is a broker, or passes messages on.
    pub is_broker: bool,
    /// A client lives on.
    pub is_outlived: bool,
    /// Attempts to connect since that were refused.
    pub refused: u64,
    /// How long after it another process accepted a connection there, and which.
    pub again: Option<(Nanos, Named)>,
}

impl ServerGone {
    /// Nothing is to be said of a peer that is done.
    fn is_worth_a_word(&self) -> bool {
        self.is_broker || self.severity() == Severity::Problem
    }

    /// It ended as whoever is asked to, or of its own accord.
    fn meant_to_end(&self) -> bool {
        self.end.is_some_and(|end| {
            let asked = |signal: u32| ASKED.contains(&signal);
            let by_code = end.code().and_then(|code| code.checked_sub(BY_SIGNAL));
            end.signal().is_some_and(asked) || by_code.is_some_and(asked) || end.code() == Some(0)
        })
    }

    /// Whoever ends its clients with it wants that, and so does whoever starts it again. One of several peers may be done and go, as far as
    /// is known.
    fn severity(&self) -> Severity {
        let is_missed = self.refused > 0 && self.again.is_none();
        let is_problem = if self.meant_to_end() {
            self.is_broker && is_missed
        } else {
            (self.is_broker || self.end.is_some()) && self.is_outlived
        };
        if is_problem { Severity::Problem } else { Severity::Note }
    }
}

/// Adds what is said of them. A verdict about messages that waited meanwhile is about the same.
pub fn tell(evidence: &Evidence, found: &mut Vec<Verdict>) {
    for gone in evidence.gone.iter().filter(|gone| gone.is_worth_a_word()) {
        let clause = Clause::ServerGone(Box::new(gone.clone()));
        let severity = gone.severity();
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(peer.severity() == Severity::Problem, is_problem, "{peer:?}");
            let broker = ServerGone { refused: 1, ..one };
            assert_eq!(broker.severity(), Severity::Problem);
        }
    }

    #[test]
    fn who_is_asked_to_end_is_missed_only_by_who_comes_back() {
        for status in [15, 2, 0, 143 << 8, 130 << 8] {
            let asked = gone(status, false);
            assert_eq!(asked.severity(), Severity::Note, "{status}");
            let missed = ServerGone { refused: 3, ..asked };
            assert_eq!(missed.severity(), Severity::Problem, "{status}");
        }
        for (status, out_of_memory) in [(9, false), (9, true), (0x80 | 6, false), (3 << 8, false)] {
            let died = gone(status, out_of_memory);
            assert_eq!(died.severity(), Severity::Problem, "{status}");
            let with_all = ServerGone { is_outlived: false, ..died };
            assert_eq!(with_all.severity(), Severity::Note, "{status}: all was ended");
        }
    }
}
