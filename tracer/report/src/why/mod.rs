//! Why a result's messages took as long as they did: the JSON of [`wirelap_correlate::Why`].

mod from_correlate;
mod life;

pub use life::{
    LegCircumstances, Preemption, ReportedHolder, ReportedHop, ReportedLeg, ReportedWorstMessage,
    SegmentTime, Stages, TcpState,
};

pub(crate) use from_correlate::host;

use crate::ReportedProcess;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why the messages of a result took as long as they did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct ReportedWhy {
    /// Messages that were examined: all matched messages.
    pub examined_messages: u64,
    /// Whether enough messages were examined and no verdict is a problem.
    pub healthy: bool,
    /// Whether fewer messages were examined than a verdict on latency needs.
    #[serde(default)]
    pub too_few_messages: bool,
    /// The verdicts, the most serious first.
    pub verdicts: Vec<ReportedVerdict>,
    /// Where the mean message near the median spent its time, in the order in which a message passes the segments. The rows
    /// add up to its one-way latency.
    #[serde(default)]
    pub typical: Vec<ReportedTypicalRow>,
    /// Where the slowest 1 % and 0.1 % took longer than the mean message near the median. A tail of fewer than 10 messages
    /// is left out.
    pub tails: Vec<ReportedTail>,
    /// Messages that were overdue at the end, by place.
    #[serde(default)]
    pub open: Vec<ReportedOverdue>,
    /// The slowest messages, the slowest first; at most ten.
    pub worst: Vec<ReportedWorstMessage>,
    /// The threads that had a CPU while threads of this result waited for it, most time first; at most ten.
    pub cpu_holders: Vec<CpuHolder>,
}

impl ReportedWhy {
    /// The most serious problem, if there is one.
    pub fn problem(&self) -> Option<&ReportedVerdict> {
        self.verdicts.iter().find(|verdict| verdict.severity == ReportedSeverity::Problem)
    }
}

/// How serious a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Severity")]
#[serde(rename_all = "snake_case")]
pub enum ReportedSeverity {
    /// Information; nothing is wrong.
    #[default]
    Note,
    /// Avoidable delay or loss.
    Problem,
}

/// A cause of delay or loss, with its evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Verdict")]
pub struct ReportedVerdict {
    /// The kind of verdict: `nagle_delayed_ack`, `run_queue_contention` … docs/verdicts.md lists all of them.
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// How serious the verdict is.
    pub severity: ReportedSeverity,
    /// The leg, 1 for the first; absent if the verdict concerns no single leg.
    pub leg: Option<u8>,
    /// The segment in which the time is spent; absent if the cause costs messages, not time.
    pub segment: Option<String>,
    /// The process that causes or suffers it; absent if no single one does.
    pub process: Option<Task>,
    /// Mean time that the cause takes of a message near the median.
    pub median_ns: u64,
    /// `median_ns` over the whole latency of a message near the median, 0..=1.
    pub median_share: f64,
    /// Mean time that the cause adds to a message of the slowest 1 %.
    pub tail_ns: u64,
    /// The cause's share of the extra time of the slowest 1 % over the median, 0..=1.
    pub tail_share: f64,
    /// Messages that the cause made slow.
    #[serde(default)]
    pub slow_messages: u64,
    /// Mean time that the cause takes of each slow message beyond what it takes of a median one.
    #[serde(default)]
    pub slow_ns: u64,
    /// The cause's share of the extra time of the slowest quarter of all messages over the median, 0..=1.
    #[serde(default)]
    pub slow_share: f64,
    /// When the cause first took time, after the beginning of the observation; absent if that is not known.
    #[serde(default)]
    pub began_ns: Option<u64>,
    /// When the cause last took time; absent if it still does, or if that is not known.
    #[serde(default)]
    pub ended_ns: Option<u64>,
    /// The number of periods in which the cause took time; between them, messages passed that it did not delay. Absent if
    /// that is not known.
    #[serde(default)]
    pub times: Option<u32>,
    /// The messages that the cause holds up at the end; absent if there are none.
    #[serde(default)]
    pub open: Option<ReportedOverdue>,
    /// The threads that had the CPU or the lock during the verdict's time, the longest first, at most ten; their shares
    /// cover all of that time. Empty if no other thread is concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<ReportedCulprit>,
    /// The numbers that prove the verdict, one clause each.
    pub evidence: Vec<String>,
    /// What usually helps, in one sentence.
    pub remedy: String,
}

/// Overdue messages in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Overdue")]
pub struct ReportedOverdue {
    /// Number of messages.
    pub messages: u64,
    /// How long ago the oldest of them was sent.
    pub oldest_ns: u64,
    /// Where the messages are: `network`, `broker_receive_queue`, `broker` (read and not passed on), `broker_unasked` (read,
    /// and no consumer requests them), `broker_unacknowledged` (read, and its consumer has to acknowledge others first) or
    /// `reader_receive_queue`.
    pub place: String,
    /// The process that holds the messages; absent if it is not known.
    pub process: Option<Task>,
    /// The state of that process's most active thread: `stopped`, `asleep`, `blocked`, `runnable` or `running`; absent if it was not
    /// checked.
    pub doing: Option<String>,
}

/// A thread that messages waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Culprit")]
pub struct ReportedCulprit {
    /// The thread; process 0 without a name is the time for which no thread is known.
    #[serde(flatten)]
    pub task: Task,
    /// The thread's share of the verdict's time, 0..=1.
    pub share: f64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Process ID; 0 if it is not known.
    pub pid: u32,
    /// Thread ID; 0 if only the process is known.
    pub tid: u32,
    /// The number of its host if recordings of several hosts were analyzed together: 2 for the second; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u8>,
    /// The name of the thread or its process; empty if neither is known.
    pub name: String,
}

impl Task {
    /// True if both are threads of one process.
    pub fn is_same_process(&self, other: &Task) -> bool {
        (self.pid, self.host) == (other.pid, other.host)
    }

    /// True if this is a thread of `process`.
    pub fn is_of(&self, process: &ReportedProcess) -> bool {
        (self.pid, self.host) == (process.pid, process.host)
    }
}

/// A segment of the mean message near the median.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TypicalRow")]
pub struct ReportedTypicalRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// Mean over all messages near the median, including those without this segment.
    pub mean_ns: u64,
}

/// The slowest messages, and where they took longer than the mean message near the median.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tail")]
pub struct ReportedTail {
    /// The share of all messages that are in this tail: 0.01 or 0.001.
    pub share: f64,
    /// Number of messages in this tail.
    pub messages: u64,
    /// The shortest latency in this tail.
    pub least_ns: u64,
    /// Mean extra time over the mean message near the median.
    pub excess_ns: u64,
    /// The extra time by leg, segment and cause, the largest first. The shares add up to 1.
    pub rows: Vec<ReportedTailRow>,
}

/// The extra time of a tail in one segment for one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TailRow")]
pub struct ReportedTailRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// The kind of a verdict, or `ordinary` if no rule applies.
    pub cause: String,
    /// Mean extra time; negative if slow messages spend less time here.
    pub excess_ns: i64,
    /// Share of the tail's extra time; negative if slow messages spend less time here.
    pub share: f64,
}

/// A thread that had a CPU while threads of a result waited for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuHolder {
    /// The thread.
    #[serde(flatten)]
    pub task: Task,
    /// How long the thread had a CPU while at least one of them waited; each moment counts once.
    pub held_ns: u64,
    /// Number of waits.
    pub waits: u64,
}
