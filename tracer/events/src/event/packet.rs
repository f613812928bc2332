//! Packets that pass a hook, are retransmitted or are dropped.

use super::TaskId;
use crate::all_variants;
use crate::{FlowKey, IfIndex, Nanos, NetNs, Seq, SocketId};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The identity of a packet inside a host: the address of its `skb->head`, which clones share. The address is reused after the
/// packet is freed, so that it identifies a packet only together with a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// The place in the network stack where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketHook {
    /// Handed to the NIC queue (`net_dev_start_xmit`).
    Xmit,
    /// Received (`netif_receive_skb` or `napi_gro_receive_entry`).
    Rx,
}

/// Completeness of a packet: whole, a fragment or an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// A TCP packet or a complete datagram.
    #[default]
    Whole,
    /// An IP fragment of a datagram (RFC 791 §3.2, RFC 8200 §4.5). All fragments have the [`Packet::id`] of the first one, which
    /// comes first and alone has the UDP header.
    Fragment {
        /// The offset of its payload in the payload of the datagram.
        start: u32,
        /// The payload bytes of the complete datagram.
        of: u32,
    },
    /// An ICMP error (RFC 792, RFC 4443) that answers a packet of the other direction: nobody listens there, or the packet was too
    /// large. The quoted packet counts as its payload and is not captured.
    IcmpError,
}

/// A packet passed a hook. The event's `at` is that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The hook.
    pub hook: PacketHook,
    /// The packet's flow.
    pub flow: FlowKey,
    /// The identity inside the host.
    pub id: PacketId,
    /// The sending socket, if the packet still refers to it (xmit only).
    pub socket: Option<SocketId>,
    /// The thread that was running; at xmit this is often the sender.
    pub task: TaskId,
    /// The network namespace of the device.
    pub netns: NetNs,
    /// The network device.
    pub device: IfIndex,
    /// Xmit: when the packet reached the qdisc (`net_dev_queue`), if that was seen. Rx of a deferred packet: since when `ksoftirqd` had been
    /// woken, if that was seen.
    pub queued: Option<Nanos>,
    /// Xmit only: the transmit queue (`skb->queue_mapping`).
    pub queue: u16,
    /// The bytes of the packet as the device counts them, link header included.
    pub wire_bytes: u32,
    /// The bytes of the link header that the device counts: 14 for Ethernet; 0 for loopback, which does not count it.
    pub link_header: u16,
    /// The bytes of the IP header, options and extension headers included.
    pub ip_header: u16,
    /// The bytes of the TCP or UDP header, options included.
    pub transport_header: u16,
    /// The bytes of its transport payload.
    pub payload_len: u32,
    /// The number of packets on the wire that it is split into (`gso_segs`); 1 for an ordinary packet.
    pub segments: u16,
    /// Rx only: whether the packet waited until `ksoftirqd` was scheduled, because the time budget of the interrupt was used up.
    pub deferred: bool,
    /// Completeness of the packet: whole, a fragment or an error.
    pub kind: PacketKind,
    /// The fields of the TCP header; `None` for UDP.
    pub tcp: Option<TcpFields>,
    /// The first bytes of the payload, as many as were captured.
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// The number of payload bytes that were not captured.
    pub fn uncaptured(&self) -> u64 {
        u64::from(self.payload_len).saturating_sub(self.payload.len() as u64)
    }

    /// Since when `ksoftirqd` had been woken, if the packet was left to it; 0 if that was not seen.
    pub fn deferred_since(&self) -> Option<Nanos> {
        self.deferred.then(|| self.queued.unwrap_or_default())
    }

    /// The payload bytes of the complete datagram, also for a fragment of it.
    pub fn datagram_len(&self) -> u32 {
        match self.kind {
            PacketKind::Fragment { of, .. } => of,
            PacketKind::Whole | PacketKind::IcmpError => self.payload_len,
        }
    }
}

/// The fields of the TCP header that are used (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// The sequence number of the first payload byte, or of the SYN.
    pub seq: Seq,
    /// The acknowledgement number; valid with [`tcp_flags::ACK`].
    pub ack: Seq,
    /// The flags of [`tcp_flags`].
    pub flags: u8,
    /// The receive window, not scaled.
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

/// TCP retransmits a segment (`tcp_retransmit_skb`). The event's `at` is that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmit {
    /// The sending socket.
    pub socket: SocketId,
    /// The sequence number of the first byte.
    pub start: Seq,
    /// The payload bytes.
    pub len: u32,
    /// The reason; `None` if it was not recorded.
    pub recovery: Option<Recovery>,
}

/// Why TCP retransmits a segment.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Recovery {
    /// No acknowledgement arrived in time (RFC 6298).
    Timeout,
    /// Acknowledgements showed that later bytes had arrived (RFC 5681 §3.2, RFC 8985 §6).
    #[strum(serialize = "fast_retransmit")]
    Fast,
    /// No later segment could have shown the loss, so TCP sent a tail loss probe (RFC 8985 §7).
    #[strum(serialize = "tail_loss_probe")]
    TailProbe,
    /// The host itself had dropped the packet before it left. TCP does not count it as sent and tries again with the next
    /// acknowledgement, the next send, or a timer.
    Retry,
}

impl Recovery {
    /// All values.
    pub const ALL: [Recovery; Recovery::VARIANTS.len()] = all_variants();

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The kernel dropped a packet (`kfree_skb`). The event's `at` is that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// The packet's flow.
    pub flow: FlowKey,
    /// The cause of the drop.
    pub cause: DropCause,
    /// The number of the kernel's reason (`enum skb_drop_reason`), which differs between kernels.
    pub reason: u32,
    /// The payload bytes.
    pub len: u32,
    /// True if the packet was on its way out: to a device, or in a queue before it.
    pub outward: bool,
    /// Time at which the packet reached the qdisc; `None` if it was in none.
    pub queued: Option<Nanos>,
    /// The fields of the TCP header, if they were recorded; `None` for UDP.
    pub tcp: Option<TcpFields>,
    /// The network namespace in which it was dropped; 0 if that is not known.
    pub netns: NetNs,
    /// The MTU of the device that it was to leave by, where it was too big for that; otherwise 0.
    pub mtu: u32,
}

/// Why a packet was dropped: the kernel's reasons, grouped by what they mean for messages.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum DropCause {
    /// The receiving socket's buffer was full: `SOCKET_RCVBUFF`, `SOCKET_BACKLOG`, `PROTO_MEM`, `TCP_ZEROWINDOW`.
    SocketBuffer,
    /// A queue in front of a device, or behind it, was full: `QDISC_DROP`, `FQ_FLOW_LIMIT`, `CPU_BACKLOG`, `FULL_RING`.
    Queue,
    /// No socket listened: `NO_SOCKET`.
    NoSocket,
    /// A packet filter dropped it: `NETFILTER_DROP`, `TC_INGRESS`, `TC_EGRESS`, `BPF_CGROUP_EGRESS`.
    #[strum(serialize = "packet_filter")]
    Filter,
    /// TCP had received its bytes before: `TCP_OLD_DATA`, `TCP_OFOMERGE`, `TCP_OFO_DROP`. Nothing was lost.
    Duplicate,
    /// Any other reason.
    #[default]
    Other,
    /// The packet was larger than the MTU of the device that it was to leave by, and might not be divided: `PKT_TOO_BIG`.
    TooBig,
}

impl DropCause {
    /// Every cause.
    pub const ALL: [DropCause; DropCause::VARIANTS.len()] = all_variants();

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
