//! The environment of a run: machine, versions, settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine, versions and settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// CPU model name; empty if /proc/cpuinfo has none.
    pub cpu_model: String,
    /// Logical CPUs that wirelap may use.
    pub cores: usize,
    /// Frequency governor of CPU 0; absent on machines without frequency scaling.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// The CPU's mitigations of hardware vulnerabilities as the kernel names them, by vulnerability; empty if they are not known.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// The machine's name.
    pub hostname: Option<String>,
    /// wirelap's own version.
    pub wirelap_version: String,
    /// Versions of libraries and brokers, by middleware, then by name.
    pub versions: BTreeMap<String, BTreeMap<String, String>>,
    /// Library settings that influence the figures, by middleware, then by the library's own names
    /// with the role that uses them as a prefix.
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// The seed of the random order.
    pub seed: u64,
    /// The command line, one entry for each argument.
    pub command_line: Vec<String>,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// When it was resumed, each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<String>,
}
