//! One captured packet → an event.

use super::section::CurrentSection;
use crate::packet::fragments::{Fragment, FragmentTable};
use crate::packet::multipath::Multipath;
use crate::packet::parse::Headers;
use crate::packet::{UnreadablePacket, link, parse, tunnel};
use crate::pcapng::classic::PacketHeader;
use crate::pcapng::{BlockFields, BlockOption, ByteOrder, CapturePoint, Interface, block, custom};
use crate::record::{PacketHeaders, PacketMetadata, RecordCursor};
use crate::wire::WireValue;
use std::ops::Range;
use wirelap_events::{
    Body, Cpu, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId,
};

/// Bit in the number of an interface for packets in a tunnel: they are seen at another place than what passes the interface
/// itself, which may be the same packet. No file has so many interfaces.
const IN_TUNNEL: u32 = 1 << 31;

/// The count of an obsolete block that does not know how many packets were lost before it.
const UNKNOWN_DROPS: u16 = u16::MAX;

/// The kinds of packet blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketBlock {
    /// Enhanced Packet Block.
    Enhanced,
    /// Packet Block, which is obsolete.
    Obsolete,
    /// Simple Packet Block, which has no options.
    Simple,
}

impl PacketBlock {
    /// `None` if a block of this type is no packet.
    pub fn of(kind: u32) -> Option<PacketBlock> {
        match kind {
            block::PACKET => Some(PacketBlock::Enhanced),
            block::OLD_PACKET => Some(PacketBlock::Obsolete),
            block::SIMPLE => Some(PacketBlock::Simple),
            _ => None,
        }
    }
}

/// Time of a packet, and the place of the options in its block.
#[derive(Clone, Copy, Debug)]
pub struct PacketPlace {
    /// Time of the packet, by the file's clock.
    pub at: Nanos,
    /// Offset at which the block's options begin, or would begin.
    pub options: usize,
}

/// A captured packet, before its bytes are looked at.
#[derive(Debug)]
pub struct CapturedPacket<'s> {
    interface: &'s Interface,
    /// The interface's number.
    pub number: u32,
    /// Time of the packet, in nanoseconds by the file's clock.
    pub at: u64,
    /// Range of the captured bytes in the block.
    bytes: Range<usize>,
    /// Bytes of the packet on the wire.
    original: u32,
    /// Packets of the interface that were lost before it, by an obsolete block.
    pub dropped: u64,
}

