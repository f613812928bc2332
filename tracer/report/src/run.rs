//! The JSON of a run: schema `wirelap/run/1`.
//!
//! Scripts rely on these names. Fields may be added; none may be renamed or removed without a new
//! schema number. Units are in the names; the times inside a distribution are in the unit of the field that holds it.

pub use crate::overhead::{
    EthernetBytes, LegBytes, OperationBytes, Overhead, PartsBytes, PerMessageBytes,
};
pub use crate::process::{Process, Scheduling, UnixClients};
pub use crate::reliability::{Reliability, TrustReason, Unseen};
pub use crate::repetition::Repetition;
use crate::why::Why;
use crate::{
    ClockOffset, Connections, Distribution, Environment, HostClock, Scenario, Topology, Unknown,
};
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
    /// Whether the run ended before everything was measured, something in it failed, or a result is partial.
    pub partial: bool,
    /// The machine, the versions and the settings.
    pub environment: Environment,
    /// The settings that the run was started with.
    pub scenario: Scenario,
    /// One for each middleware, broker, variant, payload size and rate, over all repetitions.
    pub results: Vec<RunResult>,
    /// The hook that each observation was made with.
    pub hooks: Vec<Hook>,
    /// Middlewares and brokers that were requested and could not be run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Further facts that matter for the figures, one sentence each.
    pub notes: Vec<String>,
    /// The highest rates that were reached, if the run searched for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saturation_msg_per_s: Vec<Saturation>,
    /// Traffic that is not decoded: it is encrypted, or in a protocol that wirelap only names or does not know.
    #[serde(default)]
    pub unknown: Unknown,
}

/// A middleware, or one of its brokers, that was requested and could not be run.
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

/// The rates between which a middleware cannot keep up any more. A rate is reached if at least 95 % of its messages were sent in
/// time, and if the 99th percentile of their latency is at most ten times that of the lowest rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saturation {
    /// The middleware's name.
    pub middleware: String,
    /// The broker between publisher and subscriber; absent without one.
    pub broker: Option<String>,
    /// `A` or `B` of `--ab`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Bytes of a message's payload.
    pub payload_bytes: u64,
    /// The highest rate that was reached, below all rates that were missed; absent if none was.
    pub highest_reached: Option<f64>,
    /// The lowest rate that was missed; absent if all were reached.
    pub lowest_missed: Option<f64>,
}

/// The hook that an observation was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// What is observed.
    pub observation: String,
    /// The hook that observes it; absent if this kernel offers none.
    pub hook: Option<String>,
}

/// One middleware at one payload size and, if pacing is a rate, at one rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The middleware's name on the command line, or the protocol that was found.
    pub middleware: String,
    /// The broker between publisher and subscriber; absent without one.
    pub broker: Option<String>,
    /// `A` or `B` of `--ab`: the settings under comparison; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Bytes of a message's payload.
    pub payload_bytes: u64,
    /// The requested rate in messages per second; absent unless pacing is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_msg_per_s: Option<f64>,
    /// The clients; absent for one publisher and one subscriber on one topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Whether there are no messages that can be traced (ICMP echo, iperf3). Messages, throughput and round trips are then
    /// the program's own figures, and everything else is empty.
    #[serde(default)]
    pub untraced: bool,
    /// Whether the measurement ended early, something in it failed, or less than half of the sent messages were delivered.
    pub partial: bool,
    /// Why the measurement failed, in one sentence.
    pub error: Option<String>,
    /// Numbers of messages: sent, delivered, matched and so on.
    pub messages: Messages,
    /// Delivered messages per second.
    pub throughput: Throughput,
    /// The achieved share of the requested rate, 0..=1; below 1 if the machine or the middleware could not send faster.
    /// Absent unless pacing is a rate.
    #[serde(default)]
    pub rate_reached: Option<f64>,
    /// Connections that were opened; absent unless that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// How long a message took.
    pub latency: Latency,
    /// Where the time went, in the order in which a message passes the segments.
    pub segments: Vec<SegmentRow>,
    /// The time from data being ready until its reader runs, over all legs of a message. Only messages whose reader was
    /// asleep are counted.
    pub sched_gap_ns: Distribution,
    /// Where the bytes went.
    pub overhead: Overhead,
    /// Why the messages took so long; absent if none was examined.
    #[serde(default)]
    pub why: Option<Why>,
    /// The processes that took part.
    pub processes: Vec<Process>,
    /// How far the figures can be trusted.
    pub trust: Trust,
    /// The comparison of the trace with the workloads' own records; absent if they kept none.
    pub ground_truth: Option<GroundTruth>,
    /// The figures of each repetition, in the order in which they ran.
    pub repetitions: Vec<Repetition>,
    /// Further facts that matter for the figures, one sentence each.
    pub notes: Vec<String>,
}

