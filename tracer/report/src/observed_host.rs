//! The hosts that were observed by agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_events::{ClockStep, HostClock, HostState, HostStatus};

/// A host that was observed by an agent, beside others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedHost {
    /// The host's number: 1 for that of the report, whose clock all times are of. Processes have it in `host`. 0 is a fleet as a whole, if something is wrong with it.
    pub host: u8,
    /// The name that it was reached by; `here` for that of the report.
    pub name: String,
    /// `connecting`, `connected`, `same kernel` (the agent of another host sees everything), `behind` (what it sends is late, and the others do not wait for it) or `lost`.
    pub status: String,
    /// By how much it is behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_ns: Option<u64>,
    /// Since when it is lost, by the monotonic clock of host 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since_ns: Option<u64>,
    /// Why it is lost, or which host's agent sees everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Version of its wirelap; empty if it was never connected.
    pub version: String,
    /// Its kernel's release; empty if it was never connected.
    pub kernel: String,
    /// Number of times that its agent was started again.
    pub restarts: u64,
    /// Observations that are not made there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Events that came from it.
    pub events: u64,
    /// Events that came too late to be put in order with those of other hosts, and were left out.
    pub events_late: u64,
    /// Events that its probes lost.
    pub events_lost: u64,
    /// Records that could not be read.
    pub records_unreadable: u64,
    /// Bytes that came from it, compressed.
    pub bytes: u64,
    /// The same before they were compressed.
    pub record_bytes: u64,
    /// CPU time of its agent.
    pub agent_cpu_ns: u64,
    /// CPU time of its agent divided by the time that passed.
    pub agent_cpu_share: f64,
    /// The most resident memory of its agent.
    pub agent_rss_bytes: u64,
    /// Its clock against that of host 1; absent for host 1, and while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ObservedClock>,
    /// The last steps of its clock, the oldest first: 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_steps: Vec<ObservedClockStep>,
    /// Number of all steps of its clock.
    #[serde(default)]
    pub clock_step_count: u64,
}

/// A step of a host's clock: nothing is joined across it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the names of times end in their unit")]
pub struct ObservedClockStep {
    /// When, by the monotonic clock of host 1.
    pub at_ns: u64,
    /// Nanoseconds by which the clock went forward at least; below zero if it went back, absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_at_least_ns: Option<i64>,
    /// The same at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_at_most_ns: Option<i64>,
}

impl From<&ClockStep> for ObservedClockStep {
    fn from(step: &ClockStep) -> ObservedClockStep {
        let known = |by: i64| (by != i64::MIN && by != i64::MAX).then_some(by);
        let [least, most] = step.by.map(known);
        ObservedClockStep { at_ns: step.at.0, by_at_least_ns: least, by_at_most_ns: most }
    }
}

/// A host's clock against that of host 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedClock {
    /// Nanoseconds by which it is ahead. These clocks count from the start of each host.
    pub offset_ns: i64,
    /// Parts per million by which it gains; 0 if that is not distinguishable from nothing.
    pub drift_ppm: f64,
    /// The largest possible error of the drift.
    pub drift_within_ppm: f64,
    /// The largest possible error of the offset if the shortest delays are the same in both directions.
    pub within_ns: u64,
    /// The largest possible error of the offset in any case.
    pub at_most_ns: u64,
    /// Packets and pings from which it was found.
    pub samples: u64,
    /// True if it has made a step since which it is not known: nothing is joined across it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stepped: bool,
}

impl From<&HostState> for ObservedHost {
    fn from(state: &HostState) -> ObservedHost {
        let (mut behind_ns, mut lost_since_ns, mut why) = (None, None, None);
        let status = match &state.status {
            HostStatus::Connecting => "connecting",
            HostStatus::Connected => "connected",
            HostStatus::SameKernel { observed_by } => {
                why =
                    Some(format!("the same kernel as {observed_by}, whose agent sees everything"));
                "same kernel"
            }
            HostStatus::Behind(by) => {
                behind_ns = Some(by.0);
                "behind"
            }
            HostStatus::Lost { since, why: because } => {
                (lost_since_ns, why) = (Some(since.0), Some(because.clone()));
                "lost"
            }
        };
        ObservedHost {
            host: state.number,
            name: state.name.clone(),
            status: status.into(),
            behind_ns,
            lost_since_ns,
            why,
            version: state.version.clone(),
            kernel: state.kernel.clone(),
            restarts: state.restarts,
            lacks: state.lacks.clone(),
            events: state.events,
            events_late: state.late,
            events_lost: state.lost(),
            records_unreadable: state.unreadable,
            bytes: state.bytes,
            record_bytes: state.record_bytes,
            agent_cpu_ns: state.cpu_time.0,
            agent_cpu_share: state.cpu_share,
            agent_rss_bytes: state.rss_bytes,
            clock: clock(state.clock),
            clock_steps: state.steps.iter().map(Into::into).collect(),
            clock_step_count: state.step_count,
        }
    }
}

fn clock(clock: HostClock) -> Option<ObservedClock> {
    match clock {
        HostClock::Unknown | HostClock::Own => None,
        HostClock::Known { offset_ns, drift_ppm, drift_within_ppm, within, at_most, samples } => {
            Some(ObservedClock {
                offset_ns,
                drift_ppm,
                drift_within_ppm,
                within_ns: within.0,
                at_most_ns: at_most.0,
                samples,
                stepped: false,
            })
        }
        HostClock::Stepped(_) => Some(ObservedClock { stepped: true, ..Default::default() }),
    }
}
