//! The ledger of the bytes on the device: every byte in one part.
//!
//! Every packet is counted once, on one device, and whole: headers at once, payload first as opaque and
//! then, when its frames are known, as what they say. So the sum is the device's at any moment.

use super::framing::{Framed, framed};
use super::overhead::{Operation, OperationCost, Overhead};
use super::parts::{Part, Parts};
use wirelap_events::{Frame, FrameClass, Packet, PacketKind, Saturate, tcp_flags};
use wirelap_protocols::Side;

/// One conversation's bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Bytes that [`Side::A`] sent, then those that [`Side::B`] sent.
    lanes: [DirectionBytes; 2],
    operations: [OperationCost; Operation::ALL.len()],
    session: Session,
    /// The side that said the session's farewell first.
    farewell: Option<Side>,
    resent: u64,
}

/// The state of a conversation's session, so that its frames count as one opening and one close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Session {
    #[default]
    Unknown,
    Open,
    Closing,
}

/// One direction's bytes.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionBytes {
    /// Bytes by part; the opaque part has only frames that cannot be read.
    parts: Parts,
    /// Transport payload counted in packets that were not sent again.
    carried: u64,
    /// Bytes of `carried` in which frames were found.
    attributed: u64,
    /// Transport, network and link bytes of the packets that are counted whole as without data.
    bare: [u64; 3],
    framed: Framed,
    packets: u64,
    /// The leg that its last message was on; 0 before the first.
    leg: u8,
}

/// Cuts lengths that claim more than a packet has, so that the sum stays the device's.
struct Remaining(u64);

impl Remaining {
    fn take(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.0);
        self.0.shrink(taken);
        taken
    }
}

impl DirectionBytes {
    fn packet(&mut self, packet: &Packet<'_>, repeated: u64) {
        let mut rest = Remaining(u64::from(packet.wire_bytes));
        let payload = u64::from(packet.payload_len);
        if payload > 0 && repeated >= payload {
            self.parts[Part::Retransmitted].grow(rest.0);
            return;
        }
        let whole = rest.0;
        let payload = rest.take(payload);
        let transport = rest.take(u64::from(packet.transport_header));
        let network = rest.take(u64::from(packet.ip_header));
        // What the headers' lengths do not explain is padding of the link layer.
        let link = rest.0;
        if let Some(part) = bare(packet) {
            self.parts[part].grow(whole);
            // Only an error has payload here: what it quotes.
            let headers = [transport.saturating_add(payload), network, link];
            self.bare.iter_mut().zip(headers).for_each(|(sum, bytes)| sum.grow(bytes));
            return;
        }
        let headers = [transport, network, link];
        for (part, bytes) in [Part::Transport, Part::Network, Part::Link].into_iter().zip(headers) {
            self.parts[part].grow(bytes);
        }
        let repeated = repeated.min(payload);
        self.parts[Part::Retransmitted].grow(repeated);
        self.carried.grow(payload.saturating_sub(repeated));
    }

    /// Says what up to `bytes` of the payload were for; how many it was told of.
    fn attribute(&mut self, part: Part, bytes: u64) -> u64 {
        // Bytes that were decoded but not counted on the device (an attach in mid-stream) are no one's.
        let taken = bytes.min(self.carried.saturating_sub(self.attributed));
        self.attributed.grow(taken);
        self.parts[part].grow(taken);
        taken
    }

    fn parts(&self) -> Parts {
        let mut parts = self.parts;
        parts[Part::Opaque].grow(self.carried.saturating_sub(self.attributed));
        parts
    }
}

/// Returns the part that a packet without data counts as: an ICMP error is to a datagram what a
/// reset is to a connection. An empty datagram is data.
fn bare(packet: &Packet<'_>) -> Option<Part> {
    const TURNS: u8 = tcp_flags::SYN | tcp_flags::FIN | tcp_flags::RST;
    if packet.kind == PacketKind::IcmpError {
        return Some(Part::Connection);
    }
    let tcp = packet.tcp.as_ref().filter(|_| packet.payload_len == 0)?;
    Some(if tcp.flags & TURNS == 0 { Part::PureAck } else { Part::Connection })
}

impl Ledger {
    /// Counts a packet. `repeated` of its payload bytes were on the device before.
    pub fn packet(&mut self, side: Side, packet: &Packet<'_>, repeated: u64) {
        let lane = &mut self.lanes[side as usize];
        lane.packets.grow(1);
        lane.framed += &framed(packet);
        lane.packet(packet, repeated);
    }

