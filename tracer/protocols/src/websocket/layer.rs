//! The decoder around a decoder.

use super::deframe::{PduContent, WebSocketDeframer, after};
use super::gathered::GatheredPayload;
use super::handshake;
use super::inflate::{InflatedText, Inflater};
use super::kept::{Item, KeptItems};
use super::map::{COMPRESSED, CarriedPlace, PayloadSegments};
use crate::connection::frame_without_data;
use crate::stream::Stream;
use crate::{
    Connection, Encryption, FrameSink, KeptFor, LeftMessages, Party, Pdu, PduLen, Protocol,
    ProtocolSearch, Side,
};
use wirelap_events::{ByteRange, Count, FrameClass, Offset, Size};

/// The first carried bytes of each direction show the protocol.
const HEAD_BYTES: usize = 4096;

/// The longest subprotocol that is kept.
const SUBPROTOCOL_BYTES: usize = 256;

/// So many compressed messages in a row whose text is not known are no coincidence.
const UNREAD_MESSAGES: u64 = 3;

/// One direction.
#[derive(Debug, Default)]
pub(super) struct LayerDirection {
    pub frames: WebSocketDeframer,
    /// The number of the next carried byte.
    next: Offset,
    pub segments: PayloadSegments,
    search: ProtocolSearch,
    /// The search for a protocol of which each message is a PDU.
    messages: ProtocolSearch,
    /// The number of the next carried byte, with the lengths that are put in front of messages.
    pub next_with_length: Offset,
    inflater: Inflater,
    /// Payload in which no PDU was found yet.
    pub gathered: GatheredPayload,
    /// Successive compressed messages whose text is not known.
    unread: Count,
    /// The first carried bytes, if the direction's opening was seen.
    head: Vec<u8>,
}

/// The decoder of the carried bytes, and a stream for each direction.
pub(super) struct Carried {
    pub connection: Box<dyn Connection>,
    /// Messages have no length of their own.
    pub omits_length: bool,
    streams: [Option<Stream>; 2],
}

impl Carried {
    /// Returns the stream of `side` and its decoder; the opening of its direction was seen if it `is_opened`.
    pub fn stream(&mut self, side: Side, is_opened: bool) -> (&mut Stream, &mut dyn Connection) {
        let stream = &mut self.streams[side as usize];
        let stream = stream.get_or_insert_with(|| Stream::new(side, !is_opened));
        (stream, self.connection.as_mut())
    }
}

/// A decoder of a WebSocket with the decoder of what it carries, once that is known.
#[derive(Default)]
pub struct WebSocket {
    pub(super) ends: [LayerDirection; 2],
    pub(super) client: Option<Side>,
    /// True if a head of the handshake was seen.
    is_opened: bool,
    pub(super) carried: Option<Carried>,
    kept: KeptItems,
    /// Carried bytes so far, while it is not known what they are.
    unknown: Count,
    /// The subprotocols of the handshake.
    subprotocols: Vec<u8>,
    /// True if compressed messages refer to bytes that were not captured, or are invalid.
    lacks_text: bool,
    payload: Vec<u8>,
    inflated: InflatedText,
    /// Carried bytes behind the length that their message does not have.
    pub(super) with_length: Vec<u8>,
}

impl WebSocket {
    /// The searches for the carried protocol in both directions.
    pub(super) fn search(&self, side: Side) -> &ProtocolSearch {
        &self.ends[side as usize].search
    }

    /// The search for a protocol of which each message is a PDU.
    pub(super) fn message_search(&self, side: Side) -> &ProtocolSearch {
        &self.ends[side as usize].messages
    }

    /// The first carried bytes of a direction whose opening was seen.
    pub(super) fn head(&self, side: Side) -> &[u8] {
        &self.ends[side as usize].head
    }

    /// True if a head of the handshake was seen.
    pub(super) fn is_opened(&self) -> bool {
        self.is_opened
    }

    /// True if the handshake names a protocol as subprotocol.
    pub(super) fn names(&self, protocol: &dyn Protocol) -> bool {
        let mut offered = self.subprotocols.split(|byte| *byte == b',');
        offered.any(|one| {
            one.trim_ascii().to_ascii_lowercase().starts_with(protocol.name().as_bytes())
        })
    }

    /// Carried bytes so far, while it is not known what they are.
    pub(super) fn unknown_bytes(&self) -> u64 {
        self.unknown.0
    }

