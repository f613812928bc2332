//! What a decoder found in a flow's bytes.

use crate::{ByteRange, Nanos};

/// One protocol frame: an MQTT control packet, a Zenoh message in a batch, an RTPS submessage.
///
/// The frames of a decoded stretch lie end to end and do not overlap, so that their lengths add up to
/// the bytes of that stretch. A batch header that belongs to no single message is a frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The flow's bytes that it takes.
    pub range: ByteRange,
    /// What its specification calls it, e.g. `PUBLISH`.
    pub name: &'static str,
    /// What it is for.
    pub class: Class,
    /// How many of its bytes are application payload. The rest is protocol.
    pub payload_bytes: u64,
    /// The application message that is complete with this frame, if it completes one.
    pub data: Option<Data<'a>>,
}

impl Frame<'_> {
    /// Whether its payload is in shared memory: what travels says only where. Its name says so.
    pub fn is_in_shared_memory(&self) -> bool {
        self.name.ends_with("(shm)")
    }

    /// Of a [`Class::Session`] frame: whether it closes a session rather than opens one. Its name says so:
    /// `DISCONNECT`, `Close`, `CLO`, `CloseSessionRequest`, `DELETE`.
    pub fn closes_session(&self) -> bool {
        const CLOSING: [&str; 4] = ["DISCONNECT", "Close", "CLO", "DELETE"];
        CLOSING.iter().any(|start| self.name.starts_with(start))
    }

    /// Whether it asks the other side for messages that it may have, or gets: Kafka's Fetch (KIP-74), OPC
    /// UA's Publish (part 4, §5.14.5). A peer that is sent messages without asking has no such frames.
    pub fn asks_for_messages(&self) -> bool {
        const ASKING: [&str; 2] = ["FetchRequest", "PublishRequest"];
        ASKING.contains(&self.name)
    }

    /// Bytes that are not application payload.
    pub fn header_bytes(&self) -> u64 {
        self.range.len().saturating_sub(self.payload_bytes)
    }
}

/// What a frame is for: the rows of the overhead ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Carries application data, whole or in part, or frames it (batch headers, timestamps).
    Data,
    /// Opens or closes a session.
    Session,
    /// Declares, subscribes, expresses interest.
    Subscribe,
    /// Acknowledges, or asks for missing data.
    Ack,
    /// Says only that the peer is still there.
    KeepAlive,
    /// Finds peers and their endpoints.
    Discovery,
    /// Cannot be read: compressed, encrypted, or its bytes were not captured.
    Opaque,
    /// Anything else that is not application data.
    Other,
}

impl Class {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Data => "data",
            Class::Session => "session",
            Class::Subscribe => "subscribe",
            Class::Ack => "ack",
            Class::KeepAlive => "keepalive",
            Class::Discovery => "discovery",
            Class::Opaque => "opaque",
            Class::Other => "other",
        }
    }
}

/// One application message, complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// From the first byte of its first frame to the last byte of its last. Equals the frame's range
    /// unless the message was fragmented.
    pub extent: ByteRange,
    /// Its topic, subject or key expression as sent, after aliases were resolved. Empty when the
    /// alias was declared before wirelap attached, or the protocol has none.
    pub topic: &'a [u8],
    /// Bytes of its payload, all fragments together.
    pub payload_len: u64,
    /// The first bytes of its payload, as many as were captured.
    pub payload: &'a [u8],
    /// The protocol's own identity for it, the same at every receiver, if it has one.
    pub key: Option<GlobalKey>,
    /// It may be a copy of one that was sent before (MQTT DUP).
    pub duplicate: bool,
    /// It was stored by the broker and does not stem from a publisher now (MQTT RETAIN).
    pub retained: bool,
}

/// A message identity that survives every hop: RTPS writer GUID and sequence number, a Kafka producer's id and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalKey {
    /// Who wrote it.
    pub origin: [u8; 16],
    /// Its number there.
    pub seq: u64,
    /// No other message has this key. Where that is not so, their order decides.
    pub unique: bool,
}

/// A sender's permission to pass a message on, which its receiver had to wait for (MQTT PUBREL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// When it was sent; when it was read, if that was not seen.
    pub given: Nanos,
    /// How long the threads that led to this send had waited for a CPU.
    pub waited: Nanos,
    /// When it was read.
    pub read: Nanos,
    /// TCP had to send it again.
    pub resent: bool,
    /// TCP had to send again what its sender waited for before it gave it.
    pub after_loss: bool,
}

/// How long a request for messages may be kept waiting: until there are so many bytes, or so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The longest that it waits (Kafka's `max_wait_ms`).
    pub longest: Nanos,
    /// It is answered at once when there are so many bytes (Kafka's `min_bytes`).
    pub least_bytes: u64,
}
