//! Verdicts about messages that are lost, or come twice, and about what cannot be seen.

use super::clause::{Circumstance, Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict};
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::loss_counts::Losses;
use super::numbers::Missing;
use wirelap_events::{Nanos, Pid, Segment, TaskId, Tid, Total};
use wirelap_protocols::{Protocol, by_name};

/// One in so many messages may be missing at the ends of an observation.
const TOLERATED: u64 = 1000;

/// A library that keeps a message for less is not waiting for more of them.
const LINGER: Nanos = Nanos::from_millis(3);

/// Every verdict of this sort. `median` is what a message takes, in nanoseconds.
pub fn verdicts(evidence: &Evidence, gathered: &Gathered, median: f64) -> Vec<Verdict> {
    let found = [
        never(evidence),
        duplicates(evidence),
        shared(evidence),
        batching(evidence, gathered, median),
    ];
    overflow(evidence).into_iter().chain(found.into_iter().flatten()).collect()
}

fn verdict(kind: VerdictKind, severity: Severity, clauses: Vec<Clause>) -> Verdict {
    let remedy = Remedy::Usual(Circumstance::in_segment(Segment::Wire));
    Verdict { evidence: clauses, remedy, ..Verdict::new(kind, severity) }
}

impl Losses {
    /// Numbers of messages that are missing on the publisher's way out, while others before and after them
    /// are not, and that nobody got.
    fn unsent(&self) -> Option<(u64, u64)> {
        let Missing { missing, whole } = self.skipped;
        (missing.saturating_mul(100) > whole && self.missing().is_some())
            .then_some((missing, whole))
    }

    /// Number of messages whose delivery was not seen and that were not just hidden from us.
    fn surely(&self, unseen: u64) -> u64 {
        let all_came = self.told.is_some_and(|told| told.delivered >= told.due);
        // What is in shared memory on one side of a router has no bytes there that the other side's are joined by.
        let elsewhere = [self.hidden, self.unjoined, self.thrown_away, self.shared].iter().total();
        if all_came { 0 } else { unseen.saturating_sub(elsewhere) }
    }

    /// Deliveries that are missing, of those that are due.
    fn missing(&self) -> Option<(u64, u64)> {
        let told = self.told?;
        let missing = told.due.saturating_sub(told.delivered);
        (missing.saturating_mul(TOLERATED) > told.due).then_some((missing, told.due))
    }
}

/// Packets or messages that found a queue full: a verdict for each process whose receive buffer was.
fn overflow(evidence: &Evidence) -> Vec<Verdict> {
    let losses = &evidence.losses;
    let named = |(pid, packets): (Pid, u64)| {
        let comm = *evidence.setting.names.get(&pid)?;
        Some((packets, (TaskId { pid, tid: Tid(pid.0) }, comm)))
    };
    let named: Vec<_> = losses.full_sockets.all().filter_map(named).collect();
    let known: u64 = named.iter().map(|(packets, _)| packets).total();
    let nobodys = [
        full_buffer(losses.socket_drops.saturating_sub(known)),
        (losses.queue_drops > 0).then_some(Clause::QueueFull(losses.queue_drops)),
        losses.unsent().map(|(missing, whole)| Clause::NeverLeft { missing, whole }),
    ];
    let nobodys: Vec<Clause> = nobodys.into_iter().flatten().collect();
    let found = |clauses, process| {
        let verdict = verdict(VerdictKind::QueueOverflow, Severity::Problem, clauses);
        Verdict { process, ..verdict }
    };
    let theirs = named
        .into_iter()
        .map(|(packets, process)| found(full_buffer(packets).into_iter().collect(), Some(process)));
    let mut verdicts: Vec<Verdict> = theirs.collect();
    if !nobodys.is_empty() {
        verdicts.push(found(nobodys, None));
    }
    if let Some(first) = verdicts.first_mut() {
        first.evidence.extend(losses.missing().map(did_not_arrive));
    }
    verdicts
}

fn full_buffer(packets: u64) -> Option<Clause> {
    (packets > 0).then_some(Clause::BufferFull(packets))
}

fn did_not_arrive((missing, due): (u64, u64)) -> Clause {
    Clause::NotDelivered { missing, due }
}