    /// The carried protocol is known, and this is its decoder. What was kept comes with [`WebSocket::replay`].
    pub fn carries(&mut self, protocol: &dyn Protocol, connection: Box<dyn Connection>) {
        let omits_length = protocol.omits_length_over_websocket();
        self.carried = Some(Carried { connection, omits_length, streams: [None, None] });
        for end in &mut self.ends {
            (end.search, end.head) = (ProtocolSearch::default(), Vec::new());
            end.messages = ProtocolSearch::default();
        }
    }

    /// The direction of the next thing that was kept.
    pub fn next_kept(&self) -> Option<Side> {
        self.kept.next_side()
    }

    /// Reads the next thing that was kept, of the direction that [`WebSocket::next_kept`] gives.
    pub fn replay(&mut self, out: &mut dyn FrameSink) {
        let Some((side, item)) = self.kept.next() else { return };
        match item {
            Item::Own(range, name, class) => out.frame(&frame_without_data(range, name, class)),
            Item::Gap => self.lose(side),
            Item::Carried(place, bytes) => self.read(side, place, &bytes, out),
        }
    }

    /// Carried bytes of a protocol that is not known yet.
    fn look(&mut self, side: Side, place: CarriedPlace, bytes: &[u8]) {
        let (inner, len) = (place.inner.start, place.inner.len());
        if len == 0 {
            return;
        }
        let end = &mut self.ends[side as usize];
        if place.is_start() && bytes.len() as u64 == place.message {
            end.messages.datagram(bytes);
        }
        self.unknown += len;
        let missing = len.saturating_sub(bytes.len() as u64);
        end.search.packet(inner, bytes, missing, &[]);
        if end.frames.is_opened && end.head.len() as u64 == inner.0 {
            crate::reader::extend_up_to(&mut end.head, bytes, HEAD_BYTES);
        }
    }

    fn handshake(&mut self, side: Side, head: &[u8]) {
        let Some(found) = handshake::read(head) else { return };
        self.is_opened = true;
        self.client = Some(if found.is_request { side } else { side.other() });
        if !found.is_request {
            self.ends
                .iter_mut()
                .for_each(|end| end.frames.is_uncompressed = found.deflate.is_none());
            if let Some(chosen) = found.deflate {
                self.ends[side as usize].inflater.begin(chosen.server_forgets);
                self.ends[side.other() as usize].inflater.begin(chosen.client_forgets);
            }
        }
        // The server's response chooses from what the client offers.
        if !found.subprotocols.is_empty() && found.subprotocols.len() <= SUBPROTOCOL_BYTES {
            self.subprotocols = found.subprotocols.to_vec();
        }
    }

    /// Bytes that the carried protocol's decoder does not see.
    fn own(
        &mut self,
        side: Side,
        range: ByteRange,
        (name, class): (&'static str, FrameClass),
        out: &mut dyn FrameSink,
    ) {
        if self.carried.is_some() {
            out.frame(&frame_without_data(range, name, class));
        } else {
            self.keep(side, Item::Own(range, name, class));
        }
    }

    /// The payload in a PDU that starts with `lead` bytes of header. Only clients mask theirs.
    fn payload_range(&mut self, side: Side, range: ByteRange, lead: u64) -> ByteRange {
        if self.client.is_none() && lead > 0 {
            let is_masked = self.ends[side as usize].frames.is_masked == Some(true);
            self.client = Some(if is_masked { side } else { side.other() });
        }
        after(range, lead)
    }

    /// Carried bytes: those at `outer`, or as many as were inflated from there.
    fn take(
        &mut self,
        (side, lead, outer, message): (Side, Offset, ByteRange, u64),
        inflated: Option<u64>,
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) {
        let end = &mut self.ends[side as usize];
        let inner = ByteRange::new(end.next, inflated.unwrap_or(outer.len()));
        end.next = inner.end;
        let place = CarriedPlace { lead, outer, inner, message, is_inflated: inflated.is_some() };
        if self.carried.is_some() {
            return self.read(side, place, bytes, out);
        }
        self.look(side, place, bytes);
        self.keep(side, Item::Carried(place, bytes.to_vec()));
    }

    /// Keeps something until it is known what is carried.
    fn keep(&mut self, side: Side, item: Item) {
        self.kept.add(side, item, self.ends.each_ref().map(|end| &end.search));
    }

    /// Carried bytes are not known.
    fn miss(&mut self, side: Side) {
        if self.carried.is_some() {
            return self.lose(side);
        }
        self.ends[side as usize].search = ProtocolSearch::default();
        self.keep(side, Item::Gap);
    }

    /// Inflates bytes of a compressed message. Returns whether their text is known.
    fn inflate(&mut self, side: Side, (outer, starts, ends): (ByteRange, bool, bool)) -> bool {
        let LayerDirection { inflater, unread, .. } = &mut self.ends[side as usize];
        if starts {
            inflater.start();
        }
        if (self.payload.len() as u64) < outer.len() {
            inflater.gap();
        }
        let is_known = inflater.part(&self.payload, ends, &mut self.inflated);
        *unread = if is_known { Count(0) } else { *unread + u64::from(ends) };
        self.lacks_text |= *unread >= UNREAD_MESSAGES;
        is_known
    }
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
        self.has_frame(side, head)
    }

