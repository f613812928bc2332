//! The processes that took part in a result.

use crate::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process that took part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// `pub`, `sub`, `ping`, `pong`, `broker`, or what its traffic tells.
    pub role: String,
    /// Its id, in the last repetition.
    pub pid: u32,
    /// Which of several hosts whose recordings were analyzed together: 2 for the second; absent for the first, and where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u8>,
    /// Its name.
    pub name: String,
    /// CPU time over wall time, 1.0 = one core; mean of the repetitions.
    pub cpu_share: Option<f64>,
    /// The most resident memory that was seen.
    pub rss_bytes: Option<u64>,
    /// How its threads were scheduled, in the last repetition; absent where that was not traced.
    #[serde(default)]
    pub scheduling: Option<Scheduling>,
}

/// How a process's threads were scheduled, as far as they were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scheduling {
    /// How long they waited for a CPU, each time: woken → running, and after being preempted.
    pub run_queue_ns: Distribution,
    /// Times that they went to sleep and were woken again: voluntary context switches.
    pub sleeps: u64,
    /// Times that they were preempted: involuntary context switches.
    pub preemptions: u64,
    /// Times that they went on on another CPU.
    pub migrations: u64,
}
