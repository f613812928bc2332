//! One captured packet → an event.

use crate::block::{Body, ByteOrder, option};
use crate::encode::RECORDED_ON;
use crate::headers::{self, Other};
use crate::record::{Beside, Cursor};
use crate::wire::{Bytes, Wire};
use crate::{ENTERPRISE, Section, TAG, link};
use std::ops::Range;
use wirelap_events::{Cpu, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId};

/// An interface, as its block describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub link: u16,
    /// `if_tsresol`.
    pub resolution: u8,
    /// `if_tsoffset`, in seconds.
    pub offset: i64,
    /// Of wirelap's own.
    pub place: Option<(PacketHook, NetNs, IfIndex)>,
}

/// The name of an interface's device, as its block describes it: `lo` of `lo tx-queue`.
pub(crate) fn device(body: Body<'_>) -> Option<String> {
    let mut body = body;
    body.rest.take(8)?;
    let (_, name) = body.find(|(number, _)| *number == option::NAME)?;
    let name = str::from_utf8(name).ok()?;
    Some(name.rsplit_once(' ').map_or(name, |(device, _)| device).to_owned())
}

/// A captured packet, before its bytes are looked at.
pub(crate) struct Captured {
    pub interface: Interface,
    pub number: u32,
    pub at: u64,
    pub bytes: Range<usize>,
    pub original: u32,
}

/// What our option of a packet says.
pub(crate) struct Own {
    pub at: Nanos,
    pub cpu: Cpu,
    pub beside: Beside,
    pub records: Option<(Range<usize>, Cursor)>,
}

impl Own {
    /// Reads an option's value that starts at `start` in its block, of a packet that was seen at `at` by the wall clock.
    pub fn take(value: &[u8], start: usize, order: ByteOrder, at: u64, wall: i64) -> Option<Own> {
        let mut from = ours(value, order)?;
        let at = Nanos(at.wrapping_sub(wall.cast_unsigned()));
        let (cpu, beside) = (Wire::take(&mut from)?, Wire::take(&mut from)?);
        let records = if from.0.is_empty() {
            None
        } else {
            let last = Nanos::take(&mut from)?;
            let end = start.saturating_add(value.len());
            Some((end.saturating_sub(from.0.len())..end, Cursor { at: 0, last }))
        };
        Some(Own { at, cpu, beside, records })
    }
}

/// Which kind of packet block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Enhanced,
    Old,
    Simple,
}

/// An Interface Description Block (§4.2).
pub(crate) fn interface(mut body: Body<'_>) -> Option<Interface> {
    let mut interface = Interface { link: body.u16()?, resolution: 6, offset: 0, place: None };
    let order = body.order();
    body.u16()?;
    body.u32()?;
    for (number, value) in body {
        match (number, value) {
            (option::RESOLUTION, &[resolution]) => interface.resolution = resolution,
            (option::OFFSET, value) => {
                if let Some(&bytes) = value.first_chunk::<8>() {
                    interface.offset = order.u64(bytes).cast_signed();
                }
            }
            (option::CUSTOM, value) => {
                interface.place = interface.place.or_else(|| {
                    let mut from = ours(value, order)?;
                    Some((Wire::take(&mut from)?, Wire::take(&mut from)?, Wire::take(&mut from)?))
                });
            }
            _ => {}
        }
    }
    Some(interface)
}

/// What a section of ours says of itself.
pub(crate) fn section(mut body: Body<'_>) -> Option<Section> {
    let order = body.order();
    // Byte order, version, length.
    let _ = body.rest.take(16);
    let (mut section, mut wall) = (Section::default(), None);
    for (number, value) in body {
        let text = || String::from_utf8_lossy(value).into_owned();
        match number {
            option::HARDWARE => section.hardware = text(),
            option::OS => section.os = text(),
            option::APPLICATION => section.application = text(),
            option::COMMENT => {
                let comment = text();
                let host = comment.strip_prefix(RECORDED_ON).unwrap_or_default();
                host.clone_into(&mut section.host);
            }
            option::CUSTOM => wall = wall.or_else(|| ours(value, order)?.signed()),
            _ => {}
        }
    }
    Some(Section { wall: wall?, ..section })
}

/// What is in a custom option, if it is one of ours.
pub(crate) fn ours(value: &[u8], order: ByteOrder) -> Option<Bytes<'_>> {
    let mut from = Bytes(value);
    let is_ours = order.u32(from.array()?) == ENTERPRISE && from.array()? == TAG;
    is_ours.then_some(from)
}

