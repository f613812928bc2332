//! A tracing session: probes that are attached once, a thread that processes their events, and its findings. The commands
//! `live`, `run` and `record` each use one.
//!
//! | module | what |
//! |---|---|
//! | [`preflight()`] | the check that probes can be attached |
//! | [`SessionSettings`] | what is traced and how |
//! | [`Tracer`] | a running session |
//! | [`run_agent`] | the agent of a host, for a session elsewhere |
//! | [`Commands`] | commands to a running session |
//! | `observer` | where events come from: the probes, or packets alone |
//! | `thread` | its thread: events in, deliveries and snapshots out |
//! | [`Sampling`], `windows`, `schedule` | when events are reported, and when the probes are attached |
//! | [`Budget`], `keeper`, `spending` | what tracing may cost, and windows that keep to that |
//! | [`notes`], `facts`, `place_notes` | what a recording contains in addition to events |
//! | [`annotate`] | what became of messages, recorded beside their packets |
//! | `own_cpus` | keeps the thread off CPUs that traced programs are pinned to |
//! | `places`, `container_names` | in which containers and network namespaces processes run |
//! | `unix` | which processes also serve clients over Unix sockets |
//! | [`machine`], [`environment`] | this machine, and the CPU time and memory that processes use |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// `print!` panics when stdout cannot be written and blocks when nobody reads; `wirelap_process::output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod agent_windows;
pub mod annotate;
mod budget;
mod carriers;
mod commands;
mod container_names;
pub mod environment;
mod facts;
mod keeper;
pub mod listening;
pub mod machine;
pub mod meter;
pub mod notes;
mod observer;
mod own_cpus;
mod pauses;
mod place_notes;
mod places;
mod preflight;
mod regulator;
mod sampling;
mod schedule;
mod settings;
mod spending;
mod thread;
mod tracer;
mod unix;
mod waits;
mod windows;

pub use agent::{AgentSettings, run_agent};
pub use budget::Budget;
pub use commands::Commands;
pub use preflight::{preflight, preflight_of, ring_bytes};
pub use sampling::{Sampling, TracedTime};
pub use schedule::TracingPhase;
pub use settings::{AttachLater, KeepSettings, Muting, SessionSettings, SessionView};
pub use thread::Findings;
pub use tracer::Tracer;
