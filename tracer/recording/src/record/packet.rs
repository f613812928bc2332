//! A packet ↔ its bytes: what its headers and its interface say, and what they do not.

use crate::wire::{Signed, WireReader, WireValue, WireWriter, fields};
use wirelap_events::{
    FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId, PacketKind, SocketId, TaskId,
    TcpFields,
};

/// Appends a packet that is not shown as one; its payload comes last.
pub fn put(packet: &Packet<'_>, at: Nanos, out: &mut impl WireWriter) {
    PacketHeaders::of(packet).put(out);
    PacketMetadata::of(packet, at).put(out);
    out.text(packet.payload);
}

/// Reads a packet that was seen at a time, up to its payload.
pub fn take(at: Nanos, from: &mut impl WireReader) -> Option<Packet<'static>> {
    let headers = PacketHeaders::take(from)?;
    let metadata = PacketMetadata::take(from)?;
    Some(headers.packet(&metadata, at))
}

/// Fields of a packet that its headers and its interface tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeaders {
    pub hook: PacketHook,
    pub flow: FlowKey,
    pub netns: NetNs,
    pub device: IfIndex,
    pub ip_header: u16,
    pub transport_header: u16,
    pub payload_len: u32,
    pub tcp: Option<TcpFields>,
}

/// Fields of a packet that neither its headers nor its interface tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketMetadata {
    pub id: PacketId,
    pub socket: Option<SocketId>,
    pub task: TaskId,
    /// Time from the packet's entry into the qdisc to the packet's time; `None` if the entry was not seen.
    pub waited: Option<Signed>,
    pub queue: u16,
    pub wire_bytes: u32,
    pub link_header: u16,
    pub segments: u16,
    pub deferred: bool,
    pub kind: PacketKind,
}

fields! {
    PacketHeaders { hook, flow, netns, device, ip_header, transport_header, payload_len, tcp }
    PacketMetadata {
        id, socket, task, waited, queue, wire_bytes, link_header, segments, deferred, kind
    }
}

impl PacketHeaders {
    #[inline]
    fn of(packet: &Packet<'_>) -> PacketHeaders {
        PacketHeaders {
            hook: packet.hook,
            flow: packet.flow,
            netns: packet.netns,
            device: packet.device,
            ip_header: packet.ip_header,
            transport_header: packet.transport_header,
            payload_len: packet.payload_len,
            tcp: packet.tcp,
        }
    }

    /// The packet, without its payload, that was seen at a time.
    pub fn packet(self, metadata: &PacketMetadata, at: Nanos) -> Packet<'static> {
        Packet {
            hook: self.hook,
            flow: self.flow,
            id: metadata.id,
            socket: metadata.socket,
            task: metadata.task,
            netns: self.netns,
            device: self.device,
            queued: metadata.queued(at),
            queue: metadata.queue,
            wire_bytes: metadata.wire_bytes,
            link_header: metadata.link_header,
            ip_header: self.ip_header,
            transport_header: self.transport_header,
            payload_len: self.payload_len,
            segments: metadata.segments,
            deferred: metadata.deferred,
            kind: metadata.kind,
            tcp: self.tcp,
            payload: &[],
        }
    }
}

impl PacketMetadata {
    /// The metadata of a packet that was seen at a time.
    #[inline]
    pub fn of(packet: &Packet<'_>, at: Nanos) -> PacketMetadata {
        let before = |queued: Nanos| Signed(at.0.wrapping_sub(queued.0).cast_signed());
        PacketMetadata {
            id: packet.id,
            socket: packet.socket,
            task: packet.task,
            waited: packet.queued.map(before),
            queue: packet.queue,
            wire_bytes: packet.wire_bytes,
            link_header: packet.link_header,
            segments: packet.segments,
            deferred: packet.deferred,
            kind: packet.kind,
        }
    }

    /// Time at which the packet came into the qdisc; `None` if that was not seen.
    fn queued(&self, at: Nanos) -> Option<Nanos> {
        self.waited.map(|waited| Nanos(at.0.wrapping_sub(waited.0.cast_unsigned())))
    }
}
