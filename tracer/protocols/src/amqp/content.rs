//! Messages: a method, a header with the size of the body, and as many frames of the body as it takes. Frames of other
//! channels may come between them (AMQP 0-9-1 §2.3.5.2).

use super::consumer;
use super::dead_letter::DeadLetter;
use super::method::Envelope;
use rustc_hash::FxHashMap;
use wirelap_events::{ByteRange, DecodedMessage, Offset, Size, TraceContext};

/// The most messages of one direction that may be incomplete at once; a client's channels rarely send at the same time.
const MOST_OPEN: usize = 1024;

/// Bytes that are kept of a body in several frames: enough to distinguish messages.
const KEPT_PAYLOAD: usize = 256;

/// An estimate of the memory of an incomplete message.
const CONTENT_BYTES: usize = 1024;

/// A message of which not all frames have come.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
struct OpenContent {
    start: Offset,
    topic: Vec<u8>,
    redelivered: bool,
    returned: bool,
    was_asked: bool,
    has_expired: bool,
    was_elsewhere: bool,
    is_delayed: bool,
    /// A number for what its headers tell of earlier; 0 for nothing.
    past: u32,
    /// A number for the consumer that it is for.
    consumer: Option<u64>,
    /// The trace that it names, if that is asked for.
    trace: Option<TraceContext>,
    /// Bytes of the whole body; `None` before the header.
    size: Option<u64>,
    /// Bytes of the body so far.
    seen: u64,
    /// The first bytes of the body, if it is in several frames.
    payload: Vec<u8>,
    /// True if bytes after those in `payload` were not captured or not kept.
    is_cut: bool,
}

/// The receiver of a message, and what the message waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Recipient {
    /// The client has asked for this one message.
    pub has_asked: bool,
    /// The message lay in a queue, or at its exchange, until its time there was over.
    pub has_expired: bool,
    /// The message lay in another queue before, or at its exchange.
    pub was_elsewhere: bool,
    /// The message is kept by its exchange for a time before any queue has it, or was.
    pub is_delayed: bool,
    /// A number for what the message tells of queues and exchanges that it was in before; 0 for nothing.
    pub past: u32,
    /// A number for the consumer.
    pub consumer: Option<u64>,
    /// The trace that the message names, if that is asked for.
    pub trace: Option<TraceContext>,
}

/// The meaning of a frame that continues a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continued {
    /// The frame is of a message for the application.
    Message,
    /// The frame is of a message that the broker gives back to its publisher.
    Returned,
    /// The beginning of the message is missing.
    Torn,
    /// The frame does not fit the message.
    Wrong,
}

/// The messages that one direction is sending.
#[derive(Debug, Default)]
pub(super) struct OpenContents {
    /// By channel.
    open: FxHashMap<u16, OpenContent>,
    /// The message that is complete.
    done: OpenContent,
}

impl OpenContents {
    /// Bytes of memory that the messages use.
    pub fn held_bytes(&self) -> Size {
        Size(CONTENT_BYTES) * self.open.len()
    }

    /// A method was sent on a channel, which ends what was incomplete there.
    pub fn abort(&mut self, channel: u16) {
        self.open.remove(&channel);
    }

    /// Begins a message. Without `envelope` its topic is not known.
    pub fn begin(&mut self, channel: u16, start: Offset, envelope: Option<Envelope<'_>>) {
        self.abort(channel);
        if self.open.len() >= MOST_OPEN {
            return;
        }
        let mut content = OpenContent { start, ..std::mem::take(&mut self.done) };
        (content.size, content.seen, content.is_cut) = (None, 0, false);
        content.payload.clear();
        content.topic.clear();
        let envelope = envelope.unwrap_or_default();
        envelope.write_topic(&mut content.topic);
        (content.redelivered, content.returned) = (envelope.redelivered, envelope.returned);
        (content.was_asked, content.has_expired) = (envelope.was_asked, false);
        (content.was_elsewhere, content.is_delayed, content.past) = (false, false, 0);
        content.consumer = envelope.consumer.map(consumer::number);
        content.trace = None;
        self.open.insert(channel, content);
    }

    /// Adds the header of a message, which says how long its body is.
    pub fn header(&mut self, channel: u16, size: Option<u64>) -> Continued {
        let Some(content) = self.open.get_mut(&channel) else { return Continued::Torn };
        if content.size.is_some() {
            self.open.remove(&channel);
            return Continued::Wrong;
        }
        let continued = content.continued();
        match size {
            Some(_) => content.size = size,
            // Without the size, the message has no end.
            None => drop(self.open.remove(&channel)),
        }
        continued
    }

    /// The message of a channel names a trace.
    pub fn is_of_trace(&mut self, channel: u16, trace: TraceContext) {
        if let Some(content) = self.open.get_mut(&channel) {
            content.trace = Some(trace);
        }
    }

