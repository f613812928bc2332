//! Why requests take long of which the replies are no messages: reads of a value, confirms.
//!
//! A request and its reply are followed as a message of two legs. What the one who answers waits for between them is not seen, other brokers or
//! subscribers perhaps: a sleep there is told only where its thread waited for nobody. It was blocked in the kernel or stopped, or a timer
//! ended its sleep.

use super::clause::Clause;
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, Why};
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::rules;
use super::setting::Setting;
use wirelap_events::{Nanos, Pid};

impl Why {
    /// Adds why the row's requests take long, as far as its messages do not show the same.
    pub fn add_requests(&mut self, requests: &Evidence, setting: &Setting) {
        let mut evidence = requests.clone();
        evidence.setting = setting.clone();
        let weighed = evidence.weighed();
        let told = Clause::OfRequests {
            requests: weighed.breakdown.messages(),
            middle: Nanos::from_f64(weighed.breakdown.middle().mean_latency()),
        };
        let timed = self.verdicts.iter().filter(|verdict| takes_time(verdict));
        let known: Vec<VerdictKind> = timed.map(|verdict| verdict.kind).collect();
        for mut verdict in rules::verdicts(&evidence, &weighed) {
            if is_of_round_trip(&verdict, &weighed) && !known.contains(&verdict.kind) {
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

/// True if the thread that stalled waited for nobody else, for most of the time.
fn waited_for_none(verdict: &Verdict, weighed: &Gathered) -> bool {
    let pid = verdict.process.map_or(Pid(0), |(task, _)| task.pid);
    let leg = verdict.leg.map_or(0, |leg| usize::from(leg).saturating_sub(1));
    let mut findings = weighed.findings(leg, verdict.kind).into_iter();
    let found = findings.find(|(of, _)| *of == pid);
    found.is_some_and(|(_, finding)| finding.waited_for_none.0 > finding.whole() / 2)
}

/// True for a problem that the round trip alone shows.
fn is_of_round_trip(verdict: &Verdict, weighed: &Gathered) -> bool {
    let is_shown = match verdict.kind {
        VerdictKind::BrokerStalled => waited_for_none(verdict, weighed),
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
