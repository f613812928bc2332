//! The decoder around a decoder.

use super::deframe::{Content, Deframer, after};
use super::frame::{Header, unmask};
use super::handshake;
use super::map::{Mapped, Segments};
use crate::connection::frame_without_data;
use crate::registry;
use crate::stream::Stream;
use crate::{Connection, FrameSink, Pdu, PduLen, Protocol, ProtocolSearch, Side, SignatureMatch};
use std::collections::VecDeque;
use wirelap_events::{ByteRange, FrameClass, Offset, Saturate, Total, Transport};

/// Carried bytes that are kept while the carried protocol is not known, and packets of them.
const KEPT_BYTES: usize = 64 << 10;
const KEPT_ITEMS: usize = 2048;

/// Of these, the first of each direction show the protocol. Of a long message, so many are kept if there are too many.
const HEAD_BYTES: usize = 4096;

/// Bytes of a payload that are looked at to see whether a PDU starts there.
const PEEKED: usize = 256;

/// One direction.
#[derive(Debug, Default)]
struct End {
    frames: Deframer,
    /// The number of the next carried byte.
    next: Offset,
    segments: Segments,
    search: ProtocolSearch,
    /// The first carried bytes, if the direction's opening was seen.
    head: Vec<u8>,
}

/// Something in a flow, at its place.
#[derive(Debug)]
enum Item {
    /// Bytes that the carried protocol's decoder does not see.
    Own(ByteRange, &'static str, FrameClass),
    /// Carried bytes, and where their frame's header starts if that is right before them.
    Carried { lead: Offset, outer: ByteRange, inner: Offset, bytes: Vec<u8> },
    /// Missing bytes.
    Gap,
}

impl Item {
    fn kept_bytes(&self) -> usize {
        match self {
            Item::Carried { bytes, .. } => bytes.len(),
            Item::Own(..) | Item::Gap => 0,
        }
    }

    /// Keeps no more than the first bytes. Returns how many were freed.
    fn shorten(&mut self) -> usize {
        let Item::Carried { bytes, .. } = self else { return 0 };
        let freed = bytes.len().saturating_sub(HEAD_BYTES);
        bytes.truncate(HEAD_BYTES);
        if freed > 0 {
            bytes.shrink_to_fit();
        }
        freed
    }
}

/// What is carried.
struct Carried {
    connection: Box<dyn Connection>,
    streams: [Stream; 2],
}

/// A decoder of a WebSocket with the decoder of what it carries, once that is known.
#[derive(Default)]
pub struct WebSocket {
    ends: [End; 2],
    client: Option<Side>,
    /// Whether a head of the handshake was seen.
    is_opened: bool,
    carried: Option<Carried>,
    kept: VecDeque<(Side, Item)>,
    kept_bytes: usize,
    /// Carried bytes so far, while it is not known what they are.
    unknown: u64,
    /// The subprotocols of the handshake.
    subprotocols: Vec<u8>,
    text: Vec<u8>,
}

impl WebSocket {
    /// The searches for the carried protocol in both directions.
    pub(super) fn search(&self, side: Side) -> &ProtocolSearch {
        &self.ends[side as usize].search
    }

    /// The first carried bytes of a direction whose opening was seen.
    pub(super) fn head(&self, side: Side) -> &[u8] {
        &self.ends[side as usize].head
    }

    /// Whether a head of the handshake was seen.
    pub(super) fn is_opened(&self) -> bool {
        self.is_opened
    }

    /// Whether the handshake names a protocol as subprotocol.
    pub(super) fn names(&self, protocol: &dyn Protocol) -> bool {
        let mut offered = self.subprotocols.split(|byte| *byte == b',');
        offered.any(|one| {
            one.trim_ascii().to_ascii_lowercase().starts_with(protocol.name().as_bytes())
        })
    }

    /// Carried bytes so far, while it is not known what they are.
    pub(super) fn unknown_bytes(&self) -> u64 {
        self.unknown
    }

    /// The carried protocol is known: this is its decoder. What was kept comes with [`WebSocket::replay`].
    pub fn carries(&mut self, connection: Box<dyn Connection>) {
        let streams = [Side::A, Side::B]
            .map(|side| Stream::new(side, !self.ends[side as usize].frames.is_opened));
        self.carried = Some(Carried { connection, streams });
        for end in &mut self.ends {
            (end.search, end.head) = (ProtocolSearch::default(), Vec::new());
        }
    }

