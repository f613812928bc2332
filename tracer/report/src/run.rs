//! The JSON of a run: schema `wirelap/run/1`.
//!
//! Scripts rely on these names. Fields may be added; none may be renamed or removed without a new
//! schema number. Units are in the names; the times inside a distribution are in the unit of the field that holds it.

pub use crate::overhead::{
    EthernetBytes, LegBytes, OperationBytes, Overhead, PartsBytes, PerMessageBytes,
};
pub use crate::process::{Process, Scheduling, UnixClients};
pub use crate::reliability::{Reliability, TrustReason, Unseen};
use crate::why::Why;
use crate::{ClockOffset, Distribution, Environment, HostClock, Scenario, Unknown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirelap_events::Total;

/// The value of [`RunReport::schema`].
pub const RUN_SCHEMA: &str = "wirelap/run/1";

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Always `wirelap/run/1`.
    pub schema: String,
    /// The run was ended before all of it was measured, something in it failed, or a result is partial.
    pub partial: bool,
    /// The machine, the versions and the settings.
    pub environment: Environment,
    /// What the run was asked to do.
    pub scenario: Scenario,
    /// One for each middleware, broker and payload size; all repetitions taken together.
    pub results: Vec<RunResult>,
    /// The hook that each observation was made with.
    pub hooks: Vec<Hook>,
    /// What was asked for and could not be run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// What a reader should know beside the figures, one sentence each.
    pub notes: Vec<String>,
    /// Traffic that is not decoded: encrypted, in a protocol that is only named, or in none that is known.
    #[serde(default)]
    pub unknown: Unknown,
}

/// A middleware, or a broker of it, that was asked for and could not be run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The middleware's name.
    pub middleware: String,
    /// The broker that is missing; absent if the middleware itself is.
    pub broker: Option<String>,
    /// Why it could not be run.
    pub why: String,
    /// What to do about it; absent if nothing can be done.
    pub remedy: Option<String>,
}

/// The hook that an observation was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// What is observed.
    pub observation: String,
    /// The hook that observes it; absent if nothing on this kernel does.
    pub hook: Option<String>,
}

/// One middleware at one payload size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The middleware's name on the command line, or the protocol that was found.
    pub middleware: String,
    /// The broker between publisher and subscriber; absent without one.
    pub broker: Option<String>,
    /// Bytes of a message's payload.
    pub payload_bytes: u64,
    /// There is nothing that a trace could follow (ICMP echo, iperf3): messages, throughput and round trips are the
    /// program's own figures, and everything else is empty.
    #[serde(default)]
    pub untraced: bool,
    /// The measurement was ended early, something in it failed, or less than half of what was sent was delivered.
    pub partial: bool,
    /// Why it failed, in one sentence.
    pub error: Option<String>,
    /// Messages by what became of them.
    pub messages: Messages,
    /// Messages that got through, by time.
    pub throughput: Throughput,
    /// The share of the asked rate at which messages were sent, 0..=1; below 1 the machine, or the middleware, could not
    /// do more. Absent unless pacing is a rate.
    #[serde(default)]
    pub rate_reached: Option<f64>,
    /// How long a message took.
    pub latency: Latency,
    /// Where the time went, in the order of a message's life.
    pub segments: Vec<SegmentRow>,
    /// Time between data being ready and its reader running, all legs of a message together. Only
    /// messages with a reader that was asleep have one.
    pub sched_gap_ns: Distribution,
    /// Where the bytes went.
    pub overhead: Overhead,
    /// Why it took so long; absent where nothing was examined.
    #[serde(default)]
    pub why: Option<Why>,
    /// The processes that took part.
    pub processes: Vec<Process>,
    /// How far the figures can be trusted.
    pub trust: Trust,
    /// The trace against the workloads' own records; absent when they kept none.
    pub ground_truth: Option<GroundTruth>,
    /// Each repetition for itself, in the order in which they were run.
    pub repetitions: Vec<Repetition>,
    /// What a reader should know beside the figures, one sentence each.
    pub notes: Vec<String>,
}

impl RunResult {
    /// The name of its row: `tcp`, `mqtt/mosquitto`.
    pub fn label(&self) -> String {
        match &self.broker {
            Some(broker) => format!("{}/{broker}", self.middleware),
            None => self.middleware.clone(),
        }
    }

