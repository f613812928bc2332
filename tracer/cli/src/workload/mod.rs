//! Workload processes: where their program is, as whom they run, starting, hearing and stopping them.

pub mod child;
pub mod crew;
pub mod shop;
pub mod user;

pub use crew::{Crew, Trouble};
pub use shop::Shop;