/// Messages that nobody got, and no full queue explains.
fn never(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let explained = losses.socket_drops > 0 || losses.unsent().is_some();
    let mut clauses: Vec<Clause> =
        losses.missing().filter(|_| !explained).map(did_not_arrive).into_iter().collect();
    let mut severity = Severity::Problem;
    if !evidence.setting.sampled && losses.sent > 0 {
        let sent = losses.sent;
        let unread = losses.surely(losses.unread);
        if unread.saturating_mul(TOLERATED) > sent && !explained {
            clauses.push(Clause::NeverRead { unread, sent });
            if losses.filter_drops > 0 {
                clauses.push(Clause::Filtered(losses.filter_drops));
            }
        }
        let messages = losses.surely(losses.swallowed);
        if messages.saturating_mul(TOLERATED) > sent {
            // What a rule or a queue keeps from leaving, no device has seen.
            let dropped: u64 = losses.segments_dropped.iter().total();
            clauses.push(Clause::Swallowed { messages, sent, dropped });
        }
        clauses.extend(missed(evidence, !clauses.is_empty()));
        let abandoned = losses.surely(losses.abandoned);
        if abandoned.saturating_mul(TOLERATED) > sent {
            // Whoever leaves with its protocol's farewell meant to.
            if clauses.is_empty() && !losses.is_abrupt {
                severity = Severity::Note;
            }
            clauses.extend(came_too_late(evidence, abandoned));
        }
        if let Some(clause) = left_behind(evidence) {
            if clauses.is_empty() && is_only_noted(evidence) {
                severity = Severity::Note;
            }
            clauses.push(clause);
        }
        // Without anybody who got some of the same topic, it is not known that anybody should have.
        let messages = losses.surely(losses.unmatched);
        if clauses.is_empty() && messages.saturating_mul(TOLERATED) > sent && losses.delivered == 0
        {
            severity = Severity::Note;
            clauses.push(Clause::NobodyGot { messages, sent });
            // Whoever a connection leads to on which nothing arrives may.
            if evidence.stuck.is_empty() {
                clauses.push(Clause::NobodySubscribes);
            }
        }
    }
    if let Some(clause) = passed_over(evidence) {
        // Of whoever is not known to be of the same group, it is not known whether anybody should have read them.
        let is_group = losses.passed_over[1] > 0;
        if clauses.is_empty() || is_group {
            severity = if is_group { Severity::Problem } else { Severity::Note };
        }
        clauses.push(clause);
    }
    if losses.cut_short > 0 {
        severity = Severity::Problem;
        clauses.push(Clause::CutShort(losses.cut_short));
    }
    if losses.thrown_away > 0 {
        severity = if clauses.is_empty() { Severity::Note } else { severity };
        clauses.push(Clause::Aborted(losses.thrown_away));
    }
    (!clauses.is_empty()).then(|| verdict(VerdictKind::NeverDelivered, severity, clauses))
}

/// Records behind the last one that one reader of a log was sent, and before the first one of the next.
fn passed_over(evidence: &Evidence) -> Option<Clause> {
    let losses = &evidence.losses;
    let records: u64 = losses.passed_over.iter().total();
    let of_group = losses.passed_over[1] > 0;
    let reader = losses.passed_over_by.map(|pid| (pid, evidence.setting.names.get(&pid).copied()));
    (records > 0).then_some(Clause::PassedOver { records, of_group, reader })
}

/// Messages that came when those that had got the others were gone.
fn came_too_late(evidence: &Evidence, messages: u64) -> [Clause; 2] {
    let losses = &evidence.losses;
    let is_kept = keeps_messages(evidence);
    let reader = losses.left_by.map(|pid| (pid, evidence.setting.names.get(&pid).copied()));
    [
        Clause::ReaderLeft { reader, departure: losses.departure, is_abrupt: losses.is_abrupt },
        Clause::AfterReaderLeft { messages, sent: losses.sent, is_kept },
    ]
}

/// The clause for messages that one subscriber did not get. Messages that others did not get either are told only
/// where it is known that they are lost.
fn missed(evidence: &Evidence, is_lost: bool) -> Option<Clause> {
    let missed = &evidence.missed;
    let most = missed.most.clone().filter(|most| most.count.others_got || is_lost)?;
    let surely = evidence.losses.surely(most.count.messages);
    if surely.saturating_mul(TOLERATED) <= most.count.whole {
        return None;
    }
    let name = most.pid.and_then(|pid| evidence.setting.names.get(&pid).copied());
    Some(Clause::Missed { most, name, others: missed.others() })
}

/// The clause for messages that subscribers had not got when their connections were closed.
fn left_behind(evidence: &Evidence) -> Option<Clause> {
    let left = &evidence.losses.left_behind;
    let most = left.most?;
    let surely = evidence.losses.surely(left.messages);
    if surely.saturating_mul(TOLERATED) <= evidence.losses.sent {
        return None;
    }
    let name = most.closed.pid.and_then(|pid| evidence.setting.names.get(&pid).copied());
    Some(Clause::LeftBehind { most, name, others: left.others() })
}

/// True if those who were behind when their connections were closed meant to go, or get the rest when they come back.
fn is_only_noted(evidence: &Evidence) -> bool {
    let left = evidence.losses.left_behind.most;
    left.is_none_or(|most| most.meant_to_go()) || keeps_messages(evidence)
}

/// True if the broker keeps what nobody reads at the moment.
fn keeps_messages(evidence: &Evidence) -> bool {
    by_name(evidence.setting.protocol).is_some_and(Protocol::keeps_messages)
}

fn duplicates(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let few = losses.duplicates < 3;
    if few || losses.duplicates.saturating_mul(TOLERATED) <= losses.sent.max(losses.delivered) {
        return None;
    }
    let clauses = vec![Clause::Repeated { repeats: losses.duplicates, sent: losses.sent }];
    Some(verdict(VerdictKind::Duplicates, Severity::Problem, clauses))
}

