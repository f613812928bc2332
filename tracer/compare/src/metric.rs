//! The metrics of a result that are compared, and the answers that there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::Nanos;
use wirelap_events::all_variants;
use wirelap_report::human;

/// A figure that is compared. The unit is in the name.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Metric {
    /// Median of the one-way latency on the wire.
    OneWayP50Ns,
    /// 99th percentile of the one-way latency on the wire.
    OneWayP99Ns,
    /// 99.9th percentile of the one-way latency on the wire.
    OneWayP999Ns,
    /// Median of half the round trip.
    RttHalfP50Ns,
    /// Median of the time until a connection was opened.
    ConnectP50Ns,
    /// 99th percentile of the time until a connection was opened.
    ConnectP99Ns,
    /// Delivered messages per second.
    ThroughputMsgPerS,
    /// Bytes on the device for each delivery, with all headers, acknowledgements and retransmissions.
    WireBytesPerDelivery,
    /// CPU time of all processes for each delivered message.
    CpuNsPerMessage,
}

/// What is said of a metric. For bytes and CPU time, `slower` means more and `faster` means less ([`Metric::word`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// B is worse: longer times, fewer messages per second, more bytes, more CPU time.
    Slower,
    /// B is better.
    Faster,
    /// The difference, with its uncertainty, is inside the margin.
    Same,
    /// The repetitions do not decide it, or the results are not comparable.
    CannotTell,
}

impl Answer {
    /// The answer if A and B are exchanged.
    #[must_use]
    pub fn opposite(self) -> Answer {
        match self {
            Answer::Slower => Answer::Faster,
            Answer::Faster => Answer::Slower,
            same => same,
        }
    }
}

impl Metric {
    /// All metrics, in the order of the tables.
    pub const ALL: [Metric; Metric::VARIANTS.len()] = all_variants();

    /// The name in `--fail-if`.
    pub const fn short(self) -> &'static str {
        match self {
            Metric::OneWayP50Ns => "p50",
            Metric::OneWayP99Ns => "p99",
            Metric::OneWayP999Ns => "p99.9",
            Metric::RttHalfP50Ns => "rtt",
            Metric::ConnectP50Ns => "connect-p50",
            Metric::ConnectP99Ns => "connect-p99",
            Metric::ThroughputMsgPerS => "throughput",
            Metric::WireBytesPerDelivery => "bytes",
            Metric::CpuNsPerMessage => "cpu",
        }
    }

    /// The name in tables.
    pub const fn heading(self) -> &'static str {
        match self {
            Metric::RttHalfP50Ns => "RTT/2 p50",
            Metric::ConnectP50Ns => "connect p50",
            Metric::ConnectP99Ns => "connect p99",
            Metric::ThroughputMsgPerS => "msg/s",
            Metric::WireBytesPerDelivery => "wire/msg",
            Metric::CpuNsPerMessage => "CPU/msg",
            latency => latency.short(),
        }
    }

    /// The name in JSON, with its unit.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Number of messages, or connections, that a repetition needs for this metric. A percentile of few messages is one of the slowest
    /// few, or the slowest itself, and says nothing of the others: at least ten messages must be slower than it, which are 1 in 100
    /// of 1,000 and 1 in 1,000 of 10,000. 0 for metrics that are no percentiles.
    pub const fn least_messages(self) -> u64 {
        match self {
            Metric::OneWayP50Ns | Metric::RttHalfP50Ns | Metric::ConnectP50Ns => 20,
            Metric::OneWayP99Ns | Metric::ConnectP99Ns => 1_000,
            Metric::OneWayP999Ns => 10_000,
            _ => 0,
        }
    }

    /// The word for the things that a percentile is of.
    pub const fn counted(self) -> &'static str {
        match self {
            Metric::ConnectP50Ns | Metric::ConnectP99Ns => "connections",
            _ => "messages",
        }
    }

    /// True for a time of messages, which the stages of messages can explain.
    pub const fn is_latency(self) -> bool {
        matches!(
            self,
            Metric::OneWayP50Ns | Metric::OneWayP99Ns | Metric::OneWayP999Ns | Metric::RttHalfP50Ns
        )
    }

    /// The share of the messages, or connections, that are slower, if that is a small one.
    pub const fn tail(self) -> Option<f64> {
        match self {
            Metric::OneWayP99Ns | Metric::ConnectP99Ns => Some(0.01),
            Metric::OneWayP999Ns => Some(0.001),
            _ => None,
        }
    }

    /// The answer if B has more of it.
    pub const fn if_more(self) -> Answer {
        match self {
            Metric::ThroughputMsgPerS => Answer::Faster,
            _ => Answer::Slower,
        }
    }

    /// An answer in this metric's words.
    pub const fn word(self, answer: Answer) -> &'static str {
        match (self, answer) {
            (_, Answer::Same) => "same",
            (_, Answer::CannotTell) => "cannot tell",
            (Metric::WireBytesPerDelivery | Metric::CpuNsPerMessage, Answer::Slower) => "more",
            (Metric::WireBytesPerDelivery, Answer::Faster) => "fewer",
            (Metric::CpuNsPerMessage, Answer::Faster) => "less",
            (_, Answer::Slower) => "slower",
            (_, Answer::Faster) => "faster",
        }
    }

    /// A value as people read it.
    pub fn show(self, value: f64) -> String {
        match self {
            Metric::ThroughputMsgPerS => human::count(value),
            Metric::WireBytesPerDelivery => human::bytes(value),
            _ => Nanos::from_f64(value).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_json() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(json, format!("\"{}\"", metric.name()));
        }
    }

    #[test]
    fn more_is_worse_except_for_throughput() {
        let words = Metric::ALL.map(|metric| metric.word(metric.if_more()));
        assert_eq!(words[..6], ["slower"; 6]);
        assert_eq!(words[6..], ["faster", "more", "more"]);
        assert_eq!(Answer::Slower.opposite(), Answer::Faster);
        assert_eq!(Answer::Same.opposite(), Answer::Same);
    }
}
