//! Messages were thrown away because a queue was full: socket buffer, high-water mark.
//!
//! The cause is found by the kernel's drops and their reasons, and by gaps in the numbers that a publisher gives its messages.

use super::never_delivered::not_delivered;
use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use wirelap_events::{Pid, TaskId, Tid, Total};
use wirelap_limits::rules::TOLERATED_LOSS;

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row.evidence)), ..Definition::USUAL };

/// Packets or messages that found a queue full: a verdict for each process whose receive buffer was.
fn find(evidence: &Evidence) -> Vec<Verdict> {
    let losses = &evidence.losses;
    let dropped = &losses.datagrams;
    let named = |(pid, packets): (Pid, u64)| {
        let comm = *evidence.setting.names.get(&pid)?;
        Some((packets, (TaskId { pid, tid: Tid(pid.0) }, comm)))
    };
    let named: Vec<_> = dropped.full_sockets.all().filter_map(named).collect();
    let known: u64 = named.iter().map(|(packets, _)| packets).total();
    let nobodys = [
        full_buffer(dropped.by_socket.saturating_sub(known)),
        (dropped.by_queue > 0).then_some(Clause::QueueFull(dropped.by_queue)),
        losses.unsent().map(|(missing, whole)| Clause::NeverLeft { missing, whole }),
    ];
    let nobodys: Vec<Clause> = nobodys.into_iter().flatten().collect();
    let missing = not_delivered(losses);
    let all: u64 = [dropped.by_socket, dropped.by_queue].into_iter().total();
    // A lost datagram that is repaired, or holds no message, is nothing that anybody waits for.
    let is_little = missing.is_none()
        && losses.unsent().is_none()
        && all.saturating_mul(TOLERATED_LOSS) <= losses.sent;
    let severity = if is_little { Severity::Note } else { Severity::Problem };
    let found = |clauses, process| Verdict {
        process,
        ..Verdict::of_row(VerdictKind::QueueOverflow, severity, clauses)
    };
    let theirs = named
        .into_iter()
        .map(|(packets, process)| found(full_buffer(packets).into_iter().collect(), Some(process)));
    let mut verdicts: Vec<Verdict> = theirs.collect();
    if !nobodys.is_empty() {
        verdicts.push(found(nobodys, None));
    }
    if let Some(first) = verdicts.first_mut() {
        first.evidence.extend(missing);
    }
    verdicts
}

fn full_buffer(packets: u64) -> Option<Clause> {
    (packets > 0).then_some(Clause::BufferFull(packets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Comm, DropCause};

    #[test]
    fn one_datagram_of_thousands_of_messages_is_a_note() {
        let severity = |sent| {
            let mut evidence = Evidence::default();
            (evidence.losses.sent, evidence.losses.delivered) = (sent, sent);
            evidence.dropped(DropCause::SocketBuffer, None);
            find(&evidence)[0].severity
        };
        assert_eq!([500, 5_000].map(severity), [Severity::Problem, Severity::Note]);
    }

    #[test]
    fn each_process_with_a_full_buffer_is_named() {
        let mut evidence = Evidence::default();
        for (pid, name) in [(7, "narrow"), (8, "slow")] {
            evidence.setting.names.insert(Pid(pid), Comm::from_name(name));
        }
        for (packets, reader) in [(900, Some(Pid(7))), (3, Some(Pid(8))), (2, None)] {
            (0..packets).for_each(|_| evidence.dropped(DropCause::SocketBuffer, reader));
        }
        let said = find(&evidence);
        let name = |verdict: &Verdict| verdict.process.map(|(task, _)| task.pid.0);
        let count = |verdict: &Verdict| match verdict.evidence[0] {
            Clause::BufferFull(packets) => packets,
            _ => 0,
        };
        let said: Vec<_> = said.iter().map(|verdict| (name(verdict), count(verdict))).collect();
        assert_eq!(said, [(Some(7), 900), (Some(8), 3), (None, 2)]);
    }
}
