//! Decodes one chunk of a message: the values that are complete with it.

use super::assembly::{BodyRange, ChunkAssembly, DecodeProgress};
use super::fields::{FieldError, OpcuaFields};
use super::header::MESSAGE_HEADER_BYTES;
use super::names::NodeNames;
use super::service::{PUBLISH_RESPONSE, REPUBLISH_RESPONSE};
use super::value::ValueContent;
use super::walk::ServiceEntry;
use crate::{FrameNote, FrameSink, Side};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, Offset};

/// Bytes of the smallest entry with a value: a handle, and the mask of a `DataValue`.
const SMALLEST_ENTRY: u64 = 5;

/// One chunk of a message that is not encrypted.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub side: Side,
    pub request: u32,
    pub part: BodyRange,
    pub range: ByteRange,
    /// True for the message's last chunk.
    pub last: bool,
}

impl Chunk {
    /// Passes the values that are complete with this chunk to `out`, each in a frame that ends with its entry, and a frame
    /// for the remaining bytes.
    pub fn read(
        self,
        assembly: &mut ChunkAssembly,
        progress: &mut DecodeProgress,
        body: &[u8],
        names: &mut NodeNames,
        out: &mut dyn FrameSink,
    ) {
        let mut at = self.range.start;
        let mut fault = None;
        self.end_value(assembly, progress, body, names, (&mut at, out));
        if !progress.walk.is_done()
            && let Some((bytes, base)) = assembly.bytes(self.part, body, self.last)
        {
            let captured = CapturedBody { bytes, base };
            fault = self.entries(captured, progress, names, &mut at, out);
        }
        if at < self.range.end {
            self.rest(progress, fault, at, out);
        }
        if self.last {
            if fault == Some(FieldError::Short) {
                let most = self.part.to.saturating_sub(progress.walk.at) / SMALLEST_ENTRY;
                out.note(FrameNote::UnreadMessages(
                    u64::from(progress.walk.values_left()).min(most),
                ));
            }
            return;
        }
        if progress.walk.is_done() {
            (progress.open, progress.value_end) = (None, None);
        } else {
            progress.since.get_or_insert(at);
            assembly.keep_from(progress.walk.at, self.part, body);
        }
    }

    /// Passes on the value that began in an earlier chunk, if it is known that it ends in this one. It may be too long to be kept: its first
    /// bytes and its length are known. What follows it is decoded from this chunk alone.
    fn end_value(
        self,
        assembly: &mut ChunkAssembly,
        progress: &mut DecodeProgress,
        body: &[u8],
        names: &mut NodeNames,
        (at, out): (&mut Offset, &mut dyn FrameSink),
    ) {
        let Some(end) = progress.value_end.filter(|&end| end <= self.part.to) else { return };
        let Some((bytes, base)) = assembly.entry(body) else { return };
        let mut entry = None;
        let fields = OpcuaFields::new(bytes, base, u64::MAX, progress.walk.at);
        match fields.and_then(|fields| progress.walk.next(fields, &mut entry)) {
            Ok(()) => {}
            Err(FieldError::Short) if entry.is_some() => progress.walk.pass_value(end),
            Err(_) => progress.walk.stop(),
        }
        if let Some(entry) = entry {
            self.entry(entry, progress, names, at, out);
        }
        (progress.open, progress.value_end) = (None, None);
        assembly.forget_entry();
    }

    /// Decodes the entries that are complete. Returns why no more could be decoded, if any remain.
    fn entries(
        self,
        captured: CapturedBody<'_>,
        progress: &mut DecodeProgress,
        names: &mut NodeNames,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) -> Option<FieldError> {
        let total = if self.last { self.part.to } else { u64::MAX };
        while !progress.walk.is_done() {
            let mut entry = None;
            let result = OpcuaFields::new(captured.bytes, captured.base, total, progress.walk.at)
                .and_then(|fields| progress.walk.next(fields, &mut entry));
            match (result, entry) {
                (Err(FieldError::Malformed), _) => {
                    progress.walk.stop();
                    (progress.open, progress.value_end) = (None, None);
                    return Some(FieldError::Malformed);
                }
                (Err(FieldError::Short), Some(ServiceEntry::Value { content, .. }))
                    if !self.last =>
                {
                    progress.open = Some((content.start, content.end()));
                    progress.value_end = content.value_end();
                    return Some(FieldError::Short);
                }
                (Err(FieldError::Short), None) => return Some(FieldError::Short),
                (result, Some(entry)) => {
                    let end = value_end(&entry).filter(|_| result.is_err());
                    match end {
                        Some(end) if end <= total => progress.walk.pass_value(end),
                        _ if result.is_err() => progress.walk.stop(),
                        _ => {}
                    }
                    self.entry(entry, progress, names, at, out);
                }
                (Ok(()), None) => {}
            }
            (progress.open, progress.value_end) = (None, None);
        }
        None
    }

