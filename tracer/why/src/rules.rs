//! From evidence to verdicts.
//!
//! A kind of cause becomes a verdict when it takes both enough time and enough of the whole: of the typical message, or
//! of the messages that it makes slow. What is particular to a kind is in [`super::verdicts`].

use super::against;
use super::case::{RowCase, VerdictCase};
use super::clause::{Circumstance, Clause, Remedy};
use super::definition::{Definition, Nature};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, leg_number};
use super::finding::Finding;
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::weigh::{Cost, Measured, ratio};
use wirelap_events::{DropCause, MAX_LEGS, Total};
use wirelap_limits::TimeLimits;
use wirelap_limits::kinds::RUN_QUEUE_CONTENTION;
use wirelap_limits::rules::{
    CROWD, LONGEST_EVENT, MIN_MESSAGES_FOR_VERDICT, MINOR_PROCESS, MOST_OF_TIME,
};

/// A kind of cause on a leg.
struct KindOnLeg<'a> {
    row: &'a RowCase<'a>,
    leg: usize,
    kind: VerdictKind,
    definition: &'static Definition,
    limits: TimeLimits,
}

impl KindOnLeg<'_> {
    /// The verdicts on it: one for each process that it is the doing or the loss of.
    fn verdicts(&self) -> Vec<Verdict> {
        let findings = self.row.gathered.findings(self.leg, self.kind);
        let Some(&(_, first)) = findings.first() else { return Vec::new() };
        let cost = self.row.measured.kind(self.leg, self.kind, &self.limits);
        let Some(severity) = self.severity(&self.case(first, cost)) else { return Vec::new() };
        let whole: f64 = findings.iter().map(|(_, finding)| finding.whole() as f64).total();
        let share = |finding: &Finding| ratio(finding.whole() as f64, whole);
        let least = share(first) * MINOR_PROCESS;
        let mut told: Vec<_> =
            findings.iter().filter(|(_, finding)| share(finding) >= least).collect();
        let alike = told.len();
        if alike > CROWD {
            told.truncate(1);
        } else if alike > 1 && cost.passes(&self.limits) && !cost.is_typical(&self.limits) {
            let is_chance =
                |finding: &Finding| of_process(cost, finding, whole).is_chance(&self.limits);
            told.retain(|(_, finding)| !is_chance(finding));
        }
        let is_one = alike == 1 || alike > CROWD;
        told.into_iter()
            .map(|(_, finding)| {
                let cost = if is_one { cost } else { of_process(cost, finding, whole) };
                let mut verdict = self.verdict(severity, &self.case(finding, cost));
                if alike > CROWD {
                    verdict.evidence.push(Clause::AlikeAt(alike));
                }
                verdict
            })
            .collect()
    }

    fn case<'a>(&'a self, finding: &'a Finding, cost: Cost) -> VerdictCase<'a> {
        VerdictCase { row: self.row, finding, cost, limits: self.limits }
    }

    fn verdict(&self, severity: Severity, case: &VerdictCase<'_>) -> Verdict {
        let finding = case.finding;
        let usual = || {
            Remedy::Usual(Circumstance {
                segment: finding.segment(),
                at_broker: finding.longest.at_broker,
                rest: finding.longest.rest.map(|(rest, _)| rest),
                dropped: thrown_away(case),
            })
        };
        let mut verdict = Verdict {
            culprits: finding.culprits.list(),
            leg: Some(leg_number(self.leg)),
            segment: Some(finding.segment()),
            process: finding.longest.task.map(|task| (task, case.name(task))),
            period: case.period(),
            evidence: (self.definition.facts)(case),
            remedy: (self.definition.remedy)(case).unwrap_or_else(usual),
            ..case.cost.verdict(self.kind, severity)
        };
        if self.definition.nature == Nature::Work && case.cannot_have_worked() {
            let share = case.cpu_time().unwrap_or_default().share;
            against::take_back(&mut verdict, share);
        }
        verdict
    }

    fn severity(&self, case: &VerdictCase<'_>) -> Option<Severity> {
        let definition = self.definition;
        if self.row.measured.messages() < MIN_MESSAGES_FOR_VERDICT {
            return None;
        }
        if case.cost.passes(&self.limits) && (definition.is_grave)(case) {
            let is_load = self.row.evidence.setting.saturating && definition.is_of_load;
            let is_note = is_load
                || (definition.is_note)(case)
                || case.was_within(LONGEST_EVENT)
                || case.cost.is_minor(&self.limits);
            return Some(if is_note { Severity::Note } else { Severity::Problem });
        }
        let is_noticeable = definition.note.is_some_and(|least| case.cost.is_at_least(&least));
        (is_noticeable || self.is_much_of_the_rest(case)).then_some(Severity::Note)
    }

    /// True for work that is much of what is left without the waits for a CPU: the longer a thread works, the more often others take its CPU
    /// away, and their turns would hide it.
    fn is_much_of_the_rest(&self, case: &VerdictCase<'_>) -> bool {
        if self.definition.nature != Nature::Work || case.cannot_have_worked() {
            return false;
        }
        let waits = VerdictKind::RunQueueContention;
        let waits = self.row.measured.kind(self.leg, waits, &RUN_QUEUE_CONTENTION);
        case.cost.without(&waits).passes(&self.limits) && (self.definition.is_grave)(case)
    }
}

