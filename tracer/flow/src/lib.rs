//! Packets, reads and writes → bytes in order → messages found, with who saw which byte when.
//!
//! ```text
//!  packets, reads, writes ─▶ flow ─▶ decoder ─▶ Found: a message, at these bytes
//!        │                    └────▶ bytes: the ledger of the device
//!        └─▶ marks: who saw which byte when ◀── threads: who ran, who slept
//! ```
//!
//! Each folder imports from those below it and from none above:
//!
//! ```text
//!  flow         conversations: from packets to bytes in order, from bytes to messages found
//!  marks        what the hooks saw of a flow's bytes, searchable by byte
//!  threads      wakeups, time off the CPU, CPU quotas
//!  bytes        the ledger of the device, and bytes that belong to no row by themselves
//!  ros          the nodes of ROS 2 that discovery tells of
//!  ids          what names a direction, an end, a leg
//!  config.rs    what the caller can set
//! ```
//!
//! Time is an argument everywhere; nothing here reads a clock or does I/O.

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod bytes;
mod config;
mod flow;
mod ids;
mod marks;
mod ros;
mod threads;

pub use bytes::{
    Detail, EndedUnknown, Framed, Holes, Ledger, Operation, OperationCost, Overhead, Part, Parts,
    ProbeConnections, Unknown, UnknownKey, UnknownTraffic, Unseen,
};
pub use config::{Config, Label, ParkingLimits, UnobservedHost};
pub use flow::{
    Acknowledgement, Answered, COMPARED, Claim, ClientOf, ClosedBy, ClosedByServer,
    ClosedConnection, ClosedConnections, Content, Conversation, DecoderOutput, Departure,
    EndsState, ExchangePart, Flow, FlowTable, Found, FoundExchange, FoundPlace, GoneServer, Hidden,
    Identity, KnownEnds, NamedConnection, Outages, PassedMessage, PendingRelease, Piece, ReadPlace,
    Reassembly, RecentPackets, Request, RequestLookUp, RoundTrip, RowNotes, SentRequest, ServerAt,
    ServerEnd, State, SubscriptionChange, SubscriptionStart, Takeover, Takeovers, Topics,
    UnreadReply, identity_of,
};
pub use ids::{AssemblyId, Direction, FlowEnds, LegKey, Node, Way, normal, scope_of};
pub use marks::{
    Arrival, Datagram, LossGap, Marks, MemoryUse, PacketTimes, Path, ReadBy, Sending, Stuck,
    UdpMarks, begin_and_end,
};
pub use ros::{Ros, RosEndpoint, RosNode, RosRole};
pub use threads::{
    Chain, CpuTime, ProcessStates, Processes, QuotaSeen, Quotas, Schedules, Scheduling, Threads,
    has_slept, set_off,
};
pub use wirelap_tls::{TlsCounts, TlsKeys};
