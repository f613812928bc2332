//! The decoder of one conversation between a client and its agent.

use super::message::{
    CREATE, CREATE_CLIENT, DATA, FRAGMENT, LENGTH_BYTES, MessageHeader, WRITE_DATA, XrceStep,
    XrceSteps, XrceSubmessage,
};
use super::objects::XrceObjects;
use super::payload::SamplePayload;
use super::streams::{StreamKey, XrceFragment, XrceStreams};
use super::survey;
use crate::connection::frame_without_data;
use crate::{Connection, FrameNote, FrameSink, Pdu, PduLen, Reader, Side};
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, Size};

/// The bit of a FRAGMENT's flags that marks the last one.
const LAST_FRAGMENT: u8 = 0x02;

const LITTLE_ENDIAN: u8 = 0x01;

/// The object ID of the client itself.
const CLIENT_OBJECT: [u8; 2] = [0xFF, 0xFE];

/// The decoder of one conversation.
#[derive(Debug)]
pub(super) struct XrceConnection {
    /// True if messages have their length before them (TCP).
    is_stream: bool,
    streams: XrceStreams,
    objects: XrceObjects,
}

impl XrceConnection {
    pub fn new(is_stream: bool) -> XrceConnection {
        XrceConnection {
            is_stream,
            streams: XrceStreams::default(),
            objects: XrceObjects::default(),
        }
    }
}

/// The message that is being decoded.
#[derive(Clone, Copy)]
struct XrceMessage {
    side: Side,
    header: MessageHeader,
    range: ByteRange,
    /// Number of bytes before the header.
    prefix: u64,
    /// True for a retransmission.
    again: bool,
}

impl XrceMessage {
    fn range_of(&self, submessage: &XrceSubmessage<'_>) -> ByteRange {
        let start = self.range.start.plus(self.prefix);
        ByteRange { start: start.plus(submessage.at), end: start.plus(submessage.end) }
    }

    fn from(&self, at: u64) -> ByteRange {
        ByteRange {
            start: self.range.start.plus(self.prefix.saturating_add(at)),
            end: self.range.end,
        }
    }

    fn lane(&self) -> StreamKey {
        (self.side, self.header.session, self.header.stream)
    }
}

impl Connection for XrceConnection {
    fn held_bytes(&self) -> Size {
        self.streams.held_bytes() + self.objects.held_bytes()
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match Reader::new(head).u16_le() {
            None => PduLen::Need(2),
            Some(len) if u64::from(len) < survey::SHORTEST => PduLen::Invalid,
            Some(len) => PduLen::Known(LENGTH_BYTES + u64::from(len)),
        }
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        survey::stream(head).is_message()
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        if pdu.range.is_empty() {
            return;
        }
        let mut reader = Reader::new(pdu.bytes);
        let prefix = if self.is_stream { LENGTH_BYTES } else { 0 };
        let header = reader
            .skip(usize::try_from(prefix).unwrap_or(0))
            .and_then(|()| MessageHeader::read(&mut reader))
            .filter(|header| prefix.saturating_add(header.len) < pdu.range.len());
        let Some(header) = header else {
            return out.frame(&frame_without_data(pdu.range, "message", FrameClass::Opaque));
        };
        let message = XrceMessage { side, header, range: pdu.range, prefix, again: false };
        let steps =
            XrceSteps::new(reader.rest(), header.len, pdu.range.len().saturating_sub(prefix));
        let range = ByteRange { end: message.from(header.len).start, ..pdu.range };
        out.frame(&frame_without_data(range, "XRCE", purpose(steps.clone())));
        let message = XrceMessage { again: self.see(&message, steps.clone(), out), ..message };
        for step in steps {
            match step {
                XrceStep::Submessage(submessage) => self.submessage(&message, &submessage, out),
                XrceStep::Truncated { at } | XrceStep::Malformed { at } => {
                    out.frame(&frame_without_data(message.from(at), "message", FrameClass::Opaque));
                }
            }
        }
    }

    fn gap(&mut self, side: Side) {
        self.streams.gap(side);
    }
}

impl XrceConnection {
    /// Takes in a message. Returns true if it is a retransmission. Messages of stream 0 are not numbered (DDS-XRCE 1.0 §8.3.2.2).
    fn see(
        &mut self,
        message: &XrceMessage,
        mut steps: XrceSteps<'_>,
        out: &mut dyn FrameSink,
    ) -> bool {
        if let Some(XrceStep::Submessage(XrceSubmessage { id: CREATE_CLIENT, body, .. })) =
            steps.next()
        {
            // Cookie, version and vendor are followed by the client's key and the new session.
            let mut body = Reader::new(body);
            if let Some(key) = body.skip(8).and_then(|()| body.u32_be()) {
                out.client(message.side, format!("0x{key:08X}").as_bytes());
            }
            if let Some(session) = body.u8() {
                self.streams.forget(session);
            }
            return false;
        }
        message.header.stream != 0 && self.streams.of(message.lane()).see(message.header.sequence)
    }

    fn submessage(
        &mut self,
        message: &XrceMessage,
        submessage: &XrceSubmessage<'_>,
        out: &mut dyn FrameSink,
    ) {
        let frame = frame_without_data(
            message.range_of(submessage),
            name(submessage.id),
            class(submessage),
        );
        match submessage.id {
            CREATE => {
                let little = submessage.flags & LITTLE_ENDIAN != 0;
                self.objects.create(message.header.session, little, submessage.body);
            }
            WRITE_DATA | DATA => return self.data(message, submessage, frame, out),
            FRAGMENT => return self.fragment(message, submessage, frame, out),
            _ => {}
        }
        out.frame(&frame);
    }

