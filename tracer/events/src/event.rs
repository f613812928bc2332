//! What a probe saw: one observation in the kernel, or one packet of a capture file.
//!
//! Payload is borrowed from the ring buffer or the file; nothing is allocated for an event.

use crate::{Cpu, FlowKey, IfIndex, Nanos, NetNs, Pid, Seq, SocketId, Tid, Transport};
use std::fmt;
use std::net::SocketAddr;

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
    Send(Send),
    /// A thread has read from a socket.
    Read(Read),
    /// A socket has new data for its reader.
    Ready(Ready),
    /// A packet passed a hook.
    Packet(Packet<'a>),
    /// A thread that slept is running again.
    Wake(Wake),
    /// TCP sends a segment again.
    Retransmit(Retransmit),
    /// A packet was thrown away.
    Drop(Drop),
    /// A probe had to throw events away.
    Lost(Lost),
    /// Sampling: `true` when events start to be reported, `false` when they pause on purpose.
    Window(bool),
}

/// A thread and the process that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TaskId {
    /// The process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
}

/// A task's name as the kernel keeps it (`task_struct.comm`): 15 bytes and a NUL.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// The name up to its NUL; `?` when it is not UTF-8.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or("?")
    }

    /// A name cut to what the kernel would keep.
    pub fn from_name(name: &str) -> Comm {
        let mut comm = [0; 16];
        for (to, from) in comm.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        Comm(comm)
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// How a socket came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was open before wirelap attached.
    Existing,
    /// An active open: `connect`.
    Connected,
    /// A passive open: `accept`.
    Accepted,
    /// Its first traffic was seen.
    FirstSeen,
}

/// A socket. `at` is when it came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its cookie.
    pub id: SocketId,
    /// Its network namespace.
    pub netns: NetNs,
    /// TCP or UDP.
    pub transport: Transport,
    /// Its own address; the address part may be unspecified (`0.0.0.0`) for UDP.
    pub local: SocketAddr,
    /// Its peer; `None` for an unconnected UDP socket.
    pub remote: Option<SocketAddr>,
    /// The thread in whose context it was seen; may be another's in softirq (then pid 0).
    pub task: TaskId,
    /// The name of that thread's process.
    pub comm: Comm,
    /// How it came into view.
    pub origin: Origin,
    /// TCP: the sequence number that the next byte to be sent will have (`tcp_sock.write_seq`).
    pub tx_next: Option<Seq>,
    /// TCP: the sequence number that the next byte to be read has (`tcp_sock.copied_seq`).
    pub rx_next: Option<Seq>,
}

impl Socket {
    /// The flow of what this socket sends, when it has one peer.
    pub fn tx_flow(&self) -> Option<FlowKey> {
        Some(FlowKey::new(self.transport, self.local, self.remote?, self.netns))
    }

    /// The flow of what this socket receives, when it has one peer.
    pub fn rx_flow(&self) -> Option<FlowKey> {
        self.tx_flow().map(FlowKey::reversed)
    }
}

/// A thread sends on a socket. `at` is the entry into the kernel for TCP, the exit for UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The socket.
    pub socket: SocketId,
    /// The sending thread.
    pub task: TaskId,
    /// What it sends.
    pub kind: SendKind,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// TCP: bytes from `start` on. A later send's start tells where this one really ended: a partial
    /// write accepts fewer than `len` bytes.
    Stream {
        /// `write_seq` at entry.
        start: Seq,
        /// Bytes that the caller asked to send.
        len: u32,
        /// What TCP knew then, where the hook tells.
        state: Option<TxState>,
    },
    /// UDP: one datagram. Its packets were queued by the same thread for the same socket between
    /// `entered` and the event's time.
    Datagram {
        /// Bytes accepted.
        len: u32,
        /// Entry of the call, where a hook for that was found.
        entered: Option<Nanos>,
    },
}

/// What TCP knows about what it sends (`struct tcp_sock`, include/linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxState {
    /// Bytes sent and not yet acknowledged: `snd_nxt - snd_una`.
    pub in_flight: u32,
    /// Bytes that the application has handed over and that were not sent yet: `write_seq - snd_nxt`.
    pub unsent: u32,
    /// Bytes that the receiver lets be in flight: `snd_wnd`.
    pub window: u32,
    /// Bytes of a full segment: `mss_cache`.
    pub mss: u32,
    /// Segments that congestion control lets be in flight: `snd_cwnd`.
    pub cwnd: u32,
    /// Segments in flight: `packets_out`.
    pub segments_out: u32,
    /// Whether short segments may wait.
    pub nagle: Nagle,
}

