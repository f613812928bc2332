//! What the process is for.

/// The first argument of the process.
pub const WORD: &str = "--steward";

/// What the process is for, and so which rights it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// It names results.
    Outputs,
    /// It runs workloads, too.
    Workloads,
}

impl Duty {
    /// All of them.
    pub const ALL: [Duty; 2] = [Duty::Outputs, Duty::Workloads];

    /// The second argument of the process.
    pub fn word(self) -> &'static str {
        match self {
            Duty::Outputs => "outputs",
            Duty::Workloads => "workloads",
        }
    }
}
