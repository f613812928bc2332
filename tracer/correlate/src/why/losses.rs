//! Verdicts about messages that are lost, or come twice, and about what cannot be seen.

use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, VerdictKind};
use super::gathered::Gathered;
use super::loss_counts::Losses;
use super::numbers::Missing;
use super::remedy::{Circumstance, remedy};
use wirelap_events::{Comm, Nanos, Pid, Segment, TaskId, Tid, Total};

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

fn verdict(
    evidence: &Evidence,
    kind: VerdictKind,
    severity: Severity,
    clauses: Vec<String>,
) -> Verdict {
    let circumstance =
        Circumstance { segment: Segment::Wire, at_broker: false, rest: None, dropped: None };
    Verdict {
        evidence: clauses,
        remedy: remedy(kind, &evidence.setting, circumstance),
        ..Verdict::new(kind, severity)
    }
}

impl Losses {
    /// Numbers of messages that are missing on the publisher's way out, while others before and after them
    /// are not, and that nobody got.
    fn unsent(&self) -> Option<(u64, u64)> {
        let Missing { missing, whole } = self.skipped;
        (missing.saturating_mul(100) > whole && self.missing().is_some())
            .then_some((missing, whole))
    }

    /// Of messages whose delivery was not seen, those that were not just hidden from us.
    fn surely(&self, unseen: u64) -> u64 {
        let all_came = self.told.is_some_and(|told| told.delivered >= told.due);
        let elsewhere = self.hidden.saturating_add(self.unjoined).saturating_add(self.thrown_away);
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
        counted_if(
            losses.queue_drops,
            "packet was thrown away because a queue of the device was full",
            "packets were thrown away because a queue of the device was full",
        ),
        losses.unsent().map(|(missing, whole)| {
            format!(
                "{missing} of {whole} messages were published and never reached a socket: the library threw them away, as at a high-water mark"
            )
        }),
    ];
    let nobodys: Vec<String> = nobodys.into_iter().flatten().collect();
    let found = |clauses, process| {
        let verdict = verdict(evidence, VerdictKind::QueueOverflow, Severity::Problem, clauses);
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

fn full_buffer(packets: u64) -> Option<String> {
    counted_if(
        packets,
        "packet was thrown away because the receiving socket's buffer was full",
        "packets were thrown away because the receiving socket's buffer was full",
    )
}

fn did_not_arrive((missing, due): (u64, u64)) -> String {
    format!("{missing} of {due} deliveries did not take place, by the workloads' own count")
}

/// Messages that nobody got, and no full queue explains.
fn never(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let explained = losses.socket_drops > 0 || losses.unsent().is_some();
    let mut clauses: Vec<String> =
        losses.missing().filter(|_| !explained).map(did_not_arrive).into_iter().collect();
    let mut severity = Severity::Problem;
    if !evidence.setting.sampled && losses.sent > 0 {
        let sent = losses.sent;
        let unread = losses.surely(losses.unread);
        if unread.saturating_mul(TOLERATED) > sent && !explained {
            clauses.push(format!("{unread} of {sent} messages were sent and never read"));
            if losses.filter_drops > 0 {
                clauses.push(counted(
                    losses.filter_drops,
                    "datagram was thrown away by a packet filter of this host (nftables, tc)",
                    "datagrams were thrown away by a packet filter of this host (nftables, tc)",
                ));
            }
        }
        let swallowed = losses.surely(losses.swallowed);
        if swallowed.saturating_mul(TOLERATED) > sent {
            let dropped: u64 = losses.segments_dropped.iter().total();
            // What a rule or a queue keeps from leaving, no device has seen.
            clauses.push(if dropped > 0 {
                format!(
                    "{swallowed} of {sent} messages were read by the broker and not seen to leave it: they may wait in its sockets, as this host threw away {dropped} packets of these connections"
                )
            } else {
                format!(
                    "{swallowed} of {sent} messages were read by the broker and passed on to nobody"
                )
            });
        }
        let abandoned = losses.surely(losses.abandoned);
        if abandoned.saturating_mul(TOLERATED) > sent {
            // Who leaves in its protocol's words meant to.
            if clauses.is_empty() && !losses.is_abrupt {
                severity = Severity::Note;
            }
            clauses.extend(came_too_late(evidence, abandoned));
        }
        // Without anybody who got some of the same topic, it is not known that anybody should have.
        let unmatched = losses.surely(losses.unmatched);
        if clauses.is_empty() && unmatched.saturating_mul(TOLERATED) > sent && losses.delivered == 0
        {
            severity = Severity::Note;
            clauses.push(format!(
                "{unmatched} of {sent} messages were read by the broker, and nobody was seen to get any"
            ));
            clauses.push("nobody seems to subscribe".into());
        }
    }
    if let Some(clause) = counted_if(
        losses.thrown_away,
        "message is of a transaction that was aborted: its consumer gets it and throws it away",
        "messages are of transactions that were aborted: their consumers get them and throw them away",
    ) {
        severity = if clauses.is_empty() { Severity::Note } else { severity };
        clauses.push(clause);
    }
    (!clauses.is_empty()).then(|| verdict(evidence, VerdictKind::NeverDelivered, severity, clauses))
}

/// Messages that came when those that had got the others were gone.
fn came_too_late(evidence: &Evidence, abandoned: u64) -> [String; 2] {
    let losses = &evidence.losses;
    let name = |pid: Pid| {
        let name = evidence.setting.names.get(&pid).map_or("the subscriber", Comm::as_str);
        format!("{name} (pid {})", pid.0)
    };
    let whom = losses.left_by.map_or("the subscriber".to_owned(), name);
    let how = if losses.is_abrupt {
        "closed without the protocol's farewell: the process was ended, or the connection broke"
    } else {
        "closed"
    };
    [
        format!("the connection of {whom}, which had got those before, was {how}"),
        format!(
            "{abandoned} of {} messages were read by the broker after that, and passed on to nobody",
            losses.sent
        ),
    ]
}

fn duplicates(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let few = losses.duplicates < 3;
    if few || losses.duplicates.saturating_mul(TOLERATED) <= losses.sent.max(losses.delivered) {
        return None;
    }
    let clauses = vec![format!(
        "{} of {} messages were sent or delivered again by the protocol",
        losses.duplicates,
        losses.sent.max(losses.duplicates)
    )];
    Some(verdict(evidence, VerdictKind::Duplicates, Severity::Problem, clauses))
}

fn shared(evidence: &Evidence) -> Option<Verdict> {
    let shared = evidence.losses.shared;
    let clause = counted(
        shared,
        "message has its payload in shared memory: only where it lies is on the network",
        "messages have their payload in shared memory: only where it lies is on the network",
    );
    (shared > 0).then(|| verdict(evidence, VerdictKind::SharedMemory, Severity::Note, vec![clause]))
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
    let clauses = vec![format!(
        "{} from publish to the send call in the median, {} at the 99th percentile, before {} on the way",
        Nanos(waited),
        Nanos(before.quantile(0.99)),
        Nanos::from_f64(median)
    )];
    let severity = if evidence.setting.saturating { Severity::Note } else { Severity::Problem };
    Some(Verdict {
        leg: Some(1),
        segment: Some(Segment::ClientTx),
        median: Nanos(waited),
        median_share: share,
        ..verdict(evidence, VerdictKind::SenderBatching, severity, clauses)
    })
}

/// What a typical message waits between its send call and the device, on its first leg, in nanoseconds.
fn pushed_back(gathered: &Gathered) -> f64 {
    const WAITS: [Segment; 3] = [Segment::Write, Segment::SocketTx, Segment::Qdisc];
    let middle = gathered.breakdown.middle();
    let cells = gathered.breakdown.cells().iter().enumerate();
    let waits = cells.filter(|(_, cell)| cell.leg == 0 && WAITS.contains(&cell.segment));
    waits.map(|(slot, _)| middle.mean(slot)).total()
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn counted_if(count: u64, one: &str, many: &str) -> Option<String> {
    (count > 0).then(|| counted(count, one, many))
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
        let count = |verdict: &Verdict| verdict.evidence[0].split(' ').next().unwrap().to_owned();
        let said: Vec<_> = said.iter().map(|verdict| (name(verdict), count(verdict))).collect();
        let expected = [(Some(7), "900"), (Some(8), "3"), (None, "2")];
        assert_eq!(said, expected.map(|(pid, count)| (pid, count.to_owned())));
    }

    #[test]
    fn what_may_be_in_unread_bytes_is_not_lost() {
        assert_eq!(named(&swallowed(0)), [VerdictKind::NeverDelivered]);
        assert_eq!(named(&swallowed(9)), [VerdictKind::NeverDelivered]);
        assert_eq!(named(&swallowed(10)), []);
    }

    #[test]
    fn messages_of_aborted_transactions_are_told_and_are_no_problem() {
        let mut evidence = Evidence::default();
        evidence.losses =
            Losses { sent: 300, delivered: 150, thrown_away: 150, ..Losses::default() };
        let said = never(&evidence).unwrap();
        assert_eq!(said.severity, Severity::Note);
        assert!(said.evidence[0].starts_with("150 messages are of transactions"), "{said:?}");
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
