//! The overhead: bytes on the device by the rows of the ledger.
//!
//! ```text
//! what the device counted for the flows of a row
//! ├─ packets with data      link · network · transport headers
//! │  └─ transport payload   payload (first, copy, repeat) · header · control by class · opaque
//! ├─ packets without data   pure ACKs · connection (SYN, FIN, RST), each whole
//! └─ sent again             whole packets, or the part of one that was on the device before
//! ```

use super::framing::Framed;
use super::parts::Parts;
use std::ops::AddAssign;
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_events::{MAX_LEGS, Saturate};

/// An operation of a protocol, as published comparisons of wire overhead list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "lowercase")]
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
    pub const ALL: [Operation; Operation::VARIANTS.len()] = all_variants();

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Frames and bytes that an operation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCost {
    /// Occurrences: see [`Operation`].
    pub count: u64,
    /// The protocol's bytes for them: without payload, and without the headers of the layers below.
    pub bytes: u64,
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
    pub operations: [OperationCost; Operation::ALL.len()],
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

    /// The cost of an operation.
    pub fn cost(&self, operation: Operation) -> OperationCost {
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
    use super::super::parts::Part;
    use super::*;

    #[test]
    fn parts_and_operations_are_numbered_as_listed() {
        assert!(Part::ALL.into_iter().enumerate().all(|(n, part)| part as usize == n));
        assert!(
            Operation::ALL.into_iter().enumerate().all(|(n, operation)| operation as usize == n)
        );
    }
}
