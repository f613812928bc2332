//! One connection: both directions, their channel, and what requests say about responses.

use super::assembly::{Assembly, Part, Progress};
use super::fields::{Fault, Fields};
use super::header::{End, HEADER_BYTES, Header, Kind, MESSAGE_HEADER_BYTES};
use super::names::{Monitored, Reads};
use super::security::Policy;
use super::service::{PUBLISH_RESPONSE, READ_REQUEST, Service};
use super::value::Content;
use super::walk::{Entry, Source, Walk};
use crate::{Connection, FrameSink, Pdu, PduLen, Reader, Side};
use wirelap_events::{ByteRange, Class, Data, Frame, Offset};

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

/// What tells whose values they are.
#[derive(Debug, Default)]
struct Names {
    monitored: Monitored,
    /// By the side that reads.
    reads: [Reads; 2],
    scratch: Vec<u8>,
}

impl Connection for OpcUa {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        Header::read(head).map_or_else(|why| why, |header| PduLen::Known(header.size.into()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        Header::read(head).is_ok_and(Header::is_plausible)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let (name, class) = match Header::read(pdu.bytes) {
            Ok(Header { kind: Kind::Message, end, .. }) => {
                return self.message(side, end, pdu, out);
            }
            Ok(Header { kind: Kind::Open, .. }) => {
                self.open(pdu);
                (Kind::Open.name(), Class::Session)
            }
            Ok(header) => (header.kind.name(), Class::Session),
            Err(_) => ("chunk", Class::Opaque),
        };
        out.frame(&plain(pdu.range, name, class));
    }

    fn gap(&mut self, side: Side) {
        self.halves[side as usize].assembly.close();
        self.names.reads[side as usize].forget();
    }
}

impl OpcUa {
    fn open(&mut self, pdu: Pdu<'_>) {
        let start = HEADER_BYTES as u64 + 4;
        let policy = Fields::new(pdu.bytes, 0, pdu.range.len(), start)
            .and_then(|mut fields| Policy::read(&mut fields));
        self.policy = policy.unwrap_or(self.policy);
    }

