//! The metadata of a trace.

use serde::Serialize;

/// The origin of a trace. The trace file has it beside the events, as `otherData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceMetadata {
    /// The version of wirelap that wrote the trace.
    pub wirelap_version: String,
    /// The recordings or captures that were read.
    pub source: Vec<String>,
    /// The trace's time zero, in nanoseconds since 1970. It is above 2^53: readers whose numbers are doubles (JavaScript, jq) round it
    /// to some 256 ns.
    pub zero_unix_ns: u64,
    /// The same in seconds with nine decimals, as a string, which every reader keeps whole.
    pub zero_unix_seconds: String,
    /// The trace's time zero on the host's `CLOCK_MONOTONIC`; absent for captures of other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_monotonic_ns: Option<u64>,
}
