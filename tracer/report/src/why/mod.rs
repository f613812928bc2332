//! Why a result's messages took as long as they did: the JSON of [`wirelap_correlate::Why`].

mod from_correlate;
mod life;

pub use life::{
    Holder, Hop, MessageLeg, Preemption, SegmentTime, Stages, Surroundings, TcpState, WorstMessage,
};

pub(crate) use from_correlate::host;

use crate::Process;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why the messages of a result took as long as they did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Messages that were examined: all that were matched.
    pub examined_messages: u64,
    /// Enough was examined, and nothing was found that ought to be changed: no verdict is a problem.
    pub healthy: bool,
    /// Fewer messages were examined than a verdict about their time needs.
    #[serde(default)]
    pub too_few_messages: bool,
    /// What was found, the gravest first.
    pub verdicts: Vec<Verdict>,
    /// Where the mean message near the median spent its time, in the order of a message's life. The
    /// rows add up to its one-way latency.
    #[serde(default)]
    pub typical: Vec<TypicalRow>,
    /// Where the slowest 1 % and 0.1 % lost more time than that. Absent where fewer than 10 messages are
    /// in it.
    pub tails: Vec<Tail>,
    /// Messages that ought to have arrived by the end and had not, by place.
    #[serde(default)]
    pub open: Vec<Overdue>,
    /// The slowest messages, the slowest first; at most ten.
    pub worst: Vec<WorstMessage>,
    /// Who had the CPUs while threads of this result waited for one, most time first; at most ten.
    pub cpu_holders: Vec<CpuHolder>,
}

impl Why {
    /// The gravest problem, if there is one.
    pub fn problem(&self) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.severity == Severity::Problem)
    }
}

/// How grave a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing, and nothing wrong.
    #[default]
    Note,
    /// Time, or messages, are lost that need not be.
    Problem,
}

/// What was found, and the numbers that it stands on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What: `nagle_delayed_ack`, `run_queue_contention` … The guide lists all of them.
    pub kind: String,
    /// The same in words.
    pub title: String,
    /// How grave.
    pub severity: Severity,
    /// On which leg, 1 for the first; absent where it concerns no single one.
    pub leg: Option<u8>,
    /// In which segment its time is; absent for what costs messages rather than time.
    pub segment: Option<String>,
    /// Whose doing or whose loss it is, as far as one can be named.
    pub process: Option<Task>,
    /// Mean time that it takes of a message near the median.
    pub median_ns: u64,
    /// That time over the whole latency of such a message, 0..=1.
    pub median_share: f64,
    /// Mean time that it adds to a message of the slowest 1 %.
    pub tail_ns: u64,
    /// Its part of the excess of the slowest 1 % over the median, 0..=1.
    pub tail_share: f64,
    /// Messages that it made slow.
    #[serde(default)]
    pub slow_messages: u64,
    /// Mean time that it takes of each of these, over what it takes of a median one.
    #[serde(default)]
    pub slow_ns: u64,
    /// Its part of what all messages slower than three quarters of them take longer than the median one, 0..=1.
    #[serde(default)]
    pub slow_share: f64,
    /// When it took time first, after the beginning of the observation; absent where that is not known.
    #[serde(default)]
    pub began_ns: Option<u64>,
    /// When it took time last; absent where it still does, or that is not known.
    #[serde(default)]
    pub ended_ns: Option<u64>,
    /// In how many stretches of time it did, between which messages passed that it did not hold up; absent where that is not
    /// known.
    #[serde(default)]
    pub times: Option<u32>,
    /// The messages that it holds up at the end; absent where it holds up none.
    #[serde(default)]
    pub open: Option<Overdue>,
    /// The numbers that it stands on, one clause each.
    pub evidence: Vec<String>,
    /// What usually helps, one sentence.
    pub remedy: String,
}

/// Messages that ought to have arrived by now, in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overdue {
    /// How many.
    pub messages: u64,
    /// How long ago the oldest of them was sent.
    pub oldest_ns: u64,
    /// Where they are: `network`, `broker_receive_queue`, `broker` (read and not passed on), `broker_unasked` (and nobody
    /// asks for them) or `reader_receive_queue`.
    pub place: String,
    /// The process that has them; absent if it is not known.
    pub process: Option<Task>,
    /// What its most active thread was doing: `stopped`, `asleep`, `blocked` or `running`; absent if nobody looked.
    pub doing: Option<String>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its process; 0 if it is not known.
    pub pid: u32,
    /// The thread; 0 if only the process is known.
    pub tid: u32,
    /// Which of several hosts whose recordings were analyzed together: 2 for the second; absent for the first, and where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u8>,
    /// Its name, or its process's; empty if neither is known.
    pub name: String,
}

impl Task {
    /// Whether both are threads of one process.
    pub fn is_same_process(&self, other: &Task) -> bool {
        (self.pid, self.host) == (other.pid, other.host)
    }

    /// Whether it is a thread of this process.
    pub fn is_of(&self, process: &Process) -> bool {
        (self.pid, self.host) == (process.pid, process.host)
    }
}

/// A segment of the mean message near the median.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TypicalRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// Mean over all messages near the median, those without it included.
    pub mean_ns: u64,
}

/// The slowest messages, and where they lost more time than the mean message near the median.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Which part of all messages: 0.01 or 0.001.
    pub share: f64,
    /// How many messages that is.
    pub messages: u64,
    /// All of them took at least this long.
    pub least_ns: u64,
    /// Mean of what they took longer.
    pub excess_ns: u64,
    /// Where: the shares add up to 1. The largest first.
    pub rows: Vec<TailRow>,
}

/// A segment's part of a tail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// What for: the kind of a verdict, or `ordinary`.
    pub cause: String,
    /// Mean excess; below zero where slow messages spend less.
    pub excess_ns: i64,
    /// Its part of the tail's excess; below zero likewise.
    pub share: f64,
}

/// A thread that had a CPU while threads of a result waited for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuHolder {
    /// The thread.
    #[serde(flatten)]
    pub task: Task,
    /// Time of waits that it is to blame for.
    pub held_ns: u64,
    /// How many waits.
    pub waits: u64,
}
