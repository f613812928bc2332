//! A tracing session: probes that are attached once, a thread that takes their events, and what came of it. `live`, `run` and
//! `record` all have one.
//!
//! | module | what |
//! |---|---|
//! | [`preflight()`] | what must be there before anything is started |
//! | [`Settings`] | what is traced and how |
//! | [`Tracer`] | a running session |
//! | [`Commands`] | what it is told while it runs |
//! | `work` | its thread: events in, deliveries and snapshots out |
//! | [`Sampling`], `windows`, `turns` | when the probes see, and when they do not |
//! | [`notes`] | what a recording says beside its events |
//! | [`annotate`] | what became of messages, told beside their packets |
//! | `unix` | which processes also serve clients over Unix sockets |
//! | [`machine`], [`environment`] | this machine, and what processes use of it |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// They panic where stdout or stderr cannot be written, and wait for whoever reads there: `output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod annotate;
mod commands;
pub mod environment;
mod listening;
pub mod machine;
pub mod notes;
mod preflight;
mod sampling;
mod settings;
mod tracer;
mod turns;
mod unix;
mod windows;
mod work;

pub use commands::Commands;
pub use preflight::{preflight, ring_bytes};
pub use sampling::Sampling;
pub use settings::{Later, Settings};
pub use tracer::Tracer;
pub use turns::Turn;
pub use work::Findings;