/// The fixed fields of a packet block; `body` is then at its options. `len` is the whole block's.
pub(crate) fn captured(
    body: &mut Body<'_>,
    form: Form,
    interfaces: &[Interface],
    len: usize,
) -> Option<Captured> {
    let (number, time, captured, original) = match form {
        Form::Enhanced => (body.u32()?, body.time()?, body.u32()?, body.u32()?),
        Form::Old => {
            let number = body.u16()?.into();
            body.u16()?;
            (number, body.time()?, body.u32()?, body.u32()?)
        }
        Form::Simple => {
            let original = body.u32()?;
            (0, 0, original.min(u32::try_from(body.rest.0.len()).ok()?), original)
        }
    };
    let interface = *interfaces.get(number as usize)?;
    let start = len.saturating_sub(4).saturating_sub(body.rest.0.len());
    let bytes = start..start.saturating_add(body.padded(captured as usize)?.len());
    let at = nanoseconds(time, interface.resolution)
        .wrapping_add_signed(interface.offset.wrapping_mul(1_000_000_000));
    Some(Captured { interface, number, at, bytes, original })
}

/// A time in the units of `if_tsresol` (§4.2).
fn nanoseconds(time: u64, resolution: u8) -> u64 {
    let digits = u32::from(resolution & 0x7F);
    let wide = if resolution & 0x80 != 0 {
        (u128::from(time) * 1_000_000_000).checked_shr(digits).unwrap_or(0)
    } else if let Some(more) = 9u32.checked_sub(digits) {
        u128::from(time).saturating_mul(10u128.pow(more))
    } else {
        10u128
            .checked_pow(digits.saturating_sub(9))
            .map_or(0, |unit| u128::from(time).checked_div(unit).unwrap_or(0))
    };
    // What does not fit is no time.
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// A packet's event, where its payload is in `block`, and whether it has our option.
pub(crate) fn event(
    block: &[u8],
    captured: &Captured,
    own: Option<&Own>,
    direction: Option<PacketHook>,
    number: u64,
) -> Result<(Event<'static>, Range<usize>, bool), Other> {
    let bytes = &block[captured.bytes.clone()];
    if !link::is_known(captured.interface.link) {
        return Err(Other::Link);
    }
    let (link_header, way) = link::header(captured.interface.link, bytes)?;
    let link_bytes = u32::try_from(link_header).map_err(|_| Other::Cut)?;
    let original = captured.original.checked_sub(link_bytes).ok_or(Other::Cut)?;
    let inside = bytes.get(link_header..).ok_or(Other::Cut)?;
    let headers = headers::parse(inside, original)?;
    let hook = way.or(direction).unwrap_or(PacketHook::Rx);
    let seen = (hook, NetNs(0), IfIndex(captured.number));
    let (hook, netns, device) = captured.interface.place.unwrap_or(seen);
    let beside = own.map_or_else(
        || Beside {
            // Of its own: no two are told to be the same.
            id: PacketId(number),
            wire_bytes: captured.original,
            link_header: u16::try_from(link_header).unwrap_or(u16::MAX),
            segments: 1,
            ..Beside::default()
        },
        |own| own.beside,
    );
    let (at, cpu) = own.map_or((Nanos(captured.at), Cpu(0)), |own| (own.at, own.cpu));
    let packet = Packet {
        hook,
        flow: FlowKey::new(headers.transport, headers.src, headers.dst, netns),
        id: beside.id,
        socket: beside.socket,
        task: beside.task,
        netns,
        device,
        queued: beside.queued(at),
        queue: beside.queue,
        wire_bytes: beside.wire_bytes,
        link_header: beside.link_header,
        ip_header: headers.ip_header,
        transport_header: headers.transport_header,
        payload_len: headers.payload_len,
        segments: beside.segments,
        deferred: beside.deferred,
        portion: beside.portion,
        tcp: headers.tcp,
        payload: &[],
    };
    // A frame that was filled up has bytes behind its payload.
    let before =
        usize::from(headers.ip_header).saturating_add(usize::from(headers.transport_header));
    let start =
        captured.bytes.start.saturating_add(link_header).saturating_add(before.min(inside.len()));
    let event = Event { at, cpu, body: wirelap_events::Body::Packet(packet) };
    Ok((event, start..start.saturating_add(headers.payload.len()), own.is_some()))
}
