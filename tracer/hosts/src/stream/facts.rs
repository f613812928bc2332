//! Account that an agent gives of itself and its host.

use serde::{Deserialize, Serialize};

/// The first frame: who the agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the agent's program.
    pub version: String,
    /// The host's name.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// Identity of the host's present run, which a reboot changes: `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// TCP ports that programs listen on in the agent's network namespace: they tell which end of a connection is the server.
    #[serde(default)]
    pub listening: Vec<u16>,
    /// Why packets alone are observed, if the probes could not be attached.
    pub instead: Option<String>,
    /// Observations that are not made there, each with what is lost without it.
    pub lacks: Vec<String>,
}

/// Account that an agent gives of itself about once a second. All counts are from its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// The monotonic clock of the host in nanoseconds, as all times in records are.
    pub at: u64,
    /// From that to its wall clock, in nanoseconds.
    pub wall: i64,
    /// Largest error of the wall clock, as the kernel estimates it (adjtimex(2)); `None` if nothing disciplines it.
    pub max_error: Option<u64>,
    /// Events of each probe that were lost, and that the filter left out.
    pub probes: Vec<ProbeCount>,
    /// CPU time of the agent in nanoseconds.
    pub cpu_time: u64,
    /// CPU time of the agent divided by the time that has passed.
    pub cpu_share: f64,
    /// The most resident memory of the agent in bytes.
    pub rss_bytes: u64,
    /// Processes that the collector has asked for.
    pub processes: Vec<ProcessUse>,
}

/// Counts of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCount {
    /// Name of the probe.
    pub probe: String,
    /// Events that are missing: lost, or of runs that the kernel skipped.
    pub missing: u64,
    /// Those of runs that the kernel skipped.
    pub skipped: u64,
    /// Events that the filter left out.
    pub filtered: u64,
}

/// Use of CPU and memory by a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Its id on its host.
    pub pid: u32,
    /// CPU time divided by the time that has passed.
    pub cpu_share: f64,
    /// The most resident memory in bytes.
    pub rss_bytes: u64,
    /// Pages a second that had to be read from a disk first.
    pub major_faults: f64,
    /// The process has ended.
    pub ended: bool,
}
