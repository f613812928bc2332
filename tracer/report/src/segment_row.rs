//! One segment of one leg.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One segment of one leg over all matched messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// Median over the messages that have this segment.
    pub p50_ns: u64,
    /// 99th percentile over the messages that have this segment.
    pub p99_ns: u64,
    /// The segment's share of the time from each message's first known stage to its last, 0..=1. The shares of a result
    /// add up to 1.
    pub share: f64,
    /// The exact sum of all messages' time in this segment; absent if only the share is known.
    pub total_ns: Option<u64>,
    /// Messages that have this segment.
    pub count: u64,
    /// The largest error of `p50_ns` and `p99_ns` if messages go from one host to another in this segment; absent if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
}
