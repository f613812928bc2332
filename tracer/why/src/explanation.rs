//! The explanation of a row: verdicts, the tail, the worst messages.

use super::clause::{Circumstance, Clause, Remedy};
use super::kind::VerdictKind;
use super::timeline::Period;
use super::whereabouts::Overdue;
use wirelap_events::{Comm, Delivery, Nanos, Pid, Segment, TaskId, TraceDetail};
use wirelap_limits::rules::MIN_MESSAGES_FOR_VERDICT;

/// Why a row's messages took as long as they did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why {
    /// The protocol that they travel with, by its name; empty if it is not known.
    pub protocol: &'static str,
    /// The implementation of it that all programs use; empty if that is not known, or they use several.
    pub implementation: &'static str,
    /// The broker's name, if they pass one.
    pub broker: Option<String>,
    /// The detail in which messages were observed: without everything, most causes cannot be found.
    pub detail: TraceDetail,
    /// Messages that were examined: all that were matched.
    pub messages: u64,
    /// Verdicts, the gravest first. If there are enough messages and no [`Severity::Problem`] among the verdicts,
    /// nothing is wrong.
    pub verdicts: Vec<Verdict>,
    /// The time of the mean message near the median by leg and segment, in the order of a message's
    /// life; [`Verdict::median_share`] and [`Tail::excess`] are measured against it. Empty without
    /// messages.
    pub typical: Vec<TypicalRow>,
    /// The slowest 1 % and 0.1 %: where they lost more time than the median message did. A tail of less
    /// than 10 messages is left out.
    pub tails: Vec<Tail>,
    /// Messages that ought to have arrived by now, by place.
    pub open: Vec<Overdue>,
    /// The slowest messages, the slowest first; at most ten.
    pub worst: Vec<WorstMessage>,
    /// The threads that had the CPUs while threads of this row waited for one, most time first; at most
    /// ten. The idle task is not among them.
    pub holders: Vec<HolderShare>,
}

impl Why {
    /// True if enough was examined and nothing was found that ought to be changed.
    pub fn is_healthy(&self) -> bool {
        self.detail == TraceDetail::Full && !self.is_too_little() && !self.has_problem()
    }

    /// True if too few messages were examined for a verdict about their time.
    pub fn is_too_little(&self) -> bool {
        self.messages < MIN_MESSAGES_FOR_VERDICT
    }

    /// True if anything was found that ought to be changed.
    pub fn has_problem(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.severity == Severity::Problem)
    }
}

/// The gravity of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, and nothing wrong.
    Note,
    /// Time, or messages, are lost that need not be.
    Problem,
}

/// A verdict, and the numbers that it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The kind of cause.
    pub kind: VerdictKind,
    /// The gravity.
    pub severity: Severity,
    /// On which leg, 1 for the first; `None` where it concerns no single one.
    pub leg: Option<u8>,
    /// In which segment its time is; `None` for what costs messages rather than time.
    pub segment: Option<Segment>,
    /// The process whose doing or whose loss it is: id and name, as far as one can be named.
    pub process: Option<(TaskId, Comm)>,
    /// True if that process is no broker, but a proxy between it and its clients.
    pub is_at_proxy: bool,
    /// Mean time that it takes of a message near the median.
    pub median: Nanos,
    /// That time over the whole latency of such a message, 0..=1.
    pub median_share: f64,
    /// Mean time that it adds to a message of the slowest 1 %, over what it takes of a median one.
    pub tail: Nanos,
    /// The verdict's part of the excess of the slowest 1 % over the median, 0..=1.
    pub tail_share: f64,
    /// Messages that it made slow.
    pub slow_messages: u64,
    /// Mean time that it takes of each of these, over what it takes of a median one.
    pub slow: Nanos,
    /// The verdict's part of the time by which all messages slower than three quarters of them exceed the
    /// median one, 0..=1.
    pub slow_share: f64,
    /// The period in which it took time, after the beginning of the observation; `None` where that
    /// is not known.
    pub period: Option<Period>,
    /// Messages that it holds up now; `None` where it holds up none.
    pub open: Option<Overdue>,
    /// The threads that had the CPU, or had to let go, in the time that it is about: the longest first, at most ten.
    /// Together they have the whole of it; time in which no thread was seen to have it is that of thread 0 of process
    /// 0, without a name. Empty where nobody else is concerned.
    pub culprits: Vec<Culprit>,
    /// The numbers that it stands on.
    pub evidence: Vec<Clause>,
    /// The remedy that usually helps.
    pub remedy: Remedy,
}