    /// The message of a channel is a dead letter.
    pub fn is_dead_letter(&mut self, channel: u16, letter: DeadLetter<'_>) {
        if let Some(content) = self.open.get_mut(&channel) {
            letter.first_published.write_topic(&mut content.topic);
            content.has_expired = letter.has_expired;
            content.was_elsewhere = true;
        }
    }

    /// The message of a channel tells by its headers where it was before, with this number for all of that.
    pub fn tells_past(&mut self, channel: u16, past: u32) {
        if let Some(content) = self.open.get_mut(&channel) {
            content.past = past;
        }
    }

    /// The message of a channel is kept by its exchange for a time, or was, if that `is_over`.
    pub fn is_delayed(&mut self, channel: u16, is_over: bool) {
        if let Some(content) = self.open.get_mut(&channel) {
            content.is_delayed = true;
            content.has_expired |= is_over;
            content.was_elsewhere |= is_over;
        }
    }

    /// Adds `len` bytes of a message's body, of which `bytes` were captured.
    pub fn body(&mut self, channel: u16, bytes: &[u8], len: u64) -> Continued {
        let Some(content) = self.open.get_mut(&channel) else { return Continued::Torn };
        let seen = content.seen.saturating_add(len);
        if content.size.is_none_or(|size| seen > size) {
            self.open.remove(&channel);
            return Continued::Wrong;
        }
        // A body in one frame is not copied.
        if content.size != Some(len) {
            content.keep(bytes, len);
        }
        content.seen = seen;
        content.continued()
    }

    /// Returns the recipient if the channel's message is complete; `None` if it is not, or goes back to its publisher.
    pub fn ends(&self, channel: u16) -> Option<Recipient> {
        let content = self.open.get(&channel)?;
        let recipient = Recipient {
            has_asked: content.was_asked,
            has_expired: content.has_expired,
            was_elsewhere: content.was_elsewhere,
            is_delayed: content.is_delayed,
            past: content.past,
            consumer: content.consumer,
            trace: content.trace,
        };
        (content.size == Some(content.seen) && !content.returned).then_some(recipient)
    }

    /// The message of a channel, if it ends with `end`. The last frame of its body is `last`.
    pub fn finish<'s>(
        &'s mut self,
        channel: u16,
        end: Offset,
        last: &'s [u8],
    ) -> Option<DecodedMessage<'s>> {
        let is_whole = |content: &OpenContent| content.size == Some(content.seen);
        self.open.get(&channel).filter(|content| is_whole(content))?;
        self.done = self.open.remove(&channel)?;
        let done = &self.done;
        if done.returned {
            return None;
        }
        Some(DecodedMessage {
            extent: ByteRange { start: done.start, end },
            topic: &done.topic,
            payload_len: done.seen,
            payload: if done.payload.is_empty() && !done.is_cut { last } else { &done.payload },
            key: None,
            duplicate: done.redelivered,
            retained: false,
        })
    }

    /// Forgets all messages, because bytes are missing.
    pub fn gap(&mut self) {
        self.open.clear();
    }
}

impl OpenContent {
    fn continued(&self) -> Continued {
        if self.returned { Continued::Returned } else { Continued::Message }
    }

    fn keep(&mut self, bytes: &[u8], len: u64) {
        if self.is_cut {
            return;
        }
        let kept = crate::reader::extend_up_to(&mut self.payload, bytes, KEPT_PAYLOAD);
        self.is_cut = (kept.len() as u64) < len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(routing_key: &[u8]) -> Envelope<'_> {
        Envelope { routing_key, ..Envelope::default() }
    }

    #[test]
    fn a_body_in_several_frames_keeps_its_beginning() {
        let mut contents = OpenContents::default();
        contents.begin(7, Offset(10), Some(envelope(b"key")));
        assert_eq!(contents.header(7, Some(1000)), Continued::Message);
        assert!(contents.finish(7, Offset(20), &[]).is_none());
        for end in [520, 1020] {
            assert_eq!(contents.body(7, &[b'x'; 500], 500), Continued::Message);
            let message = contents.finish(7, Offset(end), &[b'x'; 500]);
            let found = message.map(|m| (m.extent.len(), m.payload_len, m.payload.len(), m.topic));
            let whole = (1010, 1000, KEPT_PAYLOAD, &b"key"[..]);
            assert_eq!(found, (end == 1020).then_some(whole));
        }
        assert_eq!(contents.body(7, b"x", 1), Continued::Torn);
    }

    #[test]
    fn what_is_incomplete_is_bounded_and_forgotten_at_a_gap() {
        let mut contents = OpenContents::default();
        (1..=u16::MAX).for_each(|channel| contents.begin(channel, Offset(0), Some(envelope(b"k"))));
        assert_eq!(contents.open.len(), MOST_OPEN);
        contents.begin(1, Offset(0), Some(envelope(b"again")));
        assert_eq!(contents.open.len(), MOST_OPEN);
        assert_eq!(contents.header(u16::MAX, Some(0)), Continued::Torn);
        contents.gap();
        assert_eq!(
            (contents.held_bytes(), contents.header(1, Some(0))),
            (Size(0), Continued::Torn)
        );
    }
}
