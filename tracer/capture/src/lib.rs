//! Attaching the probes and reading what they report.
//!
//! | module | what |
//! |---|---|
//! | [`config`] | what to trace |
//! | [`hooks`] | the observations, and the ways to make each |
//! | `attach` | loads the object and attaches each observation's best way |
//! | `object` | prepares the object for this kernel |
//! | `percpu` | where the kernel's per-CPU variables are |
//! | [`capture`] | the ring buffer, counters, windows, changes of the filter |
//! | [`decode`] | a record's bytes → an [`Event`](wirelap_events::Event) |
//! | `stash` | payload that comes apart from its packet |
//! | `filter` | process trees and cgroups |
//! | `kernel` | what the running kernel is |
//! | [`doctor`] | what this machine can do |

mod attach;
pub mod capture;
pub mod clock;
pub mod config;
pub mod decode;
pub mod doctor;
pub mod error;
mod filter;
pub mod hooks;
mod kernel;
mod object;
mod percpu;
mod stash;

pub use capture::{Capture, MAX_BATCH, ProbeCounters};
pub use config::{Config, Datagrams};
pub use decode::UnixConnection;
pub use doctor::Doctor;
pub use error::{AttachError, CaptureError};
pub use hooks::ChosenHook;
