//! Packets that are seen with other addresses on the other side of a translation (NAT): one connection, not two.
//!
//! ```text
//!   client 10.0.1.2 ── K₁: 10.0.1.2:40000 → 10.0.9.9:1883 ──▶ router ── K₂: 10.0.1.2:40000 → 172.17.0.2:1883 ──▶ broker
//! ```
//!
//! A translation changes addresses and ports, and leaves TCP's numbers as they are (RFC 3022 §4.1): 64 bits of sequence and
//! acknowledgement number, which two connections do not share within a moment.

use crate::ids::Direction;
use arrayvec::ArrayVec;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use wirelap_events::{FlowKey, Nanos, Packet, TcpFields, tcp_flags};
use wirelap_limits::network::LONGEST_ROUTING;

/// Packets of others that each is compared with: those that pass while one is on its way through a router.
const SLOTS: usize = 1024;

/// Packets of a conversation that are compared. The first ones pass all devices that all others do.
pub const COMPARED: u8 = 64;

/// Translations of a conversation's addresses that are remembered, each with two directions.
pub const ALIASES: usize = 4;

/// A conversation whose addresses are translated between its ends. Most are not.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The address of each end as that end has it.
    pub ends: [SocketAddr; 2],
    /// Other addresses than its own that its packets have, before or behind a translation.
    pub aliases: ArrayVec<FlowKey, ALIASES>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    token: u64,
    at: Nanos,
    direction: Direction,
    key: FlowKey,
}

/// The last packets of conversations that are new.
#[derive(Debug)]
pub struct RecentPackets(Vec<Option<Slot>>);

impl Default for RecentPackets {
    fn default() -> RecentPackets {
        RecentPackets(vec![None; SLOTS])
    }
}

impl RecentPackets {
    /// Remembers a packet. Returns the conversation that it was seen in before, and the addresses that it had there, if that
    /// was another one.
    pub fn see(
        &mut self,
        at: Nanos,
        packet: &Packet<'_>,
        tcp: &TcpFields,
        direction: Direction,
    ) -> Option<(Direction, FlowKey)> {
        // An opening SYN has 32 bits alone; what answers it has both.
        let acknowledges = tcp.flags & tcp_flags::ACK != 0 && tcp.ack.0 != 0;
        if !acknowledges || tcp.flags & tcp_flags::RST != 0 {
            return None;
        }
        let token = token(packet, tcp);
        let index =
            usize::try_from(token.checked_rem(SLOTS as u64).unwrap_or(0)).unwrap_or_default();
        let slot = self.0.get_mut(index)?;
        let before = slot.replace(Slot { token, at, direction, key: packet.flow })?;
        let is_same = before.token == token && at - before.at <= LONGEST_ROUTING;
        (is_same && before.direction.serial != direction.serial)
            .then_some((before.direction, before.key))
    }
}

fn token(packet: &Packet<'_>, tcp: &TcpFields) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    (tcp.seq, tcp.ack, tcp.flags, packet.payload_len).hash(&mut hasher);
    hasher.finish()
}
