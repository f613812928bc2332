//! Hosts of their own for the processes of a trial, as a stand-in for several machines: network namespaces, joined by links with
//! a rate and a queue.
//!
//! ```text
//!   namespace          namespace of the switch           namespace
//! ┌──────────┐  veth  ┌────────┐ bridge ┌──────────┐  veth  ┌──────────┐
//! │ sender   eth0 ────┤ sender ├────────┤ receiver ├──── eth0 receiver │
//! └──────────┘        └────────┘    │   └──────────┘        └──────────┘
//!      tbf: rate, queue             │    netem: delay
//!                              ┌────┴───┐  veth  ┌──────────┐
//!                              │ broker ├──── eth0  broker  │
//!                              └────────┘        └──────────┘
//! ```
//! A namespace lives as long as a process or an open file holds it. Each host is held by a steward of its own, which starts the
//! workloads of that host and ends with wirelap, and the switch by a file of wirelap. Whatever ends wirelap, the kernel then
//! removes namespaces and links.

mod commands;
mod host;
mod installations;
mod links;
mod namespace;
mod reach;

pub use host::{HOST_INTERFACE, Host};
pub use installations::Installations;
pub use links::Links;
pub use reach::{confined, running};
