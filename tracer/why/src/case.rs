//! The input of rules: a cause at one process, or a row, and all that is known about it.

use super::clause::Clause;
use super::evidence::Evidence;
use super::finding::Finding;
use super::gathered::Gathered;
use super::timeline::Period;
use super::weigh::{Cost, Measured};
use wirelap_events::{Comm, Nanos, OffCpuReason, Segment, SleepCall, TaskId, TxState};
use wirelap_flow::CpuTime;
use wirelap_limits::TimeLimits;
use wirelap_limits::rules::{CPU_TIME_SLACK, MEDIAN, PERIOD_DIVISOR};

/// A row.
pub struct RowCase<'a> {
    pub evidence: &'a Evidence,
    /// The messages that are weighed.
    pub gathered: &'a Gathered,
    pub measured: Measured<'a>,
}

/// A kind of cause on a leg at one process.
#[derive(Clone, Copy)]
pub struct VerdictCase<'a> {
    pub row: &'a RowCase<'a>,
    pub finding: &'a Finding,
    pub cost: Cost,
    pub limits: TimeLimits,
}

impl VerdictCase<'_> {
    pub fn evidence(&self) -> &Evidence {
        self.row.evidence
    }

    /// The clause for how often it was so, and how long.
    pub fn how_often(&self) -> Clause {
        let (finding, cost) = (self.finding, self.cost);
        let messages = self.row.measured.messages();
        // Messages that it makes slow are told; a little of it in the others is not what is meant.
        let (hits, each) = (cost.messages(), Nanos::from_f64(cost.each()));
        if hits > 0 && cost.each() > cost.median {
            return Clause::Hits { hits, messages, each, most: finding.most };
        }
        let median = Nanos(finding.time.quantile(MEDIAN));
        Clause::Often { some: finding.messages, messages, median, most: finding.most }
    }

    /// The clause that says how often it was so, and these clauses.
    pub fn often_and(&self, clauses: impl IntoIterator<Item = Clause>) -> Vec<Clause> {
        std::iter::once(self.how_often()).chain(clauses).collect()
    }

    /// The state of TCP when the bytes were sent that had to wait, and how many were sent.
    pub fn tcp_at_send(&self) -> (Option<TxState>, u32) {
        let (finding, seen) = (self.finding, &self.finding.longest.circumstances);
        // The message itself came into the socket later than those that it had to wait for.
        match seen.socket.behind.filter(|_| finding.segment() == Segment::BrokerDwell) {
            Some(behind) => (Some(behind.tx), behind.send_len),
            None => (seen.socket.tx, seen.socket.send_len),
        }
    }

    /// The period in which the cause took time; messages of which it took less than a quarter of
    /// the average do not count.
    pub fn period(&self) -> Option<Period> {
        let cost = self.cost;
        let is_typical = cost.is_typical(&self.limits);
        let mean = if is_typical || cost.hit.messages <= 0.0 { cost.median } else { cost.each() };
        let since = self.evidence().setting.since?;
        let least = Nanos::from_f64(mean / PERIOD_DIVISOR);
        let period = self.finding.when.period(least, &self.row.gathered.when)?;
        Some(Period {
            began: period.began - since,
            ended: period.ended.map(|ended| ended - since),
            ..period
        })
    }

    /// True if all of it passed within so short a time, and a typical message has nothing of it.
    pub fn was_within(&self, longest: Nanos) -> bool {
        let least = Nanos::from_f64(self.cost.each() / PERIOD_DIVISOR);
        let when = &self.finding.when;
        let period = when.period(least, &self.row.gathered.when);
        let length = period.map(|period| period.ended.unwrap_or(when.last()) - period.began);
        !self.cost.is_typical(&self.limits) && length.is_some_and(|length| length < longest)
    }

    /// Time on a CPU of its thread, if that is known.
    pub fn cpu_time(&self) -> Option<CpuTime> {
        self.evidence().setting.busy.get(&self.finding.longest.task?.tid).copied()
    }

    /// True if its thread is said to work on a message, or on all of them, for longer than it has had a CPU at all.
    pub fn cannot_have_worked(&self) -> bool {
        self.cpu_time().is_some_and(|time| {
            let longest = Nanos(time.at_most.0.saturating_mul(CPU_TIME_SLACK));
            self.finding.longest.time > time.at_most || self.finding.worked > longest
        })
    }

    /// The clause for how much of the time its thread was on a CPU.
    pub fn busy(&self) -> Option<Clause> {
        let task = self.finding.longest.task?;
        Some(Clause::Busy { tid: task.tid, share: self.cpu_time()?.share })
    }

    /// The name of a thread's process.
    pub fn name(&self, task: TaskId) -> Comm {
        self.evidence().setting.names.get(&task.pid).copied().unwrap_or_default()
    }

    /// True if its thread slept, and not for a time of its own choice.
    pub fn slept_for_others(&self) -> bool {
        self.finding
            .longest
            .rest
            .is_some_and(|(rest, sleep)| rest == OffCpuReason::Asleep && sleep != SleepCall::Timer)
    }
}