/// Whether a segment that is not full may wait for an acknowledgement: `tcp_sock.nonagle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nagle {
    /// It waits while others are in flight: Nagle's algorithm (RFC 9293 §3.7.4), the default.
    #[default]
    On,
    /// It is sent at once: `TCP_NODELAY`.
    Off,
    /// It waits until it is full: `TCP_CORK`, `MSG_MORE`.
    Corked,
}

/// A thread has read from a socket. `at` is the exit of the receive call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The socket.
    pub socket: SocketId,
    /// The reading thread.
    pub task: TaskId,
    /// What it read.
    pub kind: ReadKind,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// TCP: the `len` bytes up to `end` (`tcp_sock.copied_seq` at exit).
    Stream {
        /// One past the last byte read.
        end: Seq,
        /// Bytes read.
        len: u32,
    },
    /// UDP: one datagram.
    Datagram {
        /// Which one; `None` where no hook tells.
        packet: Option<PacketId>,
        /// The datagram's flow, where its headers could be read.
        flow: Option<FlowKey>,
        /// Bytes read.
        len: u32,
    },
}

/// A socket's data-ready callback ran. `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The socket.
    pub socket: SocketId,
    /// What is ready.
    pub kind: ReadyKind,
}

/// What is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyKind {
    /// TCP: everything before this sequence number (`tcp_sock.rcv_nxt`).
    Stream(Seq),
    /// UDP: this datagram, where it is known, or else all that were received before.
    Datagram(Option<PacketId>),
}

/// A packet's identity inside a host: the address of its `skb->head`, which clones share. Reused
/// once the packet is freed, so it names a packet only together with a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// Which side of the stack a packet was seen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketHook {
    /// Handed to the NIC queue (`net_dev_start_xmit`).
    Xmit,
    /// Received (`netif_receive_skb` or `napi_gro_receive_entry`).
    Rx,
}

/// A packet passed a hook. `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Which hook.
    pub hook: PacketHook,
    /// Its flow.
    pub flow: FlowKey,
    /// Its identity inside the host.
    pub id: PacketId,
    /// The sending socket, where the packet still knows it (on the way out).
    pub socket: Option<SocketId>,
    /// The thread that was running; for a packet on the way out often its sender.
    pub task: TaskId,
    /// The namespace of its device.
    pub netns: NetNs,
    /// Its device.
    pub device: IfIndex,
    /// Xmit only: when it reached the qdisc (`net_dev_queue`), if that was seen.
    pub queued: Option<Nanos>,
    /// Xmit only: the transmit queue (`skb->queue_mapping`).
    pub queue: u16,
    /// All its bytes as the device counts them, link header included.
    pub wire_bytes: u32,
    /// Bytes of its link header, as far as the device counts them: 14 for Ethernet, 0 for loopback,
    /// whose counters leave it out.
    pub link_header: u16,
    /// Bytes of its IP header, options and extension headers included.
    pub ip_header: u16,
    /// Bytes of its TCP or UDP header, options included.
    pub transport_header: u16,
    /// Bytes of transport payload in it.
    pub payload_len: u32,
    /// Wire-sized segments that it stands for (`gso_segs`); 1 for an ordinary packet.
    pub segments: u16,
    /// Rx only: it waited for `ksoftirqd` to be scheduled, because the interrupt's own time was up.
    pub deferred: bool,
    /// TCP's fields; `None` for UDP.
    pub tcp: Option<TcpFields>,
    /// The first bytes of its payload, as many as were captured.
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// Payload bytes that were not captured.
    pub fn uncaptured(&self) -> u64 {
        u64::from(self.payload_len).saturating_sub(self.payload.len() as u64)
    }
}

/// The TCP header's fields that are needed (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// Sequence number of the first payload byte (of the SYN itself on a SYN).
    pub seq: Seq,
    /// Acknowledgement number; meaningful with [`tcp_flags::ACK`].
    pub ack: Seq,
    /// Flags: see [`tcp_flags`].
    pub flags: u8,
    /// Receive window, not scaled.
    pub window: u16,
}

/// TCP header flags.
pub mod tcp_flags {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
}

