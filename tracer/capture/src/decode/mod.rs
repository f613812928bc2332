//! Makes an [`Event`] of the bytes of a record. The fields are copied and checked; memory is never reinterpreted as a struct.
//!
//! The offsets are those of `ebpf/include/events.h`, through [`wirelap_ebpf::layout`].

mod apart;
mod malformed;
mod record;
mod sched;
mod unix;

pub(crate) use apart::{CopiedPayload, LeavingPacket, PacketName, departure, payload};
pub use malformed::Malformed;
pub use unix::{UnixConnection, unix_connections};

use record::RecordBytes;
use wirelap_ebpf::layout::{self as l, wl_head};
use wirelap_events::{
    Body, Comm, Cpu, DropCause, DroppedPacket, Event, IfIndex, Nagle, Nanos, Packet, PacketHook,
    PacketId, PacketKind, PlainText, ReadCall, ReadKind, Ready, ReadyKind, Recovery, Retransmit,
    SendCall, SendKind, Seq, Socket, SocketOrigin, TaskId, TcpFields, TextPlace, Transport,
    TxState, WrittenBytes,
};

/// Makes an event of one record.
///
/// # Errors
/// [`Malformed`] if the record is too short, of an unknown kind, or has an impossible value.
pub fn decode(bytes: &[u8]) -> Result<Event<'_>, Malformed> {
    let head = RecordBytes::checked(bytes, 0, wl_head::SIZE)?;
    let kind = head.kind();
    let sized = |size| RecordBytes::checked(bytes, kind, size);
    let body = match u32::from(kind) {
        l::WL_SOCKET => Body::Socket(socket(sized(l::wl_socket::SIZE)?)?),
        l::WL_CLOSED => Body::Closed(sized(l::wl_closed::SIZE)?.socket(l::wl_closed::COOKIE)),
        l::WL_SEND_STREAM | l::WL_SEND_DATAGRAM => Body::Send(send(sized(l::wl_send::SIZE)?)?),
        l::WL_PLAIN | l::WL_PLAIN_READ => Body::Plain(plain(bytes, sized(l::wl_plain::SIZE)?)?),
        l::WL_READ_STREAM | l::WL_READ_DATAGRAM => Body::Read(read(sized(l::wl_read::SIZE)?)),
        l::WL_READY_STREAM | l::WL_READY_DATAGRAM => Body::Ready(ready(sized(l::wl_ready::SIZE)?)),
        l::WL_XMIT | l::WL_RX => Body::Packet(packet(bytes, sized(l::wl_packet::SIZE)?)?),
        l::WL_WAKE => Body::Wake(sched::wake(sized(l::wl_wake::SIZE)?)?),
        l::WL_WAKE_SHARED => Body::Wake(sched::shared(sized(l::wl_wake_shared::SIZE)?)?),
        l::WL_QUOTA => Body::Quota(sched::quota(sized(l::wl_quota::SIZE)?)),
        l::WL_ENDED => Body::Ended(sched::ended(sized(l::wl_ended::SIZE)?)),
        l::WL_RETRANSMIT => Body::Retransmit(retransmit(sized(l::wl_retransmit::SIZE)?)),
        l::WL_DROP => Body::Drop(drop(sized(l::wl_drop::SIZE)?)?),
        _ => return Err(Malformed::Kind(kind)),
    };
    Ok(Event { at: Nanos(head.u64(wl_head::AT)), cpu: Cpu(head.u16(wl_head::CPU)), body })
}

fn socket(r: RecordBytes<'_>) -> Result<Socket, Malformed> {
    use l::wl_socket as f;
    let flow = r.flow(f::FLOW)?;
    let seq = |at| Some(Seq(r.u32(at))).filter(|_| r.flag(l::WL_HAS_SEQ));
    let origin = match r.u32(f::ORIGIN) {
        l::WL_ORIGIN_EXISTING => SocketOrigin::Existing,
        l::WL_ORIGIN_CONNECTED => SocketOrigin::Connected,
        l::WL_ORIGIN_ACCEPTED => SocketOrigin::Accepted,
        l::WL_ORIGIN_FIRST_SEEN => SocketOrigin::FirstSeen,
        value => return Err(r.impossible("origin", value)),
    };
    Ok(Socket {
        id: r.socket(f::COOKIE),
        netns: flow.netns,
        transport: flow.transport,
        local: flow.src,
        remote: Some(flow.dst).filter(|peer| peer.port() != 0),
        task: r.task(f::TASK),
        comm: Comm(r.bytes(f::COMM)),
        origin,
        tx_next: seq(f::TX_NEXT),
        rx_next: seq(f::RX_NEXT),
        is_subflow: r.flag(l::WL_SUBFLOW),
    })
}

fn send(r: RecordBytes<'_>) -> Result<SendCall, Malformed> {
    use l::wl_send as f;
    let len = r.u32(f::LEN);
    let kind = if u32::from(r.kind()) == l::WL_SEND_STREAM {
        SendKind::Stream { start: Seq(r.u32(f::START)), len, state: Some(tx_state(r, f::TX)?) }
    } else {
        SendKind::Datagram { len, entered: r.time(f::ENTERED) }
    };
    Ok(SendCall { socket: r.socket(f::COOKIE), task: r.task(f::TASK), kind })
}

