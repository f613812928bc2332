//! The immutable picture that the terminal, the JSON and the HTML are all drawn from, and how far it can be trusted.

mod checked;
mod notes;
pub mod snapshot;
pub mod trust;

pub use notes::{GroupNote, Muted, SnapshotNote};
pub use snapshot::{
    Group, ProbeEvents, ProbeLoss, Process, Snapshot, TracerCost, TracingBudget, Trust,
    UnixClients, UnixServer,
};
