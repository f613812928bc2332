//! What threads ask of sockets and sockets tell threads: sends, reads, readiness.

use super::{PacketId, TaskId};
use crate::{FlowKey, Nanos, Seq, SocketId};

/// A thread sends on a socket. `at` is the entry into the kernel for TCP, the exit for UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendCall {
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
    /// Bytes that the socket's buffer holds before a send has to wait, the kernel's own book-keeping included:
    /// `sk_sndbuf`. 0 if that was not recorded.
    pub send_buffer: u32,
    /// Bytes a second that TCP spreads its segments to: `sk_pacing_rate`; 0 if it does not, or that was not
    /// recorded.
    pub pacing: u64,
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
pub struct ReadCall {
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
        /// Which one; `None` where it is not known.
        packet: Option<PacketId>,
        /// A time at which that memory was this packet's; the first recordings do not tell it. Where it is not known which
        /// one it was: a time after it was taken at which no other was left.
        seen: Option<Nanos>,
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
    /// UDP: one datagram.
    Datagram {
        /// Which one; `None` where it is not known.
        packet: Option<PacketId>,
        /// A time at which that memory was this packet's; the first recordings do not tell it.
        seen: Option<Nanos>,
    },
}
