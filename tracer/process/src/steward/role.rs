//! The roles in which a steward is started, and the arguments that start one.

use strum::VariantArray;
use wirelap_events::all_variants;

/// The first argument of the steward's command line.
pub const STEWARD_ARGUMENT: &str = "--steward";

/// The task that a steward is started for, which decides the rights that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum StewardRole {
    /// The steward creates and names output files.
    Outputs,
    /// The steward creates and names output files, and runs workloads and the command for events.
    Workloads,
    /// The steward creates and names output files, and runs the commands that reach other hosts. It keeps all rights: those
    /// commands are the user's own, and may need them (`nsenter`, `docker exec`).
    Hosts,
}

impl StewardRole {
    /// All roles.
    pub const ALL: [StewardRole; StewardRole::VARIANTS.len()] = all_variants();

    /// The second argument of the steward's command line.
    pub fn word(self) -> &'static str {
        match self {
            StewardRole::Outputs => "outputs",
            StewardRole::Workloads => "workloads",
            StewardRole::Hosts => "hosts",
        }
    }
}