    fn data(
        &mut self,
        message: &XrceMessage,
        submessage: &XrceSubmessage<'_>,
        frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        let XrceSubmessage { id, flags, body, len, .. } = *submessage;
        let Some(payload) = SamplePayload::read(body, len, flags, id == WRITE_DATA) else {
            out.frame(&Frame { class: FrameClass::Opaque, ..frame });
            return out.note(FrameNote::UnreadMessages(1));
        };
        let hex = payload.object.hex();
        let topic = self.objects.name(message.header.session, payload.object).unwrap_or(&hex);
        out.frame(&Frame {
            payload_bytes: payload.len,
            data: Some(DecodedMessage {
                extent: frame.range,
                topic,
                payload_len: payload.len,
                payload: payload.bytes,
                key: None,
                duplicate: message.again,
                retained: false,
            }),
            ..frame
        });
    }

    fn fragment(
        &mut self,
        message: &XrceMessage,
        submessage: &XrceSubmessage<'_>,
        mut frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        if message.again {
            return out.frame(&frame);
        }
        let inner = InnerSubmessage::read(submessage.body);
        let payload = inner.and_then(|inner| inner.payload(submessage.len));
        let skipped =
            payload.map_or(0, |payload| submessage.len.min(payload.start.saturating_add(4)));
        frame.payload_bytes = submessage.len.saturating_sub(skipped);
        let fragment = XrceFragment {
            sequence: message.header.sequence,
            last: submessage.flags & LAST_FRAGMENT != 0,
            len: submessage.len,
            bytes: submessage.body,
            range: frame.range,
        };
        let whole = self.streams.of(message.lane()).add(fragment, inner.is_some());
        let Some(whole) = whole else { return out.frame(&frame) };
        let head = whole.head.get(..whole.head_len).unwrap_or_default();
        let Some(inner) = InnerSubmessage::read(head) else { return out.frame(&frame) };
        if inner.id == CREATE {
            let little = inner.flags & LITTLE_ENDIAN != 0;
            self.objects.create(message.header.session, little, inner.body);
        }
        let Some(payload) = inner.payload(whole.len) else {
            frame.payload_bytes = 0;
            return out.frame(&frame);
        };
        let hex = payload.object.hex();
        let topic = self.objects.name(message.header.session, payload.object).unwrap_or(&hex);
        out.frame(&Frame {
            data: Some(DecodedMessage {
                extent: whole.extent,
                topic,
                payload_len: payload.len,
                payload: payload.bytes,
                key: None,
                duplicate: false,
                retained: false,
            }),
            ..frame
        });
    }
}

/// The submessage that is divided into fragments.
#[derive(Clone, Copy)]
struct InnerSubmessage<'a> {
    id: u8,
    flags: u8,
    body: &'a [u8],
}

impl<'a> InnerSubmessage<'a> {
    /// Reads the header; its length is 0 if the length needs more than 16 bits.
    fn read(bytes: &'a [u8]) -> Option<InnerSubmessage<'a>> {
        let mut reader = Reader::new(bytes);
        let (id, flags) = (reader.u8()?, reader.u8()?);
        let known = matches!(id, CREATE | WRITE_DATA | DATA) && flags & !0x0F == 0;
        reader.skip(2)?;
        known.then_some(InnerSubmessage { id, flags, body: reader.rest() })
    }

    /// The payload of a submessage of `total` bytes.
    fn payload(&self, total: u64) -> Option<SamplePayload<'a>> {
        let is_data = matches!(self.id, WRITE_DATA | DATA);
        let body = total.checked_sub(4).filter(|_| is_data)?;
        SamplePayload::read(self.body, body, self.flags, self.id == WRITE_DATA)
    }
}

/// The class of a message: data if it has any data, or else that of its first submessage.
fn purpose(steps: XrceSteps<'_>) -> FrameClass {
    let mut classes = steps.filter_map(|step| match step {
        XrceStep::Submessage(submessage) => Some(class(&submessage)),
        _ => None,
    });
    match classes.next() {
        None => FrameClass::Other,
        Some(first) if classes.any(|class| class == FrameClass::Data) => {
            first.min(FrameClass::Data)
        }
        Some(first) => first,
    }
}

fn class(submessage: &XrceSubmessage<'_>) -> FrameClass {
    match submessage.id {
        WRITE_DATA | DATA | FRAGMENT => FrameClass::Data,
        3 if submessage.body.get(2..4) == Some(&CLIENT_OBJECT) => FrameClass::Session,
        CREATE | 3 | 8 => FrameClass::Subscribe,
        CREATE_CLIENT | 4 | 12 => FrameClass::Session,
        2 | 6 => FrameClass::Discovery,
        5 | 10 | 11 => FrameClass::Ack,
        _ => FrameClass::Other,
    }
}

fn name(id: u8) -> &'static str {
    match id {
        CREATE_CLIENT => "CREATE_CLIENT",
        CREATE => "CREATE",
        2 => "GET_INFO",
        3 => "DELETE",
        4 => "STATUS_AGENT",
        5 => "STATUS",
        6 => "INFO",
        WRITE_DATA => "WRITE_DATA",
        8 => "READ_DATA",
        DATA => "DATA",
        10 => "ACKNACK",
        11 => "HEARTBEAT",
        12 => "RESET",
        FRAGMENT => "FRAGMENT",
        14 => "TIMESTAMP",
        _ => "TIMESTAMP_REPLY",
    }
}
