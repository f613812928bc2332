//! Messages of several parts, each a frame with `MORE` but the last.
//!
//! ```text
//! PUB, XPUB         topic · payload …             the first of several parts is the topic
//! REQ, REP          [identity …] · empty · payload …        all to the empty part is the envelope
//! DEALER, ROUTER    payload …, or with an envelope as above, if there is an empty part before the last
//! anything else     payload …
//! not known         as PUB; with an empty part, as REQ
//! ```
//!
//! That the first part is the topic is a convention of applications, for what they subscribe to are
//! only the first bytes. A message of one part is all payload. Topic and envelope are protocol, not
//! payload; the payload of the parts after them counts as one, laid end to end.

use super::command::Socket;
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Data, Offset};

/// What is kept of the payload of a message in several parts: enough to tell messages apart.
const KEPT_PAYLOAD: usize = 256;

/// A longer topic is not kept.
const LONGEST_TOPIC: usize = 4096;

/// With nothing known of the sockets, a longer first part is no topic.
const PLAUSIBLE_TOPIC: u64 = 255;

/// How a sender builds its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The first of several parts is the topic.
    Topic,
    /// An empty part ends the envelope.
    Envelope,
    /// An empty part, if there is one, ends the envelope.
    MayBeEnvelope,
    /// Payload only.
    Plain,
    /// Not known.
    Unknown,
}

impl Pattern {
    /// By the types of the sending and the receiving socket, as far as they are known.
    pub fn of(sender: Option<Socket>, receiver: Option<Socket>) -> Pattern {
        use Socket::{Other, Publisher, Requester, Router, Subscriber};
        match (sender, receiver) {
            (Some(Requester), _) | (_, Some(Requester)) => Pattern::Envelope,
            (Some(Router), _) | (None, Some(Router)) => Pattern::MayBeEnvelope,
            (Some(Publisher), _) | (None, Some(Subscriber)) => Pattern::Topic,
            (Some(Subscriber | Other), _) | (None, Some(Publisher | Other)) => Pattern::Plain,
            (None, None) => Pattern::Unknown,
        }
    }
}

/// One part, as far as it was captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// Its frame.
    pub range: ByteRange,
    pub body: &'a [u8],
    pub len: u64,
    pub has_more: bool,
}

impl Part<'_> {
    fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.len
    }

    /// What can only be the end of an envelope.
    fn is_delimiter(&self) -> bool {
        self.has_more && self.len == 0
    }
}

/// Where a direction is in its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The next part starts a message.
    #[default]
    Between,
    /// Inside a message that started here.
    Open(Offset),
    /// Inside one whose beginning was missed.
    Torn,
}

/// The message that a direction is sending.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    state: State,
    /// Messages have had several parts.
    has_parts: bool,
    /// The first part, if it is the topic and was captured whole.
    topic: Vec<u8>,
    /// The envelope has ended.
    delimited: bool,
    payload_len: u64,
    /// The first bytes of the payload, those of the last part not included.
    payload: Vec<u8>,
    /// Bytes after those in `payload` were not captured or not kept.
    is_cut: bool,
}

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Topic,
    Envelope,
    Delimiter,
    Payload,
}

impl Assembly {
    /// Bytes were missed. Where messages have several parts, the next one may not be a first.
    pub fn gap(&mut self) {
        let is_between = self.state == State::Between && !self.has_parts;
        self.state = if is_between { State::Between } else { State::Torn };
    }

    /// Whether the next part is a message's first.
    pub fn is_between(&self) -> bool {
        self.state == State::Between
    }

    /// Takes the next part. Returns its payload bytes, and the message that is complete with it.
    pub fn part<'s>(&'s mut self, pattern: Pattern, part: Part<'s>) -> (u64, Option<Data<'s>>) {
        if self.state == State::Torn {
            if !part.has_more {
                self.state = State::Between;
            }
            return (part.len, None);
        }
        let is_first = self.is_between();
        if is_first {
            self.begin(part.range.start);
        }
        let role = self.role(pattern, &part, is_first);
        self.take(role, &part);
        let payload_bytes = if role == Role::Payload { part.len } else { 0 };
        if part.has_more {
            self.has_parts = true;
            return (payload_bytes, None);
        }
        (payload_bytes, self.finish(part))
    }

    fn begin(&mut self, at: Offset) {
        self.state = State::Open(at);
        self.delimited = false;
        self.topic.clear();
        self.forget_payload();
    }

    fn forget_payload(&mut self) {
        self.payload_len = 0;
        self.payload.clear();
        self.is_cut = false;
    }

    fn role(&self, pattern: Pattern, part: &Part<'_>, is_first: bool) -> Role {
        let delimits = !self.delimited && part.is_delimiter();
        match pattern {
            Pattern::Topic if is_first && part.has_more => Role::Topic,
            Pattern::Plain | Pattern::Topic => Role::Payload,
            _ if delimits => Role::Delimiter,
            Pattern::Envelope if !self.delimited && part.has_more => Role::Envelope,
            Pattern::Unknown if is_first && part.has_more && part.len <= PLAUSIBLE_TOPIC => {
                Role::Topic
            }
            _ => Role::Payload,
        }
    }

    /// Keeps what is needed of a part. Of the last one nothing is, unless others went before it.
    fn take(&mut self, role: Role, part: &Part<'_>) {
        match role {
            Role::Topic if part.is_whole() && part.body.len() <= LONGEST_TOPIC => {
                self.topic.extend_from_slice(part.body);
            }
            Role::Topic | Role::Envelope => {}
            Role::Delimiter => {
                self.delimited = true;
                self.topic.clear();
                self.forget_payload();
            }
            Role::Payload => {
                if part.has_more || self.payload_len > 0 {
                    self.keep(part);
                }
                self.payload_len.grow(part.len);
            }
        }
    }

    fn keep(&mut self, part: &Part<'_>) {
        if self.is_cut {
            return;
        }
        let room = KEPT_PAYLOAD.saturating_sub(self.payload.len());
        let kept = part.body.get(..room).unwrap_or(part.body);
        self.payload.extend_from_slice(kept);
        self.is_cut = (kept.len() as u64) < part.len;
    }

    /// The message that ends with `last`.
    fn finish<'s>(&'s mut self, last: Part<'s>) -> Option<Data<'s>> {
        let State::Open(start) = std::mem::take(&mut self.state) else { return None };
        let is_alone = self.payload_len == last.len;
        Some(Data {
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