fn shared(evidence: &Evidence) -> Option<Verdict> {
    let shared = evidence.losses.shared;
    let clause = Clause::InSharedMemory(shared);
    (shared > 0).then(|| verdict(VerdictKind::SharedMemory, Severity::Note, vec![clause]))
}

/// Our own workloads tell when they published: a library that waits for more before it sends.
fn batching(evidence: &Evidence, gathered: &Gathered, median: f64) -> Option<Verdict> {
    let [before, _] = evidence.outside.as_ref()?;
    let waited = before.quantile(0.5);
    let whole = waited as f64 + median;
    let share = if whole > 0.0 { waited as f64 / whole } else { 0.0 };
    // A library whose socket takes nothing more waits for that.
    let is_pushed_back = pushed_back(gathered) >= waited as f64 / 5.0;
    if waited < LINGER.0 || share < 0.3 || before.count() < 20 || is_pushed_back {
        return None;
    }
    let clauses = vec![Clause::Kept {
        median: Nanos(waited),
        p99: Nanos(before.quantile(0.99)),
        under_way: Nanos::from_f64(median),
    }];
    let severity = if evidence.setting.saturating { Severity::Note } else { Severity::Problem };
    Some(Verdict {
        leg: Some(1),
        segment: Some(Segment::ClientTx),
        median: Nanos(waited),
        median_share: share,
        ..verdict(VerdictKind::SenderBatching, severity, clauses)
    })
}

/// Time that a typical message waits between its send call and the device, on its first leg, in
/// nanoseconds.
fn pushed_back(gathered: &Gathered) -> f64 {
    const WAITS: [Segment; 3] = [Segment::Write, Segment::SocketTx, Segment::Qdisc];
    let middle = gathered.breakdown.middle();
    let cells = gathered.breakdown.cells().iter().enumerate();
    let waits = cells.filter(|(_, cell)| cell.leg == 0 && WAITS.contains(&cell.segment));
    waits.map(|(slot, _)| middle.mean(slot)).total()
}

#[cfg(test)]
mod tests {
    use super::super::loss_counts::WorkloadCounts;
    use super::*;
    use wirelap_events::{Comm, DropCause};

    fn named(losses: &Losses) -> Vec<VerdictKind> {
        let mut evidence = Evidence::default();
        evidence.losses.clone_from(losses);
        verdicts(&evidence, &Gathered::default(), 1e6)
            .into_iter()
            .map(|verdict| verdict.kind)
            .collect()
    }

    fn swallowed(hidden: u64) -> Losses {
        Losses { sent: 400, delivered: 390, swallowed: 10, hidden, ..Losses::default() }
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
        let said = overflow(&evidence);
        let name = |verdict: &Verdict| verdict.process.map(|(task, _)| task.pid.0);
        let count = |verdict: &Verdict| match verdict.evidence[0] {
            Clause::BufferFull(packets) => packets,
            _ => 0,
        };
        let said: Vec<_> = said.iter().map(|verdict| (name(verdict), count(verdict))).collect();
        assert_eq!(said, [(Some(7), 900), (Some(8), 3), (None, 2)]);
    }

    #[test]
    fn what_may_be_in_unread_bytes_is_not_lost() {
        assert_eq!(named(&swallowed(0)), [VerdictKind::NeverDelivered]);
        assert_eq!(named(&swallowed(9)), [VerdictKind::NeverDelivered]);
        assert_eq!(named(&swallowed(10)), []);
    }

    #[test]
    fn what_may_be_in_shared_memory_is_not_lost() {
        let beside = |shared| named(&Losses { shared, ..swallowed(0) });
        let note = VerdictKind::SharedMemory;
        assert_eq!(beside(10), [note]);
        assert_eq!(beside(9), [VerdictKind::NeverDelivered, note]);
    }

    #[test]
    fn messages_of_aborted_transactions_are_told_and_are_no_problem() {
        let mut evidence = Evidence::default();
        evidence.losses =
            Losses { sent: 300, delivered: 150, thrown_away: 150, ..Losses::default() };
        let said = never(&evidence).unwrap();
        assert_eq!(said.severity, Severity::Note);
        assert_eq!(said.evidence, [Clause::Aborted(150)]);
    }

    #[test]
    fn what_its_sender_gives_up_is_a_problem() {
        let mut evidence = Evidence::default();
        evidence.losses = Losses { cut_short: 18, ..Losses::default() };
        let said = never(&evidence).unwrap();
        assert_eq!((said.severity, said.evidence), (Severity::Problem, vec![Clause::CutShort(18)]));
    }

    #[test]
    fn what_the_workloads_got_is_not_lost() {
        let told = |delivered| Some(WorkloadCounts { sent: 400, due: 400, delivered });
        assert_eq!(named(&Losses { told: told(400), ..swallowed(0) }), []);
        assert_eq!(
            named(&Losses { told: told(390), ..swallowed(0) }),
            [VerdictKind::NeverDelivered]
        );
    }
}
