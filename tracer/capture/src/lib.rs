//! Attaching the probes and reading what they report.
//!
//! | module | what |
//! |---|---|
//! | [`allocator`] | keeps memory that nothing uses from being held |
//! | [`config`] | what to trace |
//! | [`hooks`] | the observations, and the hooks for each |
//! | `attach` | loads the object and attaches each observation with its best hook |
//! | [`btf`] | the kernel's types, from the kernel or from a file |
//! | `object` | prepares the object for this kernel |
//! | `percpu` | finds the offsets of the kernel's per-CPU variables |
//! | [`capture`] | the ring buffer, counters, windows, changes of the filter |
//! | `ring` | the ring buffer out of which the records come |
//! | [`decode`] | makes an [`Event`](wirelap_events::Event) of a record |
//! | `tls` | attaches to the libraries that encrypt |
//! | [`packets`] | packets without probes, by a packet socket |
//! | `links` | keep programs attached |
//! | `stash` | keeps payload that comes in a record of its own |
//! | `filter` | process trees and cgroups |
//! | `kernel` | facts about the running kernel |
//! | `urgency` | watches over the reading thread, and raises its priority while it has fallen behind |
//! | [`doctor`] | examines which observations this machine allows |

pub mod allocator;
mod attach;
pub mod btf;
pub mod capture;
pub mod clock;
pub mod config;
pub mod decode;
pub mod doctor;
pub mod error;
mod filter;
pub mod hooks;
mod kernel;
mod links;
mod object;
pub mod packets;
mod percpu;
mod preemption;
mod programs;
mod ring;
mod stash;
mod tls;
mod urgency;

pub use capture::{Capture, MAX_BATCH, ProbeCounters, RunTimeCount};
pub use config::{CaptureConfig, UdpHooks};
pub use decode::UnixConnection;
pub use doctor::Doctor;
pub use error::{AttachError, CaptureError};
pub use hooks::ChosenHook;
pub use tls::{TLS_TEXT, TlsAccess};
pub use urgency::Urgency;