    /// The share of the asked rate, where it was not reached.
    pub fn missed_rate(&self) -> Option<f64> {
        self.rate_reached.filter(|&reached| reached < REACHED)
    }
}

/// A rate of which so much was sent was reached: a message more or less, a thread that woke late.
const REACHED: f64 = 0.95;

/// Messages by what became of them; warm-up left out. A round trip is two messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Messages {
    /// Messages that were sent: the workloads' own count where there is one, otherwise the trace's. One
    /// that goes to a hundred subscribers is one.
    pub sent: u64,
    /// Messages that arrived: the workloads' own count where there is one, otherwise the trace's. One
    /// that goes to a hundred subscribers is a hundred.
    pub delivered: u64,
    /// Deliveries that the trace followed from first send to last read.
    pub matched: u64,
    /// Deliveries that the trace did not follow from end to end.
    pub uncovered: u64,
    /// Messages that arrived more than once.
    pub duplicates: u64,
    /// Messages that a broker had stored and handed to a subscriber that came later, in no other
    /// figure.
    #[serde(default)]
    pub retained: u64,
    /// Messages of the warm-up that the trace saw, in no other figure.
    pub warmup: u64,
}

/// Messages that got through, by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Deliveries a second.
    pub msg_per_s: f64,
    /// Payload bits a second.
    pub payload_bit_per_s: f64,
}

/// How long a message took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// On the wire: from the first byte's send to the exit of the receive call that took the last
    /// byte, over all legs. Of a ping-pong: pings and replies together.
    pub one_way_ns: Distribution,
    /// Half the round trip by the pinging application's clock; absent unless pacing is ping-pong.
    pub rtt_half_ns: Option<RttHalf>,
    /// The pings alone; absent unless pacing is ping-pong.
    pub request_one_way_ns: Option<Distribution>,
    /// The replies alone; absent unless pacing is ping-pong.
    pub reply_one_way_ns: Option<Distribution>,
    /// From the application's publish to the application's callback, by the workloads' own clock;
    /// absent without their records.
    pub publish_to_deliver_ns: Option<Distribution>,
    /// From a message's *intended* send time to the callback, so that a publisher that falls behind does not
    /// hide the wait; absent unless pacing is a rate.
    pub intended_to_deliver_ns: Option<Distribution>,
}

/// Half a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RttHalf {
    /// Round trips.
    pub count: u64,
    /// Smallest; 0 if it is not known.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
    /// Median after dropping the samples outside the 1st..99th percentile, as published comparisons do.
    pub trimmed_p50: u64,
}

/// One segment of one leg over all matched messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// Median of the messages that had it.
    pub p50_ns: u64,
    /// 99th percentile of the messages that had it.
    pub p99_ns: u64,
    /// Its part of the time from each message's first known stage to its last, 0..=1. The rows of a
    /// result add up to 1.
    pub share: f64,
    /// All messages' time in it, exact; absent where only the share is known.
    pub total_ns: Option<u64>,
    /// Messages that had it.
    pub count: u64,
}