/// The cause for which packets of a finding were thrown away, if they were.
fn thrown_away(case: &VerdictCase<'_>) -> Option<DropCause> {
    let losses = &case.evidence().losses;
    if case.finding.lost.were_only_late(&losses.segments) {
        return Some(DropCause::Duplicate);
    }
    case.finding.lost.mostly().or(losses.datagrams_dropped())
}

/// One process's part of what a cause costs. How many messages it hit was counted.
fn of_process(cost: Cost, finding: &Finding, whole: f64) -> Cost {
    let mut part = cost.part(ratio(finding.whole() as f64, whole));
    if finding.hits == 0 {
        part.slow_share = 0.0;
    }
    if part.hit.messages > 0.0 {
        part.hit.messages = finding.hits as f64;
        part.hit.time = part.hit.time.min(finding.hit_time.0 as f64);
    }
    part
}

/// Every verdict, the gravest first.
pub fn verdicts(evidence: &Evidence, gathered: &Gathered) -> Vec<Verdict> {
    let row = RowCase { evidence, gathered, measured: Measured::new(&gathered.breakdown) };
    let row = &row;
    let mut found = Vec::new();
    for leg in 0..MAX_LEGS {
        for kind in VerdictKind::ALL {
            let definition = kind.definition();
            if let Some(limits) = definition.limits {
                found.extend(KindOnLeg { row, leg, kind, definition, limits }.verdicts());
            }
        }
    }
    for kind in VerdictKind::ALL {
        (kind.definition().add_of_row)(row, &mut found);
    }
    sort(&mut found, gathered.breakdown.messages());
    found
}

/// The gravest first: problems, and of these what costs most now, then what costs most of all `messages`. Of a wait for a CPU that mostly nobody is
/// known to have had, only the rest counts.
pub fn sort(verdicts: &mut [Verdict], messages: u64) {
    let weight = |verdict: &Verdict| {
        let typical = verdict.median.0 as f64 * messages as f64;
        let slow = verdict.slow.0 as f64 * verdict.slow_messages as f64;
        let weighed = typical + slow;
        let unknown = verdict.evidence.iter().find_map(|clause| match *clause {
            Clause::CpuHolderUnknown(share) => Some(share).filter(|&share| share > MOST_OF_TIME),
            _ => None,
        });
        let known = 1.0 - unknown.unwrap_or_default();
        if weighed > 0.0 { weighed * known } else { verdict.tail_share }
    };
    verdicts.sort_by(|a, b| {
        let stands_still =
            |clause: &Clause| matches!(clause, Clause::ServerGone(_) | Clause::Stuck(_));
        let open = |verdict: &Verdict| {
            verdict.open.is_some() || verdict.evidence.first().is_some_and(stands_still)
        };
        b.severity
            .cmp(&a.severity)
            .then(open(b).cmp(&open(a)))
            .then(weight(b).total_cmp(&weight(a)))
            .then(a.kind.cmp(&b.kind))
    });
}

#[cfg(test)]
pub(super) mod tests;
