//! Messages of several parts. Each part is a frame; all but the last have the flag `MORE`.
//!
//! ```text
//! PUB, XPUB         topic · payload …             the first of several parts is the topic
//! REQ, REP          [identity …] · empty · payload …        the parts up to the empty one are the envelope
//! DEALER, ROUTER    payload …, or with an envelope as above, if there is an empty part before the last
//! other types       payload …
//! unknown type      as PUB; with an empty part, as REQ
//! ```
//!
//! That the first part is the topic is a convention of applications: a subscription matches the first bytes of a message.
//! A message of one part is payload only. Topic and envelope count as protocol bytes; the payload of the parts after them
//! is concatenated.

use super::command::SocketType;
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, DecodedMessage, Offset};

/// Bytes that are kept of the payload of a message in several parts: enough to distinguish messages.
const KEPT_PAYLOAD: usize = 256;

/// The longest topic that is kept.
const LONGEST_TOPIC: usize = 4096;

/// Bytes that are kept of a message's first part to compare them with subscriptions, if the socket types are not known.
const KEPT_BEGINNING: usize = 64;

/// If the socket types are not known, a longer first part is not considered a topic.
const PLAUSIBLE_TOPIC: u64 = 255;

/// The way in which a sender builds its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessagePattern {
    /// The first of several parts is the topic.
    Topic,
    /// An empty part ends the envelope.
    Envelope,
    /// An empty part, if there is one, ends the envelope.
    MayBeEnvelope,
    /// All parts are payload.
    Plain,
    /// The pattern is not known.
    Unknown,
}

impl MessagePattern {
    /// The pattern of the sending and the receiving socket's types, as far as they are known.
    pub fn of(sender: Option<SocketType>, receiver: Option<SocketType>) -> MessagePattern {
        use SocketType::{Other, Publisher, Replier, Requester, Router, Subscriber};
        match (sender, receiver) {
            (Some(Requester | Replier), _) | (_, Some(Requester | Replier)) => {
                MessagePattern::Envelope
            }
            (Some(Router), _) | (None, Some(Router)) => MessagePattern::MayBeEnvelope,
            (Some(Publisher), _) | (None, Some(Subscriber)) => MessagePattern::Topic,
            (Some(Subscriber | Other), _) | (None, Some(Publisher | Other)) => {
                MessagePattern::Plain
            }
            (None, None) => MessagePattern::Unknown,
        }
    }
}

/// One part of a message, as far as it was captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePart<'a> {
    /// The part's frame.
    pub range: ByteRange,
    pub body: &'a [u8],
    pub len: u64,
    pub has_more: bool,
}

impl MessagePart<'_> {
    fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.len
    }

    /// True if this can only be the end of an envelope.
    fn is_delimiter(&self) -> bool {
        self.has_more && self.len == 0
    }
}

/// The position of a direction in its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MultipartState {
    /// The next part starts a message.
    #[default]
    Between,
    /// Inside a message that started here.
    Open(Offset),
    /// Inside a message whose beginning is missing.
    Torn,
}

/// The envelope of the message, as far as it was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Envelope {
    /// True if it has ended.
    is_over: bool,
    /// True if it names who is to get the message, or its reply.
    is_addressed: bool,
}

/// The message that a direction is sending.
#[derive(Debug, Default)]
pub(super) struct MultipartAssembly {
    state: MultipartState,
    /// True if a message so far had several parts.
    has_parts: bool,
    /// The first part, if it is the topic and was captured completely.
    topic: Vec<u8>,
    envelope: Envelope,
    payload_len: u64,
    /// The first bytes of the payload, without the last part.
    payload: Vec<u8>,
    /// True if bytes after those in `payload` were not captured or not kept.
    is_cut: bool,
    /// The first bytes of the last message, if the socket types are not known; `None` if there was none.
    beginning: Option<Vec<u8>>,
}

/// The meaning of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartRole {
    Topic,
    Envelope,
    Delimiter,
    Payload,
}

impl MultipartAssembly {
    /// Handles a gap. If messages have several parts, the next part may not be a message's first.
    pub fn gap(&mut self) {
        let is_between = self.state == MultipartState::Between && !self.has_parts;
        self.state = if is_between { MultipartState::Between } else { MultipartState::Torn };
    }