    /// Takes over a direction of a conversation that has turned out to be the same.
    pub fn adopt(&mut self, side: Side, other: &Ledger, theirs: Side) {
        self.lanes[side as usize] = other.lanes[theirs as usize];
        for (sum, cost) in self.operations.iter_mut().zip(other.operations) {
            sum.count.grow(cost.count);
            sum.bytes.grow(cost.bytes);
        }
    }

    /// Says what some of the payload was for.
    pub fn frame(&mut self, side: Side, frame: &Frame<'_>) {
        let lane = &mut self.lanes[side as usize];
        let bytes = frame.range.len();
        let mut rest = bytes;
        if frame.class == FrameClass::Data {
            lane.attribute(Part::Payload, frame.payload_bytes.min(bytes));
            rest = frame.header_bytes();
        }
        let taken = lane.attribute(Part::of(frame.class), rest);
        let (operation, begins) = match frame.class {
            FrameClass::Data => (Operation::Publish, frame.data.is_some()),
            FrameClass::Session => self.session(side, frame),
            FrameClass::Subscribe => (Operation::Declare, true),
            FrameClass::Ack => (Operation::Acknowledge, true),
            FrameClass::KeepAlive => (Operation::KeepAlive, true),
            FrameClass::Discovery | FrameClass::Opaque | FrameClass::Other => return,
        };
        let cost = &mut self.operations[operation as usize];
        cost.count.grow(u64::from(begins));
        cost.bytes.grow(taken);
    }

    /// Tells whether the frame opens or closes a session, and whether it is the first to do so.
    fn session(&mut self, side: Side, frame: &Frame<'_>) -> (Operation, bool) {
        let (operation, now) = if frame.closes_session() {
            self.farewell.get_or_insert(side);
            (Operation::Close, Session::Closing)
        } else {
            self.farewell = None;
            (Operation::Open, Session::Open)
        };
        (operation, std::mem::replace(&mut self.session, now) != now)
    }

    /// The side that has closed the session in the protocol's own words; `None` if neither has.
    pub fn farewell(&self) -> Option<Side> {
        self.farewell
    }

    /// A message on `side` was found to be on this leg, from 1.
    pub fn message(&mut self, side: Side, leg: usize) {
        self.lanes[side as usize].leg = u8::try_from(leg).unwrap_or(u8::MAX);
    }

    /// `bytes` of what counted as payload are no first delivery, but `part`.
    pub fn again(&mut self, side: Side, part: Part, bytes: u64) {
        self.lanes[side as usize].parts.shift(Part::Payload, part, bytes);
    }

    /// `bytes` of what counted as headers of data are payload that the protocol has sent again.
    pub fn repeated(&mut self, side: Side, bytes: u64) {
        self.lanes[side as usize].parts.shift(Part::Header, Part::Repeats, bytes);
    }

    /// True if no packet had data.
    pub fn is_silent(&self) -> bool {
        self.lanes.iter().all(|lane| lane.carried == 0)
    }

    /// TCP sends something again.
    pub fn resent(&mut self) {
        self.resent.grow(1);
    }

    /// The leg of each lane: the only one if there is only one.
    fn legs(&self) -> [u8; 2] {
        match self.lanes.map(|lane| lane.leg) {
            [leg, 0] | [0, leg] => [leg; 2],
            both => both,
        }
    }

    /// Adds the bytes so far, those not decoded (yet) as opaque.
    pub fn add_to(&self, sum: &mut Overhead) {
        for (lane, leg) in self.lanes.iter().zip(self.legs()) {
            let parts = lane.parts();
            let [transport, network, link] = lane.bare;
            sum.payload.grow(parts.payload());
            sum.protocol.grow(parts[Part::Header]);
            sum.control.grow(parts.control());
            sum.opaque.grow(parts[Part::Opaque]);
            sum.transport.grow(parts[Part::Transport].saturating_add(transport));
            sum.network.grow(parts[Part::Network].saturating_add(network));
            sum.link.grow(parts[Part::Link].saturating_add(link));
            sum.retransmitted.grow(parts[Part::Retransmitted]);
            let legs = &mut sum.detail.legs;
            let leg = usize::from(leg).min(legs.len().saturating_sub(1));
            legs[leg] += &parts;
            sum.packets.grow(lane.packets);
            sum.detail.framed += &lane.framed;
        }
        for (sum, cost) in sum.detail.operations.iter_mut().zip(self.operations) {
            sum.count.grow(cost.count);
            sum.bytes.grow(cost.bytes);
        }
        sum.detail.retransmissions.grow(self.resent);
    }
}
