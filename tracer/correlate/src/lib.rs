//! Events and frames → messages: flows, stages, legs, the overhead ledger, statistics, [`Snapshot`].
//!
//! ```text
//!  Event ─▶ sockets, threads ──────────────┐
//!     └──▶ flow: bytes in order ─▶ decoder ┼─▶ join: message found on a flow ─▶ Delivery ─▶ stats
//!     └──▶ marks: who saw which byte when ─┘         (completed late, on purpose)  └▶ Snapshot
//!     └──▶ ledger: bytes on the device
//! ```
//!
//! A message is *found* when its last byte has passed the packet hook, and *complete* a while after it
//! was read: only then are its stages looked up in the marks, so the order of events does not matter.
//! Time is an argument everywhere; nothing here reads a clock or does I/O.

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod assemble;
mod build;
mod calls;
mod config;
mod correlator;
mod datagrams;
mod departures;
mod flow;
mod framing;
mod join;
mod ledger;
mod leg;
mod marks;
mod off_cpu;
mod overdue;
mod overhead;
mod packets;
mod probe_connections;
mod reached;
mod ring;
mod rows;
mod scheduling;
mod settle;
mod sighting;
pub mod snapshot;
mod sockets;
mod stats;
mod sweep;
mod threads;
pub mod trust;
mod unite;
mod unknown;
mod why;

pub use config::{Config, Host, Label};
pub use correlator::{Correlator, DeliverySink};
pub use flow::{Limits, Piece, Reassembly};
pub use snapshot::{
    Cause, Cost, Counts, Culprit, Detail, ENOUGH, Framed, Group, HistoryPoint, HolderShare, Holes,
    Operation, Overdue, Overhead, Part, Parts, Period, ProbeLoss, Process, Rate, Scheduling,
    SegmentStat, Severity, Snapshot, Summary, Tail, TailRow, TracerCost, Trust, TypicalRow,
    UnixClients, Unknown, UnknownTraffic, Unseen, Verdict, VerdictKind, Whereabouts, Why,
    WorstMessage,
};
pub use stats::Distribution as Histogram;
pub use trust::{Doubt, DoubtKind, Reliability, TrustFacts};
pub use why::{
    BlameSink, DelayCause, Evidence, Losses, Missing, QuotaSeen, Setting, Throttled,
    WorkloadCounts, blame,
};