    /// True if the next part is a message's first.
    pub fn is_between(&self) -> bool {
        self.state == MultipartState::Between
    }

    /// True if the envelope of the message names who is to get it, or its reply: somebody passes it on.
    pub fn is_addressed(&self) -> bool {
        self.envelope.is_addressed
    }

    /// True if it has sent a message and the socket types are not known.
    pub fn has_sent(&self) -> bool {
        self.beginning.is_some()
    }

    /// True if the last message began with these bytes.
    pub fn begins_with(&self, prefix: Option<&[u8]>) -> bool {
        let known = self.beginning.as_ref().zip(prefix);
        known.is_some_and(|(beginning, prefix)| beginning.starts_with(prefix))
    }

    /// Adds the next part. Returns the number of its payload bytes, and the message that is complete with it.
    pub fn part<'s>(
        &'s mut self,
        pattern: MessagePattern,
        part: MessagePart<'s>,
    ) -> (u64, Option<DecodedMessage<'s>>) {
        if self.state == MultipartState::Torn {
            if !part.has_more {
                self.state = MultipartState::Between;
            }
            return (part.len, None);
        }
        let is_first = self.is_between();
        if is_first {
            self.begin(part.range.start);
            if pattern == MessagePattern::Unknown {
                let beginning = self.beginning.get_or_insert_default();
                beginning.clear();
                crate::reader::extend_up_to(beginning, part.body, KEPT_BEGINNING);
            }
        }
        let role = self.role(pattern, &part, is_first);
        self.take(role, &part);
        let payload_bytes = if role == PartRole::Payload { part.len } else { 0 };
        if part.has_more {
            self.has_parts = true;
            return (payload_bytes, None);
        }
        (payload_bytes, self.finish(part))
    }

    fn begin(&mut self, at: Offset) {
        self.state = MultipartState::Open(at);
        self.envelope = Envelope::default();
        self.topic.clear();
        self.forget_payload();
    }

    fn forget_payload(&mut self) {
        self.payload_len = 0;
        self.payload.clear();
        self.is_cut = false;
    }

    fn role(&self, pattern: MessagePattern, part: &MessagePart<'_>, is_first: bool) -> PartRole {
        let delimits = !self.envelope.is_over && part.is_delimiter();
        match pattern {
            MessagePattern::Topic if is_first && part.has_more => PartRole::Topic,
            MessagePattern::Plain | MessagePattern::Topic => PartRole::Payload,
            _ if delimits => PartRole::Delimiter,
            MessagePattern::Envelope if !self.envelope.is_over && part.has_more => {
                PartRole::Envelope
            }
            MessagePattern::Unknown if is_first && part.has_more && part.len <= PLAUSIBLE_TOPIC => {
                PartRole::Topic
            }
            _ => PartRole::Payload,
        }
    }

    /// Keeps what is needed of a part. The last part is only needed if other parts came before it.
    fn take(&mut self, role: PartRole, part: &MessagePart<'_>) {
        match role {
            PartRole::Topic if part.is_whole() && part.body.len() <= LONGEST_TOPIC => {
                self.topic.extend_from_slice(part.body);
            }
            PartRole::Envelope => self.envelope.is_addressed = true,
            PartRole::Topic => {}
            PartRole::Delimiter => {
                self.envelope.is_over = true;
                self.topic.clear();
                self.forget_payload();
            }
            PartRole::Payload => {
                if part.has_more || self.payload_len > 0 {
                    self.keep(part);
                }
                self.payload_len.grow(part.len);
            }
        }
    }

    fn keep(&mut self, part: &MessagePart<'_>) {
        if self.is_cut {
            return;
        }
        let kept = crate::reader::extend_up_to(&mut self.payload, part.body, KEPT_PAYLOAD);
        self.is_cut = (kept.len() as u64) < part.len;
    }

    /// The message that ends with `last`.
    fn finish<'s>(&'s mut self, last: MessagePart<'s>) -> Option<DecodedMessage<'s>> {
        let MultipartState::Open(start) = std::mem::take(&mut self.state) else { return None };
        let is_alone = self.payload_len == last.len;
        Some(DecodedMessage {
            extent: ByteRange { start, end: last.range.end },
            topic: &self.topic,
            payload_len: self.payload_len,
            payload: if is_alone { last.body } else { &self.payload },
            key: None,
            duplicate: false,
            retained: false,
        })
    }
}
