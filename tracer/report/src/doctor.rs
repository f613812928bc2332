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
    /// Where the kernel's own type information is; absent if there is none.
    pub btf: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The clock of all times.
    pub clock: String,
    /// Attaching would be tried with the rights that this process has.
    pub can_attach: bool,
    /// The capabilities that attaching needs.
    pub capabilities: Vec<Capability>,
    /// One row an observation.
    pub observations: Vec<Observation>,
    /// What a reader should know beside the table, one sentence each.
    pub notes: Vec<String>,
}

/// A Linux capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// Its name, e.g. `CAP_BPF`.
    pub name: String,
    /// This process has it.
    pub held: bool,
}

/// Something that wirelap wants to observe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// What is observed.
    pub observation: String,
    /// The hook that is used here; absent if there is none.
    pub hook: Option<String>,
    /// What is lost without it, in a few words.
    pub lost_without: String,
    /// What to do about it; absent when nothing needs to be done.
    pub remedy: Option<String>,
}