/// A thread that slept or was preempted runs again. `at` is the switch to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The thread.
    pub task: TaskId,
    /// Why it had left the CPU.
    pub rest: Rest,
    /// When it had left the CPU (`sched_switch` away from it); `None` if that was not seen.
    pub left: Option<Nanos>,
    /// When it was woken (`sched_waking`); of one that was preempted: when it left the CPU.
    pub woken: Nanos,
    /// The thread that was running where the wakeup came from: the waker, unless `from_irq`. Of one that
    /// was preempted: the thread that took the CPU.
    pub waker: TaskId,
    /// The wakeup came from an interrupt (softirq or timer), not from the waker's own doing.
    pub from_irq: bool,
    /// It had run on another CPU before.
    pub migrated: bool,
    /// Who had the CPU meanwhile.
    pub holder: Holder,
}

/// Why a thread was not running (`task_struct.__state` when it left the CPU).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rest {
    /// It waited for something, and a signal would have woken it: `TASK_INTERRUPTIBLE`.
    #[default]
    Asleep,
    /// It waited for something that takes no signal, a disk mostly: `TASK_UNINTERRUPTIBLE`.
    Blocked,
    /// It was stopped or traced: `TASK_STOPPED`, `TASK_TRACED`.
    Stopped,
    /// It could have gone on, and another was given the CPU: `TASK_RUNNING`.
    Preempted,
}

/// The thread that had a CPU for most of the time in which another waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The thread; tid 0 is the idle task: the CPU was asleep.
    pub task: TaskId,
    /// Its name.
    pub comm: Comm,
    /// How much of the wait it had the CPU.
    pub held: Nanos,
}

/// TCP sends a segment again (`tcp_retransmit_skb`). `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmit {
    /// The sending socket.
    pub socket: SocketId,
    /// Its first byte.
    pub start: Seq,
    /// Payload bytes.
    pub len: u32,
}

/// A packet was thrown away (`kfree_skb`). `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drop {
    /// Its flow.
    pub flow: FlowKey,
    /// What it was for.
    pub cause: DropCause,
    /// The reason's number (`enum skb_drop_reason`), which differs between kernels.
    pub reason: u32,
    /// Payload bytes in it.
    pub len: u32,
}

/// What a packet was thrown away for: the kernel's reasons by name, as far as they bear on messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The receiving socket's buffer was full: `SOCKET_RCVBUFF`, `SOCKET_BACKLOG`, `PROTO_MEM`.
    SocketBuffer,
    /// A queue in front of a device, or behind it, was full: `QDISC_DROP`, `CPU_BACKLOG`, `FULL_RING`.
    Queue,
    /// Nobody listened: `NO_SOCKET`.
    NoSocket,
    /// Any other reason.
    #[default]
    Other,
}

/// A probe had to throw events away. `at` is when that was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which probe.
    pub probe: Probe,
    /// How many events since the last report.
    pub count: u64,
}

/// An observation that a probe makes. The order is that of `enum wl_probe` in `ebpf/include/events.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Probe {
    /// Sockets coming into view and closing.
    Socket,
    /// Send entry.
    Send,
    /// Receive exit.
    Read,
    /// Data ready.
    Ready,
    /// Qdisc and NIC queue.
    Xmit,
    /// Packet reception.
    Rx,
    /// Wakeup and switch-in.
    Sched,
    /// TCP retransmission.
    Retransmit,
    /// Packet drops.
    Drop,
}

impl Probe {
    /// Every probe, in the order of its number.
    pub const ALL: [Probe; 9] = [
        Probe::Socket,
        Probe::Send,
        Probe::Read,
        Probe::Ready,
        Probe::Xmit,
        Probe::Rx,
        Probe::Sched,
        Probe::Retransmit,
        Probe::Drop,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::Socket => "socket",
            Probe::Send => "send",
            Probe::Read => "read",
            Probe::Ready => "ready",
            Probe::Xmit => "xmit",
            Probe::Rx => "rx",
            Probe::Sched => "sched",
            Probe::Retransmit => "retransmit",
            Probe::Drop => "drop",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_numbered_as_listed() {
        for (number, probe) in Probe::ALL.into_iter().enumerate() {
            assert_eq!(probe as usize, number);
        }
    }

    #[test]
    fn comm_is_cut_like_the_kernel_cuts_it() {
        assert_eq!(Comm::from_name("mosquitto").as_str(), "mosquitto");
        assert_eq!(Comm::from_name("a-very-long-process-name").as_str(), "a-very-long-pro");
        assert_eq!(Comm([0xFF; 16]).as_str(), "?");
    }
}
