//! The settings that a run was started with.

use crate::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
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
    pub const fn name(self) -> &'static str {
        match self {
            RunKind::Latency => "latency",
            RunKind::Throughput => "throughput",
            RunKind::Connections => "connections",
            RunKind::Live => "live",
        }
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
    /// All repetitions in the order in which they ran: `mqtt 64 B #1`.
    pub order: Vec<String>,
}
