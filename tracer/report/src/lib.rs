//! The program's output: the JSON of a run and of `doctor`, their JSON Schemas, tables and pages for the terminal, and
//! traces for Perfetto.
//!
//! | module | what |
//! |---|---|
//! | [`run`] | [`RunReport`], schema `wirelap/run/1` |
//! | [`repetition`] | one repetition, with what a later comparison needs |
//! | [`environment`] | the machine, the versions and the settings that a run was made with |
//! | [`scenario`] | the settings that a run was started with |
//! | [`doctor`] | [`DoctorReport`], schema `wirelap/doctor/1` |
//! | [`breakdown`] | rows by topic, client and so on |
//! | [`distribution`] | distributions of times |
//! | [`from_snapshot`] | conversions from the correlator's `Snapshot` |
//! | [`why`] | verdicts, the tail, the worst messages |
//! | [`explain`] | a result with its verdicts and their evidence as a page of text |
//! | [`grid`], [`table`], [`bytes_table`], [`doctor_table`] | tables for the terminal |
//! | [`slow`] | subscribers that are behind |
//! | [`schema`] | the JSON Schemas, generated from the types |
//! | [`footprint`] | memory and CPU time, idle and busy, and the size of a client program |
//! | [`ReportedPartial`], [`ReportedRequests`] | messages that this host shows in part, and requests to another host |
//! | [`ReportedLocalRequests`] | requests whose both ends are on this host |
//! | [`ObservedHost`] | a host that was observed by an agent |
//! | [`place`] | where processes run |
//! | [`trace`] | messages on a time line, for Perfetto and Chrome |
//! | [`Ros2`] | the nodes of ROS 2 |
//! | [`unknown`] | traffic that is not decoded |
//! | [`words`] | the words of verdicts, doubts, notes and traffic that is not decoded |
//! | [`write`] | writing JSON to a file |

// Numbers from a file or a packet may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod breakdown;
pub mod bytes_table;
mod clocks;
mod container;
pub mod distribution;
pub mod doctor;
pub mod doctor_table;
pub mod environment;
pub mod explain;
pub mod footprint;
mod from_ledger;
pub mod from_snapshot;
pub mod grid;
pub mod human;
pub mod machine_key;
mod machine_state;
mod muted;
mod observed_host;
pub mod overhead;
mod partial;
pub mod place;
mod process;
mod reliability;
pub mod repetition;
mod requests;
mod ros2;
pub mod run;
mod sample_origin;
pub mod scenario;
pub mod schema;
mod segment_row;
pub mod slow;
pub mod table;
mod topology;
pub mod trace;
mod trust;
pub mod unknown;
pub mod why;
pub mod words;
mod write;

pub use breakdown::{ReportedBreakdown, ReportedBreakdownRow, ReportedMutedExtent};
pub use clocks::{ClockOffset, HostClock};
pub use container::{ReportedContainer, ReportedNetworkNamespace, ReportedPod};
pub use distribution::{DistributionSummary, Samples};
pub use doctor::{Capability, DoctorReport, MissingItem, MissingKind, Observation};
pub use environment::Environment;
pub use footprint::IdleBusy;
pub use machine_key::{Bucket, BucketDifference, MachineKey};
pub use machine_state::MachineState;
pub use muted::ReportedMuted;
pub use observed_host::{ObservedClock, ObservedHost};
pub use overhead::LayersBytes;
pub use partial::{ReportedPartial, SeenFrom};
pub use repetition::{
    Histograms, IdleUse, ProcessUse, ReportedTimeSpent, ReportedTimeSpentRow, SegmentHistogram,
    SentAtRate, UsageAt,
};
pub use requests::{ReportedLocalRequests, ReportedRequests};
pub use ros2::{Ros2, Ros2Interface, Ros2Node};
pub use run::{
    AddedTime, ClientSize, CorrectedTime, CostUnknown, EthernetBytes, GroundTruth, Hook,
    Incomplete, Latency, LegBytes, MessageCounts, ObservedDetail, OperationBytes, PartsBytes,
    PerMessageBytes, Repetition, ReportedOverhead, ReportedProcess, ReportedReliability,
    ReportedScheduling, ReportedTracerCost, ReportedTracingBudget, ReportedTrust,
    ReportedUnixClients, ReportedUnseen, RttHalf, RunReport, RunResult, Saturation, SegmentRow,
    Skipped, Slowdown, Throughput, TrustReason, WithoutTracing,
};
pub use sample_origin::SampleOrigin;
pub use scenario::{HostLinks, Pacing, RunKind, Scenario};
pub use slow::{HeldUpBy, ReportedLag, ReportedSlowSubscriber, ReportedSlowSubscribers};
pub use topology::{Connections, Topology};
pub use unknown::{ReportedUnknown, ReportedUnknownTraffic};
pub use why::ReportedWhy;
pub use write::write_json;
