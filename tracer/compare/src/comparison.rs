//! The JSON of a comparison: schema `wirelap/compare/1`. Units are in the names; a ratio is B/A.

use crate::metric::{Answer, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_report::Bucket;

/// The value of [`Comparison::schema`].
pub const COMPARE_SCHEMA: &str = "wirelap/compare/1";

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always `wirelap/compare/1`.
    pub schema: String,
    /// The first side: what was before.
    pub a: ComparedSide,
    /// The second side: what is now.
    pub b: ComparedSide,
    /// How the repetitions of the sides belong together.
    pub design: Design,
    /// The design in one sentence, and whether there is a better one.
    pub design_note: String,
    /// Differences up to this share are the same: 0.05 for a ratio from 1/1.05 to 1.05.
    pub margin: f64,
    /// Bootstrap draws.
    pub draws: usize,
    /// The seed of the draws.
    pub seed: u64,
    /// Tests that Holm's correction was made for: all cells with a p-value.
    pub tests: usize,
    /// Whether results that are not comparable got answers nevertheless.
    pub anyway: bool,
    /// How the machine itself changed from one run to the other; absent with `--ab`, whose sides see the same machine, and if a
    /// run has no reference measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineChange>,
    /// Why nothing can be compared; empty if something can.
    pub not_comparable: Vec<Obstacle>,
    /// The results that both sides have.
    pub results: Vec<PairedResult>,
    /// The results that only one side has.
    pub unpaired: Vec<Unpaired>,
    /// Versions, settings and other circumstances that differ and are no obstacle.
    pub differences: Vec<Difference>,
    /// The criteria of `--fail-if` and what became of them, for each result that they are about.
    pub criteria: Vec<CriterionResult>,
    /// Further facts that matter for the answers, one sentence each.
    pub notes: Vec<String>,
}

impl Comparison {
    /// True if a criterion of `--fail-if` fired.
    pub fn failed(&self) -> bool {
        self.criteria.iter().any(|criterion| criterion.outcome == CriterionOutcome::Fired)
    }

    /// True if a result got answers: neither it nor the whole is not comparable, or that was to be ignored.
    pub fn judges(&self, result: &PairedResult) -> bool {
        self.anyway || (self.not_comparable.is_empty() && result.not_comparable.is_empty())
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct ComparedSide {
    /// The file, or the variant.
    pub name: String,
    /// The scenario's name; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// The version of wirelap that measured it.
    pub wirelap_version: String,
}

/// How the repetitions of the sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Two runs: each has its own repetitions. Tested by Mann and Whitney's rank test.
    TwoRuns,
    /// One run with both sides in turns: repetition n of A belongs to repetition n of B. Tested by Wilcoxon's signed-rank test.
    SideBySide,
}

/// How the machine itself changed from one run to the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineChange {
    /// The reference measurements that both runs have, over all repetitions of all results.
    pub references: Vec<Reference>,
    /// The ratios B/A of a time that the machine's own change can explain: what holds the intervals of all references; 1 to 1 if
    /// none differs. An interval of a metric is wider by this before it is judged; throughput by its inverse.
    pub explains: Bounds,
    /// How much more of the CPU time was stolen on one side than on the other; 0 if that reference does not differ. Percentiles
    /// with at most twice this share of the messages beyond them have no answer.
    pub stolen_difference: f64,
}

/// A reference measurement of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// What was measured.
    pub kind: ReferenceKind,
    /// The value of A: nanoseconds (geometric mean over the repetitions), or the stolen share of the wanted CPU time.
    pub a: f64,
    /// The value of B.
    pub b: f64,
    /// By what B's times are multiplied. What is done with a share `s` of the CPU time stolen takes 1 / (1 − s) times as long.
    pub ratio: f64,
    /// The 95 % interval of this ratio.
    pub ratio_95: Bounds,
    /// The p-value of the exact rank test, without correction.
    pub p: f64,
    /// Whether it differs: p is at most 0.05, and the interval does not hold 1.
    pub differs: bool,
}

/// The reference measurements.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReferenceKind {
    /// A datagram to another thread and back.
    RoundTrip,
    /// A datagram that a thread sends itself.
    SendAndRead,
    /// The CPU time that the hypervisor gave to something else.
    Steal,
}

impl ReferenceKind {
    /// All of them.
    pub const ALL: [ReferenceKind; ReferenceKind::VARIANTS.len()] = all_variants();

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A result that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedResult {
    /// Its name: `mqtt/mosquitto 64 B`; with both names if those of the sides differ: `mqtt/mosquitto 64 B → mqtt/rumqttd 64 B`.
    pub name: String,
    /// B's own name, if it is another than A's; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_b: Option<String>,
    /// The middleware.
    pub middleware: String,
    /// The broker, A's if the sides have different ones; absent without one.
    pub broker: Option<String>,
    /// B's broker, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_b: Option<String>,
    /// `A` or `B` if both runs have been made with `--ab` and are compared with each other; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Bytes of a message's payload.
    pub payload_bytes: u64,
    /// Messages per second that were requested; absent unless pacing is a rate.
    pub rate_msg_per_s: Option<f64>,
    /// Repetitions of A that were used.
    pub repetitions_a: usize,
    /// Repetitions of B that were used.
    pub repetitions_b: usize,
    /// Repetitions of A that were left out, because they are partial or, side by side, their counterpart is.
    pub left_out_a: usize,
    /// Repetitions of B that were left out.
    pub left_out_b: usize,
    /// Why this result is not comparable; empty if it is.
    pub not_comparable: Vec<Obstacle>,
    /// One for each metric that both sides have.
    pub cells: Vec<ComparedMetric>,
    /// Where the difference of the mean one-way latency is; absent if a side does not know it.
    pub mean: Option<DifferenceBreakdown>,
    /// Where the difference of the tail's excess is: of the mean of the slowest 1 % over the mean of the messages near the
    /// median. Absent if a side has too few messages.
    pub tail: Option<DifferenceBreakdown>,
}

impl PairedResult {
    /// Middleware and broker: `mqtt/mosquitto`.
    pub fn label(&self) -> String {
        wirelap_report::run::name(&self.middleware, self.broker.as_deref())
    }

