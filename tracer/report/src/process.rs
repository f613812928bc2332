//! The processes that took part in a result.

use crate::DistributionSummary;
use crate::container::{ReportedContainer, ReportedNetworkNamespace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process that took part in a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Process")]
pub struct ReportedProcess {
    /// `pub`, `sub`, `ping`, `pong` or `broker` for workload processes; otherwise a role derived from its traffic.
    pub role: String,
    /// Its process ID in the last repetition.
    pub pid: u32,
    /// The number of its host if recordings of several hosts were analyzed together: 2 for the second; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u8>,
    /// Its name.
    pub name: String,
    /// CPU time over wall time, 1.0 = one core; mean of the repetitions.
    pub cpu_share: Option<f64>,
    /// The largest resident memory that was measured.
    pub rss_bytes: Option<u64>,
    /// How its threads were scheduled in the last repetition; absent if that was not traced.
    #[serde(default)]
    pub scheduling: Option<ReportedScheduling>,
    /// The container, pod or unit that it ran in; absent if that is not known, or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ReportedContainer>,
    /// Why the container is not known: `ended` (the process had ended before its cgroup was read) or `refused` (it may not be read).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_unknown: Option<String>,
    /// The network namespace of its sockets, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_namespace: Option<ReportedNetworkNamespace>,
    /// The Unix socket that it served clients on as well; their messages are in no figure. Absent where there is
    /// none, and in results of recordings, which do not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_clients: Option<ReportedUnixClients>,
}

/// Clients of a process that reach it through a Unix socket, which wirelap does not follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UnixClients")]
pub struct ReportedUnixClients {
    /// The path that most of them came by, or an abstract name with `@` before it.
    pub path: String,
    /// The most connections that were seen open at a time, by any path.
    pub connections: u64,
}

/// How a process's threads were scheduled, as far as they were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Scheduling")]
pub struct ReportedScheduling {
    /// How long its threads waited for the CPU each time, after a wakeup or a preemption.
    pub run_queue_ns: DistributionSummary,
    /// How often its threads slept and were woken: voluntary context switches.
    pub sleeps: u64,
    /// How often its threads were preempted: involuntary context switches.
    pub preemptions: u64,
    /// How often its threads continued on another CPU.
    pub migrations: u64,
}

/// The size of a client program that is built with one middleware and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSize {
    /// Bytes of the stripped program file.
    pub bytes: u64,
    /// Bytes of the same program without any middleware: what the client adds to it is the middleware's.
    pub without_middleware_bytes: u64,
    /// How the programs were built.
    pub build: String,
}
