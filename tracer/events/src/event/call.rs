//! Send calls, receive calls, and sockets that become ready.

use super::{PacketId, TaskId};
use crate::{FlowKey, Nanos, Seq, SocketId};
use serde::{Deserialize, Serialize};

/// A thread sends on a socket. The event's `at` is the entry into the kernel for TCP, and the exit for UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendCall {
    /// The socket.
    pub socket: SocketId,
    /// The sending thread.
    pub task: TaskId,
    /// Bytes of a stream, or a datagram.
    pub kind: SendKind,
}

/// Data of a send call: bytes of a stream, or a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// TCP: bytes from `start` on. A partial write accepts fewer than `len` bytes, so the real end is known only by the start of the
    /// next send.
    Stream {
        /// `tcp_sock.write_seq` at entry.
        start: Seq,
        /// Bytes that the caller wants to send.
        len: u32,
        /// The state of TCP at entry, if the hook provides it.
        state: Option<TxState>,
    },
    /// UDP: one datagram. The same thread queued its packets for the same socket between `entered` and the event's time.
    Datagram {
        /// Bytes that the kernel accepted.
        len: u32,
        /// The entry of the call, if there is a hook for it.
        entered: Option<Nanos>,
    },
}

/// The bytes that a thread sends on a TCP socket, from the memory of its program. Only where packets are not observed. The event
/// follows that of the send call, and has the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBytes<'a> {
    /// The socket.
    pub socket: SocketId,
    /// The sequence number of the first byte.
    pub start: Seq,
    /// Bytes that the caller wants to send.
    pub len: u32,
    /// The first of them, as many as were captured.
    pub bytes: &'a [u8],
}

/// The sending state of TCP (`struct tcp_sock`, include/linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxState {
    /// Bytes sent and not yet acknowledged: `snd_nxt - snd_una`.
    pub in_flight: u32,
    /// Bytes that the application has written and that were not sent yet: `write_seq - snd_nxt`.
    pub unsent: u32,
    /// The receive window of the peer, which limits the bytes in flight: `snd_wnd`.
    pub window: u32,
    /// Bytes of a full segment: `mss_cache`.
    pub mss: u32,
    /// The congestion window, which limits the segments in flight: `snd_cwnd`.
    pub cwnd: u32,
    /// Segments in flight: `packets_out`.
    pub segments_out: u32,
    /// Treatment of segments that are not full.
    pub nagle: Nagle,
    /// The size of the socket's send buffer, the kernel's own overhead included: `sk_sndbuf`. 0 if it was not recorded.
    pub send_buffer: u32,
    /// The rate in bytes a second at which TCP paces its segments: `sk_pacing_rate`. 0 if TCP does not pace, or the rate was not
    /// recorded.
    pub pacing: u64,
    /// The shortest round trip of the last five minutes that TCP has measured, in microseconds: `tcp_min_rtt()`. 0 if it has measured none, or
    /// that was not recorded.
    pub min_rtt: u32,
}

/// Treatment of a segment that is not full: it may wait for an acknowledgement. `tcp_sock.nonagle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nagle {
    /// The segment waits while others are in flight: Nagle's algorithm (RFC 9293 §3.7.4), the default.
    #[default]
    On,
    /// The segment is sent at once: `TCP_NODELAY`.
    Off,
    /// The segment waits until it is full: `TCP_CORK`, `MSG_MORE`.
    Corked,
}

/// A thread has read from a socket. The event's `at` is the exit of the receive call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCall {
    /// The socket.
    pub socket: SocketId,
    /// The reading thread.
    pub task: TaskId,
    /// Bytes of a stream, or a datagram.
    pub kind: ReadKind,
}

/// Data of a read call: bytes of a stream, or a datagram.
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
        /// The packet; `None` if it is not known.
        packet: Option<PacketId>,
        /// A time at which the memory of `packet` was this packet's. If the packet is not known: a time after the read at which no
        /// other datagram was left. `None` in the first version of recordings.
        seen: Option<Nanos>,
        /// The flow of the datagram, if its headers could be read.
        flow: Option<FlowKey>,
        /// Bytes read.
        len: u32,
    },
}

/// The data-ready callback of a socket ran. The event's `at` is that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The socket.
    pub socket: SocketId,
    /// Bytes of a stream, or a datagram.
    pub kind: ReadyKind,
}

/// Data that is ready at a socket: bytes of a stream, or a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyKind {
    /// TCP: everything before this sequence number (`tcp_sock.rcv_nxt`).
    Stream(Seq),
    /// UDP: one datagram.
    Datagram {
        /// The packet; `None` if it is not known.
        packet: Option<PacketId>,
        /// A time at which the memory of `packet` was this packet's; `None` in the first version of recordings.
        seen: Option<Nanos>,
    },
}
