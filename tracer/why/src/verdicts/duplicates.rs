//! Messages were delivered, or sent, more than once.
//!
//! The cause is found by the protocol's own marks, and by numbers that come again; why a server sends a message again, by what its client
//! said of it, or by the end of the channel or connection on which the client had got it.

use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use wirelap_events::{Pid, Total};
use wirelap_limits::rules::{MIN_DUPLICATES, TOLERATED_LOSS};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row.evidence)), ..Definition::USUAL };

fn find(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let (repeats, looped) = (losses.duplicates, losses.looped);
    let (again, all) = (repeats.saturating_add(looped.times), losses.sent.max(losses.delivered));
    if again < MIN_DUPLICATES || again.saturating_mul(TOLERATED_LOSS) <= all {
        return None;
    }
    let named = |pid: Pid| (pid, evidence.setting.names.get(&pid).copied());
    let sent = losses.sent;
    let times = losses.redelivered.min(repeats);
    let repeats = repeats.saturating_sub(times);
    let mut clauses = Vec::new();
    if looped.times > 0 {
        let between = looped.between.map(|between| between.map(named));
        clauses.push(Clause::Looped { times: looped.times, between });
    }
    if times > 0 {
        clauses.push(Clause::Redelivered { times, sent });
        clauses.extend(losses.put_back.all().map(|(why, count)| {
            let by = count.by.map(named);
            Clause::PutBack { messages: count.messages, why, by, has_others: count.has_others }
        }));
        let known = losses.put_back.all().map(|(_, count)| count.messages).total();
        if known > 0 && known < times {
            clauses.push(Clause::PutBackUnseen(times.saturating_sub(known)));
        }
    }
    if repeats > 0 {
        clauses.push(Clause::Repeated { repeats, sent });
    }
    let stored_once = losses.stored_once.min(repeats);
    if stored_once > 0 {
        clauses.push(Clause::StoredOnce(stored_once));
    }
    // Of what is stored once, nobody gets a second copy.
    let severity = if stored_once == again { Severity::Note } else { Severity::Problem };
    Some(Verdict::of_row(VerdictKind::Duplicates, severity, clauses))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_counts::{LoopedMessages, PutBackMessages};
    use wirelap_protocols::PutBack;

    const NONE: [u64; PutBack::ALL.len()] = [0; PutBack::ALL.len()];

    fn said(duplicates: u64, redelivered: u64, put_back: [u64; PutBack::ALL.len()]) -> Vec<Clause> {
        let mut evidence = Evidence::default();
        let losses = &mut evidence.losses;
        (losses.sent, losses.duplicates, losses.redelivered) = (100, duplicates, redelivered);
        losses.put_back = PutBackMessages::of(put_back, Some(Pid(7)));
        find(&evidence).map(|verdict| verdict.evidence).unwrap_or_default()
    }

    #[test]
    fn what_a_broker_sends_again_is_not_what_is_sent_again_to_it() {
        let (sent, times) = (100, 30);
        let redelivered = Clause::Redelivered { times, sent };
        assert_eq!(said(30, 30, NONE), std::slice::from_ref(&redelivered));
        assert_eq!(said(40, 30, NONE), [redelivered, Clause::Repeated { repeats: 10, sent }]);
        assert_eq!(said(40, 0, NONE), [Clause::Repeated { repeats: 40, sent }]);
        assert_eq!(said(0, 0, [30, 0, 0, 0, 0]), []);
    }

    #[test]
    fn what_is_stored_once_is_no_problem() {
        let said = |stored_once| {
            let mut evidence = Evidence::default();
            let losses = &mut evidence.losses;
            (losses.sent, losses.duplicates, losses.stored_once) = (100, 30, stored_once);
            find(&evidence).map(|verdict| (verdict.severity, verdict.evidence)).unwrap()
        };
        let repeated = Clause::Repeated { repeats: 30, sent: 100 };
        let all = vec![repeated.clone(), Clause::StoredOnce(30)];
        assert_eq!(said(30), (Severity::Note, all));
        let some = vec![repeated.clone(), Clause::StoredOnce(20)];
        assert_eq!(said(20), (Severity::Problem, some));
        assert_eq!(said(0), (Severity::Problem, vec![repeated]));
    }

    #[test]
    fn why_is_told_as_far_as_it_was_seen() {
        let redelivered = Clause::Redelivered { times: 30, sent: 100 };
        let by = |messages, why| {
            let by = Some((Pid(7), None));
            Clause::PutBack { messages, why, by, has_others: false }
        };
        let [refused, ended] = [by(20, PutBack::Refused), by(10, PutBack::ConnectionEnded)];
        assert_eq!(said(30, 30, [20, 0, 0, 10, 0]), [redelivered.clone(), refused.clone(), ended]);
        assert_eq!(
            said(30, 30, [20, 0, 0, 0, 0]),
            [redelivered, refused, Clause::PutBackUnseen(10)]
        );
    }

    #[test]
    fn what_comes_back_is_told_with_both_servers() {
        let said = |times| {
            let mut evidence = Evidence::default();
            let losses = &mut evidence.losses;
            (losses.sent, losses.duplicates, losses.stored_once) = (100, 30, 30);
            losses.looped = LoopedMessages { times, between: Some([Pid(7), Pid(8)]) };
            let verdict = find(&evidence).unwrap();
            (verdict.severity, verdict.evidence.first().cloned().unwrap())
        };
        let between = Some([(Pid(7), None), (Pid(8), None)]);
        assert_eq!(said(60), (Severity::Problem, Clause::Looped { times: 60, between }));
        assert_eq!(said(0), (Severity::Note, Clause::Repeated { repeats: 30, sent: 100 }));
    }

    #[test]
    fn several_clients_are_told_as_such() {
        let mut all = PutBackMessages::of([3, 0, 0, 0, 0], Some(Pid(7)));
        all.add(&PutBackMessages::of([2, 1, 0, 0, 0], Some(Pid(8))));
        all.add(&PutBackMessages::of([0, 1, 0, 0, 0], Some(Pid(8))));
        let told: Vec<_> =
            all.all().map(|(why, one)| (why, one.messages, one.by, one.has_others)).collect();
        let expected = [
            (PutBack::Refused, 5, Some(Pid(8)), true),
            (PutBack::ChannelClosed, 2, Some(Pid(8)), false),
        ];
        assert_eq!(told, expected);
    }
}
