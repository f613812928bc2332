//! One connection: both directions, their channel, and what requests say about responses.

use super::assembly::{Assembly, Part, Progress};
use super::chunk::Chunk;
use super::fields::Fields;
use super::header::{End, HEADER_BYTES, Header, MESSAGE_HEADER_BYTES, MessageType};
use super::names::Names;
use super::security::Policy;
use super::service::{READ_REQUEST, Service};
use super::walk::Walk;
use crate::{Connection, FrameSink, Pdu, PduLen, Protocol, Reader, Side};
use wirelap_events::Total;
use wirelap_events::{ByteRange, Class, Frame};

/// The name of a message that cannot be read because its channel encrypts.
const ENCRYPTED: &str = "MSG encrypted";

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct OpcUa {
    policy: Policy,
    halves: [Half; 2],
    names: Names,
}

/// What one side sends.
#[derive(Debug, Default)]
struct Half {
    assembly: Assembly,
    /// The message that the assembly is of. `None`: it cannot be read.
    progress: Option<Progress>,
}

impl Connection for OpcUa {
    fn held_bytes(&self) -> usize {
        let assemblies = self.halves.iter().map(|half| half.assembly.held_bytes());
        assemblies.total::<usize>().saturating_add(self.names.held_bytes())
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        Header::read(head).map_or_else(|why| why, |header| PduLen::Known(header.size.into()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        Header::read(head).is_ok_and(Header::is_plausible)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        Protocol::stands_out(&super::PROTOCOL, head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let (name, class) = match Header::read(pdu.bytes) {
            Ok(Header { kind: MessageType::Message, end, .. }) => {
                return self.message(side, end, pdu, out);
            }
            Ok(Header { kind: MessageType::Open, .. }) => {
                self.open(pdu);
                (MessageType::Open.name(), Class::Session)
            }
            Ok(header) => (header.kind.name(), Class::Session),
            Err(_) => ("chunk", Class::Opaque),
        };
        out.frame(&plain(pdu.range, name, class));
    }

    fn gap(&mut self, side: Side) {
        self.halves[side as usize].assembly.close();
        self.names.gap(side);
    }
}

impl OpcUa {
    fn open(&mut self, pdu: Pdu<'_>) {
        let start = (HEADER_BYTES as u64).saturating_add(4);
        let policy = Fields::new(pdu.bytes, 0, pdu.range.len(), start)
            .and_then(|mut fields| Policy::read(&mut fields));
        self.policy = policy.unwrap_or(self.policy);
    }

    fn message(&mut self, side: Side, end: End, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let footer = self.policy.footer_bytes();
        let half = &mut self.halves[side as usize];
        let Some((request, body)) = split(&pdu, footer) else {
            half.assembly.close();
            return out.frame(&plain(pdu.range, MessageType::Message.name(), Class::Opaque));
        };
        let part = half.assembly.chunk(
            request,
            pdu.range.len().saturating_sub(MESSAGE_HEADER_BYTES).saturating_sub(footer),
        );
        if part.from == 0 {
            half.progress = begin(part, end, body);
            if half.progress.is_some_and(|progress| progress.service.id() == READ_REQUEST) {
                self.names.begin_read(side, request);
            }
        }
        if let (Some(progress), false) = (&mut half.progress, end == End::Abort) {
            let chunk = Chunk { side, request, part, range: pdu.range, last: end == End::Final };
            chunk.read(&mut half.assembly, progress, body, &mut self.names, out);
        } else {
            let (name, class) = match (end, self.policy, half.progress) {
                (_, _, Some(progress)) => (progress.service.name, Class::Other),
                (End::Abort, ..) => (MessageType::Message.name(), Class::Other),
                (_, Policy::Secured(_), _) => (ENCRYPTED, Class::Opaque),
                _ => (MessageType::Message.name(), Class::Opaque),
            };
            out.frame(&plain(pdu.range, name, class));
        }
        if end != End::More {
            half.assembly.close();
        }
    }
}

fn plain(range: ByteRange, name: &'static str, class: Class) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}

/// A MSG's request, and what is here of its part of the body, which a footer follows.
fn split<'a>(pdu: &Pdu<'a>, footer: u64) -> Option<(u32, &'a [u8])> {
    let len = pdu.range.len().checked_sub(MESSAGE_HEADER_BYTES.saturating_add(footer))?;
    let mut reader = Reader::new(pdu.bytes);
    reader.skip(HEADER_BYTES + 12)?;
    let request = reader.u32_le()?;
    Some((request, reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX))))
}

/// Reads the type that a message's first chunk starts with.
fn begin(part: Part, end: End, body: &[u8]) -> Option<Progress> {
    let total = if end == End::Final { part.to } else { u64::MAX };
    let mut fields = Fields::new(body, 0, total, 0).ok()?;
    let service = Service::read(&mut fields).ok()?;
    let walk = Walk::new(service, fields.place());
    Some(Progress { service, walk, values: 0, open: None, since: None })
}