    /// The direction of the next thing that was kept.
    pub fn next_kept(&self) -> Option<Side> {
        self.kept.front().map(|(side, _)| *side)
    }

    /// Reads the next thing that was kept, of the direction that [`WebSocket::next_kept`] gives.
    pub fn replay(&mut self, out: &mut dyn FrameSink) {
        let Some((side, item)) = self.kept.pop_front() else { return };
        match item {
            Item::Own(range, name, class) => out.frame(&frame_without_data(range, name, class)),
            Item::Gap => self.lose(side),
            Item::Carried { lead, outer, inner, bytes } => {
                self.read(side, (lead, outer, inner), &bytes, out);
            }
        }
    }

    /// Reads carried bytes.
    fn read(
        &mut self,
        side: Side,
        (lead, outer, inner): (Offset, ByteRange, Offset),
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) {
        let Some(carried) = &mut self.carried else { return };
        let end = &mut self.ends[side as usize];
        if lead < outer.start {
            let header = ByteRange { start: lead, end: outer.start };
            out.frame(&frame_without_data(header, "frame header (WebSocket)", FrameClass::Data));
        }
        if outer.is_empty() {
            return;
        }
        end.segments.push(inner, lead, outer);
        let stream = &mut carried.streams[side as usize];
        let before = stream.undecoded_bytes();
        let missing = outer.len().saturating_sub(bytes.len() as u64);
        let mut mapped =
            Mapped { connection: carried.connection.as_mut(), segments: &end.segments };
        stream.feed(inner, bytes, missing, &mut mapped, out);
        let pending = stream.pending_bytes();
        let next = inner.plus(outer.len());
        end.segments.forget_before(Offset(next.0.saturating_sub(pending)));
        let undecoded = stream.undecoded_bytes().saturating_sub(before);
        if undecoded > 0 {
            let range = ByteRange::new(outer.start, undecoded);
            out.frame(&frame_without_data(range, "bytes (WebSocket)", FrameClass::Opaque));
        }
    }

    fn keep(&mut self, side: Side, item: Item) {
        self.kept_bytes.grow(item.kept_bytes());
        self.kept.push_back((side, item));
        if self.kept_bytes > KEPT_BYTES {
            // Of a long message the first bytes suffice.
            let all = self.kept.iter_mut().map(|(_, item)| item.shorten());
            self.kept_bytes.shrink(all.total());
        }
        while (self.kept_bytes > KEPT_BYTES || self.kept.len() > KEPT_ITEMS)
            && let Some((_, gone)) = self.kept.pop_front()
        {
            self.kept_bytes.shrink(gone.kept_bytes());
        }
    }