impl<'s> CapturedPacket<'s> {
    /// Reads the fixed fields of a packet's block; its options follow then. `None` if the block is too short, or the
    /// interface was not described.
    pub fn read(
        fields: &mut BlockFields<'_>,
        kind: PacketBlock,
        section: &'s CurrentSection,
    ) -> Option<CapturedPacket<'s>> {
        let mut dropped = 0;
        let (number, time, captured, original) = match kind {
            PacketBlock::Enhanced => (fields.u32()?, fields.time()?, fields.u32()?, fields.u32()?),
            PacketBlock::Obsolete => {
                let number = fields.u16()?.into();
                let count = fields.u16()?;
                dropped = if count == UNKNOWN_DROPS { 0 } else { count.into() };
                (number, fields.time()?, fields.u32()?, fields.u32()?)
            }
            PacketBlock::Simple => {
                let original = fields.u32()?;
                (0, 0, original.min(u32::try_from(fields.rest().len()).ok()?), original)
            }
        };
        let interface = section.interface(number)?;
        let start = fields.position();
        let bytes = start..start.saturating_add(fields.padded(captured as usize)?.len());
        let at = interface.nanoseconds(time);
        Some(CapturedPacket { interface, number, at, bytes, original, dropped })
    }

    /// A packet of a classic file.
    pub fn classic(
        header: &PacketHeader,
        section: &'s CurrentSection,
    ) -> Option<CapturedPacket<'s>> {
        let interface = section.interface(0)?;
        Some(CapturedPacket {
            interface,
            number: 0,
            at: interface.nanoseconds(header.time),
            bytes: header.bytes(),
            original: header.original,
            dropped: 0,
        })
    }

    /// The packet's event, or the event of the datagram of which it is the last fragment that was missing; and what an option of
    /// Multipath TCP says.
    ///
    /// # Errors
    /// The packet carries neither TCP nor UDP, or too little of it was captured, or it is a fragment of a datagram that is not whole.
    pub fn event(
        &self,
        block: &[u8],
        own: Option<&OwnOption>,
        direction: Option<PacketHook>,
        number: u64,
        fragments: &mut FragmentTable,
    ) -> Result<(CapturedEvent, Option<Multipath>), UnreadablePacket> {
        let bytes = &block[self.bytes.clone()];
        if !link::is_known(self.interface.link) {
            return Err(UnreadablePacket::Link);
        }
        let (link_header, way) = link::header(self.interface.link, bytes)?;
        let link_bytes = u32::try_from(link_header).map_err(|_| UnreadablePacket::Cut)?;
        let original = self.original.checked_sub(link_bytes).ok_or(UnreadablePacket::Cut)?;
        let inside = bytes.get(link_header..).ok_or(UnreadablePacket::Cut)?;
        // The probes see what a tunnel carries on devices of its own.
        let is_own = own.is_some() || self.interface.point.is_some();
        let parsed = if is_own {
            parse::parse(inside, original).map(|headers| (0, headers))
        } else {
            tunnel::parse_innermost(inside, original)
        };
        let hook = way.or(direction).unwrap_or(PacketHook::Rx);
        let place = self.interface.point.unwrap_or(CapturePoint {
            hook,
            netns: NetNs(0),
            device: IfIndex(self.number),
        });
        let (outer, headers) = match parsed {
            Ok(found) => found,
            Err(UnreadablePacket::Fragment(fragment)) => {
                let at = (place, link_header, number);
                return Ok((self.assembled(inside, fragment, at, fragments)?, None));
            }
            Err(why) => return Err(why),
        };
        let inside = inside.get(outer..).ok_or(UnreadablePacket::Cut)?;
        let link_header = link_header.saturating_add(outer);
        let point = if outer > 0 { in_tunnel(place) } else { place };
        let metadata = own.map_or_else(|| self.metadata(number, link_header), |own| own.metadata);
        let (at, cpu) = own.map_or((Nanos(self.at), Cpu(0)), |own| (own.at, own.cpu));
        let seen = seen(&headers, point);
        // A frame that was filled up has bytes behind its payload.
        let before =
            usize::from(headers.ip_header).saturating_add(usize::from(headers.transport_header));
        let start =
            self.bytes.start.saturating_add(link_header).saturating_add(before.min(inside.len()));
        let event = Event { at, cpu, body: Body::Packet(seen.packet(&metadata, at)) };
        let payload = start..start.saturating_add(headers.payload.len());
        Ok((CapturedEvent::InBlock(event, payload), headers.multipath))
    }

    /// The event of the datagram that this fragment completes. The place where it was seen, the length of its link header, and its
    /// number are given.
    fn assembled(
        &self,
        inside: &[u8],
        fragment: Fragment,
        (place, link_header, number): (CapturePoint, usize, u64),
        fragments: &mut FragmentTable,
    ) -> Result<CapturedEvent, UnreadablePacket> {
        let at = Nanos(self.at);
        let key = (place.hook, place.device);
        let mut waits = UnreadablePacket::Fragment(fragment);
        let captured = inside.get(fragment.header..).unwrap_or_default();
        let mut whole = fragments.add(at, key, &fragment, captured, self.original).ok_or(waits)?;
        // A tunnel's packets may be fragments, and so may be what they carry.
        for _ in 0..tunnel::MAX_DEPTH {
            waits = match tunnel::parse_innermost(&whole.bytes, whole.original) {
                Err(UnreadablePacket::Fragment(inner)) => {
                    let captured = whole.bytes.get(inner.header..).unwrap_or_default();
                    let (wire_bytes, waits) = (whole.wire_bytes, UnreadablePacket::Fragment(inner));
                    let next = fragments.add(at, key, &inner, captured, wire_bytes);
                    whole = next.ok_or(waits)?;
                    waits
                }
                Err(why) => return Err(why),
                Ok((outer, headers)) => {
                    let point = if outer > 0 { in_tunnel(place) } else { place };
                    let link_header = link_header.saturating_add(outer);
                    let metadata = PacketMetadata {
                        wire_bytes: whole.wire_bytes,
                        ..self.metadata(number, link_header)
                    };
                    let packet = seen(&headers, point).packet(&metadata, at);
                    let event = Event { at, cpu: Cpu(0), body: Body::Packet(packet) };
                    return Ok(CapturedEvent::Assembled(event, headers.payload.into()));
                }
            };
        }
        Err(waits)
    }

    /// Metadata that is assumed of a packet that others captured. `number` is its place among all packets of the file.
    fn metadata(&self, number: u64, link_header: usize) -> PacketMetadata {
        PacketMetadata {
            // No two sightings are known to be of the same packet.
            id: PacketId(number),
            wire_bytes: self.original,
            link_header: u16::try_from(link_header).unwrap_or(u16::MAX),
            segments: 1,
            ..PacketMetadata::default()
        }
    }
}

