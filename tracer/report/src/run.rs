//! The JSON of a run: schema `wirelap/run/1`.
//!
//! Scripts rely on these names. Fields may be added; none may be renamed or removed without a new
//! schema number. Units are in the names; the times inside a distribution are in the unit of the field that holds it.

pub use crate::overhead::{
    EthernetBytes, LegBytes, OperationBytes, PartsBytes, PerMessageBytes, ReportedOverhead,
};
pub use crate::process::{ClientSize, ReportedProcess, ReportedScheduling, ReportedUnixClients};
pub use crate::reliability::{ReportedReliability, ReportedUnseen, TrustReason};
pub use crate::repetition::Repetition;
pub use crate::segment_row::SegmentRow;
pub use crate::trust::{
    AddedTime, CostUnknown, GroundTruth, ObservedDetail, ReportedTracerCost, ReportedTracingBudget,
    ReportedTrust, Slowdown,
};
use crate::why::ReportedWhy;
use crate::{
    Connections, DistributionSummary, Environment, MachineKey, ObservedHost, ReportedBreakdown,
    ReportedLocalRequests, ReportedMuted, ReportedPartial, ReportedSlowSubscribers,
    ReportedUnknown, Ros2, Scenario, SeenFrom, Topology,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirelap_correlate::Rate;
use wirelap_events::human;

/// The value of [`RunReport::schema`].
pub const RUN_SCHEMA: &str = "wirelap/run/1";

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Always `wirelap/run/1`.
    pub schema: String,
    /// Whether the run ended before everything was measured, something in it failed, or a result is partial.
    pub partial: bool,
    /// What is still to be measured; absent if nothing is. `wirelap run … --resume FILE` goes on with such a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// The machine, the versions and the settings.
    pub environment: Environment,
    /// What must be the same in another run for `wirelap compare`; absent in reports of recordings and of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_key: Option<MachineKey>,
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
    /// Rows by topic, client and so on; absent without `--by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<ReportedBreakdown>,
    /// Subscribers that were behind; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_subscribers: Option<ReportedSlowSubscribers>,
    /// Traffic that is not decoded: it is encrypted, or in a protocol that wirelap only names or does not know.
    #[serde(default)]
    pub unknown: ReportedUnknown,
    /// The hosts that were observed by agents; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ObservedHost>,
    /// The nodes of ROS 2 that discovery told of; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ros2: Option<Ros2>,
}

/// What a run that ended early, or that is still running, has not measured yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incomplete {
    /// Trials of the whole run; a search for the highest rate may add some.
    pub planned: u64,
    /// The trials that were not run, and those that a signal stopped, as in `scenario.order`.
    pub missing: Vec<String>,
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

// A field for each member of the JSON.
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
    /// Library settings that its processes reported, by the library's own names with the role as a prefix. Of the variants of
    /// `--ab` only: otherwise they are in `environment.settings`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Whether there are no messages that can be traced (ICMP echo, iperf3). Messages, throughput and round trips are then
    /// the program's own figures, and everything else is empty.
    #[serde(default)]
    pub untraced: bool,
    /// Whether the measurement ended early, something in it failed, or less than half of the sent messages were delivered.
    pub partial: bool,
    /// Why the measurement failed, in one sentence.
    pub error: Option<String>,
    /// Numbers of messages: sent, delivered, matched and so on.
    pub messages: MessageCounts,
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
    /// From where its messages were seen; absent if none was, and in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<SeenFrom>,
    /// Times in which the user had muted the row; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted: Option<ReportedMuted>,
    /// Messages that this host shows in part; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_sight: Option<ReportedPartial>,
    /// Round trips of requests whose both ends are on this host; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ReportedLocalRequests>,
    /// Where the time went, in the order in which a message passes the segments.
    pub segments: Vec<SegmentRow>,
    /// The time from data being ready until its reader runs, over all legs of a message. Only messages whose reader was
    /// asleep are counted.
    pub sched_gap_ns: DistributionSummary,
    /// Where the bytes went.
    pub overhead: ReportedOverhead,
    /// Why the messages took so long; absent if none was examined.
    #[serde(default)]
    pub why: Option<ReportedWhy>,
    /// The repetitions that `why` is of, by number, if it is not of all: after a run was resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_repetitions: Vec<u32>,
    /// The processes that took part.
    pub processes: Vec<ReportedProcess>,
    /// The size of a client program of this middleware alone; absent unless `--client-sizes` gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_size: Option<ClientSize>,
    /// How far the figures can be trusted.
    pub trust: ReportedTrust,
    /// The comparison of the trace with the workloads' own records; absent if they kept none.
    pub ground_truth: Option<GroundTruth>,
    /// The figures of each repetition, in the order in which they ran.
    pub repetitions: Vec<Repetition>,
    /// Further facts that matter for the figures, one sentence each.
    pub notes: Vec<String>,
}

impl RunReport {
    /// The key of the machine; for a report that has none, that of its environment and scenario.
    pub fn machine_key(&self) -> MachineKey {
        let own = self.machine_key.clone();
        own.unwrap_or_else(|| MachineKey::of(&self.environment, &self.scenario.pin))
    }

