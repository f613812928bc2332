//! The JSON of `wirelap doctor`: schema `wirelap/doctor/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The value of [`DoctorReport::schema`].
pub const DOCTOR_SCHEMA: &str = "wirelap/doctor/1";

/// What wirelap can observe here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// Always `wirelap/doctor/1`.
    pub schema: String,
    /// wirelap's own version.
    pub wirelap_version: String,
    /// Kernel release.
    pub kernel: String,
    /// Path of the kernel's type information (BTF); absent if there is none.
    pub btf: Option<String>,
    /// What the distribution calls itself.
    pub distribution: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The clock that all times are from, e.g. `CLOCK_MONOTONIC`.
    pub clock: String,
    /// Whether this process can attach probes: it did, for a moment.
    pub can_attach: bool,
    /// The capabilities that attaching all probes needs. Without `CAP_NET_ADMIN` alone, some are missing.
    pub capabilities: Vec<Capability>,
    /// Whether packets alone can be captured (`wirelap live --packets-only`), which needs no probes.
    #[serde(default)]
    pub can_capture_packets: bool,
    /// Why they cannot, with the remedy; absent if they can.
    #[serde(default)]
    pub no_packets: Option<String>,
    /// One row for each observation.
    pub observations: Vec<Observation>,
    /// What is missing, worst first, each with the command that mends it on this distribution.
    #[serde(default)]
    pub missing: Vec<MissingItem>,
    /// Further facts that matter for the table, one sentence each.
    pub notes: Vec<String>,
}

/// Something that this machine or this process lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Missing")]
pub struct MissingItem {
    /// Its name, e.g. `BTF type information`.
    pub name: String,
    /// What kind of thing it is.
    pub kind: MissingKind,
    /// What is lost until it is mended, one sentence each.
    pub lost: Vec<String>,
    /// The command that mends it. On an image of Yocto, it is run where the image is built.
    pub command: String,
}

/// What kind of thing is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingKind {
    /// A right of this process; the kernel may have all that is needed.
    #[default]
    Right,
    /// A feature of the kernel, which no right replaces.
    Kernel,
    /// A setting of the machine.
    Setting,
}

/// A Linux capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// The capability's name, e.g. `CAP_BPF`.
    pub name: String,
    /// Whether this process has it.
    pub held: bool,
}

/// An event in the kernel that wirelap observes with a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// What is observed.
    pub observation: String,
    /// The hook that is used on this kernel; absent if it offers none.
    pub hook: Option<String>,
    /// What cannot be measured without this observation.
    pub lost_without: String,
    /// What to do about a missing hook; absent if nothing needs to be done.
    pub remedy: Option<String>,
}
