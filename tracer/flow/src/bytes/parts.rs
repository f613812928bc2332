//! Bytes on the device by what they were for.

use std::ops::{AddAssign, Index, IndexMut};
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_events::{FrameClass, Saturate, Total};

/// The purpose of a byte on the device. Every byte is in exactly one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "lowercase")]
pub enum Part {
    /// Application payload on its way to the first that reads it, once on each leg.
    Payload,
    /// Application payload of the second and every later delivery of one message: fan-out.
    Copies,
    /// Application payload that the protocol, not TCP, sent again in the same direction.
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
    #[strum(serialize = "pure ACKs")]
    PureAck,
    /// TCP packets without data that open, close or reset the connection, and ICMP errors. Whole.
    Connection,
    /// Bytes that had been on the device before: whole packets, or of a packet that is only in part
    /// a repetition, that part of its payload.
    Retransmitted,
}

impl Part {
    /// Number of parts.
    pub const COUNT: usize = 17;

    /// Every part, from the inside of a packet out.
    pub const ALL: [Part; Part::VARIANTS.len()] = all_variants();

    /// The name on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The part of those bytes of a frame that are no payload.
    pub(crate) const fn of(class: FrameClass) -> Part {
        match class {
            FrameClass::Data => Part::Header,
            FrameClass::Session => Part::Session,
            FrameClass::Subscribe => Part::Subscribe,
            FrameClass::Ack => Part::Ack,
            FrameClass::KeepAlive => Part::KeepAlive,
            FrameClass::Discovery => Part::Discovery,
            FrameClass::Opaque => Part::Opaque,
            FrameClass::Other => Part::Other,
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