/// The event of a packet, and its payload.
#[derive(Debug)]
pub enum CapturedEvent {
    /// The payload is at this place in the block.
    InBlock(Event<'static>, Range<usize>),
    /// The payload was in several blocks.
    Assembled(Event<'static>, Box<[u8]>),
}

impl CapturedEvent {
    /// Time of the packet.
    pub fn at(&self) -> Nanos {
        match self {
            CapturedEvent::InBlock(event, _) | CapturedEvent::Assembled(event, _) => event.at,
        }
    }
}

/// Place of packets in a tunnel, which differs from that of the tunnel's own packets.
fn in_tunnel(place: CapturePoint) -> CapturePoint {
    CapturePoint { device: IfIndex(place.device.0 | IN_TUNNEL), ..place }
}

/// Describes a packet by its headers and the place at which it was seen.
fn seen(headers: &Headers<'_>, point: CapturePoint) -> PacketHeaders {
    PacketHeaders {
        hook: point.hook,
        flow: FlowKey::new(headers.transport, headers.src, headers.dst, point.netns),
        netns: point.netns,
        device: point.device,
        ip_header: headers.ip_header,
        transport_header: headers.transport_header,
        payload_len: headers.payload_len,
        tcp: headers.tcp,
    }
}

/// A packet that was captured just now, from its IP header on.
#[derive(Clone, Copy, Debug)]
pub struct LivePacket<'a> {
    /// Time of the packet.
    pub at: Nanos,
    /// Hook that saw the packet: sent or received.
    pub hook: PacketHook,
    /// The network namespace of its device.
    pub netns: NetNs,
    /// The packet's device.
    pub device: IfIndex,
    /// Bytes of the link header that the device counts, before the IP header.
    pub link_header: u16,
    /// Bytes on the wire from the IP header on.
    pub original: u32,
    /// The captured bytes from the IP header on.
    pub bytes: &'a [u8],
}

impl<'a> LivePacket<'a> {
    /// The packet's event, or that of the datagram of which it is the last fragment that was missing: the same as in a capture of
    /// another program. `id` tells packets apart. A datagram's bytes are kept in `assembled`.
    ///
    /// # Errors
    /// The packet carries neither TCP nor UDP, or too little of it was captured, or it is a fragment of a datagram that is not whole.
    pub fn event<'b>(
        &self,
        id: PacketId,
        fragments: &mut FragmentTable,
        assembled: &'b mut Vec<u8>,
    ) -> Result<Event<'b>, UnreadablePacket>
    where
        'a: 'b,
    {
        let wire_bytes = self.original.saturating_add(self.link_header.into());
        let (headers, wire_bytes) = match parse::parse(self.bytes, self.original) {
            Ok(headers) => (headers, wire_bytes),
            Err(UnreadablePacket::Fragment(fragment)) => {
                let captured = self.bytes.get(fragment.header..).unwrap_or_default();
                let place = (self.hook, self.device);
                let whole = fragments.add(self.at, place, &fragment, captured, wire_bytes);
                let whole = whole.ok_or(UnreadablePacket::Fragment(fragment))?;
                *assembled = whole.bytes;
                (parse::parse(assembled, whole.original)?, whole.wire_bytes)
            }
            Err(why) => return Err(why),
        };
        let point = CapturePoint { hook: self.hook, netns: self.netns, device: self.device };
        let metadata = PacketMetadata {
            id,
            wire_bytes,
            link_header: self.link_header,
            segments: 1,
            ..PacketMetadata::default()
        };
        let packet =
            Packet { payload: headers.payload, ..seen(&headers, point).packet(&metadata, self.at) };
        Ok(Event { at: self.at, cpu: Cpu(0), body: Body::Packet(packet) })
    }
}

/// Contents of wirelap's own option of a packet.
#[derive(Debug)]
pub struct OwnOption {
    at: Nanos,
    cpu: Cpu,
    metadata: PacketMetadata,
    /// Records of events before the packet, if there are any.
    pub records: Option<RecordCursor>,
}

impl OwnOption {
    /// Reads an option of a packet that was seen at `at` by the wall clock; `None` if the option is another program's, or
    /// cannot be read.
    pub fn read(
        option: &BlockOption<'_>,
        order: ByteOrder,
        at: u64,
        wall: i64,
    ) -> Option<OwnOption> {
        let mut from = custom::own_value(option.value, order)?;
        let at = Nanos(at.wrapping_sub(wall.cast_unsigned()));
        let (cpu, metadata) = (WireValue::take(&mut from)?, WireValue::take(&mut from)?);
        let records = if from.0.is_empty() {
            None
        } else {
            let end = option.start.saturating_add(option.value.len());
            Some(RecordCursor::with_base(from, end)?)
        };
        Some(OwnOption { at, cpu, metadata, records })
    }
}
