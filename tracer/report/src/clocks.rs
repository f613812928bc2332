//! The offsets between the clocks of several hosts whose captures are analyzed together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The offset of the second host's clock from the first one's, estimated from packets that are in both captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The capture whose clock is the reference for all times.
    pub first: String,
    /// The capture whose clock is compared with the first.
    pub second: String,
    /// How far the second clock was ahead of the first at the first packet that is in both captures.
    pub offset_ns: i64,
    /// How fast the second clock gains on the first; 0 if the drift is not distinguishable from zero.
    pub drift_ppm: f64,
    /// The largest possible error of the drift.
    pub drift_within_ppm: f64,
    /// The largest possible error of the offset if the minimum delay is the same in both directions.
    pub within_ns: u64,
    /// The largest possible error of the offset whatever the delay of each direction: half the shortest round trip.
    pub at_most_ns: u64,
    /// Packets from which offset and drift were estimated.
    pub packets: u64,
}

/// The offset of a host's clock from the first host's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostClock {
    /// The host's number: 2 for the second. Parts of one capture are of one host.
    pub host: u8,
    /// The captures by way of which the clock was compared, from this one to the first, if it has no packets in common with
    /// the first. The errors of all comparisons on the way are added up in the figures.
    pub through: Vec<String>,
    /// Offset and drift.
    #[serde(flatten)]
    pub clock: ClockOffset,
}