    /// The same of B's result.
    pub fn label_b(&self) -> String {
        let broker = self.broker_b.as_ref().or(self.broker.as_ref());
        wirelap_report::run::name(&self.middleware, broker.map(String::as_str))
    }
}

/// A metric of a result on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cell")]
pub struct ComparedMetric {
    /// The metric; its unit is in its name.
    pub metric: Metric,
    /// The value of A: the geometric mean over the repetitions; of bytes, the mean over all deliveries.
    pub a: f64,
    /// The value of B.
    pub b: f64,
    /// The 95 % interval of A's value, by its own repetitions; absent for bytes and with fewer than two repetitions.
    pub a_95: Option<Bounds>,
    /// The 95 % interval of B's value.
    pub b_95: Option<Bounds>,
    /// B/A.
    pub ratio: f64,
    /// The 95 % interval of the ratio; absent for bytes, which need none, and with fewer than two repetitions on a side.
    pub ratio_95: Option<Bounds>,
    /// The 90 % interval of the ratio, which must be inside the margin for `same`.
    pub ratio_90: Option<Bounds>,
    /// The p-value of the exact rank test; absent where there is no interval and where the result is not comparable.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all tests of the comparison.
    pub p_holm: Option<f64>,
    /// The answer.
    pub answer: Answer,
    /// The answer in the metric's words: `more` and `fewer` for bytes.
    pub answer_in_words: String,
    /// Why it cannot be told; absent if it can.
    pub reason: Option<String>,
    /// About how many more repetitions of each side would decide, by the width of the interval; absent unless that is what is
    /// missing.
    pub repetitions_needed: Option<u32>,
    /// Whether it cannot be told because the machine itself changed by as much between the runs. More repetitions do not help.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub machine_changed: bool,
    /// How many messages, or connections, each repetition needs for this percentile; absent if all have as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_needed: Option<u64>,
}

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Where a difference is. The rows add up to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Breakdown")]
pub struct DifferenceBreakdown {
    /// The time of A, over all rows.
    pub a_ns: f64,
    /// The time of B, over all rows.
    pub b_ns: f64,
    /// B − A: the sum of all rows' differences.
    pub difference_ns: f64,
    /// One row for each leg, segment and cause, the largest difference first.
    pub rows: Vec<DifferenceRow>,
    /// Where most of the difference is, in one sentence; absent if there is none.
    pub sentence: Option<String>,
}

/// A part of a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BreakdownRow")]
pub struct DifferenceRow {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment's name.
    pub segment: String,
    /// The kind of verdict that the time belongs to; absent for what the segment takes anyway.
    pub cause: Option<String>,
    /// The time of A.
    pub a_ns: f64,
    /// The time of B.
    pub b_ns: f64,
    /// B − A.
    pub difference_ns: f64,
    /// This row's share of the whole difference; negative if it goes the other way, above 1 if others do. Absent if there is
    /// no difference.
    pub share: Option<f64>,
}

/// A result that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// `a` or `b`.
    pub side: WhichSide,
    /// The result's name: `mqtt/mosquitto 64 B`.
    pub name: String,
}

/// One of the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichSide {
    /// The first.
    A,
    /// The second.
    B,
}

/// A reason why the sides are not comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// The kind of reason.
    pub kind: ObstacleKind,
    /// The reason as a sentence.
    pub text: String,
    /// The bucket of the machine's key (`machine_key` of a run) that differs; absent if it is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Bucket>,
}

/// The kinds of reasons why the sides are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// CPU model, kernel, cores, governor or mitigations differ.
    Machine,
    /// One side is of `run`, the other of `live`, or of another kind of measurement.
    Kind,
    /// Messages are sent at other times: the pacing or its rate differs.
    Pacing,
    /// The sides have no payload size in common.
    Payload,
    /// The sides have no result in common.
    NothingInCommon,
    /// Processes were pinned to other CPUs.
    Pinning,
    /// The links between the hosts of the processes differ.
    Links,
    /// Other numbers of publishers, subscribers, topics or connections, or other subscriptions.
    Clients,
    /// Another number of messages was sent before those that are counted.
    WarmUp,
    /// A side cannot be used.
    Unusable,
    /// The trace followed another share of the messages.
    Coverage,
    /// Tracing slowed the sides down by different factors.
    TracingCost,
}

/// A circumstance that differs and is no obstacle: usually, what is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs: `version of mqtt: rumqttc`.
    pub what: String,
    /// A's; absent if it has none.
    pub a: Option<String>,
    /// B's; absent if it has none.
    pub b: Option<String>,
}

/// What became of a criterion of `--fail-if` for one result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionResult {
    /// The criterion as it was given.
    pub criterion: String,
    /// The result's name; absent if the criterion is about no result of this comparison.
    pub result: Option<String>,
    /// What became of it.
    pub outcome: CriterionOutcome,
    /// Why, in one sentence.
    pub text: String,
}

/// What became of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
#[serde(rename_all = "snake_case")]
pub enum CriterionOutcome {
    /// The whole 95 % interval (for bytes: the value) is beyond the limit: a failure.
    Fired,
    /// It is not.
    Held,
    /// Nothing can be said: not comparable, no such result or metric, or too few repetitions.
    NotJudged,
}