    /// True if the results are of several rates, so that their names need the rate.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Numbers of messages, without the warm-up. A round trip is two messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Messages")]
pub struct MessageCounts {
    /// Messages sent, as counted by the workloads, or by the trace if there are no workloads. A message to a hundred
    /// subscribers counts once.
    pub sent: u64,
    /// Messages that arrived, as counted by the workloads, or by the trace if there are no workloads. A message to a
    /// hundred subscribers counts a hundred times.
    pub delivered: u64,
    /// Deliveries that the sent messages should have, if not one each: all their subscribers' together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Deliveries that the trace followed from first send to last read.
    pub matched: u64,
    /// Deliveries that the trace did not follow from end to end.
    pub uncovered: u64,
    /// Times that the trace saw a message sent to somebody on this host and did not see it read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_read: u64,
    /// Deliveries that the trace did not follow because they may have begun or ended outside a sampling window; not in `uncovered`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Sends whose messages had not arrived when a sampling window ended; not in `never_read`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Messages that arrived more than once.
    pub duplicates: u64,
    /// Messages that a broker had stored and delivered to a later subscriber. They are not in the other figures.
    #[serde(default)]
    pub retained: u64,
    /// Messages of the warm-up in the trace. They are not in the other figures.
    pub warmup: u64,
}

impl MessageCounts {
    /// Deliveries that the sent messages should have.
    pub fn expected(&self) -> u64 {
        self.expected.unwrap_or(self.sent)
    }
}

/// Delivered messages per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Deliveries per second.
    pub msg_per_s: f64,
    /// Payload bits per second.
    pub payload_bit_per_s: f64,
    /// How far both may be off because only a part of the time was traced: half of their 95 % interval, as a share of them, at most 1.
    /// Absent if all of the time was traced. From 0.5 on, they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub relative_error: Option<f64>,
}

impl Throughput {
    fn error(&self) -> f64 {
        self.relative_error.unwrap_or(0.0)
    }

    /// True if there is a rate of messages, and it is known at least roughly.
    pub fn is_known(&self) -> bool {
        self.msg_per_s > 0.0 && self.error() <= Rate::MOST_ERROR
    }

    /// One of the rates as it is shown: with `~` if it is known only roughly; `None` if it is not known.
    pub fn in_words(&self, rate: f64) -> Option<String> {
        let about = if self.error() > Rate::ROUGH_ERROR { "~" } else { "" };
        (rate > 0.0 && self.error() <= Rate::MOST_ERROR)
            .then(|| format!("{about}{}", human::count(rate)))
    }
}

/// How long a message took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// One-way latency on the wire: from the send of the first byte to the return of the receive call that took the last
    /// byte, over all legs. With ping-pong, pings and replies are in it.
    pub one_way_ns: DistributionSummary,
    /// The largest error of each figure of `one_way_ns`, because messages are sent on one host and read on another, whose clocks are known
    /// only so well: the true figure lies between the two, and is never less than 0. `count` is the number of such messages. Absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<DistributionSummary>,
    /// Half the round trip by the pinging application's clock; absent unless pacing is ping-pong.
    pub rtt_half_ns: Option<RttHalf>,
    /// One-way latency of the pings only; absent unless pacing is ping-pong.
    pub request_one_way_ns: Option<DistributionSummary>,
    /// One-way latency of the replies only; absent unless pacing is ping-pong.
    pub reply_one_way_ns: Option<DistributionSummary>,
    /// From the application's publish to the application's callback, as the workloads recorded it; absent without their
    /// records.
    pub publish_to_deliver_ns: Option<DistributionSummary>,
    /// From a message's *intended* send time to the callback, so that the delay of a publisher that falls behind is
    /// included; absent unless pacing is a rate.
    pub intended_to_deliver_ns: Option<DistributionSummary>,
    /// The medians less what tracing added; absent if that was not measured, or messages were faster with probes
    /// (`trust.tracer.slowdown`).
    #[serde(default)]
    pub without_tracing: Option<WithoutTracing>,
}

/// Medians less what tracing added to a message. All of it is taken from each: the probes run between publish and deliver, and
/// nearly all of them between send and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithoutTracing {
    /// Of `one_way_ns`.
    pub one_way_p50: CorrectedTime,
    /// Of `publish_to_deliver_ns`.
    pub publish_to_deliver_p50: Option<CorrectedTime>,
}

/// A time less what tracing added, in nanoseconds, with the 95 % confidence interval of what was taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectedTime {
    /// The time.
    pub ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
}

impl Latency {
    /// Takes off what tracing added. Where messages may have been as fast with probes, nothing is taken off; where they surely were
    /// faster ([`Slowdown::is_contradictory`]), there are no corrected medians.
    pub fn correct(&mut self, slowdown: &Slowdown) {
        let added = slowdown.added();
        let less = |p50: u64| {
            let of = |added: f64| (p50 as f64 - added.max(0.0)).max(0.0);
            CorrectedTime {
                ns: of(added.added_ns),
                low_ns: of(added.high_ns),
                high_ns: of(added.low_ns),
            }
        };
        let is_known = self.one_way_ns.count > 0 && !slowdown.is_contradictory();
        self.without_tracing = is_known.then(|| WithoutTracing {
            one_way_p50: less(self.one_way_ns.p50),
            publish_to_deliver_p50: self.publish_to_deliver_ns.map(|times| less(times.p50)),
        });
    }
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