/// The bytes of the send that a record describes; `None` for a record without them.
///
/// # Errors
/// [`Malformed`] if the record is too short.
pub(crate) fn written(bytes: &[u8]) -> Result<Option<WrittenBytes<'_>>, Malformed> {
    use l::wl_send as f;
    let head = RecordBytes::checked(bytes, 0, wl_head::SIZE)?;
    let captured = head.u32(wl_head::CAPTURED) as usize;
    if u32::from(head.kind()) != l::WL_SEND_STREAM || captured == 0 {
        return Ok(None);
    }
    let r = RecordBytes::checked(bytes, head.kind(), f::SIZE)?;
    let needed = f::SIZE.saturating_add(captured);
    let short = Malformed::Short { kind: head.kind(), needed, got: bytes.len() };
    let sent = bytes.get(f::SIZE..needed).ok_or(short)?;
    let len = r.u32(f::LEN);
    Ok(Some(WrittenBytes {
        socket: r.socket(f::COOKIE),
        start: Seq(r.u32(f::START)),
        len,
        bytes: sent.get(..len as usize).unwrap_or(sent),
    }))
}

fn plain<'a>(bytes: &'a [u8], r: RecordBytes<'_>) -> Result<PlainText<'a>, Malformed> {
    use l::wl_plain as f;
    let len = r.u32(f::TEXT_LEN);
    let needed = f::SIZE.saturating_add(r.u32(wl_head::CAPTURED) as usize);
    let short = Malformed::Short { kind: r.kind(), needed, got: bytes.len() };
    let text = bytes.get(f::SIZE..needed).ok_or(short)?;
    Ok(PlainText {
        socket: r.socket(f::COOKIE),
        task: r.task(f::TASK),
        place: if u32::from(r.kind()) == l::WL_PLAIN {
            TextPlace::Sent { start: Seq(r.u32(f::START)), record_len: r.u32(f::BYTES) }
        } else {
            let (end, taken) = (Seq(r.u32(f::START)), r.u32(f::BYTES));
            TextPlace::Read { end, taken, ahead: r.flag(l::WL_AHEAD) }
        },
        text_start: r.u32(f::TEXT_START),
        len,
        text: text.get(..len as usize).unwrap_or(text),
    })
}

/// A packet that its CPU has just sent through loopback is received: `struct wl_looped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopedPacket {
    /// The time of that.
    pub at: Nanos,
    /// The CPU that sent the packet, too.
    pub cpu: Cpu,
    /// The packet, which is the last one that this CPU sent.
    pub id: PacketId,
    /// The thread that was running.
    pub task: TaskId,
}

/// The packet that a record says has come back through loopback; `None` for a record of anything else.
///
/// # Errors
/// [`Malformed`] if the record is too short.
pub(crate) fn looped(bytes: &[u8]) -> Result<Option<LoopedPacket>, Malformed> {
    use l::wl_looped as f;
    let head = RecordBytes::checked(bytes, 0, wl_head::SIZE)?;
    if u32::from(head.kind()) != l::WL_LOOPED {
        return Ok(None);
    }
    let r = RecordBytes::checked(bytes, head.kind(), f::SIZE)?;
    Ok(Some(LoopedPacket {
        at: Nanos(r.u64(wl_head::AT)),
        cpu: Cpu(r.u16(wl_head::CPU)),
        id: PacketId(r.u64(f::ID)),
        task: r.task(f::TASK),
    }))
}

/// Reads a `struct wl_tx`.
fn tx_state(r: RecordBytes<'_>, at: usize) -> Result<TxState, Malformed> {
    use l::wl_tx as f;
    Ok(TxState {
        in_flight: r.u32(at + f::IN_FLIGHT),
        unsent: r.u32(at + f::UNSENT),
        window: r.u32(at + f::WINDOW),
        mss: r.u32(at + f::MSS),
        cwnd: r.u32(at + f::CWND),
        segments_out: r.u32(at + f::SEGMENTS_OUT),
        nagle: match r.u32(at + f::NAGLE) {
            l::WL_NAGLE_ON => Nagle::On,
            l::WL_NAGLE_OFF => Nagle::Off,
            l::WL_NAGLE_CORKED => Nagle::Corked,
            value => return Err(r.impossible("nagle", value)),
        },
        send_buffer: r.u32(at + f::SEND_BUFFER),
        pacing: r.u64(at + f::PACING),
        min_rtt: Some(r.u32(at + f::MIN_RTT)).filter(|&us| us != u32::MAX).unwrap_or(0),
    })
}

fn read(r: RecordBytes<'_>) -> ReadCall {
    use l::wl_read as f;
    let len = r.u32(f::LEN);
    let kind = if u32::from(r.kind()) == l::WL_READ_STREAM {
        ReadKind::Stream { end: Seq(r.u32(f::END)), len }
    } else {
        let (packet, seen) = (r.packet_id(f::PACKET), r.time(f::SEEN));
        ReadKind::Datagram { packet, seen, flow: None, len }
    };
    ReadCall { socket: r.socket(f::COOKIE), task: r.task(f::TASK), kind }
}

