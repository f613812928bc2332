//! One repetition of a result, with what a later comparison needs: its own distributions, where its time went, its bytes and
//! its processes.

use crate::{
    Connections, DistributionSummary, GroundTruth, MachineState, MessageCounts, ReportedBreakdown,
    ReportedLocalRequests, ReportedOverhead, ReportedScheduling, ReportedTrust,
    ReportedUnixClients, RttHalf, SeenFrom, Throughput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate as correlate;

// A field for each member of the JSON.
/// One repetition. A result's figures are made of those of its repetitions, so that a run that was interrupted can be resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// 1 for the first.
    pub number: u32,
    /// Its position in the order of the whole run, from 1.
    pub position: u32,
    /// Whether it ended early, something in it failed, or less than half of the sent messages were delivered.
    pub partial: bool,
    /// Why it failed, in one sentence; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The signal that stopped it; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// Numbers of messages: sent, delivered, matched and so on.
    pub messages: MessageCounts,
    /// Delivered messages per second.
    pub throughput: Throughput,
    /// What was sent of what the requested rate wants; absent unless pacing is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<SentAtRate>,
    /// Payload bytes of the matched messages.
    #[serde(default)]
    pub payload_bytes: u64,
    /// From where its messages were seen; absent if none was, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<SeenFrom>,
    /// One-way latency on the wire.
    pub one_way_ns: DistributionSummary,
    /// The largest error of each figure of `one_way_ns`, because messages are sent and read on two hosts; absent on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<DistributionSummary>,
    /// Half the round trip; absent unless pacing is ping-pong.
    pub rtt_half_ns: Option<RttHalf>,
    /// Connections that were opened; absent unless that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// One-way latency of the pings only; absent unless pacing is ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_one_way_ns: Option<DistributionSummary>,
    /// One-way latency of the replies only; absent unless pacing is ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_one_way_ns: Option<DistributionSummary>,
    /// From the application's publish to the application's callback; absent without the workloads' records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_to_deliver_ns: Option<DistributionSummary>,
    /// From the intended send time to the application's callback; absent unless pacing is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended_to_deliver_ns: Option<DistributionSummary>,
    /// Round trips of requests whose both ends are on this host; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ReportedLocalRequests>,
    /// The time from data being ready until its reader runs, over all legs of a message.
    #[serde(default)]
    pub sched_gap_ns: DistributionSummary,
    /// The whole distributions of its times.
    #[serde(default)]
    pub histograms: Histograms,
    /// Where the time of its matched messages went.
    #[serde(default)]
    pub time_spent: ReportedTimeSpent,
    /// Deliveries that its bytes belong to; 0 if none were traced.
    #[serde(default)]
    pub byte_deliveries: u64,
    /// Bytes on the device of these deliveries, with all headers, acknowledgements and retransmissions.
    #[serde(default)]
    pub wire_bytes: u64,
    /// Where its bytes went.
    #[serde(default)]
    pub overhead: ReportedOverhead,
    /// What its processes used.
    #[serde(default)]
    pub processes: Vec<ProcessUse>,
    /// How far its figures can be trusted. The verdict and its reasons are given for the whole result only.
    #[serde(default)]
    pub trust: ReportedTrust,
    /// The comparison of the trace with the workloads' own records; absent if they kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<GroundTruth>,
    /// How fast the machine itself was; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineState>,
    /// Rows by topic, client and so on; absent without `--by`. The warm-up is not counted in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<ReportedBreakdown>,
    /// Further facts that matter for its figures, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What was sent of what a rate wants. Both are sums, so that those of several repetitions can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentAtRate {
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that the rate wants in the same time.
    pub wanted: f64,
}

