//! Where the bytes on the device went.
//!
//! Every packet is counted once, on one device, and whole: headers at once, payload first as opaque and
//! then, when its frames are known, as what they say. So the sum is the device's at any moment.

use crate::snapshot::Overhead;
use wirelap_events::{Class, Frame, Packet};

/// One conversation's bytes, both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// What is known; its `opaque` holds frames that cannot be read.
    known: Overhead,
    /// Transport payload counted in packets that were not sent again.
    carried: u64,
}

impl Ledger {
    /// Counts a packet. `repeated` of its payload bytes were on the device before.
    pub fn packet(&mut self, packet: &Packet<'_>, repeated: u64) {
        self.known.packets += 1;
        let whole = u64::from(packet.wire_bytes);
        let payload = u64::from(packet.payload_len);
        if payload > 0 && repeated >= payload {
            self.known.retransmitted += whole;
            return;
        }
        // What the headers' lengths do not explain is padding of the link layer; lengths that claim
        // more than the packet has are cut, so that the sum stays the device's.
        let mut left = whole;
        let mut take = |bytes: u64| {
            let taken = bytes.min(left);
            left -= taken;
            taken
        };
        let payload = take(payload);
        self.known.transport += take(u64::from(packet.transport_header));
        self.known.network += take(u64::from(packet.ip_header));
        self.known.link += left;
        let repeated = repeated.min(payload);
        self.known.retransmitted += repeated;
        self.carried += payload - repeated;
    }

    /// Says what some of the payload was for.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        // Bytes that were decoded but not counted on the device (an attach in mid-stream) are no one's.
        let mut left = self.carried - self.attributed();
        let mut take = |bytes: u64| {
            let taken = bytes.min(left);
            left -= taken;
            taken
        };
        let bytes = frame.range.len();
        match frame.class {
            Class::Data => {
                self.known.payload += take(frame.payload_bytes.min(bytes));
                self.known.protocol += take(frame.header_bytes());
            }
            Class::Opaque => self.known.opaque += take(bytes),
            Class::Session
            | Class::Subscribe
            | Class::Ack
            | Class::KeepAlive
            | Class::Discovery
            | Class::Other => self.known.control += take(bytes),
        }
    }

    fn attributed(&self) -> u64 {
        self.known.payload + self.known.protocol + self.known.control + self.known.opaque
    }

    /// The bytes so far, those not decoded (yet) as opaque.
    pub fn overhead(&self) -> Overhead {
        Overhead { opaque: self.known.opaque + self.carried - self.attributed(), ..self.known }
    }
}

/// Adds up two ledgers' rows.
pub fn add(to: &mut Overhead, from: &Overhead) {
    to.payload += from.payload;
    to.protocol += from.protocol;
    to.control += from.control;
    to.opaque += from.opaque;
    to.transport += from.transport;
    to.network += from.network;
    to.link += from.link;
    to.retransmitted += from.retransmitted;
    to.deliveries += from.deliveries;
    to.packets += from.packets;
}
