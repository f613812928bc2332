//! Events and frames → messages: flows, stages, legs, the overhead ledger, statistics, [`Snapshot`].
//!
//! ```text
//!  Event ─▶ sockets, threads ──────────────┐
//!     └──▶ flow: bytes in order ─▶ decoder ┼─▶ join: message found on a flow ─▶ Delivery ─▶ stats
//!     └──▶ marks: who saw which byte when ─┘         (completed late, on purpose)  └▶ Snapshot
//!     └──▶ bytes: the ledger of the device
//! ```
//!
//! A message is *found* when its last byte has passed the packet hook, and *complete* a while after it
//! was read: only then are its stages looked up in the marks, so the order of events does not matter.
//! Time is an argument everywhere; nothing here reads a clock or does I/O.
//!
//! Each folder imports from those below it and from none above:
//!
//! ```text
//!  engine     takes events in, drives the others, hands deliveries and snapshots out
//!  view       the picture that is handed out, and how far it can be trusted
//!  rows       which conversation belongs to which row, and what the rows add up to
//!  why        why messages took as long as they did: causes, sums, verdicts
//!  join       legs → messages → deliveries
//!  flow       conversations: from packets to bytes in order, from bytes to messages found
//!  marks      what the hooks saw of a flow's bytes, searchable by byte
//!  threads    wakeups, time off the CPU, CPU quotas
//!  bytes      the ledger of the device, and bytes that belong to no row by themselves
//!  lag        subscribers that are behind
//!  containers where processes run: container, pod or unit, and network namespace
//!  breakdown  rows by topic, client and so on, if the user asks for them
//!  stats      distributions, rates, the last seconds
//!  ros        the nodes of ROS 2 that discovery tells of
//!  ids        what names a direction, an end, a leg
//!  limits     every time and share that decides what is said
//!  config.rs  what the caller can set
//!  tls_keys.rs  keys of TLS connections, and what came of them
//! ```

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod breakdown;
mod bytes;
mod config;
mod containers;
mod engine;
mod flow;
mod ids;
mod join;
mod lag;
mod limits;
mod marks;
mod ros;
mod rows;
mod stats;
mod threads;
mod tls_keys;
mod view;
mod why;

pub use breakdown::{
    Breakdown, BreakdownQuery, BreakdownRow, Dimension, MAX_NESTED, MutedExtent, RowFigure,
};
pub use bytes::{
    Detail, Framed, Holes, Operation, OperationCost, Overhead, Part, Parts, Unknown,
    UnknownTraffic, Unseen,
};
pub use config::{Config, Label, ParkingLimits, UnobservedHost};
pub use containers::{
    CgroupRead, Container, ContainerKind, ContainerNames, NetworkNamespace, Place, Pod,
    container_of,
};
pub use engine::{Correlator, DeliverySink};
pub use flow::{ClosedBy, Piece, Reassembly};
pub use lag::{Lag, LagHolder, SlowSubscriber, SlowSubscribers};
pub use limits::rules::MIN_MESSAGES_FOR_VERDICT;
pub use ros::{Ros, RosEndpoint, RosNode, RosRole};
pub use rows::{Accountant, Counts, DeferredFigures};
pub use stats::Distribution as Histogram;
pub use stats::{
    HistoryPoint, PartialFigures, PartialView, Rate, RateSums, RequestFigures, SegmentStat,
    Summary, UncertainCounts,
};
pub use threads::{QuotaSeen, Scheduling};
pub use tls_keys::{TlsCounts, TlsKeys};
pub use trust::{Doubt, DoubtReason, FileFacts, Reliability, TrustFacts};
pub use view::{
    Group, GroupNote, Muted, ProbeEvents, ProbeLoss, Process, Snapshot, SnapshotNote, TracerCost,
    TracingBudget, Trust, UnixClients, UnixServer, snapshot, trust,
};
pub use why::{
    Awaited, BlameSink, BlamedPart, Cause, Circumstance, Clause, CpuHolders, Culprit, DelayCause,
    Departure, DropPlace, Evidence, HolderShare, Losses, MissedBy, MissedMessages, Missing,
    MostLeft, Named, Overdue, Period, Remedy, ServerGone, Setting, Severity, StuckConnection, Tail,
    TailRow, Throttled, TimeSpent, TimeSpentRow, TypicalRow, Verdict, VerdictKind, Whereabouts,
    Why, WorkloadCounts, WorstMessage, blame,
};
pub use wirelap_protocols::foreign::ForeignName;
pub use wirelap_tls::AddedSecrets as AddedTlsKeys;
