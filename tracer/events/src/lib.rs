//! The vocabulary of wirelap: what a probe observes, what a decoder finds, and what a delivery is.
//!
//! This crate has no BPF, no I/O and no user interface. All other crates use its types:
//!
//! | module | types | used by |
//! |---|---|---|
//! | [`units`] | [`Nanos`], [`Pid`], [`Tid`], … | all |
//! | [`count`] | [`Count`], [`SmallCount`], [`Size`]: numbers that stop at their limits | all |
//! | [`saturate`] | [`Saturate`], [`Total`]: sums that stop at their limits | all |
//! | [`net`] | [`FlowKey`], [`SocketId`], [`Transport`] | all |
//! | [`range`] | [`Seq`], [`Offset`], [`ByteRange`], [`FlowRange`] | capture → correlate → protocols |
//! | [`event`] | [`Event`]: one observation in the kernel | capture → correlate |
//! | [`frame`] | [`Frame`]: one protocol frame in a flow's bytes | protocols → correlate |
//! | [`hosts`] | [`HostBounds`]: the error of times between two hosts; numbers that tell hosts apart | recording → correlate |
//! | [`stage`] | [`Stage`], [`Segment`], and the times of a leg | correlate → report, tui |
//! | [`delivery`] | [`Leg`], [`Delivery`]: a message at one reader | correlate → report |
//! | [`host_state`] | [`HostState`]: a host that is observed beside others | hosts → session, correlate → report, tui |
//! | [`human`] | how counts, bytes, times and shares are written for people | correlate, report, tui |
//! | [`trace_context`] | [`TraceContext`]: the application's own trace, as a message names it | protocols → otlp |
//! | [`stamp`] | [`Stamp`]: the 8-byte header of payloads of wirelap's workloads | workloads ↔ correlate |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod clock;
pub mod count;
pub mod delivery;
mod detail;
pub mod event;
pub mod frame;
pub mod host_state;
pub mod hosts;
pub mod human;
pub mod net;
pub mod range;
pub mod saturate;
pub mod stage;
pub mod stamp;
pub mod trace_context;
pub mod units;
mod variants;

pub use count::{Count, Size, SmallCount};
pub use delivery::{
    AckRoundTrip, Circumstances, Credit, Delivery, EarlierBytes, FanOut, GroupId, Heard, Hop, Leg,
    LegHosts, LegLosses, LegOffCpu, LegPath, LinkQueue, MAX_HOPS, MAX_LEGS, MessageId,
    MessageRequest, MissingBytes, OffCpu, ReaderArrival, ReplicaWait, SampleStatus, SegmentSpan,
    SendPermission, SenderSocket, TopicId,
};
pub use detail::TraceDetail;
pub use event::{
    Body, CGROUP_NAME, Comm, DropCause, DroppedPacket, Event, EventLosses, Holder, LossCause,
    LostEvents, Nagle, OTHERS, OffCpuReason, Packet, PacketHook, PacketId, PacketKind, PlainText,
    Probe, ProcessEnd, Quota, ReadCall, ReadKind, Ready, ReadyKind, Recovery, Retransmit, SendCall,
    SendKind, SleepCall, Socket, SocketOrigin, TaskId, TcpFields, TextPlace, ThreadActivity,
    ThreadState, TxState, Wake, WrittenBytes, tcp_flags,
};
pub use frame::{DecodedMessage, Frame, FrameClass, GlobalKey, Receipt, Release, RequestLimits};
pub use host_state::{ClockStep, HostClock, HostState, HostStatus};
pub use hosts::HostBounds;
pub use net::{FlowKey, NetNs, SocketId, Transport};
pub use range::{ByteRange, FlowId, FlowRange, Offset, Seq};
pub use saturate::{Saturate, Total};
pub use stage::{Segment, Segments, Stage, StageTimes};
pub use stamp::Stamp;
pub use trace_context::{MessageTrace, TraceContext};
pub use units::{CgroupId, Cpu, IfIndex, Nanos, Pid, Tid};
pub use variants::all_variants;