fn ready(r: RecordBytes<'_>) -> Ready {
    use l::wl_ready as f;
    let kind = if u32::from(r.kind()) == l::WL_READY_STREAM {
        ReadyKind::Stream(Seq(r.u32(f::RCV_NXT)))
    } else {
        ReadyKind::Datagram { packet: r.packet_id(f::PACKET), seen: r.time(f::SEEN) }
    };
    Ready { socket: r.socket(f::COOKIE), kind }
}

fn packet<'a>(bytes: &'a [u8], r: RecordBytes<'_>) -> Result<Packet<'a>, Malformed> {
    use l::wl_packet as f;
    let captured = r.u32(wl_head::CAPTURED) as usize;
    let needed = f::SIZE.saturating_add(captured);
    let payload = bytes.get(f::SIZE..needed).ok_or(Malformed::Short {
        kind: r.kind(),
        needed,
        got: bytes.len(),
    })?;
    // The headers of a packet may claim more payload than the packet has bytes.
    let wire_bytes = r.u32(f::WIRE_BYTES);
    let payload_len = r.u32(f::PAYLOAD_LEN).min(wire_bytes);
    let payload = payload.get(..payload_len as usize).unwrap_or(payload);
    let flow = r.flow(f::FLOW)?;
    let is_xmit = u32::from(r.kind()) == l::WL_XMIT;
    Ok(Packet {
        hook: if is_xmit { PacketHook::Xmit } else { PacketHook::Rx },
        flow: flow.key(),
        id: PacketId(r.u64(f::ID)),
        socket: Some(r.socket(f::COOKIE)).filter(|id| id.0 != 0),
        task: r.task(f::TASK),
        netns: flow.netns,
        device: IfIndex(r.u32(f::DEVICE)),
        queued: r.time(f::QUEUED),
        queue: r.u16(f::QUEUE),
        wire_bytes,
        link_header: r.u16(f::LINK_HEADER),
        ip_header: r.u16(f::IP_HEADER),
        transport_header: r.u8(f::TRANSPORT_HEADER).into(),
        payload_len,
        segments: r.u16(f::SEGMENTS),
        deferred: r.flag(l::WL_DEFERRED),
        kind: kind_of(r),
        tcp: (flow.transport == Transport::Tcp).then(|| TcpFields {
            seq: Seq(r.u32(f::SEQ)),
            ack: Seq(r.u32(f::ACK)),
            flags: r.u8(f::TCP_FLAGS),
            window: r.u16(f::WINDOW),
        }),
        payload,
    })
}

fn kind_of(r: RecordBytes<'_>) -> PacketKind {
    use l::wl_packet as f;
    if r.flag(l::WL_REFUSED) {
        PacketKind::IcmpError
    } else if r.flag(l::WL_FRAGMENT) {
        PacketKind::Fragment { start: r.u16(f::WINDOW).into(), of: r.u32(f::ACK) }
    } else {
        PacketKind::Whole
    }
}

fn retransmit(r: RecordBytes<'_>) -> Retransmit {
    use l::wl_retransmit as f;
    let recovery = match r.u32(f::STATE) {
        l::WL_CA_LOSS => Recovery::Timeout,
        l::WL_CA_RECOVERY => Recovery::Fast,
        _ => Recovery::TailProbe,
    };
    Retransmit {
        socket: r.socket(f::COOKIE),
        start: Seq(r.u32(f::START)),
        len: r.u32(f::LEN),
        recovery: Some(recovery),
    }
}

fn drop(r: RecordBytes<'_>) -> Result<DroppedPacket, Malformed> {
    use l::wl_drop as f;
    let cause = match r.u32(f::CAUSE) {
        l::WL_CAUSE_OTHER => DropCause::Other,
        l::WL_CAUSE_SOCKET_BUFFER => DropCause::SocketBuffer,
        l::WL_CAUSE_QUEUE => DropCause::Queue,
        l::WL_CAUSE_NO_SOCKET => DropCause::NoSocket,
        l::WL_CAUSE_FILTER => DropCause::Filter,
        l::WL_CAUSE_DUPLICATE => DropCause::Duplicate,
        l::WL_CAUSE_TOO_BIG => DropCause::TooBig,
        value => return Err(r.impossible("cause", value)),
    };
    let flow = r.flow(f::FLOW)?;
    Ok(DroppedPacket {
        cause,
        flow: flow.key(),
        reason: r.u32(f::REASON),
        len: r.u32(f::LEN),
        outward: r.flag(l::WL_OUTWARD),
        queued: r.time(f::QUEUED),
        tcp: (flow.transport == Transport::Tcp).then(|| TcpFields {
            seq: Seq(r.u32(f::SEQ)),
            ack: Seq(r.u32(f::ACK)),
            flags: r.u8(f::TCP_FLAGS),
            window: r.u16(f::WINDOW),
        }),
        netns: flow.netns,
        mtu: r.u32(f::MTU),
    })
}