/// How far the figures can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Whether the figures can be used: `good`, `reduced` or `unusable`.
    #[serde(default)]
    pub verdict: Reliability,
    /// Why they are not simply good, the gravest reason first; none where they are.
    #[serde(default)]
    pub reasons: Vec<TrustReason>,
    /// Matched over delivered, 0..=1; 1 where nothing was to be followed. When sampling: over the deliveries that the
    /// trace saw.
    pub coverage: f64,
    /// Events that had to be thrown away, by probe; probes that lost none are listed with 0.
    pub events_lost: BTreeMap<String, u64>,
    /// Events taken in.
    pub events: u64,
    /// Payload bytes on the wire that were not captured.
    pub uncaptured_bytes: u64,
    /// Bytes whose frames could not be found.
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be opened, by the batches' own account: they are in no other count.
    #[serde(default)]
    pub unread_messages: u64,
    /// Packets that were not seen where they are sent, by the sockets' own numbers: messages in them are in no count.
    #[serde(default)]
    pub unseen_sent: Unseen,
    /// Packets that were not seen where they are received, by the sockets' own numbers.
    #[serde(default)]
    pub unseen_received: Unseen,
    /// Legs whose reader is on another host or left out by a filter: whether it read is not known.
    #[serde(default)]
    pub to_unseen_readers: u64,
    /// Messages that two consumers of a group were sent, as a partition was given from one to the other: which of them
    /// handled them is not known, and both deliveries are counted.
    #[serde(default)]
    pub read_twice: u64,
    /// Matched deliveries whose send call was not seen: their latency begins at a later stage.
    #[serde(default)]
    pub without_send: u64,
    /// Flows and messages that were given up to keep memory bounded.
    pub evicted: u64,
    /// Share of the time during which events were reported; below 1 when sampling.
    pub window_share: f64,
    /// Messages whose segments do not sum to their one-way latency to the nanosecond: always 0.
    pub telescoping_violations: u64,
    /// What the tracer itself used.
    pub tracer: TracerCost,
    /// How the clocks of two hosts differ; absent where the captures are of one, or of more than two: see `hosts`.
    #[serde(default)]
    pub clocks: Option<ClockOffset>,
    /// How the clocks of all hosts but the first differ from that one's; empty where the captures are of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostClock>,
    /// Only packets were there, captured by other programs: no calls and no threads, and times are of their clocks.
    #[serde(default)]
    pub packets_only: bool,
}

impl Trust {
    /// How far times between hosts can be wrong, in nanoseconds: if the shortest way takes as long in both directions, and
    /// however long each takes. `None` where there is one host.
    pub fn between_hosts(&self) -> Option<(u64, u64)> {
        let clocks = self.hosts.iter().map(|host| &host.clock).chain(&self.clocks);
        clocks
            .map(|clock| (clock.within_ns, clock.at_most_ns))
            .reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.events_lost.values().total()
    }
}

/// What the tracer itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerCost {
    /// CPU time over wall time of wirelap's own process, 1.0 = one core.
    pub cpu_share: f64,
    /// Resident memory of wirelap's own process.
    pub rss_bytes: u64,
    /// What tracing cost the traced; absent where that was not measured (`--measure-cost false`, back-to-back
    /// runs, programs of another's, messages that take milliseconds).
    #[serde(default)]
    pub slowdown: Option<Slowdown>,
}

/// What tracing cost the traced: the same processes with the probes attached and detached by turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowdown {
    /// Publish → deliver with the probes attached, by the workloads' clock: median of the turns' medians.
    pub traced_p50_ns: u64,
    /// The same with the probes detached.
    pub untraced_p50_ns: u64,
    /// The first over the second, of turns that are neighbours: median of the pairs.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % confidence interval, bootstrapped from the pairs.
    pub ratio_low: f64,
    /// Its upper end.
    pub ratio_high: f64,
    /// Turns that had enough messages, of both kinds.
    pub turns: u32,
    /// Messages within turns.
    pub messages: u64,
}

/// The trace against what the workloads wrote down themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroundTruth {
    /// Messages that a publisher says it published.
    pub published: u64,
    /// Messages that a subscriber says it got.
    pub delivered: u64,
    /// Matched messages that both ends have a record of.
    pub compared: u64,
    /// Of those, the ones whose one-way latency on the wire is longer than publish → deliver.
    pub violations: u64,
    /// Of those, the ones that were sent before they were published or delivered before they were read.
    pub order_violations: u64,
    /// Messages that the trace delivered and the subscriber did not get: always 0.
    pub unknown: u64,
    /// The worst violation, by how much, in nanoseconds.
    pub worst_violation_ns: u64,
}

/// One repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// 1 for the first.
    pub number: u32,
    /// Its place in the whole run, from 1.
    pub position: u32,
    /// It was ended early, something in it failed, or less than half of what was sent was delivered.
    pub partial: bool,
    /// Messages by what became of them.
    pub messages: Messages,
    /// Messages that got through, by time.
    pub throughput: Throughput,
    /// One-way latency on the wire.
    pub one_way_ns: Distribution,
    /// Half the round trip; absent unless pacing is ping-pong.
    pub rtt_half_ns: Option<RttHalf>,
}