    fn entry(
        self,
        entry: ServiceEntry<'_>,
        progress: &mut DecodeProgress,
        names: &mut NodeNames,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) {
        match entry {
            ServiceEntry::Wanted(node) => names.want(self.side, node),
            ServiceEntry::Monitored { subscription, handle, node } => {
                names.learn((subscription, handle), node);
            }
            ServiceEntry::Valueless { subscription, handle } => {
                names.pass((subscription, handle));
            }
            ServiceEntry::AskedAgain { subscription } => {
                names.published.ask_again(self.side, self.request, subscription);
            }
            ServiceEntry::Notified { subscription, number } => {
                let was_published = names.published.note(subscription, number);
                // No server gives one number to two notifications: only who answers a request for one publishes it again.
                progress.walk.is_again =
                    was_published && progress.service.id() == REPUBLISH_RESPONSE;
            }
            ServiceEntry::Value { of, content } => {
                if let Some((topic, stored)) = names.of(self.side, self.request, of) {
                    self.value(content, topic, stored, progress, at, out);
                }
            }
        }
    }

    /// Passes a value to `out`.
    fn value(
        self,
        content: ValueContent<'_>,
        topic: &[u8],
        stored: bool,
        progress: &mut DecodeProgress,
        at: &mut Offset,
        out: &mut dyn FrameSink,
    ) {
        let end = if progress.walk.is_done() && self.last {
            self.range.end
        } else {
            self.flow_offset(progress.walk.at).max(at.plus(1))
        };
        if end > self.range.end {
            return;
        }
        let range = ByteRange { start: *at, end };
        let since = progress.since.take().unwrap_or(*at);
        progress.values.grow(1);
        *at = end;
        out.frame(&Frame {
            range,
            name: progress.service.name,
            class: FrameClass::Data,
            payload_bytes: self.overlap((content.start, content.end())).min(range.len()),
            data: Some(DecodedMessage {
                extent: ByteRange { start: since, end },
                topic,
                payload_len: content.len,
                payload: content.bytes,
                key: None,
                duplicate: progress.walk.is_again,
                retained: stored,
            }),
        });
    }

    /// Passes the bytes after the last complete value to `out`.
    fn rest(
        self,
        progress: &DecodeProgress,
        fault: Option<FieldError>,
        at: Offset,
        out: &mut dyn FrameSink,
    ) {
        let range = ByteRange { start: at, end: self.range.end };
        let payload_bytes = progress.open.map_or(0, |open| self.overlap(open)).min(range.len());
        let class = match fault {
            _ if progress.values > 0 || progress.open.is_some() => FrameClass::Data,
            Some(FieldError::Malformed) => FrameClass::Opaque,
            Some(FieldError::Short) if self.last => FrameClass::Opaque,
            _ => progress.purpose(),
        };
        let name = progress.service.name;
        out.frame(&Frame { range, name, class, payload_bytes, data: None });
    }

    /// The offset in the flow of a position in the body.
    fn flow_offset(self, position: u64) -> Offset {
        let offset = MESSAGE_HEADER_BYTES.saturating_add(position.saturating_sub(self.part.from));
        self.range.start.plus(offset.min(self.range.len()))
    }

    /// Returns the number of the bytes between two positions of the body that are in this chunk.
    fn overlap(self, (start, end): (u64, u64)) -> u64 {
        end.min(self.part.to).saturating_sub(start.max(self.part.from))
    }
}

/// The captured bytes of a body from position `base` on.
#[derive(Clone, Copy)]
struct CapturedBody<'a> {
    bytes: &'a [u8],
    base: u64,
}

/// The position at which a value ends that is not there as a whole, if it is known.
fn value_end(entry: &ServiceEntry<'_>) -> Option<u64> {
    match entry {
        ServiceEntry::Value { content, .. } => content.value_end(),
        _ => None,
    }
}

impl DecodeProgress {
    /// The class of a message without values.
    fn purpose(&self) -> FrameClass {
        let is_idle = self.walk.is_done() && self.walk.notifications == 0;
        match self.service.id() {
            PUBLISH_RESPONSE if is_idle => FrameClass::KeepAlive,
            _ => self.service.class,
        }
    }
}
