//! Messages found on flows → messages of their senders and receivers: rows, figures, why it took so long, [`Snapshot`].
//!
//! ```text
//!  Event ─▶ sockets, threads ──────────────┐
//!     └──▶ flow: bytes in order ─▶ decoder ┼─▶ join: message found on a flow ─▶ Delivery ─▶ rows ─▶ figures, why
//!     └──▶ marks: who saw which byte when ─┘         (completed late, on purpose)  └▶ Snapshot
//!     └──▶ bytes: the ledger of the device
//! ```
//!
//! A message is *found* when its last byte has passed the packet hook, and *complete* a while after it
//! was read: only then are its stages looked up in the marks, so the order of events does not matter.
//! Time is an argument everywhere; nothing here reads a clock or does I/O.
//!
//! Each folder imports from those below it and from none above, and so do the crates below, whose users find here what they need:
//!
//! ```text
//!  engine     takes events in, drives the others, hands deliveries and snapshots out
//!  view       the picture that is handed out, and how far it can be trusted
//!  rows       which conversation belongs to which row, and what the rows add up to
//!  join       legs → messages → deliveries
//!  ───────────────────────────────────────────────────────────────────────────────
//!  wirelap-why         why messages took as long as they did, and who has not got them
//!  wirelap-flow        from packets to bytes in order, to messages found; who saw which byte when
//!  wirelap-figures     distributions, rates, the last seconds, rows by name
//!  wirelap-containers  where processes run: container, pod or unit, and network namespace
//!  wirelap-limits      every time and share that decides what is said
//! ```

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod engine;
mod join;
mod rows;
mod view;

pub use engine::{Correlator, DeliverySink, Nondelivery, SinkPair};
pub use rows::{Accountant, Counts, DeferredFigures, Refusal, Refusals};
pub use trust::{Doubt, DoubtReason, FileFacts, Reliability, TrustFacts};
pub use view::{
    Group, GroupNote, Muted, ProbeEvents, ProbeLoss, Process, Snapshot, SnapshotNote, TracerCost,
    TracingBudget, Trust, UnixClients, UnixServer, snapshot, trust,
};
pub use wirelap_containers::{
    CgroupRead, Container, ContainerKind, ContainerNames, NetworkNamespace, Place, Pod,
    container_of,
};
pub use wirelap_figures::{
    Breakdown, BreakdownQuery, BreakdownRow, Dimension, Distribution as Histogram, HistoryPoint,
    LocalRequestFigures, LocalRequestTimes, MAX_NESTED, MutedExtent, PartialFigures, PartialView,
    Rate, RateSums, RequestFigures, RowFigure, SegmentStat, Summary, UncertainCounts,
};
pub use wirelap_flow::{
    ClosedBy, ClosedConnection, Config, Detail, Framed, Holes, Label, Operation, OperationCost,
    Overhead, ParkingLimits, Part, Parts, Piece, QuotaSeen, Reassembly, Ros, RosEndpoint, RosNode,
    RosRole, Scheduling, TlsCounts, TlsKeys, Unknown, UnknownTraffic, UnobservedHost, Unseen,
};
pub use wirelap_limits::rules::MIN_MESSAGES_FOR_VERDICT;
pub use wirelap_protocols::foreign::ForeignName;
pub use wirelap_tls::AddedSecrets as AddedTlsKeys;
pub use wirelap_why::{
    Awaited, BlameSink, BlamedPart, Cause, Circumstance, Clause, CpuHolders, Culprit, DelayCause,
    Departure, DropPlace, Evidence, GapCount, HolderShare, Lag, LagHolder, Losses, MissedBy,
    Missing, MostLeft, NameUser, Named, Overdue, Period, Remedy, ServerGone, Setting, Severity,
    SharedName, SlowSubscriber, SlowSubscribers, StuckConnection, Tail, TailRow, Throttled,
    TimeSpent, TimeSpentRow, TypicalRow, Verdict, VerdictKind, Whereabouts, Why, WorkloadCounts,
    WorstMessage, blame, for_each_verdict,
};
