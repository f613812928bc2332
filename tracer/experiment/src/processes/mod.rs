//! Workload processes: they are started by the steward, and their output is read here.

mod child;
mod group;
mod installation;

pub use child::WorkloadProcess;
pub use group::{ProcessGroup, TrialStopped};
pub use installation::{Elsewhere, WorkloadInstallation, not_started};
