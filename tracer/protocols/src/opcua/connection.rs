//! The decoder of one OPC UA connection.

use super::assembly::{BodyRange, ChunkAssembly, DecodeProgress};
use super::chunk::Chunk;
use super::fields::OpcuaFields;
use super::header::{ChunkHeader, ChunkType, HEADER_BYTES, MESSAGE_HEADER_BYTES, MessageType};
use super::names::NodeNames;
use super::security::Policy;
use super::service::{CREATE_SESSION_REQUEST, READ_REQUEST, REPUBLISH_RESPONSE, Service};
use super::session::session_name;
use super::walk::ServiceWalk;
use crate::connection::frame_without_data;
use crate::{Connection, Encryption, FrameNote, FrameSink, Pdu, PduLen, Reader, Side};
use wirelap_events::{ByteRange, FrameClass, Offset, Size};

/// The frame name of an encrypted message.
const ENCRYPTED: &str = "MSG encrypted";

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct OpcUaConnection {
    policy: Policy,
    /// Encrypted messages were seen.
    is_encrypted: bool,
    halves: [OpcuaSideState; 2],
    names: NodeNames,
}

/// The message that one side is sending.
#[derive(Debug, Default)]
struct OpcuaSideState {
    assembly: ChunkAssembly,
    /// Progress in decoding the message; `None` if it cannot be decoded.
    progress: Option<DecodeProgress>,
    /// Offset at which its first chunk begins.
    start: Offset,
}

impl Connection for OpcUaConnection {
    fn held_bytes(&self) -> Size {
        let assemblies = self.halves.iter().map(|half| half.assembly.held_bytes());
        Size::sum(assemblies) + self.names.held_bytes()
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        ChunkHeader::read(head).map_or_else(|why| why, |header| PduLen::Known(header.size.into()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        ChunkHeader::read(head).is_ok_and(ChunkHeader::is_plausible)
    }

    fn encryption(&self) -> Option<Encryption> {
        self.is_encrypted.then_some(Encryption::Own)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        ChunkHeader::stands_out(head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let (name, class) = match ChunkHeader::read(pdu.bytes) {
            Ok(ChunkHeader { kind: MessageType::Message, end, .. }) => {
                return self.message(side, end, pdu, out);
            }
            Ok(ChunkHeader { kind: MessageType::Open, .. }) => {
                self.open(pdu);
                (MessageType::Open.name(), FrameClass::Session)
            }
            Ok(header) => (header.kind.name(), FrameClass::Session),
            Err(_) => ("chunk", FrameClass::Opaque),
        };
        out.frame(&frame_without_data(pdu.range, name, class));
    }

    fn gap(&mut self, side: Side) {
        self.halves[side as usize].assembly.close();
        self.names.gap(side);
    }
}

impl OpcUaConnection {
    fn open(&mut self, pdu: Pdu<'_>) {
        let start = (HEADER_BYTES as u64).saturating_add(4);
        let policy = OpcuaFields::new(pdu.bytes, 0, pdu.range.len(), start)
            .and_then(|mut fields| Policy::read(&mut fields));
        self.policy = policy.unwrap_or(self.policy);
    }

    fn message(&mut self, side: Side, end: ChunkType, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let footer = self.policy.footer_bytes();
        let half = &mut self.halves[side as usize];
        let Some((request, body)) = split(&pdu, footer) else {
            half.assembly.close();
            return out.frame(&frame_without_data(
                pdu.range,
                MessageType::Message.name(),
                FrameClass::Opaque,
            ));
        };
        let part = half.assembly.chunk(
            request,
            pdu.range.len().saturating_sub(MESSAGE_HEADER_BYTES).saturating_sub(footer),
        );
        if part.from == 0 {
            half.progress = begin(part, end, body);
            half.start = pdu.range.start;
            match half.progress.map(|progress| progress.service.id()) {
                Some(READ_REQUEST) => self.names.begin_read(side, request),
                Some(REPUBLISH_RESPONSE) => {
                    let asked_for = self.names.published.asked_for(side, request);
                    if let Some((progress, asked_for)) = half.progress.as_mut().zip(asked_for) {
                        progress.walk.asked_for = asked_for;
                    }
                }
                Some(CREATE_SESSION_REQUEST) => out.client(side, name_of(half.progress, body)),
                _ => {}
            }
        }
        if let (Some(progress), ChunkType::Final) = (&half.progress, end) {
            let extent = ByteRange { start: half.start, end: pdu.range.end };
            if progress.service.is_prompt_request() {
                out.requests(request.into(), extent);
            } else if progress.service.is_response() {
                out.note(FrameNote::Reply { number: request.into(), extent });
            }
        }
        if let (Some(progress), false) = (&mut half.progress, end == ChunkType::Abort) {
            let chunk =
                Chunk { side, request, part, range: pdu.range, last: end == ChunkType::Final };
            chunk.read(&mut half.assembly, progress, body, &mut self.names, out);
        } else {
            let (name, class) = match (end, self.policy, half.progress) {
                (_, _, Some(progress)) => (progress.service.name, FrameClass::Other),
                (ChunkType::Abort, ..) => (MessageType::Message.name(), FrameClass::Other),
                (_, Policy::Secured(_), _) => (ENCRYPTED, FrameClass::Opaque),
                _ => (MessageType::Message.name(), FrameClass::Opaque),
            };
            out.frame(&frame_without_data(pdu.range, name, class));
            let values = half.progress.map_or(0, |progress| progress.values);
            if end == ChunkType::Abort && values > 0 {
                // Its receiver drops the values in the chunks before, too (OPC 10000-6 §6.7.3).
                out.note(FrameNote::CutShort(values.into()));
            }
            let messages = u64::from(class == FrameClass::Opaque && end == ChunkType::Final);
            if name == ENCRYPTED {
                self.is_encrypted = true;
                out.note(FrameNote::Encrypted(messages));
            } else {
                out.note(FrameNote::UnreadMessages(messages));
            }
        }
        if end != ChunkType::More {
            half.assembly.close();
        }
    }
}

/// A MSG chunk's request ID, and the captured bytes of its body, which ends before the footer.
fn split<'a>(pdu: &Pdu<'a>, footer: u64) -> Option<(u32, &'a [u8])> {
    let len = pdu.range.len().checked_sub(MESSAGE_HEADER_BYTES.saturating_add(footer))?;
    let mut reader = Reader::new(pdu.bytes);
    reader.skip(HEADER_BYTES + 12)?;
    let request = reader.u32_le()?;
    Some((request, reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX))))
}

/// The name in the first chunk of a `CreateSessionRequest`, which is rarely longer; empty if it is not there.
fn name_of(progress: Option<DecodeProgress>, body: &[u8]) -> &[u8] {
    let at = progress.map_or(0, |progress| progress.walk.at);
    let fields = OpcuaFields::new(body, 0, u64::MAX, at);
    fields.and_then(|mut fields| session_name(&mut fields)).unwrap_or_default()
}

/// Reads the type at the start of a message's first chunk.
fn begin(part: BodyRange, end: ChunkType, body: &[u8]) -> Option<DecodeProgress> {
    let total = if end == ChunkType::Final { part.to } else { u64::MAX };
    let mut fields = OpcuaFields::new(body, 0, total, 0).ok()?;
    let service = Service::read(&mut fields).ok()?;
    let walk = ServiceWalk::new(service, fields.position());
    Some(DecodeProgress { service, walk, values: 0, open: None, value_end: None, since: None })
}
