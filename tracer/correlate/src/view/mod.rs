//! The immutable picture that the terminal, the JSON and the HTML are all drawn from, and how far it can be trusted.

mod checked;
pub mod snapshot;
pub mod trust;

pub use snapshot::{Group, ProbeLoss, Process, Snapshot, TracerCost, Trust, UnixClients};
