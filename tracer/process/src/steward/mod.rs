//! The steward: a small process that keeps the rights which wirelap itself gives up.
//!
//! wirelap parses data that anybody on the network can send, so it holds no rights while it does. Some things need rights
//! later: starting workloads and the command of `--on-event` as another user, stopping them, starting the commands that reach other hosts, and
//! naming results in users' folders. A second process of the
//! same program does them. It is started first and reads nothing but the requests that wirelap sends over a socket. It ends
//! after wirelap, even if wirelap is killed, and then stops the workloads and removes their folder.

mod client;
mod handler;
mod installation;
mod role;
mod serve;
mod wire;

/// The variable with headers of requests to a Collector, which the SDKs of OpenTelemetry have too. Keys to services are no words for a command
/// line, and nothing that the steward starts needs them.
pub const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

pub use client::{StartedProcess, Steward};
pub use handler::HandlerRun;
pub use installation::is_installed;
pub use role::StewardRole;
pub use serve::serve_if_asked;
pub use wire::{DeclaredCommand, FurtherArguments, quoted};
