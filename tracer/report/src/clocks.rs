//! How the clocks of hosts differ whose captures were put together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The second clock against the first, as the packets tell that both captures have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The capture by whose clock all times are told.
    pub first: String,
    /// The other one.
    pub second: String,
    /// By how much the second clock was ahead when the first packet was in both.
    pub offset_ns: i64,
    /// By how much it gains; 0 where that cannot be told from nothing.
    pub drift_ppm: f64,
    /// How far the drift can be wrong.
    pub drift_within_ppm: f64,
    /// How far the offset can be wrong if the shortest way takes as long in both directions.
    pub within_ns: u64,
    /// How far it can be wrong however long each direction takes: half the shortest round trip.
    pub at_most_ns: u64,
    /// From so many packets.
    pub packets: u64,
}

/// The clock of a host against that of the first one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostClock {
    /// Which one: 2 for the second. Parts of one capture are of one host.
    pub host: u8,
    /// The captures over which it was compared, from this one to the first, where both have no packets in common. What can be
    /// wrong on the way is added up in the figures.
    pub through: Vec<String>,
    /// How it differs.
    #[serde(flatten)]
    pub clock: ClockOffset,
}
