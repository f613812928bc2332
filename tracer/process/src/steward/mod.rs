//! The steward: a small process that keeps the rights which wirelap itself gives up.
//!
//! wirelap reads what others send over the network, so it holds no rights while it does. What needs some later, namely
//! starting workloads as somebody else, stopping them and naming results in users' folders, is done by a second process of
//! the same program, which is started first and reads nothing but what wirelap asks it over a socket. It also outlives
//! wirelap by a moment, however that ends: it stops the workloads and removes their folder.

mod client;
mod duty;
mod installation;
mod serve;
mod wire;

pub use client::{Started, Steward};
pub use duty::Duty;
pub use serve::serve_if_asked;
