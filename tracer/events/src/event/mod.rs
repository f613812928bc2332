//! What a probe saw: one observation in the kernel, or one packet of a capture file.
//!
//! Payload is borrowed from the ring buffer or the file; nothing is allocated for an event.

mod call;
mod packet;
mod probe;
mod quota;
mod socket;
mod task;

pub use call::{Nagle, ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, TxState};
pub use packet::{
    DropCause, DroppedPacket, Packet, PacketHook, PacketId, Portion, Recovery, Retransmit,
    TcpFields, tcp_flags,
};
pub use probe::{Lost, Probe};
pub use quota::{CGROUP_NAME, Quota};
pub use socket::{Origin, Socket};
pub use task::{Comm, Doing, Holder, OTHERS, OffCpuReason, Sleep, TaskId, ThreadState, Wake};

use crate::{Cpu, Nanos, SocketId};

/// One observation.
///
/// Events arrive nearly in the order of their times: events of one CPU are ordered, events of two
/// CPUs may be swapped by some microseconds, and an observation that the kernel side pairs (queue and
/// xmit, wakeup and switch) is reported at its second half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// When: each [`Body`] says of what.
    pub at: Nanos,
    /// The CPU that it happened on.
    pub cpu: Cpu,
    /// What happened.
    pub body: Body<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A socket came into view. Always precedes the first other event of that socket.
    Socket(Socket),
    /// A socket was closed; its id is never used again.
    Closed(SocketId),
    /// A thread sends on a socket.
    Send(SendCall),
    /// A thread has read from a socket.
    Read(ReadCall),
    /// A socket has new data for its reader.
    Ready(Ready),
    /// A packet passed a hook.
    Packet(Packet<'a>),
    /// A thread that slept is running again.
    Wake(Wake),
    /// A thread was looked at.
    State(ThreadState),
    /// TCP sends a segment again.
    Retransmit(Retransmit),
    /// A packet was thrown away.
    Drop(DroppedPacket),
    /// A cgroup's CPU quota was used up, and one of its threads runs again. `at` is the switch to it.
    Quota(Quota),
    /// A probe had to throw events away.
    Lost(Lost),
    /// Sampling: `true` when events start to be reported, `false` when they pause on purpose.
    Window(bool),
}