impl RunReport {
    /// Whether the results are of several rates, so that their names need the rate.
    pub fn has_several_rates(&self) -> bool {
        let mut rates = self.results.iter().map(|result| result.rate_msg_per_s);
        let first = rates.next();
        rates.any(|rate| Some(rate) != first)
    }
}

impl RunResult {
    /// Middleware and broker: `tcp`, `mqtt/mosquitto`.
    pub fn name(&self) -> String {
        name(&self.middleware, self.broker.as_deref())
    }

    /// The result's name in tables: `tcp`, `mqtt/mosquitto`, `mqtt/mosquitto A`.
    pub fn label(&self) -> String {
        label(self.name(), self.variant.as_deref())
    }

    /// The achieved share of the requested rate; `None` if the rate was reached.
    pub fn missed_rate(&self) -> Option<f64> {
        self.rate_reached.filter(|&reached| reached < REACHED)
    }
}

/// Middleware and broker: `tcp`, `mqtt/mosquitto`.
pub fn name(middleware: &str, broker: Option<&str>) -> String {
    broker.map_or_else(|| middleware.to_owned(), |broker| format!("{middleware}/{broker}"))
}

/// A name with the variant of `--ab`, if there is one: `mqtt/mosquitto A`.
pub fn label(name: String, variant: Option<&str>) -> String {
    match variant {
        Some(variant) => format!("{name} {variant}"),
        None => name,
    }
}

/// From this share of the requested rate on, the rate counts as reached: a few messages may be missing at the end because
/// a thread woke late.
pub const REACHED: f64 = 0.95;

/// Numbers of messages, without the warm-up. A round trip is two messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Messages {
    /// Messages sent, as counted by the workloads, or by the trace if there are no workloads. A message to a hundred
    /// subscribers counts once.
    pub sent: u64,
    /// Messages that arrived, as counted by the workloads, or by the trace if there are no workloads. A message to a
    /// hundred subscribers counts a hundred times.
    pub delivered: u64,
    /// Deliveries that the trace followed from first send to last read.
    pub matched: u64,
    /// Deliveries that the trace did not follow from end to end.
    pub uncovered: u64,
    /// Messages that arrived more than once.
    pub duplicates: u64,
    /// Messages that a broker had stored and delivered to a later subscriber. They are not in the other figures.
    #[serde(default)]
    pub retained: u64,
    /// Messages of the warm-up in the trace. They are not in the other figures.
    pub warmup: u64,
}

/// Delivered messages per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Deliveries per second.
    pub msg_per_s: f64,
    /// Payload bits per second.
    pub payload_bit_per_s: f64,
}

/// How long a message took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// One-way latency on the wire: from the send of the first byte to the return of the receive call that took the last
    /// byte, over all legs. With ping-pong, pings and replies are in it.
    pub one_way_ns: Distribution,
    /// Half the round trip by the pinging application's clock; absent unless pacing is ping-pong.
    pub rtt_half_ns: Option<RttHalf>,
    /// One-way latency of the pings only; absent unless pacing is ping-pong.
    pub request_one_way_ns: Option<Distribution>,
    /// One-way latency of the replies only; absent unless pacing is ping-pong.
    pub reply_one_way_ns: Option<Distribution>,
    /// From the application's publish to the application's callback, as the workloads recorded it; absent without their
    /// records.
    pub publish_to_deliver_ns: Option<Distribution>,
    /// From a message's *intended* send time to the callback, so that the delay of a publisher that falls behind is
    /// included; absent unless pacing is a rate.
    pub intended_to_deliver_ns: Option<Distribution>,
}

/// Half a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RttHalf {
    /// Number of round trips.
    pub count: u64,
    /// Minimum; 0 if it is not known.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Maximum.
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
}

