//! Packets: passing a hook, sent again, thrown away.

use super::TaskId;
use crate::{FlowKey, IfIndex, Nanos, NetNs, Seq, SocketId};

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

/// What a packet is of its flow's traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Portion {
    /// A TCP packet, or a datagram.
    #[default]
    Whole,
    /// An IP fragment of a datagram (RFC 791 §3.2, RFC 8200 §4.5). All fragments have the
    /// [`Packet::id`] of the first, which alone has the UDP header and comes first.
    Fragment {
        /// Where its payload begins in the datagram's.
        start: u32,
        /// Payload bytes of the whole datagram.
        of: u32,
    },
    /// An ICMP error (RFC 792, RFC 4443) in answer to a packet of the other direction: nobody listens
    /// there, or it was too large. What it quotes counts as its payload and is not captured.
    Refusal,
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
    /// What it is of its flow's traffic.
    pub portion: Portion,
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

    /// Payload bytes of the datagram that it is, or that it is a fragment of.
    pub fn datagram_len(&self) -> u32 {
        match self.portion {
            Portion::Fragment { of, .. } => of,
            Portion::Whole | Portion::Refusal => self.payload_len,
        }
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

/// TCP sends a segment again (`tcp_retransmit_skb`). `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmit {
    /// The sending socket.
    pub socket: SocketId,
    /// Its first byte.
    pub start: Seq,
    /// Payload bytes.
    pub len: u32,
    /// Why; `None` where that was not recorded.
    pub recovery: Option<Recovery>,
}

/// What makes TCP send something again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recovery {
    /// No acknowledgement came in time (RFC 6298).
    Timeout,
    /// Acknowledgements told that later bytes had arrived (RFC 5681 §3.2, RFC 8985 §6).
    Fast,
    /// Nothing came after it that could tell of its loss: a tail loss probe (RFC 8985 §7).
    TailProbe,
    /// The host itself had thrown the packet away before it left, which TCP does not count as sent: it tries again
    /// with the next acknowledgement, the next send, or a timer.
    Retry,
}

impl Recovery {
    /// Every kind.
    pub const ALL: [Recovery; 4] =
        [Recovery::Timeout, Recovery::Fast, Recovery::TailProbe, Recovery::Retry];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Recovery::Timeout => "timeout",
            Recovery::Fast => "fast_retransmit",
            Recovery::TailProbe => "tail_loss_probe",
            Recovery::Retry => "retry",
        }
    }
}

/// A packet was thrown away (`kfree_skb`). `at` is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// Its flow.
    pub flow: FlowKey,
    /// What it was for.
    pub cause: DropCause,
    /// The reason's number (`enum skb_drop_reason`), which differs between kernels.
    pub reason: u32,
    /// Payload bytes in it.
    pub len: u32,
    /// It had not left its socket's host yet: it was on its way to a device, or in a queue before it.
    pub outward: bool,
    /// When it reached the qdisc, if it was in one.
    pub queued: Option<Nanos>,
    /// TCP's fields, where they were recorded; `None` for UDP.
    pub tcp: Option<TcpFields>,
}

/// What a packet was thrown away for: the kernel's reasons by name, as far as they bear on messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The receiving socket's buffer was full: `SOCKET_RCVBUFF`, `SOCKET_BACKLOG`, `PROTO_MEM`, `TCP_ZEROWINDOW`.
    SocketBuffer,
    /// A queue in front of a device, or behind it, was full: `QDISC_DROP`, `FQ_FLOW_LIMIT`, `CPU_BACKLOG`, `FULL_RING`.
    Queue,
    /// Nobody listened: `NO_SOCKET`.
    NoSocket,
    /// A packet filter: `NETFILTER_DROP`, `TC_INGRESS`, `TC_EGRESS`, `BPF_CGROUP_EGRESS`.
    Filter,
    /// TCP had its bytes already: `TCP_OLD_DATA`, `TCP_OFOMERGE`, `TCP_OFO_DROP`. Nothing was lost.
    Duplicate,
    /// Any other reason.
    #[default]
    Other,
}

impl DropCause {
    /// Every cause.
    pub const ALL: [DropCause; 6] = [
        DropCause::SocketBuffer,
        DropCause::Queue,
        DropCause::NoSocket,
        DropCause::Filter,
        DropCause::Duplicate,
        DropCause::Other,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::SocketBuffer => "socket_buffer",
            DropCause::Queue => "queue",
            DropCause::NoSocket => "no_socket",
            DropCause::Filter => "packet_filter",
            DropCause::Duplicate => "duplicate",
            DropCause::Other => "other",
        }
    }
}
