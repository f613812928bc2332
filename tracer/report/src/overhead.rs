//! Where the bytes of a result went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_events::Total;

/// Where the bytes went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Bytes on the device for each delivered message. They add up to all that the device carried for
    /// the flows of this result.
    pub per_message_bytes: PerMessageBytes,
    /// Bytes carried for each byte of payload carried; 0 when no payload was.
    pub ratio: f64,
    /// All bytes carried.
    pub total_bytes: u64,
    /// Packets carried.
    pub packets: u64,
    /// Deliveries that these bytes stand for, those of the warm-up included.
    pub deliveries: u64,
    /// All bytes in finer rows. They add up to `total_bytes` exactly.
    #[serde(default)]
    pub parts_bytes: PartsBytes,
    /// The same by leg, for legs that carried something. Together they are `parts_bytes`.
    #[serde(default)]
    pub legs: Vec<LegBytes>,
    /// What each operation of the protocol cost, for those that occurred.
    #[serde(default)]
    pub operations: Vec<OperationBytes>,
    /// The same packets as Ethernet frames of an MTU of 1500 bytes.
    #[serde(default)]
    pub ethernet: EthernetBytes,
    /// Times that TCP sent something again, each of one segment or several. What lost its first copy
    /// before the device was carried once, and is not in `retransmitted`.
    #[serde(default)]
    pub retransmissions: u64,
}

/// Bytes on the device for each delivered message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerMessageBytes {
    /// Application payload, each leg and copy counted.
    pub payload: f64,
    /// Protocol headers of frames that carry data.
    pub protocol: f64,
    /// Whole frames that carry none.
    pub control: f64,
    /// TCP and UDP headers, also of packets without data.
    pub transport: f64,
    /// IP headers, also of packets without data.
    pub network: f64,
    /// Link headers, also of packets without data.
    pub link: f64,
    /// Packets that were sent again.
    pub retransmitted: f64,
    /// Frames that could not be read.
    pub opaque: f64,
}

impl PerMessageBytes {
    /// All of them together.
    pub fn total(&self) -> f64 {
        self.payload
            + self.protocol
            + self.control
            + self.transport
            + self.network
            + self.link
            + self.retransmitted
            + self.opaque
    }
}

/// Bytes on the device, each in exactly one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartsBytes {
    /// Application payload on its way to the first that reads it, once on each leg.
    pub payload: u64,
    /// Application payload of the second and every later delivery of one message: fan-out.
    pub copies: u64,
    /// Application payload that the protocol, not TCP, sent again on the same way.
    pub repeats: u64,
    /// Protocol headers of frames that carry data.
    pub header: u64,
    /// Frames that open or close a session.
    pub session: u64,
    /// Frames that declare, subscribe or express interest.
    pub subscribe: u64,
    /// Frames in which the protocol acknowledges, or asks for what it lacks.
    pub ack: u64,
    /// Frames that say only that the peer is still there.
    pub keepalive: u64,
    /// Frames that find peers and their endpoints.
    pub discovery: u64,
    /// Frames that are none of these and carry no data.
    pub other: u64,
    /// Bytes whose frames cannot be read, or were not found.
    pub opaque: u64,
    /// TCP and UDP headers of packets with data.
    pub transport: u64,
    /// IP headers of packets with data.
    pub network: u64,
    /// Link headers, and padding, of packets with data.
    pub link: u64,
    /// TCP packets without data that open or close nothing, whole.
    pub pure_ack: u64,
    /// TCP packets without data that open, close or reset the connection, whole.
    pub connection: u64,
    /// What had been on the device before: whole packets, or the repeated part of one's payload.
    pub retransmitted: u64,
}

impl PartsBytes {
    /// All of them together.
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, bytes)| bytes).total()
    }

    /// What TCP and UDP carried: without the headers below, and without what had been there before.
    pub fn transported(&self) -> u64 {
        let below = [self.transport, self.network, self.link, self.pure_ack, self.connection];
        let below = below.into_iter().fold(self.retransmitted, u64::saturating_add);
        self.total().saturating_sub(below)
    }

    /// Each with its name, from the inside of a packet out.
    pub fn named(&self) -> [(&'static str, u64); 17] {
        [
            ("payload", self.payload),
            ("copies", self.copies),
            ("repeats", self.repeats),
            ("header", self.header),
            ("session", self.session),
            ("subscribe", self.subscribe),
            ("ack", self.ack),
            ("keepalive", self.keepalive),
            ("discovery", self.discovery),
            ("other", self.other),
            ("opaque", self.opaque),
            ("transport", self.transport),
            ("network", self.network),
            ("link", self.link),
            ("pure ACKs", self.pure_ack),
            ("connection", self.connection),
            ("retransmitted", self.retransmitted),
        ]
    }
}

/// Bytes of one leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegBytes {
    /// 1 for the first leg; 0 for connections that carried no message. What goes back on a connection
    /// that carries messages one way only counts to their leg.
    pub leg: u8,
    /// All bytes of the leg.
    pub total_bytes: u64,
    /// Its parts.
    pub parts_bytes: PartsBytes,
}

/// What one operation of the protocol cost: the protocol's own bytes, without payload and without the
/// headers of the layers below.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationBytes {
    /// `open` and `close` of a session, `declare` (subscriptions and declarations), `publish`,
    /// `acknowledge`, `keepalive`.
    pub operation: String,
    /// How often: sessions opened and closed; messages published, on each leg and to each reader;
    /// otherwise frames (a request and its answer are two).
    pub count: u64,
    /// Bytes of all.
    pub total_bytes: u64,
    /// Bytes of one; 0 if none began while it was observed.
    pub mean_bytes: f64,
}

/// What Ethernet frames of an MTU of 1500 bytes would carry: the payload of super-packets cut into
/// segments (or IP fragments) with the headers of the packet that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthernetBytes {
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames: header (14), packet, padding to 64 and check sequence (4).
    pub frame_bytes: u64,
    /// The same with each frame's preamble (8) and the least gap between frames (12): what they take
    /// of the line's rate.
    pub line_bytes: u64,
}
