//! Figures as they are shown: of distributions, rates and the last seconds.

use wirelap_events::{Nanos, Segment};

/// Length of [`Group::history`].
pub const HISTORY_SECONDS: usize = 120;

/// Deliveries a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Deliveries a second.
    pub msg_per_s: f64,
    /// Payload bits a second.
    pub payload_bit_per_s: f64,
    /// Half of the 95 % interval of both, as a share of them, because only a part of the time was observed. 0 if all was observed,
    /// infinite if they are not known at all.
    pub error: f64,
}

impl Rate {
    /// Nothing is known of it.
    pub const UNKNOWN: Rate = Rate { msg_per_s: 0.0, payload_bit_per_s: 0.0, error: f64::INFINITY };

    /// A rate that is further off than this is not known.
    pub const MOST_ERROR: f64 = 0.5;

    /// A rate that is off by more than this is only rough.
    pub const ROUGH_ERROR: f64 = 0.1;

    /// True if the rate is known, at least roughly.
    pub fn is_known(&self) -> bool {
        self.error <= Rate::MOST_ERROR
    }

    /// True if the rate is known only roughly.
    pub fn is_rough(&self) -> bool {
        self.is_known() && self.error > Rate::ROUGH_ERROR
    }
}

/// A distribution of times, untrimmed. All zero when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// Largest.
    pub max: Nanos,
}

/// One segment of one leg over all matched messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentStat {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// Median of the messages that had it.
    pub p50: Nanos,
    /// 99th percentile of the messages that had it.
    pub p99: Nanos,
    /// The segment's part of the summed one-way latency, 0..=1. All rows of a group add up to 1.
    pub share: f64,
    /// Messages that had it.
    pub count: u64,
    /// The largest error of its times: above 0 where it lies between two hosts.
    pub error: Nanos,
}

/// One second of a group's history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistoryPoint {
    /// Deliveries in that second.
    pub delivered: u64,
    /// Median one-way latency in that second; zero if nothing was delivered.
    pub one_way_p50: Nanos,
    /// 99th percentile in that second.
    pub one_way_p99: Nanos,
}