    fn is_certain(&self, side: Side, head: &[u8]) -> bool {
        self.is_long(side, head)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        self.has_start(None, head)
    }

    fn held_bytes(&self) -> Size {
        let ends = self.ends.iter().map(|end| {
            let waiting = end.inflater.held_bytes() + end.gathered.held_bytes();
            end.search.held_bytes() + waiting + end.head.capacity()
        });
        let carried = self.carried.as_ref().map_or(Size(0), |carried| {
            let streams = carried.streams.iter().flatten().map(Stream::held_bytes);
            carried.connection.held_bytes() + Size::sum(streams)
        });
        let buffers = Size(self.payload.capacity()) + self.with_length.capacity();
        Size::sum(ends) + carried + self.kept.held_bytes() + buffers + self.inflated.held_bytes()
    }

    fn lacks_context(&self) -> bool {
        self.lacks_text
            || self.carried.as_ref().is_some_and(|carried| carried.connection.lacks_context())
    }

    fn unfinished(&self) -> u64 {
        self.carried.as_ref().map_or(0, |carried| carried.connection.unfinished())
    }

    fn encryption(&self) -> Option<Encryption> {
        self.carried.as_ref()?.connection.encryption()
    }

    fn keeps_for_client(&self) -> KeptFor {
        let carried = self.carried.as_ref();
        carried.map_or(KeptFor::Nobody, |carried| carried.connection.keeps_for_client())
    }

    fn server(&self) -> Option<Side> {
        let inside = self.carried.as_ref().and_then(|carried| carried.connection.server());
        inside.or(self.client.map(Side::other))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let mut payload = std::mem::take(&mut self.payload);
        let content = self.ends[side as usize].frames.pdu(pdu, &mut payload);
        self.payload = payload;
        match content {
            PduContent::Head(head) => {
                self.handshake(side, head);
                self.own(side, pdu.range, ("handshake (WebSocket)", FrameClass::Session), out);
            }
            PduContent::Own(name, class) => self.own(side, pdu.range, (name, class), out),
            PduContent::Carried { lead, payload: message } => {
                let outer = self.payload_range(side, pdu.range, lead);
                let payload = std::mem::take(&mut self.payload);
                self.take((side, pdu.range.start, outer, message), None, &payload, out);
                self.payload = payload;
            }
            PduContent::Compressed { lead, starts, ends } => {
                let outer = self.payload_range(side, pdu.range, lead);
                if !self.inflate(side, (outer, starts, ends)) {
                    self.unknown += outer.len();
                    self.own(side, pdu.range, (COMPRESSED, FrameClass::Opaque), out);
                    return self.miss(side);
                }
                let inflated = std::mem::take(&mut self.inflated);
                let len = inflated.text.len() as u64;
                self.take((side, pdu.range.start, outer, len), Some(len), &inflated.text, out);
                self.inflated = inflated;
            }
        }
    }

    fn party(&self, side: Side) -> Option<Party> {
        self.carried.as_ref()?.connection.party(side)
    }

    fn joins_servers(&self) -> bool {
        self.carried.as_ref().is_some_and(|carried| carried.connection.joins_servers())
    }

    fn makes_copies(&self, from: Side) -> bool {
        self.carried.as_ref().is_none_or(|carried| carried.connection.makes_copies(from))
    }

    fn left(&self) -> LeftMessages {
        self.carried.as_ref().map_or_else(LeftMessages::default, |one| one.connection.left())
    }

    fn closed(&mut self) {
        if let Some(carried) = &mut self.carried {
            carried.connection.closed();
        }
    }

    fn gap(&mut self, side: Side) {
        let end = &mut self.ends[side as usize];
        end.frames.gap();
        end.inflater.gap();
        end.unread = Count(0);
        if self.carried.is_none() && !self.is_opened {
            // What was taken for frames may have been none, and what a mask says of the ends is then wrong.
            self.client = None;
        }
        self.miss(side);
    }
}
