//! Times in which a row was muted by the user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times in which a row was muted by the user: nothing of them is in its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Muted")]
pub struct ReportedMuted {
    /// Whether it was muted at the end: its figures are those of the moment at which it was.
    pub now: bool,
    /// For how long it was muted, in nanoseconds.
    pub time_ns: u64,
}

impl From<wirelap_correlate::Muted> for ReportedMuted {
    fn from(muted: wirelap_correlate::Muted) -> ReportedMuted {
        ReportedMuted { now: muted.now, time_ns: muted.time.0 }
    }
}
