//! Messages were sent and never delivered.
//!
//! They are found where others of the same topic came to whoever got those before and after, where a subscriber left, or by the workloads'
//! own counts. Messages that could not be seen, or that a full queue explains (`queue_overflow`), do not count.

use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use crate::loss_counts::{
    AbandonedMessages, Departure, Losses, MissedAway, NotKeptMessages, PassedOverRecords,
};
use wirelap_events::{Comm, Nanos, Pid, Total};
use wirelap_flow::ClosedBy;
use wirelap_limits::rules::TOLERATED_LOSS;
use wirelap_protocols::{DiscardedMessages, Protocol, QueueLimits, by_name};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row.evidence)), ..Definition::USUAL };

/// Messages that nobody got, and no full queue explains.
fn find(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let explained = losses.datagrams.by_socket > 0 || losses.unsent().is_some();
    let mut clauses: Vec<Clause> =
        not_delivered(losses).filter(|_| !explained).into_iter().collect();
    let mut severity = Severity::Problem;
    let sent = losses.sent;
    if sent > 0 {
        let unread = losses.surely(losses.unread);
        if unread.saturating_mul(TOLERATED_LOSS) > sent && !explained {
            clauses.push(Clause::NeverRead { unread, sent });
            if losses.datagrams.by_filter > 0 {
                clauses.push(Clause::Filtered(losses.datagrams.by_filter));
            }
        }
        // What came while its reader was away is told as that.
        let messages = losses.surely(losses.swallowed.saturating_sub(losses.away.messages));
        if messages.saturating_mul(TOLERATED_LOSS) > sent {
            // Packets that a rule or a queue keeps from leaving, no device has seen.
            let dropped: u64 = losses.segments.dropped.iter().total();
            clauses.push(Clause::Swallowed { messages, sent, dropped });
        }
    }
    // What was not watched tells nothing of who has not got it.
    if sent > 0 && !evidence.setting.sampled {
        let missed = missed(evidence, !clauses.is_empty());
        if clauses.is_empty() && missed.as_ref().is_some_and(may_be_shared) {
            severity = Severity::Note;
        }
        clauses.extend(missed);
        // What the broker had not sent a subscriber when it left came before that.
        let told = losses.left_unsent.saturating_add(losses.away.messages);
        let after = losses.abandoned.messages.saturating_sub(told);
        let abandoned = losses.surely(after);
        if abandoned.saturating_mul(TOLERATED_LOSS) > sent {
            if clauses.is_empty() && meant_to_go(evidence) {
                severity = Severity::Note;
            }
            clauses.extend(came_too_late(evidence, abandoned));
        }
        let AbandonedMessages { messages, in_session, session_of, .. } = losses.abandoned;
        let kept = losses.surely(in_session.saturating_sub(told.saturating_sub(messages)));
        if kept.saturating_mul(TOLERATED_LOSS) > sent {
            severity = if clauses.is_empty() { Severity::Note } else { severity };
            let reader = named(evidence, session_of);
            clauses.push(Clause::KeptInSession { messages: kept, sent, reader });
        }
        if let Some(clause) = left_behind(evidence) {
            let is_only_noted = is_only_noted(evidence);
            if clauses.is_empty() || !is_only_noted {
                severity = if is_only_noted { Severity::Note } else { Severity::Problem };
            }
            clauses.push(clause);
        }
        // Without anybody who got some of the same topic, it is not known that anybody should have.
        let messages = losses.surely(losses.unmatched);
        if clauses.is_empty()
            && messages.saturating_mul(TOLERATED_LOSS) > sent
            && losses.delivered == 0
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
        // For a reader that is not known to be of the same group, it is not known whether anybody should have read them.
        let is_group = losses.passed_over.records[1] > 0;
        if clauses.is_empty() || is_group {
            severity = if is_group { Severity::Problem } else { Severity::Note };
        }
        clauses.push(clause);
    }
    if losses.not_kept.messages > 0 {
        let NotKeptMessages { messages, by } = losses.not_kept;
        severity = Severity::Problem;
        let was_asked = by_name(evidence.setting.protocol).is_some_and(Protocol::is_log);
        clauses.push(Clause::NotKept { messages, reader: named(evidence, by), was_asked });
    }
    if losses.away.messages > 0 {
        let MissedAway { messages, expired, by } = losses.away;
        // Its publisher meant what is late to expire. When each message came is not known exactly.
        let is_meant = expired >= messages.saturating_sub(expired);
        if clauses.is_empty() || !is_meant {
            severity = if is_meant { Severity::Note } else { Severity::Problem };
        }
        clauses.push(Clause::MissedAway { messages, expired, reader: named(evidence, by) });
    }
    if losses.cut_short > 0 {
        severity = Severity::Problem;
        clauses.push(Clause::CutShort(losses.cut_short));
    }
    clauses.extend(limits_of_queues(evidence, &clauses));
    let DiscardedMessages { rolled_back, returned, .. } = losses.discarded;
    let by_word =
        [(rolled_back, Clause::RolledBack(rolled_back)), (returned, Clause::Returned(returned))];
    for (_, clause) in by_word.into_iter().filter(|(messages, _)| *messages > 0) {
        severity = if clauses.is_empty() { Severity::Note } else { severity };
        clauses.push(clause);
    }
    if losses.thrown_away > 0 {
        severity = if clauses.is_empty() { Severity::Note } else { severity };
        clauses.push(Clause::Aborted(losses.thrown_away));
    }
    (!clauses.is_empty()).then(|| Verdict::of_row(VerdictKind::NeverDelivered, severity, clauses))
}

