//! Packets of both formats.

use super::pieces::Whole;
use super::{Format, Recording};
use crate::block::{self, Body, ByteOrder, option};
use crate::captured::{Captured, Form, Interface, Own, captured, event};
use crate::headers::Other;
use std::io::Read;
use std::ops::Range;
use wirelap_events::Saturate;
use wirelap_events::{Event, Nanos, PacketHook};

/// The longest packet of the classic format that is read.
const MOST_CLASSIC: u32 = 1 << 20;

impl<R: Read> Recording<R> {
    pub(super) fn packet_block(&mut self, frame: block::Frame, form: Form) {
        let block = &self.input.bytes()[..frame.len];
        let mut body = Body::of(block, frame.order);
        let Some(captured) = captured(&mut body, form, &self.interfaces, frame.len) else {
            self.whole = None;
            self.bad("a packet that cannot be read, or of an interface that was not described");
            return;
        };
        let options = frame.len.saturating_sub(4).saturating_sub(body.rest.0.len());
        let place = (form != Form::Simple).then_some((Nanos(captured.at), options));
        let mut own = None;
        let mut direction = None;
        loop {
            // An option's value stands behind its number and length.
            let start = block.len().saturating_sub(body.rest.0.len());
            let Some((number, value)) = body.next() else { break };
            match number {
                option::CUSTOM if own.is_none() => {
                    own = self.section.as_ref().and_then(|section| {
                        Own::take(value, start, frame.order, captured.at, section.wall)
                    });
                }
                option::FLAGS => {
                    let bits = value.first_chunk().map_or(0, |&bytes| frame.order.u32(bytes) & 3);
                    direction =
                        [None, Some(PacketHook::Rx), Some(PacketHook::Xmit), None][bits as usize];
                }
                _ => {}
            }
        }
        self.whole = Some(Whole::Block { frame, packet: place });
        let event = event(block, &captured, own.as_ref(), direction, self.counts.packets);
        self.records = own.and_then(|own| own.records);
        self.take(event);
    }

    fn take(&mut self, packet: Result<(Event<'static>, Range<usize>, bool), Other>) {
        let counts = &mut self.counts;
        match packet {
            Ok((event, payload, own)) => {
                counts.packets.grow(1);
                counts.own.grow(u64::from(own));
                self.packet = Some((event, payload));
            }
            Err(Other::Protocol) => counts.other.grow(1),
            Err(Other::Fragment) => counts.fragments.grow(1),
            Err(Other::Cut) => counts.cut.grow(1),
            Err(Other::Link) => counts.unknown_link.grow(1),
        }
    }

    /// The header of the classic format (draft-ietf-opsawg-pcap §4).
    pub(super) fn classic_header(&mut self) {
        if self.have(24, "its header")
            && let Format::Classic { order, link, fraction } = &mut self.format
            && let Some(&bytes) = self.input.bytes()[20..].first_chunk()
        {
            // The upper half says whether there are check sums behind the packets.
            *link = u16::try_from(order.u32(bytes) & 0xFFFF).unwrap_or_default();
            self.done = 24;
            self.whole = Some(Whole::ClassicHeader { order: *order, fraction: *fraction });
        }
    }

    /// A packet of the classic format (draft-ietf-opsawg-pcap §5).
    pub(super) fn classic(&mut self, order: ByteOrder, fraction: u64, link: u16) {
        if !self.have(16, "a packet's header") {
            return;
        }
        let Some(&head) = self.input.bytes().first_chunk::<16>() else { return };
        let word = |at: usize| {
            order.u32([
                head[at],
                head[at.saturating_add(1)],
                head[at.saturating_add(2)],
                head[at.saturating_add(3)],
            ])
        };
        let (seconds, part, len, original) = (word(0), word(4), word(8), word(12));
        if len > MOST_CLASSIC {
            self.ended = true;
            let what = format!("a packet of {len} bytes cannot be: nothing behind it can be read");
            self.problems.add(self.input.offset(), what);
            return;
        }
        let len = len as usize;
        if !self.have(len.saturating_add(16), "a packet") {
            return;
        }
        self.done = len.saturating_add(16);
        let (seconds, part) = (u64::from(seconds), u64::from(part));
        let captured = Captured {
            interface: Interface { link, resolution: 9, offset: 0, place: None },
            number: 0,
            at: seconds.saturating_mul(1_000_000_000).saturating_add(part.saturating_mul(fraction)),
            bytes: 16..len.saturating_add(16),
            original,
        };
        self.whole = Some(Whole::ClassicPacket {
            units: seconds
                .saturating_mul(1_000_000_000_u64.checked_div(fraction.max(1)).unwrap_or(0))
                .saturating_add(part),
            at: Nanos(captured.at),
            len,
            original,
        });
        let packet = &self.input.bytes()[..len.saturating_add(16)];
        let event = event(packet, &captured, None, None, self.counts.packets);
        self.take(event);
    }
}
