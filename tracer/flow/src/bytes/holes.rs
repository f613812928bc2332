//! The parts of some traffic that are not known.

use std::ops::AddAssign;
use wirelap_events::Saturate;

/// Packets that the stack's own numbers prove and no packet event brought: the hook was not run for them, or its event was
/// lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// At least so many packets: of a hole it is not known how many filled it.
    pub packets: u64,
    /// Exactly so many payload bytes.
    pub bytes: u64,
}

impl AddAssign for Unseen {
    fn add_assign(&mut self, other: Unseen) {
        self.packets.grow(other.packets);
        self.bytes.grow(other.bytes);
    }
}

/// The parts of some traffic that are not known. Bytes in no known protocol are not counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// Packets that were not seen where they are sent: what is in them is not known.
    pub sent: Unseen,
    /// Packets that were not seen where they are received: when they came is not known.
    pub received: Unseen,
    /// Payload bytes that were on the wire but not captured (snap length).
    pub uncaptured_bytes: u64,
    /// Bytes whose frames could not be found (gaps, mid-stream joins).
    pub undecoded_bytes: u64,
    /// Packets of QUIC that came and could not be read, or did not come and were acknowledged.
    pub unread_packets: u64,
    /// Messages in batches that could not be opened, by the batches' own account.
    pub unread_messages: u64,
    /// Messages of which a part was sent, and the end was not seen.
    pub unfinished_messages: u64,
    /// Connections in TLS or the like whose text is not read.
    pub encrypted_connections: u64,
}

impl AddAssign for Holes {
    fn add_assign(&mut self, other: Holes) {
        self.sent += other.sent;
        self.received += other.received;
        self.uncaptured_bytes.grow(other.uncaptured_bytes);
        self.undecoded_bytes.grow(other.undecoded_bytes);
        self.unread_packets.grow(other.unread_packets);
        self.unread_messages.grow(other.unread_messages);
        self.unfinished_messages.grow(other.unfinished_messages);
        self.encrypted_connections.grow(other.encrypted_connections);
    }
}
