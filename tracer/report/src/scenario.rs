//! The settings that a run was started with.

use crate::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use strum::IntoStaticStr;
use wirelap_events::human::column::bit_rate;
use wirelap_events::human::{bytes, time_ns};

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
#[strum(serialize_all = "snake_case")]
pub enum RunKind {
    /// How long a message takes.
    Latency,
    /// How many messages per second are delivered.
    Throughput,
    /// How long it takes to open connections.
    Connections,
    /// The messages of programs that were already running.
    Live,
}

impl RunKind {
    /// The name in command lines, tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// When the next message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// When the reply to the previous message has arrived.
    PingPong,
    /// At its intended time, whether or not the previous message has arrived.
    Rate,
    /// As soon as the library accepts it.
    BackToBack,
    /// When a program sends it that wirelap did not start.
    Foreign,
}

/// The links between the hosts of a run whose processes had hosts of their own: network namespaces of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostLinks {
    /// How fast each host can send, in bits per second; absent without a limit.
    pub rate_bit_per_s: Option<u64>,
    /// The bytes that wait at most before a link; absent without a limit of the rate.
    pub queue_bytes: Option<u64>,
    /// How much later frames arrive at each host, in nanoseconds; absent without a delay.
    pub delay_ns: Option<u64>,
}

impl fmt::Display for HostLinks {
    /// `a host each, links of 1.00 Gbit/s with a queue of 256 KiB and a delay of 1 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a host each")?;
        let rate = self.rate_bit_per_s.map(|rate| bit_rate(rate as f64));
        f.write_str(", links ")?;
        f.write_str(&rate.map_or_else(|| "without a limit".into(), |rate| format!("of {rate}")))?;
        let queue = self.queue_bytes.map(|queue| format!("a queue of {}", bytes(queue as f64)));
        let delay = self.delay_ns.map(|delay| format!("a delay of {}", time_ns(Some(delay))));
        let more: Vec<String> = queue.into_iter().chain(delay).collect();
        if more.is_empty() { Ok(()) } else { write!(f, " with {}", more.join(" and ")) }
    }
}

/// The settings that a run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Its name; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The settings that were chosen, by their names in scenario files and on the command line; without those of the variants of
    /// `--ab`, and without the seed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Latency, throughput or live.
    pub kind: RunKind,
    /// When the next message is sent.
    pub pacing: Pacing,
    /// The requested middlewares.
    pub middlewares: Vec<String>,
    /// Payload sizes, each measured separately.
    pub payload_bytes: Vec<u64>,
    /// Messages per second, if pacing is a rate and there is only one.
    pub rate_msg_per_s: Option<f64>,
    /// The rates, each measured separately, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates_msg_per_s: Vec<f64>,
    /// Messages (round trips when pacing is ping-pong) after which a repetition ends; absent if it ends after a time.
    pub messages: Option<u64>,
    /// Seconds after which a repetition ends; absent if it ends after a number of messages.
    pub duration_s: Option<f64>,
    /// Messages sent before those that are counted.
    pub warmup: u64,
    /// Repetitions of each middleware, payload size and rate.
    pub repeat: u32,
    /// The settings that `--ab` compares, those of variant A first; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ab: Option<[String; 2]>,
    /// The clients; absent for one publisher and one subscriber on one topic, and where A and B differ in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// CPUs that the processes were pinned to, by role; empty if they were not pinned.
    pub pin: Vec<(String, usize)>,
    /// The links between the hosts of sender, receiver and broker; absent if all processes ran on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<HostLinks>,
    /// All repetitions in the order in which they ran: `mqtt 64 B #1`.
    pub order: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_described_in_words() {
        let links = |rate_bit_per_s, queue_bytes, delay_ns| {
            HostLinks { rate_bit_per_s, queue_bytes, delay_ns }.to_string()
        };
        assert_eq!(links(None, None, None), "a host each, links without a limit");
        assert_eq!(
            links(Some(1_000_000_000), Some(262_144), Some(1_500_000)),
            "a host each, links of 1.00 Gbit/s with a queue of 256 KiB and a delay of 1.5 ms"
        );
    }
}
