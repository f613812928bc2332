//! Where the bytes on the device went: the rows of the ledger.
//!
//! ```text
//! what the device counted for the flows of a row
//! ├─ packets with data      link · network · transport headers
//! │  └─ transport payload   payload (first, copy, repeat) · header · control by class · opaque
//! ├─ packets without data   pure ACKs · connection (SYN, FIN, RST), each whole
//! └─ sent again             whole packets, or the part of one that was on the device before
//! ```

use std::ops::{AddAssign, Index, IndexMut};
use wirelap_events::{Class, MAX_LEGS};
use wirelap_events::{Saturate, Total};

/// What a byte on the device was for. Every byte is in exactly one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// Application payload on its way to the first that reads it, once on each leg.
    Payload,
    /// Application payload of the second and every later delivery of one message: fan-out.
    Copies,
    /// Application payload that the protocol, not TCP, sent again on the same way.
    Repeats,
    /// Protocol headers of frames that carry data.
    Header,
    /// Frames that open or close a session.
    Session,
    /// Frames that declare, subscribe or express interest.
    Subscribe,
    /// Frames in which the protocol acknowledges, or asks for what it lacks.
    Ack,
    /// Frames that say only that the peer is still there.
    KeepAlive,
    /// Frames that find peers and their endpoints.
    Discovery,
    /// Frames that are none of these and carry no data.
    Other,
    /// Bytes whose frames cannot be read, or were not found (yet).
    Opaque,
    /// TCP and UDP headers of packets with data.
    Transport,
    /// IP headers of packets with data.
    Network,
    /// Link headers, and padding, of packets with data.
    Link,
    /// TCP packets without data that open or close nothing: acknowledgements, window updates, probes.
    /// Whole.
    PureAck,
    /// TCP packets without data that open, close or reset the connection, and ICMP errors. Whole.
    Connection,
    /// What had been on the device before: whole packets, or of a packet that is only in part a
    /// repetition, that part of its payload.
    Retransmitted,
}

impl Part {
    /// How many there are.
    pub const COUNT: usize = 17;

    /// Every part, from the inside of a packet out.
    pub const ALL: [Part; Part::COUNT] = [
        Part::Payload,
        Part::Copies,
        Part::Repeats,
        Part::Header,
        Part::Session,
        Part::Subscribe,
        Part::Ack,
        Part::KeepAlive,
        Part::Discovery,
        Part::Other,
        Part::Opaque,
        Part::Transport,
        Part::Network,
        Part::Link,
        Part::PureAck,
        Part::Connection,
        Part::Retransmitted,
    ];

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Payload => "payload",
            Part::Copies => "copies",
            Part::Repeats => "repeats",
            Part::Header => "header",
            Part::Session => "session",
            Part::Subscribe => "subscribe",
            Part::Ack => "ack",
            Part::KeepAlive => "keepalive",
            Part::Discovery => "discovery",
            Part::Other => "other",
            Part::Opaque => "opaque",
            Part::Transport => "transport",
            Part::Network => "network",
            Part::Link => "link",
            Part::PureAck => "pure ACKs",
            Part::Connection => "connection",
            Part::Retransmitted => "retransmitted",
        }
    }

    /// Where the bytes of a frame go that are no payload.
    pub(crate) const fn of(class: Class) -> Part {
        match class {
            Class::Data => Part::Header,
            Class::Session => Part::Session,
            Class::Subscribe => Part::Subscribe,
            Class::Ack => Part::Ack,
            Class::KeepAlive => Part::KeepAlive,
            Class::Discovery => Part::Discovery,
            Class::Opaque => Part::Opaque,
            Class::Other => Part::Other,
        }
    }
}

/// Bytes by [`Part`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([u64; Part::COUNT]);

impl Parts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().total()
    }

    /// Application payload, each leg and copy counted.
    pub fn payload(&self) -> u64 {
        self[Part::Payload].saturating_add(self[Part::Copies]).saturating_add(self[Part::Repeats])
    }

    /// Whole frames without data.
    pub fn control(&self) -> u64 {
        const CONTROL: [Part; 6] = [
            Part::Session,
            Part::Subscribe,
            Part::Ack,
            Part::KeepAlive,
            Part::Discovery,
            Part::Other,
        ];
        CONTROL.into_iter().map(|part| self[part]).total()
    }

    /// Each part and its bytes.
    pub fn iter(&self) -> impl Iterator<Item = (Part, u64)> + '_ {
        Part::ALL.into_iter().zip(self.0)
    }

    /// Moves up to `bytes` from one part to another.
    pub(crate) fn shift(&mut self, from: Part, to: Part, bytes: u64) {
        let moved = bytes.min(self[from]);
        self[from].shrink(moved);
        self[to].grow(moved);
    }
}

impl Index<Part> for Parts {
    type Output = u64;
    fn index(&self, part: Part) -> &u64 {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Parts {
    fn index_mut(&mut self, part: Part) -> &mut u64 {
        &mut self.0[part as usize]
    }
}

impl AddAssign<&Parts> for Parts {
    fn add_assign(&mut self, other: &Parts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, bytes)| sum.grow(bytes));
    }
}

/// What a protocol does, as published comparisons of wire overhead list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Opens a session. An occurrence is a session; its frames of both directions are its bytes.
    Open,
    /// Declares or subscribes. An occurrence is a frame: a request and its answer are two.
    Declare,
    /// Carries a message. An occurrence is a message on one leg; its bytes leave the payload out.
    Publish,
    /// Acknowledges. An occurrence is a frame.
    Acknowledge,
    /// Says that it is still there. An occurrence is a frame.
    KeepAlive,
    /// Closes a session. An occurrence is a session.
    Close,
}

