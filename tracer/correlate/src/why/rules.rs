//! From evidence to verdicts.
//!
//! A kind of cause becomes a verdict when it takes both enough time and enough of the whole: of the typical message, or
//! of the messages that it makes slow. The limits are in [`super::limits`]; each has a test with a scenario on either side.

use super::awaited::Awaited;
use super::clause::{Circumstance, Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{ENOUGH, Severity, Verdict};
use super::finding::Finding;
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::limits::{Rule, note, rule};
use super::timeline::Period;
use super::weigh::{Cost, Measured, ratio};
use super::{absences, against, facts, losses, quotas};
use crate::threads::CpuTime;
use wirelap_events::{
    Comm, DropCause, MAX_LEGS, Nanos, OffCpuReason, Pid, Segment, SleepCall, TaskId, Total,
};

/// A thread that is on a CPU so much of the time has no room left.
const SATURATED: f64 = 0.8;

/// Long work at fewer times than this part of all messages is an exception, as when code is compiled while it runs. A batch is one time.
const RECURRING: f64 = 0.05;

/// A thread that is on a CPU so little of the time is short of nothing.
const OFTEN: f64 = 0.1;

/// All that passes in so short a time is one event, however many messages it holds up.
const MOMENT: Nanos = Nanos::from_millis(50);

/// The row's own processes had the CPU for so much of a wait: it is among themselves.
const HANDED_OVER: f64 = 0.75;

/// Most of a message's time.
const MOST: f64 = 0.5;

/// As long a wait is no mere handing over, if it is most of a message's time.
const LONG: Nanos = Nanos::from_millis(1);

/// A thread that has a CPU gives it up after so long if others want it.
const TURN: Nanos = Nanos::from_millis(5);

/// The divisor of a wait: a thread that had a CPU for less than this part of it did not work in
/// most of it.
const AT_WORK: u64 = 4;

/// Of the time for which a thread is said to have worked, not all is known to the moment: it may be so many times what it had a CPU.
const CPU_TIME_SLACK: u64 = 2;

/// More processes that share a cause are told together.
const CROWD: usize = 6;

/// A process that has less of a cause than this part of what the first has is not told.
const MINOR: f64 = 0.2;

/// Time without a cause that takes less than this part of all that slow messages lose is not told.
const MINOR_UNEXPLAINED: f64 = 0.05;

/// Keep-alives that were in the way fewer times than this may have been there by chance.
const AGAIN: usize = 3;

/// The input of the verdicts about time.
struct TimeVerdicts<'a> {
    evidence: &'a Evidence,
    gathered: &'a Gathered,
    measured: Measured<'a>,
}