    fn message(&mut self, side: Side, end: End, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let footer = self.policy.footer_bytes();
        let half = &mut self.halves[side as usize];
        let Some((request, body)) = split(&pdu, footer) else {
            half.assembly.close();
            return out.frame(&plain(pdu.range, Kind::Message.name(), Class::Opaque));
        };
        let part = half.assembly.chunk(request, pdu.range.len() - MESSAGE_HEADER_BYTES - footer);
        if part.from == 0 {
            half.progress = begin(part, end, body);
            if half.progress.is_some_and(|progress| progress.service.id() == READ_REQUEST) {
                self.names.reads[side as usize].begin(request);
            }
        }
        if let (Some(progress), false) = (&mut half.progress, end == End::Abort) {
            let chunk = Chunk { side, request, part, range: pdu.range, last: end == End::Final };
            chunk.read(&mut half.assembly, progress, body, &mut self.names, out);
        } else {
            let (name, class) = match (end, self.policy, half.progress) {
                (_, _, Some(progress)) => (progress.service.name, Class::Other),
                (End::Abort, ..) => (Kind::Message.name(), Class::Other),
                (_, Policy::Secured(_), _) => (ENCRYPTED, Class::Opaque),
                _ => (Kind::Message.name(), Class::Opaque),
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
    let len = pdu.range.len().checked_sub(MESSAGE_HEADER_BYTES + footer)?;
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

/// One chunk of a message that can be read.
#[derive(Clone, Copy)]
struct Chunk {
    side: Side,
    request: u32,
    part: Part,
    range: ByteRange,
    /// The message ends with it.
    last: bool,
}

impl Chunk {
    /// Hands out the values that are complete with this chunk, each with a frame that ends where its
    /// entry does, and a frame for what is left.
    fn read(
        self,
        assembly: &mut Assembly,
        progress: &mut Progress,
        body: &[u8],
        names: &mut Names,
        out: &mut dyn FrameSink,
    ) {
        let mut at = self.range.start;
        let mut fault = None;
        if !progress.walk.is_done()
            && let Some((bytes, base)) = assembly.bytes(self.part, body, self.last)
        {
            let captured = Captured { bytes, base };
            fault = self.entries(captured, progress, names, &mut at, out);
        }
        if at < self.range.end {
            self.rest(progress, fault, at, out);
        }
        if self.last {
            return;
        }
        if progress.walk.is_done() {
            progress.open = None;
        } else {
            progress.since.get_or_insert(at);
            assembly.keep_from(progress.walk.at, self.part, body);
        }
    }

    /// Reads entries as far as they are here. Returns why no more were read, if any are left.
    fn entries(
        self,
        captured: Captured<'_>,
        progress: &mut Progress,
        names: &mut Names,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) -> Option<Fault> {
        let total = if self.last { self.part.to } else { u64::MAX };
        while !progress.walk.is_done() {
            let mut entry = None;
            let result = Fields::new(captured.bytes, captured.base, total, progress.walk.at)
                .and_then(|fields| progress.walk.next(fields, &mut entry));
            match (result, entry) {
                (Err(Fault::Malformed), _) => {
                    progress.walk.stop();
                    progress.open = None;
                    return Some(Fault::Malformed);
                }
                (Err(Fault::Short), Some(Entry::Value { content, .. })) if !self.last => {
                    progress.open = Some((content.start, content.end()));
                    return Some(Fault::Short);
                }
                (Err(Fault::Short), None) => return Some(Fault::Short),
                (result, Some(entry)) => {
                    if result.is_err() {
                        progress.walk.stop();
                    }
                    self.entry(entry, progress, names, at, out);
                }
                (Ok(()), None) => {}
            }
            progress.open = None;
        }
        None
    }

    fn entry(
        self,
        entry: Entry<'_>,
        progress: &mut Progress,
        names: &mut Names,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) {
        match entry {
            Entry::Wanted(node) => names.reads[self.side as usize].want(node),
            Entry::Monitored { subscription, handle, node } => {
                names.scratch.clear();
                node.write(&mut names.scratch);
                names.monitored.learn((subscription, handle), &names.scratch);
            }
            Entry::Valueless { subscription, handle } => {
                names.monitored.notify((subscription, handle));
            }
            Entry::Value { of, content } => {
                if let Some((topic, stored)) = names.of(self, of) {
                    self.value(content, topic, stored, progress, at, out);
                }
            }
        }
    }

    /// Hands out a value.
    fn value(
        self,
        content: Content<'_>,
        topic: &[u8],
        stored: bool,
        progress: &mut Progress,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) {
        let end = if progress.walk.is_done() && self.last {
            self.range.end
        } else {
            self.flow_place(progress.walk.at).max(at.plus(1))
        };
        if end > self.range.end {
            return;
        }
        let range = ByteRange { start: *at, end };
        let since = progress.since.take().unwrap_or(*at);
        progress.values += 1;
        *at = end;
        out.frame(&Frame {
            range,
            name: progress.service.name,
            class: Class::Data,
            payload_bytes: self.overlap((content.start, content.end())).min(range.len()),
            data: Some(Data {
                extent: ByteRange { start: since, end },
                topic,
                payload_len: content.len,
                payload: content.bytes,
                key: None,
                duplicate: false,
                retained: stored,
            }),
        });
    }

    /// What is after the last complete value.
    fn rest(self, progress: &Progress, fault: Option<Fault>, at: Offset, out: &mut dyn FrameSink) {
        let range = ByteRange { start: at, end: self.range.end };
        let payload_bytes = progress.open.map_or(0, |open| self.overlap(open)).min(range.len());
        let class = match fault {
            _ if progress.values > 0 || progress.open.is_some() => Class::Data,
            Some(Fault::Malformed) => Class::Opaque,
            Some(Fault::Short) if self.last => Class::Opaque,
            _ => progress.purpose(),
        };
        let name = progress.service.name;
        out.frame(&Frame { range, name, class, payload_bytes, data: None });
    }

    /// Where a place of the body is in the flow.
    fn flow_place(self, place: u64) -> Offset {
        let offset = MESSAGE_HEADER_BYTES + place.saturating_sub(self.part.from);
        self.range.start.plus(offset.min(self.range.len()))
    }

    /// How many bytes from one place of the body to another are in this chunk.
    fn overlap(self, (start, end): (u64, u64)) -> u64 {
        end.min(self.part.to).saturating_sub(start.max(self.part.from))
    }
}

/// What is here of a body, from place `base` on.
#[derive(Clone, Copy)]
struct Captured<'a> {
    bytes: &'a [u8],
    base: u64,
}

impl Progress {
    /// What a message without values is for.
    fn purpose(&self) -> Class {
        let is_idle = self.walk.is_done() && self.walk.notifications == 0;
        match self.service.id() {
            PUBLISH_RESPONSE if is_idle => Class::KeepAlive,
            _ => self.service.class,
        }
    }
}

impl Names {
    /// Whose value it is, and whether it is one that the server had before it was subscribed to.
    /// `None` if it is no application's: another attribute, or a read of the server's own state,
    /// with which clients see that it is alive.
    fn of(&mut self, chunk: Chunk, source: Source<'_>) -> Option<(&[u8], bool)> {
        match source {
            Source::Node(node) => {
                self.scratch.clear();
                node.write(&mut self.scratch);
                Some((&self.scratch, false))
            }
            Source::Handle { subscription, handle } => {
                let known = self.monitored.notify((subscription, handle));
                Some(known.unwrap_or((&[], false)))
            }
            Source::Wanted(index) => {
                let client = 1 - chunk.side as usize;
                match self.reads[client].wanted(chunk.request, index) {
                    None => Some((&[], false)),
                    Some(node) if node.starts_with(b"ns=") => Some((node, false)),
                    Some(_) => None,
                }
            }
        }
    }
}
