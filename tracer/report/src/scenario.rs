//! What a run was asked to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// How long a message takes.
    Latency,
    /// How many messages a second get through.
    Throughput,
    /// What was already running was watched.
    Live,
}

impl Kind {
    /// The name on command lines, in tables and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Latency => "latency",
            Kind::Throughput => "throughput",
            Kind::Live => "live",
        }
    }
}

/// When the next message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// When the reply to the one before has come.
    PingPong,
    /// At its intended time, whether or not the one before has arrived.
    Rate,
    /// As soon as the library takes it.
    BackToBack,
    /// Not ours to say.
    Foreign,
}

/// What a run was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Latency, throughput or live.
    pub kind: Kind,
    /// When the next message is sent.
    pub pacing: Pacing,
    /// The middlewares, as asked for.
    pub middlewares: Vec<String>,
    /// Payload sizes, each measured for itself.
    pub payload_bytes: Vec<u64>,
    /// Messages a second, with [`Pacing::Rate`].
    pub rate_msg_per_s: Option<f64>,
    /// Messages (round trips when pacing is ping-pong) of each repetition, if that ends it.
    pub messages: Option<u64>,
    /// Seconds of each repetition, if that ends it.
    pub duration_s: Option<f64>,
    /// Messages before those that count.
    pub warmup: u64,
    /// Repetitions of each middleware and payload size.
    pub repeat: u32,
    /// CPUs that the processes were pinned to, by role; empty if they were not.
    pub pin: Vec<(String, usize)>,
    /// Each repetition in the order in which it was run: `mqtt 64 B #1`.
    pub order: Vec<String>,
}