/// The clause for deliveries that are missing by the workloads' own count.
pub fn not_delivered(losses: &Losses) -> Option<Clause> {
    losses.missing().map(|(missing, due)| Clause::NotDelivered { missing, due })
}

/// Records behind the last one that one reader of a log was sent, and before the first one of the next.
fn passed_over(evidence: &Evidence) -> Option<Clause> {
    let PassedOverRecords { records, by } = evidence.losses.passed_over;
    let of_group = records[1] > 0;
    let records: u64 = records.iter().total();
    let reader = named(evidence, by);
    (records > 0).then_some(Clause::PassedOver { records, of_group, reader })
}

/// Reasons for which the queues of a server may have given up messages that it has passed on to nobody, as far as the protocol told.
fn limits_of_queues(evidence: &Evidence, clauses: &[Clause]) -> Vec<Clause> {
    let is_swallowed = |clause: &Clause| matches!(clause, Clause::Swallowed { .. });
    let is_about_queues =
        |clause: &Clause| is_swallowed(clause) || matches!(clause, Clause::NobodyGot { .. });
    let queues = by_name(evidence.setting.protocol)
        .is_some_and(|protocol| protocol.keeps_messages() && !protocol.is_log());
    if !queues || !clauses.iter().any(is_about_queues) {
        return Vec::new();
    }
    let DiscardedMessages { expiring: messages, longest, limits, .. } = evidence.losses.discarded;
    let mut reasons = Vec::new();
    reasons.extend((messages > 0).then_some(Clause::Expiring { messages, longest }));
    reasons.extend((limits != QueueLimits::default()).then_some(Clause::QueueLimits(limits)));
    // That nobody seems to subscribe is a reason.
    if reasons.is_empty() && clauses.iter().any(is_swallowed) {
        reasons.push(Clause::NoReasonSeen);
    }
    reasons
}

/// A process, with its name as far as that is known.
fn named(evidence: &Evidence, pid: Option<Pid>) -> Option<(Pid, Option<Comm>)> {
    pid.map(|pid| (pid, evidence.setting.names.get(&pid).copied()))
}

/// Messages that came when those that had got the others were gone.
fn came_too_late(evidence: &Evidence, messages: u64) -> [Clause; 2] {
    let AbandonedMessages { left_by, departure, is_abrupt, .. } = evidence.losses.abandoned;
    let is_kept = keeps_messages(evidence);
    let reader = named(evidence, left_by);
    [
        Clause::ReaderLeft { reader, departure, is_abrupt },
        Clause::AfterReaderLeft { messages, sent: evidence.losses.sent, is_kept },
    ]
}

/// True if those that had got the messages before left as they meant to, or get the others when they come back. Whoever leaves with its
/// protocol's farewell meant to; nobody means to whose connection a broker closes that keeps nothing.
fn meant_to_go(evidence: &Evidence) -> bool {
    let AbandonedMessages { departure, is_abrupt, .. } = evidence.losses.abandoned;
    let was_put_out = departure == Departure::Closed(ClosedBy::Server);
    !is_abrupt && (!was_put_out || keeps_messages(evidence))
}

/// The clause for messages that one subscriber did not get. Messages that others did not get either are told only
/// where it is known that they are lost.
fn missed(evidence: &Evidence, is_lost: bool) -> Option<Clause> {
    let missed = &evidence.missed;
    let most = missed.most.clone().filter(|most| most.count.others_got || is_lost)?;
    let surely = evidence.losses.surely(most.count.messages);
    if surely.saturating_mul(TOLERATED_LOSS) <= most.count.whole {
        return None;
    }
    let name = most.pid.and_then(|pid| evidence.setting.names.get(&pid).copied());
    Some(Clause::Missed { most, name, others: missed.others() })
}