/// Distributions of times in nanoseconds, each a histogram in the exchange format of `HdrHistogram` (V2, compressed with
/// deflate, in base64), with three significant digits. A distribution without values is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// One-way latency on the wire.
    pub one_way_ns: Option<String>,
    /// One-way latency of successive messages in blocks of equal length, in order of time: messages of one block resemble each
    /// other, so what is drawn at random is a block. At most 15.
    pub one_way_blocks_ns: Vec<String>,
    /// Half the round trip by the pinging application's clock.
    pub rtt_half_ns: Option<String>,
    /// The time of connections that were opened, by the client's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<String>,
    /// One-way latency of the pings only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_one_way_ns: Option<String>,
    /// One-way latency of the replies only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_one_way_ns: Option<String>,
    /// The time from data being ready until its reader runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched_gap_ns: Option<String>,
    /// From the send of a request to the read of its reply, where both ends are on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<String>,
    /// The time in each segment of the requests that were followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_segments: Vec<SegmentHistogram>,
    /// From the application's publish to the application's callback.
    pub publish_to_deliver_ns: Option<String>,
    /// From the intended send time to the application's callback.
    pub intended_to_deliver_ns: Option<String>,
    /// The time in each segment, over the messages that have it, in the order in which messages pass them.
    pub segments: Vec<SegmentHistogram>,
}

/// The distribution of the time in one segment of one leg.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentHistogram {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// The exact sum of all messages' time in this segment.
    pub total_ns: u64,
    /// The exact minimum.
    #[serde(default)]
    pub min_ns: u64,
    /// The exact maximum.
    #[serde(default)]
    pub max_ns: u64,
    /// The histogram.
    pub histogram: String,
    /// The largest error of these times, because the leg goes from one host to another; absent on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
}

/// Where messages' time went. The means of a column add up to the mean one-way latency of its messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TimeSpent")]
pub struct ReportedTimeSpent {
    /// Messages that were examined: all matched messages.
    pub messages: u64,
    /// How many messages are the slowest 1 %; 0 if they are fewer than ten, and then `tail_ns` is 0.
    pub tail_messages: u64,
    /// One row for each leg, segment and cause, in the order in which a message passes the segments.
    pub rows: Vec<ReportedTimeSpentRow>,
}

/// A part of messages' time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TimeSpentRow")]
pub struct ReportedTimeSpentRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// The kind of verdict that the time belongs to; absent for what the segment takes anyway.
    pub cause: Option<String>,
    /// Mean over all messages.
    pub mean_ns: f64,
    /// Mean over the messages near the median: the middle fifth.
    pub middle_ns: f64,
    /// Mean over the slowest 1 %.
    pub tail_ns: f64,
}

/// What a process used in one repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    /// `pub`, `sub`, `ping`, `pong` or `broker`.
    pub role: String,
    /// Its process ID.
    #[serde(default)]
    pub pid: u32,
    /// Name of the host that it ran on; absent unless roles were placed on hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its name.
    pub name: String,
    /// CPU time over wall time until the last message was sent or delivered, 1.0 = one core.
    pub cpu_share: Option<f64>,
    /// CPU time for each delivered message, in nanoseconds.
    pub cpu_ns_per_message: Option<f64>,
    /// The largest resident memory that was measured.
    pub rss_bytes: Option<u64>,
    /// The resident memory when its measurement began, before the first message or connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_at_start_bytes: Option<u64>,
    /// How both changed while messages were sent, at most 120 points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<UsageAt>,
    /// How its threads were scheduled; absent if that was not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<ReportedScheduling>,
    /// The Unix socket that it served clients on as well; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_clients: Option<ReportedUnixClients>,
    /// What it used before the first message, connected and idle; absent unless `idle` was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleUse>,
}

/// What a process used while it was connected and nothing was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleUse {
    /// The measured time in seconds.
    pub seconds: f64,
    /// CPU time over wall time, 1.0 = one core.
    pub cpu_share: f64,
    /// The largest resident memory that was measured.
    pub rss_bytes: u64,
}

/// What a process used in one part of a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageAt {
    /// When the part ended, in seconds after the sender was told to begin.
    pub at_s: f64,
    /// CPU time over wall time in this part, 1.0 = one core.
    pub cpu_share: f64,
    /// The largest resident memory in this part.
    pub rss_bytes: u64,
}

impl From<&correlate::TimeSpent> for ReportedTimeSpent {
    fn from(spent: &correlate::TimeSpent) -> ReportedTimeSpent {
        let rows = spent.rows.iter().map(|row| ReportedTimeSpentRow {
            leg: row.leg,
            segment: row.segment.name().to_owned(),
            cause: row.cause.name().map(str::to_owned),
            mean_ns: row.mean_ns,
            middle_ns: row.middle_ns,
            tail_ns: row.tail_ns,
        });
        ReportedTimeSpent {
            messages: spent.messages,
            tail_messages: spent.tail_messages,
            rows: rows.collect(),
        }
    }
}