impl Operation {
    /// Every operation, in the order of a session's life.
    pub const ALL: [Operation; 6] = [
        Operation::Open,
        Operation::Declare,
        Operation::Publish,
        Operation::Acknowledge,
        Operation::KeepAlive,
        Operation::Close,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Open => "open",
            Operation::Declare => "declare",
            Operation::Publish => "publish",
            Operation::Acknowledge => "acknowledge",
            Operation::KeepAlive => "keepalive",
            Operation::Close => "close",
        }
    }
}

/// What an operation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Occurrences: see [`Operation`].
    pub count: u64,
    /// The protocol's bytes for them: without payload, and without the headers of the layers below.
    pub bytes: u64,
}

/// The same transport payload, carried by Ethernet frames of at most 1500 bytes of IP packet.
///
/// Bytes of a frame are its header (14), the IP packet, padding to 64 and the frame check sequence (4):
/// what IEEE 802.3 §3.1.1 calls a frame. Preamble and the gap between frames are not in these figures;
/// [`Framed::line_bytes`] adds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framed {
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

impl Framed {
    /// The frames' bytes with the preamble and start delimiter (8) and the least gap (12) of each:
    /// what they take of the line's rate.
    pub fn line_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.frames.saturating_mul(20))
    }
}

impl AddAssign<&Framed> for Framed {
    fn add_assign(&mut self, other: &Framed) {
        self.frames.grow(other.frames);
        self.bytes.grow(other.bytes);
    }
}

/// The ledger's rows, finer than [`Overhead`]'s own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// By leg: `legs[1]` is the first, and `legs[0]` has what no leg is known for, because the
    /// connection carried no message. What goes back (acknowledgements) counts to the leg whose data it
    /// answers, where the connection carries data one way only; otherwise each direction is its own.
    /// Together they are [`Overhead::total`].
    pub legs: [Parts; MAX_LEGS + 1],
    /// By operation, in the order of [`Operation::ALL`].
    pub operations: [Cost; Operation::ALL.len()],
    /// The same as Ethernet frames.
    pub framed: Framed,
    /// Times that TCP sent something again, each of one segment or several. The first copy may have
    /// been lost before the device: then the bytes were carried once, and are not in
    /// [`Part::Retransmitted`].
    pub retransmissions: u64,
}

impl Detail {
    /// All legs together.
    pub fn parts(&self) -> Parts {
        self.legs.iter().fold(Parts::default(), |mut sum, leg| {
            sum += leg;
            sum
        })
    }

    /// What an operation cost.
    pub fn cost(&self, operation: Operation) -> Cost {
        self.operations[operation as usize]
    }
}

impl AddAssign<&Detail> for Detail {
    fn add_assign(&mut self, other: &Detail) {
        for (sum, leg) in self.legs.iter_mut().zip(&other.legs) {
            *sum += leg;
        }
        for (sum, cost) in self.operations.iter_mut().zip(other.operations) {
            sum.count.grow(cost.count);
            sum.bytes.grow(cost.bytes);
        }
        self.framed += &other.framed;
        self.retransmissions.grow(other.retransmissions);
    }
}

/// Bytes on the device by what they were for. Together: all that the device carried for these flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Application payload, each leg and copy counted.
    pub payload: u64,
    /// Protocol headers of frames that carry data.
    pub protocol: u64,
    /// Whole frames that carry none: sessions, subscriptions, acknowledgements, keep-alives, discovery.
    pub control: u64,
    /// Bytes of frames that could not be read.
    pub opaque: u64,
    /// TCP and UDP headers, also of packets without data.
    pub transport: u64,
    /// IP headers, also of packets without data.
    pub network: u64,
    /// Link headers, also of packets without data.
    pub link: u64,
    /// Packets sent again, whole.
    pub retransmitted: u64,
    /// Deliveries that these bytes stand for, those of the warm-up among them.
    pub deliveries: u64,
    /// Packets counted.
    pub packets: u64,
    /// The same bytes in finer rows.
    pub detail: Detail,
}

impl Overhead {
    /// Every byte that the device carried.
    pub fn total(&self) -> u64 {
        self.payload
            .saturating_add(self.protocol)
            .saturating_add(self.control)
            .saturating_add(self.opaque)
            .saturating_add(self.transport)
            .saturating_add(self.network)
            .saturating_add(self.link)
            .saturating_add(self.retransmitted)
    }

    /// Bytes carried for each byte of payload delivered once a leg; `None` without payload.
    pub fn ratio(&self) -> Option<f64> {
        (self.payload > 0).then(|| self.total() as f64 / self.payload as f64)
    }
}

impl AddAssign<&Overhead> for Overhead {
    fn add_assign(&mut self, other: &Overhead) {
        self.payload.grow(other.payload);
        self.protocol.grow(other.protocol);
        self.control.grow(other.control);
        self.opaque.grow(other.opaque);
        self.transport.grow(other.transport);
        self.network.grow(other.network);
        self.link.grow(other.link);
        self.retransmitted.grow(other.retransmitted);
        self.deliveries.grow(other.deliveries);
        self.packets.grow(other.packets);
        self.detail += &other.detail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_operations_are_numbered_as_listed() {
        assert!(Part::ALL.into_iter().enumerate().all(|(n, part)| part as usize == n));
        assert!(
            Operation::ALL.into_iter().enumerate().all(|(n, operation)| operation as usize == n)
        );
    }
}
