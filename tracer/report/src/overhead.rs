//! The JSON of a result's bytes: by part, leg and operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_events::Count;

/// Where the bytes went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Overhead")]
pub struct ReportedOverhead {
    /// Bytes on the device per delivery. Multiplied by `deliveries` they are all bytes that the device carried for the
    /// flows of this result.
    pub per_message_bytes: PerMessageBytes,
    /// All bytes divided by the payload bytes; 0 without payload.
    pub ratio: f64,
    /// All bytes carried.
    pub total_bytes: u64,
    /// Packets carried.
    pub packets: u64,
    /// Deliveries that these bytes belong to, including those of the warm-up.
    pub deliveries: u64,
    /// All bytes by layer. They add up to `total_bytes` exactly.
    #[serde(default)]
    pub layers_bytes: LayersBytes,
    /// All bytes by purpose. They add up to `total_bytes` exactly.
    #[serde(default)]
    pub parts_bytes: PartsBytes,
    /// The bytes of each leg that carried any, by purpose. All legs add up to `parts_bytes`.
    #[serde(default)]
    pub legs: Vec<LegBytes>,
    /// What each operation of the protocol cost, for those that occurred.
    #[serde(default)]
    pub operations: Vec<OperationBytes>,
    /// The same packets as Ethernet frames with an MTU of 1500 bytes.
    #[serde(default)]
    pub ethernet: EthernetBytes,
    /// How often TCP retransmitted; one retransmission may have several segments. Segments whose first copy was dropped
    /// before the device were carried once, and are not in `retransmitted`.
    #[serde(default)]
    pub retransmissions: u64,
}

/// Bytes on the device per delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerMessageBytes {
    /// Application payload, counted on each leg and in each copy.
    pub payload: f64,
    /// Protocol headers of frames that carry data.
    pub protocol: f64,
    /// Frames without data, as a whole.
    pub control: f64,
    /// TCP and UDP headers, including those of packets without data.
    pub transport: f64,
    /// IP headers, including those of packets without data.
    pub network: f64,
    /// Link headers, including those of packets without data.
    pub link: f64,
    /// Retransmitted packets.
    pub retransmitted: f64,
    /// Frames that could not be decoded.
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

/// Bytes on the device by layer: what `per_message_bytes` are the means of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayersBytes {
    /// Application payload, counted on each leg and in each copy.
    pub payload: u64,
    /// Protocol headers of frames that carry data.
    pub protocol: u64,
    /// Frames without data, as a whole.
    pub control: u64,
    /// TCP and UDP headers, including those of packets without data.
    pub transport: u64,
    /// IP headers, including those of packets without data.
    pub network: u64,
    /// Link headers, including those of packets without data.
    pub link: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// Frames that could not be decoded.
    pub opaque: u64,
}

/// Bytes on the device by purpose; each byte is in exactly one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartsBytes {
    /// Application payload on its way to its first reader, once on each leg.
    pub payload: u64,
    /// Application payload of the second and every later delivery of one message: fan-out.
    pub copies: u64,
    /// Application payload that the protocol itself, not TCP, sent again on the same leg.
    pub repeats: u64,
    /// Protocol headers of frames that carry data.
    pub header: u64,
    /// Frames that open or close a session.
    pub session: u64,
    /// Frames that declare, subscribe or express interest.
    pub subscribe: u64,
    /// Frames with which the protocol acknowledges data or requests missing data.
    pub ack: u64,
    /// Frames that only show that the peer is alive.
    pub keepalive: u64,
    /// Frames that find peers and their endpoints.
    pub discovery: u64,
    /// Frames without data that are none of the above.
    pub other: u64,
    /// Bytes that could not be decoded.
    pub opaque: u64,
    /// TCP and UDP headers of packets with data.
    pub transport: u64,
    /// IP headers of packets with data.
    pub network: u64,
    /// Link headers, and padding, of packets with data.
    pub link: u64,
    /// TCP packets without data that neither open nor close the connection, with all their headers.
    pub pure_ack: u64,
    /// TCP packets without data that open, close or reset the connection, with all their headers.
    pub connection: u64,
    /// Retransmissions: whole packets, or the part of a packet's payload that the device had carried before.
    pub retransmitted: u64,
}

impl PartsBytes {
    /// All of them together.
    pub fn total(&self) -> u64 {
        Count::sum(self.named().map(|(_, bytes)| bytes)).0
    }

    /// Bytes of TCP and UDP payload: without headers and without retransmissions.
    pub fn transported(&self) -> u64 {
        let below = [self.transport, self.network, self.link, self.pure_ack, self.connection];
        (Count(self.total()) - Count::sum(below) - self.retransmitted).0
    }

    /// Each part with its name, from the payload outwards to the link.
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
    /// 1 for the first leg; 0 for connections that carried no message. If a connection carries messages in one direction
    /// only, the bytes of the other direction count to the same leg.
    pub leg: u8,
    /// All bytes of the leg.
    pub total_bytes: u64,
    /// Bytes of the leg by purpose.
    pub parts_bytes: PartsBytes,
}

/// What one operation of the protocol cost: the protocol's own bytes, without payload and without the headers of the
/// lower layers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationBytes {
    /// `open` and `close` of a session, `declare` (subscriptions and declarations), `publish`,
    /// `acknowledge`, `keepalive`.
    pub operation: String,
    /// How often the operation occurred. `open` and `close` count sessions, `publish` counts messages on each leg and to
    /// each reader, the others count frames (a request and its answer are two).
    pub count: u64,
    /// Bytes of all occurrences.
    pub total_bytes: u64,
    /// Mean bytes of one occurrence; 0 if none began during the observation.
    pub mean_bytes: f64,
}

/// The captured packets as Ethernet frames with an MTU of 1500 bytes: super-packets (GSO, GRO, loopback) are cut into
/// segments or IP fragments, each with the headers of the captured packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthernetBytes {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames: header (14), packet, padding to 64 and check sequence (4).
    pub frame_bytes: u64,
    /// `frame_bytes` with each frame's preamble (8) and the minimum gap between frames (12): the frames' share of the link's
    /// bit rate.
    pub line_bytes: u64,
}