impl TimeVerdicts<'_> {
    /// The verdicts on a kind of cause: one for each process that it is the doing or the loss of.
    fn verdicts(&self, leg: usize, kind: VerdictKind) -> Vec<Verdict> {
        let findings = self.gathered.findings(leg, kind);
        let Some(&(_, first)) = findings.first() else { return Vec::new() };
        let cost = self.measured.kind(leg, kind);
        let Some(severity) = self.severity(kind, first, cost) else { return Vec::new() };
        let whole: f64 = findings.iter().map(|(_, finding)| finding.whole() as f64).total();
        let share = |finding: &Finding| ratio(finding.whole() as f64, whole);
        let least = share(first) * MINOR;
        let mut told: Vec<_> =
            findings.iter().filter(|(_, finding)| share(finding) >= least).collect();
        let alike = told.len();
        if alike > CROWD {
            told.truncate(1);
        }
        let is_one = told.len() == 1;
        told.into_iter()
            .map(|(_, finding)| {
                let cost = if is_one { cost } else { of_process(cost, finding, whole) };
                let mut verdict = self.verdict(leg, kind, severity, finding, cost);
                if alike > CROWD {
                    verdict.evidence.push(Clause::AlikeAt(alike));
                }
                verdict
            })
            .collect()
    }

    /// The cause for which packets of a finding were thrown away, if they were.
    fn thrown_away(&self, finding: &Finding) -> Option<DropCause> {
        let losses = &self.evidence.losses;
        if finding.lost.were_only_late(losses) {
            return Some(DropCause::Duplicate);
        }
        finding.lost.mostly().or(losses.datagrams_dropped())
    }

    fn verdict(
        &self,
        leg: usize,
        kind: VerdictKind,
        severity: Severity,
        finding: &Finding,
        cost: Cost,
    ) -> Verdict {
        let remedy = match kind {
            VerdictKind::CpuThrottled => quotas::remedy(&self.evidence.setting, finding.cgroup),
            VerdictKind::FetchWait if finding.circumstances.awaits_commit => Remedy::Commit,
            _ => Remedy::Usual(Circumstance {
                segment: finding.segment(),
                at_broker: finding.at_broker,
                rest: finding.rest.map(|(rest, _)| rest),
                dropped: self.thrown_away(finding),
            }),
        };
        let mut verdict = Verdict {
            culprits: finding.culprits.list(),
            leg: leg_number(leg),
            segment: Some(finding.segment()),
            process: finding.task.map(|task| (task, self.name(task))),
            period: self.period(kind, finding, cost),
            evidence: facts::of(self.evidence, self.measured.messages(), kind, finding, cost),
            remedy,
            ..cost.verdict(kind, severity)
        };
        if self.cannot_have_worked(kind, finding) {
            let share = self.cpu_time(finding).unwrap_or_default().share;
            against::take_back(&mut verdict, share);
        }
        verdict
    }

    /// The period in which the cause took time; messages of which it took less than a quarter of
    /// the average do not count.
    fn period(&self, kind: VerdictKind, finding: &Finding, cost: Cost) -> Option<Period> {
        let is_typical = rule(kind).is_some_and(|rule| cost.is_typical(&rule));
        let mean = if is_typical || cost.hit.messages <= 0.0 { cost.median } else { cost.each() };
        let since = self.evidence.setting.since?;
        let period = finding.when.period(Nanos::from_f64(mean / 4.0), &self.gathered.when)?;
        Some(Period {
            began: period.began - since,
            ended: period.ended.map(|ended| ended - since),
            ..period
        })
    }

    /// All of it was one event, and a typical message has nothing of it.
    fn is_once(&self, kind: VerdictKind, finding: &Finding, cost: Cost) -> bool {
        let is_typical = rule(kind).is_some_and(|rule| cost.is_typical(&rule));
        let least = Nanos::from_f64(cost.each() / 4.0);
        let period = finding.when.period(least, &self.gathered.when);
        let length =
            period.map(|period| period.ended.unwrap_or(finding.when.last()) - period.began);
        !is_typical && length.is_some_and(|length| length < MOMENT)
    }

    fn cpu_time(&self, finding: &Finding) -> Option<CpuTime> {
        self.evidence.setting.busy.get(&finding.task?.tid).copied()
    }

    /// Nobody works on a message, or on all of them, for longer than he has had a CPU at all.
    fn cannot_have_worked(&self, kind: VerdictKind, finding: &Finding) -> bool {
        let is_work = matches!(kind, VerdictKind::BrokerCpuBound | VerdictKind::ReaderBusy);
        is_work
            && self.cpu_time(finding).is_some_and(|time| {
                let longest = Nanos(time.at_most.0.saturating_mul(CPU_TIME_SLACK));
                finding.longest > time.at_most || finding.worked > longest
            })
    }

    fn name(&self, task: TaskId) -> Comm {
        self.evidence.setting.names.get(&task.pid).copied().unwrap_or_default()
    }

    fn severity(&self, kind: VerdictKind, finding: &Finding, cost: Cost) -> Option<Severity> {
        let rule = rule(kind)?;
        if self.measured.messages() < ENOUGH {
            return None;
        }
        let is_grave = cost.passes(&rule)
            && (kind != VerdictKind::BrokerCpuBound || self.is_bound(finding, cost));
        let full = matches!(
            kind,
            VerdictKind::ReaderBusy
                | VerdictKind::BrokerCpuBound
                | VerdictKind::SendBuffer
                | VerdictKind::ReceiveWindow
                | VerdictKind::CongestionWindow
                | VerdictKind::BottleneckLink
                | VerdictKind::Pacing
                | VerdictKind::QdiscQueueing
        );
        if is_grave {
            // Whoever sends as fast as possible fills whatever is slowest.
            let saturating = self.evidence.setting.saturating && full;
            // Nothing is wrong with what is watched if the watching is slow.
            let is_note = saturating
                || kind == VerdictKind::TracerInfluence
                || kind == VerdictKind::RunQueueContention && self.is_handing_over(finding, cost)
                || self.is_starved(kind, finding)
                || self.is_late_in_queue(kind, finding)
                || self.is_once(kind, finding, cost);
            return Some(if is_note { Severity::Note } else { Severity::Problem });
        }
        let (time, part) = note(kind)?;
        (cost.median >= time.0 as f64 && cost.median_share >= part).then_some(Severity::Note)
    }

    /// The threads that hand a message to each other, or get it at the same time, have the CPU by turns: how such programs
    /// work, as long as none waits for longer than a turn, and a typical message does not mostly wait.
    fn is_handing_over(&self, finding: &Finding, cost: Cost) -> bool {
        let own = finding.culprits.share_of(&self.evidence.setting.members);
        let is_most = cost.median_share >= MOST && cost.median >= LONG.0 as f64;
        own >= HANDED_OVER && !is_most && cost.each() < TURN.0 as f64
    }

    /// A thread waits for others of its own process, or a message for an earlier answer, and these are seen to be short of a CPU
    /// themselves; or for something unknown that was no work, and is short of a CPU: that is what has to be mended, as long as they
    /// wait for one as long.
    fn is_starved(&self, kind: VerdictKind, finding: &Finding) -> bool {
        let is_as_long = |contention: &Finding| {
            contention.whole() >= finding.whole() && contention.most.0 >= finding.most.0 / 2
        };
        if kind == VerdictKind::FetchWait && finding.mostly_awaited() == Awaited::Answer {
            return (0..MAX_LEGS).any(|leg| {
                let all = self.gathered.findings(leg, VerdictKind::RunQueueContention);
                all.into_iter().any(|(_, contention)| is_as_long(contention))
            });
        }
        let is_for_others = match kind {
            VerdictKind::LockWait => {
                finding.holder.is_some_and(|holder| holder.held.0 <= finding.longest.0 / AT_WORK)
            }
            VerdictKind::BrokerCpuBound | VerdictKind::ReaderBusy => {
                self.cannot_have_worked(kind, finding)
            }
            VerdictKind::BrokerStalled | VerdictKind::ClientStalled | VerdictKind::Backpressure => {
                finding.rest.is_some_and(|(rest, sleep)| {
                    rest == OffCpuReason::Asleep && sleep != SleepCall::Timer
                })
            }
            _ => false,
        };
        let Some(task) = finding.task.filter(|_| is_for_others) else { return false };
        (0..MAX_LEGS).any(|leg| {
            let place = (leg, VerdictKind::RunQueueContention, task.pid);
            self.gathered.finding(place).is_some_and(is_as_long)
        })
    }

    /// TCP sent packets again in vain, which were still in a queue: its timers did not expect one so long, and the queue is what has to be mended.
    fn is_late_in_queue(&self, kind: VerdictKind, finding: &Finding) -> bool {
        if kind != VerdictKind::Retransmission
            || !finding.lost.were_only_late(&self.evidence.losses)
        {
            return false;
        }
        (0..MAX_LEGS).any(|leg| {
            let queues = [VerdictKind::BottleneckLink, VerdictKind::QdiscQueueing];
            let findings = queues.into_iter().flat_map(|queue| self.gathered.findings(leg, queue));
            findings.into_iter().any(|(_, queued)| queued.whole() >= finding.whole())
        })
    }

    /// A broker that works on a message is short of CPU if it works all the time, or long and often, or very long.
    fn is_bound(&self, finding: &Finding, cost: Cost) -> bool {
        let busy = self.cpu_time(finding).unwrap_or_default().share;
        let recurs = finding.hit_times as f64 >= self.measured.messages() as f64 * RECURRING;
        busy >= SATURATED
            || busy >= OFTEN && cost.median >= Nanos::from_millis(2).0 as f64
            || cost.median >= Nanos::from_millis(5).0 as f64
            || cost.each() >= Nanos::from_millis(5).0 as f64 && recurs
    }

    /// Time that no rule has a word for.
    fn unexplained(&self, leg: usize, segment: Segment, rule: &Rule) -> Option<Verdict> {
        let cost = self.measured.unexplained(leg, segment);
        // What is a small part of all that slow messages lose, others have to be mended before.
        let is_minor = !cost.is_typical(rule) && cost.slow_share < MINOR_UNEXPLAINED;
        let passes = cost.passes(rule) && !is_minor && self.measured.messages() >= ENOUGH;
        let finding = self.gathered.finding((leg, VerdictKind::Unexplained, Pid(0)));
        // A thread that could run and did not waited for a CPU, whoever had it.
        let kind = match segment {
            Segment::RunQueue => VerdictKind::RunQueueContention,
            _ => VerdictKind::Unexplained,
        };
        let period = finding.and_then(|finding| self.period(kind, finding, cost));
        let is_once = finding.is_some_and(|finding| self.is_once(kind, finding, cost));
        (passes && !is_once).then(|| Verdict {
            leg: leg_number(leg),
            segment: Some(segment),
            period,
            evidence: vec![Clause::Unexplained {
                time: Nanos::from_f64(cost.median.max(cost.each())),
                segment,
                leg,
                is_cpu: kind != VerdictKind::Unexplained,
            }],
            remedy: Remedy::Usual(Circumstance::in_segment(segment)),
            ..cost.verdict(kind, Severity::Problem)
        })
    }

    /// Keep-alives and discovery are seen beside slow messages much more than beside others, again and again, and more than
    /// as long a time has of them anyway.
    fn upkeep(&self) -> Option<Verdict> {
        let measured = &self.measured;
        let tail = measured.tail.as_ref()?;
        let all = self.gathered.breakdown.all();
        let slow = ratio(tail.beside_upkeep, tail.messages);
        let usual = ratio(all.beside_upkeep, all.messages);
        let by_chance = ratio(tail.upkeep_before, tail.messages);
        let is_more = usual <= 0.2 && slow >= 5.0 * usual && slow >= 2.5 * by_chance;
        let is_it = slow >= 0.5 && is_more && tail.upkeeps() >= AGAIN && measured.excess >= 1e6;
        (is_it && measured.messages() >= 5 * ENOUGH).then(|| Verdict {
            tail: Nanos::from_f64(measured.excess * slow),
            tail_share: slow,
            evidence: vec![Clause::UpkeepBeside { slow, usual }],
            remedy: Remedy::Usual(Circumstance::in_segment(Segment::Wire)),
            ..Verdict::new(VerdictKind::Upkeep, Severity::Problem)
        })
    }
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

