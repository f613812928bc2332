//! The vocabulary of wirelap: what a probe saw, what a decoder found, what a message went through.
//!
//! No BPF, no I/O and no user interface here. Every other crate speaks in these words:
//!
//! | module | words | spoken by |
//! |---|---|---|
//! | [`units`] | [`Nanos`], [`Pid`], [`Tid`], … | everyone |
//! | [`saturate`] | [`Saturate`], [`Total`]: sums that stop at their limits | everyone |
//! | [`net`] | [`FlowKey`], [`SocketId`], [`Transport`] | everyone |
//! | [`range`] | [`Seq`], [`Offset`], [`ByteRange`], [`FlowRange`] | capture → correlate → protocols |
//! | [`event`] | [`Event`]: one observation in the kernel | capture → correlate |
//! | [`frame`] | [`Frame`]: one protocol frame in a flow's bytes | protocols → correlate |
//! | [`stage`] | [`Stage`], [`Segment`] and how segments telescope | correlate → report, tui |
//! | [`delivery`] | [`Leg`], [`Delivery`]: a message's whole life | correlate → report |
//! | [`stamp`] | [`Stamp`]: the 8-byte header of our own workloads' payloads | workloads ↔ correlate |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod clock;
pub mod delivery;
pub mod event;
pub mod frame;
pub mod net;
pub mod range;
pub mod saturate;
pub mod stage;
pub mod stamp;
pub mod units;

pub use delivery::{
    Circumstances, Delivery, FanOut, GroupId, Hop, Leg, LegOffCpu, MAX_HOPS, MAX_LEGS, MessageId,
    OffCpu, Room, Span, TopicId,
};
pub use event::{
    Body, CGROUP_NAME, Comm, Doing, DropCause, DroppedPacket, Event, Holder, Lost, Nagle, OTHERS,
    OffCpuReason, Origin, Packet, PacketHook, PacketId, Portion, Probe, Quota, ReadCall, ReadKind,
    Ready, ReadyKind, Recovery, Retransmit, SendCall, SendKind, Sleep, Socket, TaskId, TcpFields,
    ThreadState, TxState, Wake, tcp_flags,
};
pub use frame::{Ask, Class, Data, Frame, GlobalKey, Permit};
pub use net::{FlowKey, NetNs, SocketId, Transport};
pub use range::{ByteRange, FlowId, FlowRange, Offset, Seq};
pub use saturate::{Saturate, Total};
pub use stage::{Segment, Segments, Stage, StageTimes};
pub use stamp::Stamp;
pub use units::{CgroupId, Cpu, IfIndex, Nanos, Pid, Tid};
