//! An event: one observation of a probe in the kernel, or one packet of a capture file.
//!
//! The payload is borrowed from the ring buffer or the file, so that an event needs no allocation.

mod call;
mod end;
mod packet;
mod plain;
mod probe;
mod quota;
mod socket;
mod task;

pub use call::{
    Nagle, ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, TxState, WrittenBytes,
};
pub use end::ProcessEnd;
pub use packet::{
    DropCause, DroppedPacket, Packet, PacketHook, PacketId, PacketKind, Recovery, Retransmit,
    TcpFields, tcp_flags,
};
pub use plain::{PlainText, TextPlace};
pub use probe::{EventLosses, LossCause, LostEvents, Probe};
pub use quota::{CGROUP_NAME, Quota};
pub use socket::{Socket, SocketOrigin};
pub use task::{
    Comm, Holder, OTHERS, OffCpuReason, SleepCall, TaskId, ThreadActivity, ThreadState, Wake,
};

use crate::{Cpu, Nanos, SocketId};

/// One observation.
///
/// Events arrive nearly in order of time: the events of one CPU are ordered, events of two CPUs may be swapped by some
/// microseconds, and an observation that the probes make in two steps (queue and xmit, wakeup and switch) is reported at the
/// second step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The time of the observation. Each variant of [`Body`] tells which moment that is.
    pub at: Nanos,
    /// The CPU of the observation.
    pub cpu: Cpu,
    /// The observation itself.
    pub body: Body<'a>,
}

/// Observation that an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A socket was found. This always precedes the other events of that socket.
    Socket(Socket),
    /// A socket was closed. Its id is never used again.
    Closed(SocketId),
    /// A thread sends on a socket.
    Send(SendCall),
    /// The bytes of a send.
    Written(WrittenBytes<'a>),
    /// A thread has read from a socket.
    Read(ReadCall),
    /// A socket has new data for its reader.
    Ready(Ready),
    /// The text of a TLS record is known.
    Plain(PlainText<'a>),
    /// A packet passed a hook.
    Packet(Packet<'a>),
    /// A thread that slept is running again.
    Wake(Wake),
    /// The state of a thread was read.
    State(ThreadState),
    /// TCP retransmits a segment.
    Retransmit(Retransmit),
    /// The kernel dropped a packet.
    Drop(DroppedPacket),
    /// The CPU quota of a cgroup was used up, and one of its threads runs again. The event's `at` is the switch to it.
    Quota(Quota),
    /// A process that had traced sockets ends.
    Ended(ProcessEnd),
    /// A probe has lost events.
    Lost(LostEvents),
    /// Sampling: `true` when the probes start to report events, `false` when they pause.
    Window(bool),
    /// Sampling: from this time on, the present window is open only until the messages that were found in it have arrived. How long
    /// that is depends on the messages.
    Waiting(Nanos),
}

impl Body<'_> {
    /// The probe that reports it; `None` if no probe does.
    pub fn probe(&self) -> Option<Probe> {
        Some(match self {
            Body::Socket(_) | Body::Closed(_) => Probe::Socket,
            Body::Send(_) | Body::Plain(PlainText { place: TextPlace::Sent { .. }, .. }) => {
                Probe::Send
            }
            Body::Read(_) | Body::Plain(_) => Probe::Read,
            Body::Ready(_) => Probe::Ready,
            Body::Packet(Packet { hook: PacketHook::Xmit, .. }) => Probe::Xmit,
            Body::Packet(Packet { hook: PacketHook::Rx, .. }) => Probe::Rx,
            Body::Wake(_) | Body::Quota(_) | Body::Ended(_) => Probe::Sched,
            Body::Retransmit(_) => Probe::Retransmit,
            Body::Drop(_) => Probe::Drop,
            // Its send is counted.
            Body::Written(_)
            | Body::Lost(_)
            | Body::State(_)
            | Body::Window(_)
            | Body::Waiting(_) => return None,
        })
    }
}
