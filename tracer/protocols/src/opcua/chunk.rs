//! One chunk of a message that can be read: the values that are complete with it.

use super::assembly::{Assembly, Part, Progress};
use super::fields::{Fault, Fields};
use super::header::MESSAGE_HEADER_BYTES;
use super::names::Names;
use super::service::PUBLISH_RESPONSE;
use super::value::Content;
use super::walk::Entry;
use crate::{FrameSink, Side};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Class, Data, Frame, Offset};

/// One chunk of a message that can be read.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub side: Side,
    pub request: u32,
    pub part: Part,
    pub range: ByteRange,
    /// The message ends with it.
    pub last: bool,
}

impl Chunk {
    /// Hands out the values that are complete with this chunk, each with a frame that ends where its
    /// entry does, and a frame for what is left.
    pub fn read(
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
            Entry::Wanted(node) => names.want(self.side, node),
            Entry::Monitored { subscription, handle, node } => {
                names.learn((subscription, handle), node);
            }
            Entry::Valueless { subscription, handle } => {
                names.pass((subscription, handle));
            }
            Entry::Value { of, content } => {
                if let Some((topic, stored)) = names.of(self.side, self.request, of) {
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
        progress.values.grow(1);
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
        let offset = MESSAGE_HEADER_BYTES.saturating_add(place.saturating_sub(self.part.from));
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
