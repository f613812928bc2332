//! Why requests take long of which the replies are no messages: reads of a value, confirms.
//!
//! A request and its reply are followed as a message of two legs. What the one who answers waits for between them is not seen, other brokers or
//! subscribers perhaps: a sleep there is told only where it is in the kernel, or where it was stopped.

use super::clause::{Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, Why};
use super::kind::VerdictKind;
use super::rules;
use super::setting::Setting;
use wirelap_events::{Nanos, OffCpuReason};

impl Why {
    /// Adds why the row's requests take long, as far as its messages do not show the same.
    pub fn add_requests(&mut self, requests: &Evidence, setting: &Setting) {
        let mut evidence = requests.clone();
        evidence.setting = setting.clone();
        let weighed = evidence.weighed();
        let told = Clause::OfRequests {
            requests: weighed.breakdown.messages(),
            median: Nanos::from_f64(weighed.breakdown.middle().mean_latency()),
        };
        let timed = self.verdicts.iter().filter(|verdict| takes_time(verdict));
        let known: Vec<VerdictKind> = timed.map(|verdict| verdict.kind).collect();
        for mut verdict in rules::verdicts(&evidence, &weighed) {
            if is_of_round_trip(&verdict) && !known.contains(&verdict.kind) {
                verdict.evidence.insert(0, told.clone());
                // The same without times says less.
                let pid = |of: &Verdict| of.process.map(|(task, _)| task.pid);
                let says_less =
                    |other: &Verdict| other.kind == verdict.kind && pid(other) == pid(&verdict);
                self.verdicts.retain(|other| takes_time(other) || !says_less(other));
                self.verdicts.push(verdict);
            }
        }
        rules::sort(&mut self.verdicts, self.messages);
    }
}

/// True if the time that it takes of messages, or of requests, is known.
fn takes_time(verdict: &Verdict) -> bool {
    verdict.median > Nanos(0) || verdict.slow_messages > 0
}

/// True for a problem that the round trip alone shows.
fn is_of_round_trip(verdict: &Verdict) -> bool {
    let rest = match &verdict.remedy {
        Remedy::Usual(circumstance) => circumstance.rest,
        _ => None,
    };
    let is_deaf = matches!(rest, Some(OffCpuReason::Blocked | OffCpuReason::Stopped));
    let is_shown = match verdict.kind {
        VerdictKind::BrokerStalled => is_deaf,
        // Of others that it asks, those that copy its log are known.
        VerdictKind::FetchWait => verdict.evidence.contains(&Clause::ReplicaAwaited),
        VerdictKind::LockWait
        | VerdictKind::ReleaseWait
        | VerdictKind::NeverDelivered
        | VerdictKind::Duplicates
        | VerdictKind::Unexplained => false,
        _ => true,
    };
    is_shown && takes_time(verdict) && verdict.severity == Severity::Problem
}