impl Verdict {
    /// Nothing known yet but what it is.
    pub fn new(kind: VerdictKind, severity: Severity) -> Verdict {
        Verdict {
            kind,
            severity,
            leg: None,
            segment: None,
            process: None,
            is_at_proxy: false,
            median: Nanos(0),
            median_share: 0.0,
            tail: Nanos(0),
            tail_share: 0.0,
            slow_messages: 0,
            slow: Nanos(0),
            slow_share: 0.0,
            period: None,
            open: None,
            culprits: Vec::new(),
            evidence: Vec::new(),
            remedy: Remedy::None,
        }
    }

    /// One that costs messages rather than time, or whose time is in no segment of theirs alone.
    pub(super) fn of_row(kind: VerdictKind, severity: Severity, evidence: Vec<Clause>) -> Verdict {
        let remedy = Remedy::Usual(Circumstance::in_segment(Segment::Wire));
        Verdict { evidence, remedy, ..Verdict::new(kind, severity) }
    }

    /// Takes in which processes are proxies.
    pub fn locate(&mut self, is_proxy: impl Fn(Pid) -> bool) {
        self.is_at_proxy = self.process.is_some_and(|(task, _)| is_proxy(task.pid));
    }

    /// True if the verdict holds at the end of what was observed.
    pub fn is_still_so(&self) -> bool {
        self.open.is_some() || self.period.is_some_and(|period| period.ended.is_none())
    }
}

/// The number of a leg as it is told: 1 for the first.
pub(super) fn leg_number(leg: usize) -> u8 {
    u8::try_from(leg.saturating_add(1)).unwrap_or(u8::MAX)
}

/// The cause of a part of a segment, as far as its own circumstances tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A verdict's cause.
    Of(VerdictKind),
    /// The way to the other end, which all packets of the connection need: how far away it is.
    Distance,
    /// What the segment takes anyway.
    Ordinary,
}

impl Cause {
    /// Name of the cause in JSON; `None` for what the segment takes anyway.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Cause::Of(kind) => Some(kind.name()),
            Cause::Distance => Some("distance"),
            Cause::Ordinary => None,
        }
    }

    /// The verdict that it leads to, if it is much.
    pub fn kind(self) -> Option<VerdictKind> {
        match self {
            Cause::Of(kind) => Some(kind),
            Cause::Distance | Cause::Ordinary => None,
        }
    }

    /// That one if it `applies`.
    pub(super) fn when(applies: bool, kind: VerdictKind) -> Cause {
        if applies { Cause::Of(kind) } else { Cause::Ordinary }
    }
}

/// A segment of the mean message near the median. The rows' times add up to its one-way latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypicalRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// Mean over all messages near the median, those without it included.
    pub mean: Nanos,
}

/// The slowest messages, and where they lost more time than the median message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// The part of all messages that the tail is: 0.01 or 0.001.
    pub share: f64,
    /// Number of messages in the tail.
    pub messages: u64,
    /// All of them took at least this long.
    pub least: Nanos,
    /// Mean of what they took longer than the mean message near the median.
    pub excess: Nanos,
    /// The excess by leg, segment and cause, the largest first: the shares add up to 1.
    pub rows: Vec<TailRow>,
}

/// A segment's part of a tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// The cause.
    pub cause: Cause,
    /// Mean excess over the median's in nanoseconds; below zero where slow messages spend less.
    pub excess_ns: i64,
    /// The row's part of [`Tail::excess`]; below zero where slow messages spend less.
    pub share: f64,
}

/// The time of messages by leg, segment and cause: of all, of those near the median, and of the
/// slowest 1 %.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSpent {
    /// All messages.
    pub messages: u64,
    /// The slowest 1 %; 0 where these are too few to tell.
    pub tail_messages: u64,
    /// In the order of a message's life. The means of a column add up to the mean one-way latency of its messages.
    pub rows: Vec<TimeSpentRow>,
}

/// A part of messages' time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSpentRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// The cause.
    pub cause: Cause,
    /// Mean over all messages, in nanoseconds.
    pub mean_ns: f64,
    /// Mean over the messages near the median.
    pub middle_ns: f64,
    /// Mean over the slowest 1 %; 0 where these are too few.
    pub tail_ns: f64,
}

/// One of the slowest messages.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstMessage {
    /// The message with all its legs and stages.
    pub delivery: Delivery,
    /// Send → read.
    pub one_way: Nanos,
}

/// A thread that messages waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Culprit {
    /// The thread.
    pub task: TaskId,
    /// The thread's name.
    pub comm: Comm,
    /// The thread's part of the time, 0..=1.
    pub share: f64,
}

/// A thread that had a CPU while threads of a row waited for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderShare {
    /// The thread.
    pub task: TaskId,
    /// The thread's name.
    pub comm: Comm,
    /// Time that it had a CPU while at least one of them waited, each moment counted once: never more than was
    /// watched.
    pub held: Nanos,
    /// Number of waits.
    pub waits: u64,
}
