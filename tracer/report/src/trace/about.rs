//! What a trace is of.

use serde::Serialize;

/// Where a trace comes from: in the file, beside the events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// The program that wrote it.
    pub wirelap_version: String,
    /// The recordings or captures.
    pub source: Vec<String>,
    /// The time of the trace's zero, in nanoseconds since 1970.
    pub zero_unix_ns: u64,
    /// The same on the host's `CLOCK_MONOTONIC`, which recordings have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_monotonic_ns: Option<u64>,
}