/// How far the figures can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Whether the figures can be used: `good`, `reduced` or `unusable`.
    #[serde(default)]
    pub verdict: Reliability,
    /// Why the verdict is not `good`, the most serious reason first; empty if it is.
    #[serde(default)]
    pub reasons: Vec<TrustReason>,
    /// Matched over delivered, 0..=1; 1 if nothing was delivered. When sampling, only deliveries in traced windows count.
    pub coverage: f64,
    /// Lost events by probe; probes that lost none are listed with 0.
    pub events_lost: BTreeMap<String, u64>,
    /// Events received from the probes.
    pub events: u64,
    /// Payload bytes on the wire that were not captured.
    pub uncaptured_bytes: u64,
    /// Bytes in which no frame was found.
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be decoded (their headers say how many). They are not in any other count.
    #[serde(default)]
    pub unread_messages: u64,
    /// Packets that were not captured when sent, by the sockets' sequence numbers. Messages in them are not counted.
    #[serde(default)]
    pub unseen_sent: Unseen,
    /// Packets that were not captured when received, by the sockets' sequence numbers.
    #[serde(default)]
    pub unseen_received: Unseen,
    /// Legs whose reader is on another host or excluded by a filter: whether it has read them is not known.
    #[serde(default)]
    pub to_unseen_readers: u64,
    /// Messages that were sent to two consumers of a group because a partition moved from one to the other. Which of them
    /// handled a message is not known, and both deliveries are counted.
    #[serde(default)]
    pub read_twice: u64,
    /// Matched deliveries whose send call was not traced: their latency begins at a later stage.
    #[serde(default)]
    pub without_send: u64,
    /// Flows and messages that were evicted to limit the memory used.
    pub evicted: u64,
    /// Share of the time during which events were reported; below 1 when sampling.
    pub window_share: f64,
    /// Messages whose segments do not add up exactly to their one-way latency: always 0.
    pub telescoping_violations: u64,
    /// What the tracer itself used.
    pub tracer: TracerCost,
    /// The clock offset between two hosts; absent for captures of one host, or of more than two (see `hosts`).
    #[serde(default)]
    pub clocks: Option<ClockOffset>,
    /// The clock offsets of all hosts but the first; empty for captures of one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostClock>,
    /// Whether the input had only packets that other programs captured: no system calls, no threads, and timestamps by the
    /// capturing program.
    #[serde(default)]
    pub packets_only: bool,
}

impl Trust {
    /// The largest possible error of times between hosts, in nanoseconds: first if the minimum delay is the same in both
    /// directions, second in any case. `None` for one host.
    pub fn between_hosts(&self) -> Option<(u64, u64)> {
        let clocks = self.hosts.iter().map(|host| &host.clock).chain(&self.clocks);
        clocks
            .map(|clock| (clock.within_ns, clock.at_most_ns))
            .reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Lost events of all probes.
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
    /// How much tracing slowed down the traced processes; absent if that was not measured (`--measure-cost false`,
    /// back-to-back runs, programs that `run` did not start, messages that take milliseconds).
    #[serde(default)]
    pub slowdown: Option<Slowdown>,
}

/// How much tracing slowed down the traced processes: they ran in turns, alternately with and without probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowdown {
    /// Publish to deliver with the probes attached, as the workloads recorded it: median of the turns' medians.
    pub traced_p50_ns: u64,
    /// Publish to deliver with the probes detached: median of the turns' medians.
    pub untraced_p50_ns: u64,
    /// Traced over untraced for each pair of neighbouring turns: median of the pairs.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % confidence interval, bootstrapped from the pairs.
    pub ratio_low: f64,
    /// Upper end of the ratio's 95 % confidence interval.
    pub ratio_high: f64,
    /// Turns with enough messages, with and without probes.
    pub turns: u32,
    /// Messages in these turns.
    pub messages: u64,
}

/// The comparison of the trace with the workloads' own records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroundTruth {
    /// Messages that publishers recorded as published.
    pub published: u64,
    /// Messages that subscribers recorded as received.
    pub delivered: u64,
    /// Matched messages of which both ends have a record.
    pub compared: u64,
    /// Compared messages whose one-way latency on the wire is longer than publish to deliver.
    pub violations: u64,
    /// Compared messages that were sent before they were published, or delivered before they were read.
    pub order_violations: u64,
    /// Messages that the trace shows as delivered and the subscriber did not receive: always 0.
    pub unknown: u64,
    /// By how much the worst violation is longer, in nanoseconds.
    pub worst_violation_ns: u64,
}
