//! Connections of Multipath TCP (RFC 8684), whose bytes may be spread over several subflows.
//!
//! ```text
//! first subflow     |SYN, MP_CAPABLE|  1…100  |           | 201…300 |
//! another one       |SYN, MP_JOIN   |         | 101…200 |               numbers of the connection's bytes (DSS)
//! as it is read     one connection      1…100   101…200     201…300
//! ```
//!
//! Packets with payload are read as if the first subflow had carried all, with the sequence numbers that it would have. To which connection a
//! subflow belongs is told by the numbers of its bytes, which go on where another subflow's end: 64 bits that begin at random (§3.1).

use crate::packet::multipath::{DataMapping, Multipath};
use rustc_hash::FxHashMap;
use wirelap_events::{FlowKey, Packet, Seq, TcpFields, tcp_flags};

/// The most directions of subflows that are remembered.
const MAX_DIRECTIONS: usize = 4096;

/// Largest distance of two subflows in bytes: no receiver has more memory for a connection.
const MAX_DISTANCE: u64 = 1 << 31;

/// The same where only 32 bits of a number are known: by chance, one connection in 256 is so near.
const MAX_NARROW_DISTANCE: u32 = 1 << 24;

/// The directions of subflows.
#[derive(Debug, Default)]
pub struct Subflows(FxHashMap<FlowKey, SubflowDirection>);

/// One direction of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct SubflowDirection {
    /// The number of its SYN.
    isn: Option<Seq>,
    /// The subflow belongs to a connection that has another one.
    is_joined: bool,
    /// The same direction of the connection's first subflow, if this is another one and that is known.
    first_subflow: Option<FlowKey>,
    /// The connection's first subflow: there are others.
    is_shared: bool,
    /// From its bytes to those of the connection, by the first and by the last mapping.
    offsets: Option<(u64, u64)>,
    /// The number of the last byte in the connection.
    highest: u64,
    /// Bytes could not be put into their place.
    is_lost: bool,
}

impl SubflowDirection {
    /// Adds a mapping that came with a packet.
    fn map(&mut self, mapping: &DataMapping, packet: &Packet<'_>, seq: Seq) {
        let offset = mapping.data.wrapping_sub(mapping.subflow.into());
        let (first, _) = self.offsets.unwrap_or((offset, offset));
        self.offsets = Some((first, offset));
        self.highest = mapping.data.wrapping_add(mapping.len.into());
        if packet.payload_len == u32::from(mapping.len) {
            self.isn.get_or_insert(Seq(seq.0.wrapping_sub(mapping.subflow)));
        }
    }

    /// Distance of the bytes' place in the connection, by the last mapping, from that by the first.
    fn elsewhere(&self) -> u32 {
        let (first, last) = self.offsets.unwrap_or_default();
        low(last.wrapping_sub(first))
    }
}

impl Subflows {
    /// Gives a packet its place in its connection, given what its option says. Returns whether it is the first one of its subflow that
    /// cannot be put there.
    pub fn place(&mut self, packet: &mut Packet<'_>, found: Option<Multipath>) -> bool {
        if self.0.is_empty() && found.is_none() {
            return false;
        }
        let Some(mut tcp) = packet.tcp else { return false };
        if let Some(found) = found {
            self.learn(packet, &tcp, found);
        }
        let Some(&direction) = self.0.get(&packet.flow) else { return false };
        let is_placed = if direction.is_joined {
            self.place_joined(packet, &mut tcp, &direction)
        } else {
            let acknowledged =
                self.0.get(&packet.flow.reversed()).map_or(0, SubflowDirection::elsewhere);
            tcp.seq = tcp.seq.plus(direction.elsewhere());
            tcp.ack = tcp.ack.plus(acknowledged);
            if direction.is_shared {
                // The connection ends when all of its subflows have.
                tcp.flags &= !(tcp_flags::FIN | tcp_flags::RST);
            }
            direction.is_shared || direction.elsewhere() == 0
        };
        packet.tcp = Some(tcp);
        if is_placed || direction.is_lost {
            return false;
        }
        self.0.entry(packet.flow).or_default().is_lost = true;
        true
    }

    /// Adds what an option says.
    fn learn(&mut self, packet: &Packet<'_>, tcp: &TcpFields, found: Multipath) {
        let flow = packet.flow;
        if self.0.len() >= MAX_DIRECTIONS && !self.0.contains_key(&flow) {
            return;
        }
        let direction = self.0.entry(flow).or_default();
        if tcp.flags & tcp_flags::SYN != 0 {
            let is_joined = found == Multipath::Joins;
            *direction =
                SubflowDirection { isn: Some(tcp.seq), is_joined, ..SubflowDirection::default() };
        }
        direction.is_joined |= found == Multipath::Joins;
        let Multipath::Maps(mapping) = found else { return };
        direction.map(&mapping, packet, tcp.seq);
        if direction.is_joined && direction.first_subflow.is_none() {
            self.link(flow, &mapping);
        }
    }

    /// Looks for the connection that a subflow belongs to. Only one may be near.
    fn link(&mut self, flow: FlowKey, mapping: &DataMapping) {
        let is_near = |(key, other): &(&FlowKey, &SubflowDirection)| {
            let distance = mapping.data.wrapping_sub(other.highest).cast_signed();
            let same_end = key.src.port() == flow.src.port() || key.dst.port() == flow.dst.port();
            !other.is_joined
                && other.offsets.is_some()
                && if mapping.is_narrow {
                    let distance = low(mapping.data).wrapping_sub(low(other.highest)).cast_signed();
                    same_end && distance.unsigned_abs() <= MAX_NARROW_DISTANCE
                } else {
                    distance.unsigned_abs() <= MAX_DISTANCE
                }
        };
        let mut near = self.0.iter().filter(is_near).map(|(key, _)| *key);
        let (Some(first), None) = (near.next(), near.next()) else { return };
        for (flow, first) in [(flow, first), (flow.reversed(), first.reversed())] {
            if let Some(direction) = self.0.get_mut(&flow) {
                direction.first_subflow = Some(first);
            }
            if let Some(direction) = self.0.get_mut(&first) {
                direction.is_shared = true;
            }
        }
    }

    /// Gives a packet of a subflow that has joined a connection its place in the first one. Returns whether that is known, or it has no
    /// payload.
    fn place_joined(
        &self,
        packet: &mut Packet<'_>,
        tcp: &mut TcpFields,
        direction: &SubflowDirection,
    ) -> bool {
        // What it acknowledges are bytes of its own subflow.
        tcp.flags &= !tcp_flags::ACK;
        if packet.payload_len == 0 {
            return true;
        }
        let place = || {
            let key = direction.first_subflow?;
            let first = self.0.get(&key)?;
            let ((base, _), (_, offset)) = (first.offsets?, direction.offsets?);
            let number = tcp.seq.0.wrapping_sub(direction.isn?.0);
            let ahead = low(offset.wrapping_sub(base));
            Some((key, first.isn?.plus(number).plus(ahead)))
        };
        let Some((key, seq)) = place() else { return false };
        packet.flow = key;
        tcp.seq = seq;
        tcp.flags &= !(tcp_flags::SYN | tcp_flags::FIN | tcp_flags::RST);
        true
    }
}

/// The lower half.
fn low(number: u64) -> u32 {
    let [_, _, _, _, a, b, c, d] = number.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}