/// True if who did not get messages may share them with others that are not seen.
fn may_be_shared(missed: &Clause) -> bool {
    matches!(missed, Clause::Missed { most, .. } if !most.count.is_sure)
}

/// The clause for messages that subscribers had not got when their connections were closed.
fn left_behind(evidence: &Evidence) -> Option<Clause> {
    let left = &evidence.losses.left_behind;
    let most = left.most?;
    let surely = evidence.losses.surely(left.messages);
    if surely.saturating_mul(TOLERATED_LOSS) <= evidence.losses.sent {
        return None;
    }
    let name = most.closed.pid.and_then(|pid| evidence.setting.names.get(&pid).copied());
    Some(Clause::LeftBehind { most, name, others: left.others() })
}

/// True if those who were behind when their connections were closed meant to go, or get the rest when they come back: the broker keeps it, for
/// anybody or in a session.
fn is_only_noted(evidence: &Evidence) -> bool {
    let left = evidence.losses.left_behind.most;
    left.is_none_or(|most| most.meant_to_go() || most.closed.keeps_session(Nanos(0)))
        || keeps_messages(evidence)
}

/// True if the broker keeps what nobody reads at the moment.
fn keeps_messages(evidence: &Evidence) -> bool {
    by_name(evidence.setting.protocol).is_some_and(Protocol::keeps_messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lag::{Lag, LagHolder};
    use crate::loss_counts::WorkloadCounts;
    use crate::not_got::MostLeft;
    use wirelap_flow::ClosedConnection;

    fn is_lost(losses: &Losses) -> bool {
        let mut evidence = Evidence::default();
        evidence.losses.clone_from(losses);
        find(&evidence).is_some()
    }

    fn swallowed(hidden: u64) -> Losses {
        Losses { sent: 400, delivered: 390, swallowed: 10, hidden, ..Losses::default() }
    }

    #[test]
    fn what_may_be_in_unread_bytes_is_not_lost() {
        assert_eq!([0, 9, 10].map(|hidden| is_lost(&swallowed(hidden))), [true, true, false]);
    }

    #[test]
    fn what_may_be_in_shared_memory_is_not_lost() {
        let beside = |shared| is_lost(&Losses { shared, ..swallowed(0) });
        assert_eq!([9, 10].map(beside), [true, false]);
    }

    #[test]
    fn messages_of_aborted_transactions_are_told_and_are_no_problem() {
        let mut evidence = Evidence::default();
        evidence.losses =
            Losses { sent: 300, delivered: 150, thrown_away: 150, ..Losses::default() };
        let said = find(&evidence).unwrap();
        assert_eq!(said.severity, Severity::Note);
        assert_eq!(said.evidence, [Clause::Aborted(150)]);
    }

    /// Evidence of a queue's broker that passed ten of four hundred messages on to nobody.
    fn queued(discarded: DiscardedMessages) -> Option<Vec<Clause>> {
        said_of("amqp", discarded)
    }

    fn said_of(protocol: &'static str, discarded: DiscardedMessages) -> Option<Vec<Clause>> {
        let mut evidence = Evidence::default();
        evidence.setting.protocol = protocol;
        evidence.losses = Losses { discarded, ..swallowed(0) };
        find(&evidence).map(|said| said.evidence)
    }

    #[test]
    fn what_a_queue_may_have_given_up_is_told_with_its_limits() {
        let swallowed = Clause::Swallowed { messages: 10, sent: 400, dropped: 0 };
        let unknown = queued(DiscardedMessages::default());
        assert_eq!(unknown, Some(vec![swallowed.clone(), Clause::NoReasonSeen]));
        let limits = QueueLimits { most: Some(10), ..QueueLimits::default() };
        let known = DiscardedMessages {
            expiring: 400,
            longest: Nanos::from_millis(300),
            limits,
            ..DiscardedMessages::default()
        };
        let expiring = Clause::Expiring { messages: 400, longest: Nanos::from_millis(300) };
        let reasons = vec![swallowed.clone(), expiring, Clause::QueueLimits(limits)];
        assert_eq!(queued(known), Some(reasons));
        assert_eq!(said_of("mqtt", DiscardedMessages::default()), Some(vec![swallowed]));
    }

    #[test]
    fn what_a_broker_was_told_to_discard_is_no_loss() {
        let rolled_back = DiscardedMessages { rolled_back: 9, ..DiscardedMessages::default() };
        let returned = DiscardedMessages { returned: 1, ..DiscardedMessages::default() };
        let mut both = rolled_back;
        both.add(&returned);
        let clauses = vec![Clause::RolledBack(9), Clause::Returned(1)];
        assert_eq!(queued(both), Some(clauses));
        assert!(queued(rolled_back).unwrap().len() > 1, "one more is missing");
    }

    #[test]
    fn what_a_log_had_no_more_is_a_problem_of_who_asked() {
        let mut evidence = Evidence::default();
        let not_kept = NotKeptMessages { messages: 250, by: Some(Pid(7)) };
        evidence.losses = Losses { sent: 500, delivered: 500, not_kept, ..Losses::default() };
        let said = find(&evidence).unwrap();
        let clause =
            Clause::NotKept { messages: 250, reader: Some((Pid(7), None)), was_asked: false };
        assert_eq!((said.severity, said.evidence), (Severity::Problem, vec![clause]));
    }

    #[test]
    fn what_its_sender_gives_up_is_a_problem() {
        let mut evidence = Evidence::default();
        evidence.losses = Losses { cut_short: 18, ..Losses::default() };
        let said = find(&evidence).unwrap();
        assert_eq!((said.severity, said.evidence), (Severity::Problem, vec![Clause::CutShort(18)]));
    }

    fn closed(by: ClosedBy, session_until: Option<Nanos>) -> ClosedConnection {
        ClosedConnection { pid: None, is_abrupt: false, by, unsubscribed: None, session_until }
    }

    #[test]
    fn what_waits_in_a_session_is_told_and_is_no_loss() {
        let mut evidence = Evidence::default();
        evidence.setting.protocol = "mqtt";
        let losses = &mut evidence.losses;
        losses.sent = 400;
        let oldest = Nanos::from_millis(2_000);
        let holder = LagHolder::Subscriber;
        let unread = Lag { unsent: 0, in_network: 0, unread: 20, oldest, holder };
        let left = closed(ClosedBy::Server, Some(Nanos(u64::MAX)));
        losses.left_behind.count(MostLeft { lag: unread, closed: left });
        losses.abandon(30, left, true);
        let said = find(&evidence).unwrap();
        let kept = Clause::KeptInSession { messages: 30, sent: 400, reader: None };
        assert_eq!((said.severity, said.evidence.first()), (Severity::Note, Some(&kept)));
        assert!(matches!(said.evidence[1..], [Clause::LeftBehind { .. }]));
    }

    /// What is said of a reader that left so, of which 20 messages were not got: `unsent` of them the broker had not sent; 30 more came
    /// when it was gone.
    fn left(protocol: &'static str, by: ClosedBy, unsent: u64) -> (Severity, Vec<u64>) {
        let mut evidence = Evidence::default();
        evidence.setting.protocol = protocol;
        let closed = closed(by, None);
        let oldest = Nanos::from_millis(2_000);
        let (unread, holder) = (20 - unsent, LagHolder::Subscriber);
        let lag = Lag { unsent, in_network: 0, unread, oldest, holder };
        let losses = &mut evidence.losses;
        (losses.sent, losses.left_unsent) = (400, unsent);
        losses.abandon(30 + unsent, closed, false);
        losses.left_behind.count(MostLeft { lag, closed });
        let said = find(&evidence).unwrap();
        let after = said.evidence.iter().filter_map(|clause| match clause {
            Clause::AfterReaderLeft { messages, .. } => Some(*messages),
            _ => None,
        });
        (said.severity, after.collect())
    }

    #[test]
    fn what_lay_unread_with_its_reader_came_before_what_it_was_not_there_for() {
        for unsent in [0, 5, 20] {
            assert_eq!(left("nats", ClosedBy::Server, unsent), (Severity::Problem, vec![30]));
        }
    }

    #[test]
    fn who_is_put_out_by_a_broker_that_keeps_nothing_did_not_mean_to_go() {
        let note = (Severity::Note, vec![30]);
        assert_eq!(left("nats", ClosedBy::Reader, 0), note);
        assert_eq!(left("kafka", ClosedBy::Server, 0), note);
    }

    #[test]
    fn what_the_workloads_got_is_not_lost() {
        let told = |delivered| Some(WorkloadCounts { sent: 400, due: 400, delivered });
        let got = |delivered| is_lost(&Losses { told: told(delivered), ..swallowed(0) });
        assert_eq!([390, 400].map(got), [true, false]);
    }
}
