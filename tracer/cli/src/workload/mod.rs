//! Workload processes: as whom they run, hearing and stopping them. A steward starts them.

pub mod child;
pub mod crew;
pub mod shop;

pub use crew::{Crew, Trouble};
pub use shop::{Shop, not_started};