pub fn leg_number(leg: usize) -> Option<u8> {
    u8::try_from(leg.saturating_add(1)).ok()
}

/// Every verdict, the gravest first.
pub fn verdicts(evidence: &Evidence, gathered: &Gathered) -> Vec<Verdict> {
    let time = TimeVerdicts { evidence, gathered, measured: Measured::new(&gathered.breakdown) };
    let mut found = Vec::new();
    for leg in 0..MAX_LEGS {
        let kinds = VerdictKind::ALL.into_iter().filter(|kind| *kind != VerdictKind::Unexplained);
        kinds.for_each(|kind| found.extend(time.verdicts(leg, kind)));
        let rule = rule(VerdictKind::Unexplained);
        let segments = Segment::ALL.into_iter().zip(std::iter::repeat(rule));
        found.extend(
            segments.filter_map(|(segment, rule)| time.unexplained(leg, segment, rule.as_ref()?)),
        );
    }
    found.extend(time.upkeep());
    found.extend(losses::verdicts(evidence, gathered, time.measured.median));
    found.extend(quotas::unseen(&evidence.setting, &found));
    absences::of_servers(evidence, &mut found);
    absences::of_bytes(evidence, &mut found);
    sort(&mut found, gathered.breakdown.messages());
    found
}

/// The gravest first: problems, and of these what costs most now, then what costs most of all `messages`.
pub fn sort(verdicts: &mut [Verdict], messages: u64) {
    let weight = |verdict: &Verdict| {
        let typical = verdict.median.0 as f64 * messages as f64;
        let slow = verdict.slow.0 as f64 * verdict.slow_messages as f64;
        let weighed = typical + slow;
        if weighed > 0.0 { weighed } else { verdict.tail_share }
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
mod tests;