    /// Carried bytes of a protocol that is not known yet.
    fn look(&mut self, side: Side, inner: Offset, len: u64, bytes: &[u8]) {
        if len == 0 {
            return;
        }
        let end = &mut self.ends[side as usize];
        self.unknown.grow(len);
        let missing = len.saturating_sub(bytes.len() as u64);
        end.search.packet(inner, bytes, missing, &[]);
        if end.frames.is_opened && end.head.len() as u64 == inner.0 {
            let room = HEAD_BYTES.saturating_sub(end.head.len());
            end.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    fn handshake(&mut self, side: Side, head: &[u8]) {
        let Some(found) = handshake::read(head) else { return };
        self.is_opened = true;
        self.client = Some(if found.is_request { side } else { side.other() });
        // The server's response chooses from what the client offers.
        if !found.subprotocols.is_empty() && found.subprotocols.len() <= PEEKED {
            self.subprotocols = found.subprotocols.to_vec();
        }
    }

    /// Bytes are missing: how many carried ones there are among them is not known.
    fn lose(&mut self, side: Side) {
        let Some(carried) = &mut self.carried else { return };
        let end = &mut self.ends[side as usize];
        let mut mapped =
            Mapped { connection: carried.connection.as_mut(), segments: &end.segments };
        carried.streams[side as usize].finish(&mut mapped);
    }

    /// Whether a PDU of the carried protocol starts in a frame that starts with `head`.
    fn has_start(&self, side: Option<Side>, head: &[u8]) -> bool {
        if handshake::may_start(head) {
            return matches!(handshake::len(head), PduLen::Known(_))
                && handshake::read(head).is_some();
        }
        let Ok(header) = Header::read(head) else { return false };
        if let (Some(side), Some(client)) = (side, self.client)
            && header.key.is_some() != (side == client)
        {
            return false;
        }
        if header.control().is_some() {
            return side.is_some();
        }
        let mut peeked = [0; PEEKED];
        let payload = head.get(header.bytes..).unwrap_or_default();
        let len = usize::try_from(header.payload).unwrap_or(PEEKED).min(payload.len()).min(PEEKED);
        let Some((peeked, payload)) = peeked.get_mut(..len).zip(payload.get(..len)) else {
            return false;
        };
        peeked.copy_from_slice(payload);
        unmask(header.key.unwrap_or_default(), 0, peeked);
        let peeked = &*peeked;
        if header.opcode == 0 || header.is_compressed {
            return false;
        }
        match (&self.carried, side) {
            (Some(carried), Some(side)) => carried.connection.resync(side, peeked),
            (Some(carried), None) => carried.connection.stands_out(peeked),
            (None, Some(_)) => any(|one| {
                matches!(one.match_signature(Transport::Tcp, peeked),
                    SignatureMatch::Pdu(sight) if sight.len <= header.payload)
            }),
            (None, None) => any(|one| one.stands_out(peeked)),
        }
    }
}

fn any(is: impl Fn(&dyn Protocol) -> bool) -> bool {
    registry().iter().any(|one| one.transports().contains(&Transport::Tcp) && is(*one))
}

impl Connection for WebSocket {
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        self.ends[side as usize].frames.pdu_len(head)
    }

    fn span(&self, side: Side, head: &[u8]) -> PduLen {
        self.ends[side as usize].frames.span(head)
    }

    fn open_bytes(&self, side: Side) -> u64 {
        self.ends[side as usize].frames.open_bytes()
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        self.has_start(Some(side), head)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        self.has_start(None, head)
    }

    fn held_bytes(&self) -> usize {
        let ends =
            self.ends.iter().map(|end| end.search.held_bytes().saturating_add(end.head.capacity()));
        let carried = self.carried.as_ref().map_or(0, |carried| {
            let streams = carried.streams.iter().map(Stream::held_bytes).total();
            carried.connection.held_bytes().saturating_add(streams)
        });
        let kept = self.kept.len().saturating_mul(size_of::<(Side, Item)>());
        ends.chain([carried, kept, self.kept_bytes, self.text.capacity()]).total()
    }

    fn is_encrypted(&self) -> bool {
        self.carried.as_ref().is_some_and(|carried| carried.connection.is_encrypted())
    }

    fn server(&self) -> Option<Side> {
        let inside = self.carried.as_ref().and_then(|carried| carried.connection.server());
        inside.or(self.client.map(Side::other))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let mut text = std::mem::take(&mut self.text);
        let content = self.ends[side as usize].frames.pdu(pdu, &mut text);
        let own = |name, class| Item::Own(pdu.range, name, class);
        let item = match content {
            Content::Head(head) => {
                self.handshake(side, head);
                own("handshake (WebSocket)", FrameClass::Session)
            }
            Content::Own(name, class) => own(name, class),
            Content::Carried { lead } => {
                let end = &mut self.ends[side as usize];
                if self.client.is_none() && lead > 0 {
                    let is_masked = end.frames.is_masked == Some(true);
                    self.client = Some(if is_masked { side } else { side.other() });
                }
                let outer = after(pdu.range, lead);
                let inner = end.next;
                end.next = inner.plus(outer.len());
                let place = (pdu.range.start, outer, inner);
                if self.carried.is_some() {
                    self.read(side, place, &text, out);
                    self.text = text;
                    return;
                }
                self.look(side, inner, outer.len(), &text);
                let (lead, outer, inner) = place;
                Item::Carried { lead, outer, inner, bytes: text.clone() }
            }
        };
        self.text = text;
        match item {
            Item::Own(range, name, class) if self.carried.is_some() => {
                out.frame(&frame_without_data(range, name, class));
            }
            item => self.keep(side, item),
        }
    }

    fn makes_copies(&self, from: Side) -> bool {
        self.carried.as_ref().is_none_or(|carried| carried.connection.makes_copies(from))
    }

    fn closed(&mut self) {
        if let Some(carried) = &mut self.carried {
            carried.connection.closed();
        }
    }

    fn gap(&mut self, side: Side) {
        let end = &mut self.ends[side as usize];
        end.frames.gap();
        if self.carried.is_some() {
            return self.lose(side);
        }
        end.search = ProtocolSearch::default();
        self.keep(side, Item::Gap);
    }
}
