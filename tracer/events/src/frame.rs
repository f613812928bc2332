//! The frames and messages that a decoder finds in the bytes of a flow.

use crate::{ByteRange, Nanos, Recovery};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// One protocol frame: an MQTT control packet, a Zenoh message in a batch, an RTPS submessage.
///
/// The frames of a decoded byte range are adjacent and do not overlap, so that their lengths add up to the length of the range. A
/// batch header that belongs to no single message is a frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes of the flow that belong to the frame.
    pub range: ByteRange,
    /// The name in the protocol's specification, e.g. `PUBLISH`.
    pub name: &'static str,
    /// The purpose of the frame.
    pub class: FrameClass,
    /// Bytes of the frame that are application payload. The others are protocol overhead.
    pub payload_bytes: u64,
    /// The application message that this frame completes, if it does.
    pub data: Option<DecodedMessage<'a>>,
}

impl Frame<'_> {
    /// True if the payload is in shared memory, so that the frame contains only its location. The name of the frame tells that.
    pub fn is_in_shared_memory(&self) -> bool {
        self.name.ends_with("(shm)")
    }

    /// True if a [`FrameClass::Session`] frame closes a session, and does not open one. The name of the frame tells that:
    /// `DISCONNECT`, `Close`, `CLO`, `CloseSessionRequest`, `DELETE`, `connection.close`.
    pub fn closes_session(&self) -> bool {
        const CLOSING: [&str; 5] = ["DISCONNECT", "Close", "CLO", "DELETE", "connection.close"];
        CLOSING.iter().any(|start| self.name.starts_with(start))
    }

    /// True if the frame requests messages from the other side, by its name: Kafka's Fetch (KIP-74), OPC UA's Publish (part 4,
    /// §5.14.5). Of other frames the decoder says it.
    pub fn asks_for_messages(&self) -> bool {
        const ASKING: [&str; 2] = ["FetchRequest", "PublishRequest"];
        ASKING.contains(&self.name)
    }

    /// The bytes that are not application payload.
    pub fn header_bytes(&self) -> u64 {
        self.range.len().saturating_sub(self.payload_bytes)
    }
}

/// The purpose of a frame. Each is a row of the overhead ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FrameClass {
    /// Carries application data or a part of it, or encloses it (batch headers, timestamps).
    Data,
    /// Opens or closes a session.
    Session,
    /// Declares, subscribes, expresses interest.
    Subscribe,
    /// Acknowledges, or asks for missing data.
    Ack,
    /// Shows that the peer is still there.
    KeepAlive,
    /// Finds peers and their endpoints.
    Discovery,
    /// Cannot be decoded: compressed, encrypted, or not captured.
    Opaque,
    /// Anything else that is not application data.
    Other,
}

impl FrameClass {
    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One complete application message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedMessage<'a> {
    /// The bytes from the first byte of its first frame to the last byte of its last. Equals the range of the frame unless the
    /// message was fragmented.
    pub extent: ByteRange,
    /// The topic, subject or key expression, with aliases resolved. Empty if the alias was declared before wirelap attached, or if the
    /// protocol has no topics.
    pub topic: &'a [u8],
    /// The bytes of the payload of all fragments.
    pub payload_len: u64,
    /// The first bytes of the payload, as many as were captured.
    pub payload: &'a [u8],
    /// The protocol's identity for the message, which is the same at every receiver; `None` if it has none.
    pub key: Option<GlobalKey>,
    /// True if the message may have been sent before (MQTT DUP).
    pub duplicate: bool,
    /// True if the broker had stored the message and sends it to a new subscriber (MQTT RETAIN).
    pub retained: bool,
}

/// An identity of a message that is the same on every leg: RTPS writer GUID and sequence number, or the id of a Kafka producer and
/// its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalKey {
    /// The writer.
    pub origin: [u8; 16],
    /// The message's number at the writer.
    pub seq: u64,
    /// True if no other message has this key. Messages with the same key are matched in order.
    pub unique: bool,
}

/// A permission to pass a message on, which a receiver that has the message must wait for (MQTT PUBREL).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Time at which the permission was sent; if that was not seen, when it was read.
    pub sent: Nanos,
    /// Time at which the permission left its sender's socket; if that was not seen, when it was sent.
    pub left: Nanos,
    /// Time at which the permission had arrived at the receiver's socket; if that was not seen, when it was read.
    pub arrived: Nanos,
    /// Time at which the permission was read.
    pub read: Nanos,
    /// Time for which the threads that led to sending the permission had waited for a CPU.
    pub waited: Nanos,
    /// True if Nagle's algorithm kept the permission in its sender's socket until earlier bytes were acknowledged.
    pub nagle: bool,
    /// True if TCP had to retransmit the permission, or what was before it.
    pub resent: bool,
    /// Why TCP retransmitted it; `None` if it did not, or that was not seen.
    pub recovery: Option<Recovery>,
    /// The receipt that its sender had to have before it could give the permission; `None` if that was not seen.
    pub receipt: Option<Receipt>,
}

/// The confirmation that a receiver has a message, without which the sender does not release it (MQTT PUBREC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Time at which the receiver of the message sent the receipt.
    pub sent: Nanos,
    /// Time at which the receipt left the socket for the first time.
    pub left: Nanos,
    /// Time at which the sender of the message had the receipt: it was ready in its socket, or read. `None` if that was not seen.
    pub arrived: Option<Nanos>,
    /// For how long it was missing, or what was before it, because of lost packets.
    pub lost: Nanos,
    /// Why TCP retransmitted it.
    pub recovery: Option<Recovery>,
    /// True if Nagle's algorithm kept the receipt in the socket until earlier bytes were acknowledged.
    pub nagle: bool,
    /// True if the other end had no room for the receipt.
    pub is_window_full: bool,
}

/// Limits to which the answer to a request for messages may be delayed: until there are enough bytes, or the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLimits {
    /// The longest time (Kafka's `max_wait_ms`).
    pub longest: Nanos,
    /// The bytes with which the request is answered at once (Kafka's `min_bytes`).
    pub least_bytes: u64,
}
