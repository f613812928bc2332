//! One datagram that several devices show: a bridge, the ends of its veth pairs, the loopback device on both ways. TCP's bytes have
//! numbers by which a packet is known again; a datagram is known by its addresses and its content.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use wirelap_events::{IfIndex, Nanos, Packet, PacketHook, PacketId, Transport};

/// Bytes of a datagram's payload that are compared. As many are copied of a packet that the loopback device hands up.
const PREFIX: usize = 64;

/// The longest time that a datagram is on its way between two devices of a host.
const LONGEST: Nanos = Nanos::from_millis(200);

/// The most datagrams that are remembered.
const MOST: usize = 65_536;

/// The most devices that a datagram is seen on.
const PLACES: usize = 64;

/// A datagram, and where it was seen.
#[derive(Debug)]
struct SeenDatagram {
    id: PacketId,
    places: Vec<(PacketHook, IfIndex)>,
}

/// Gives packets numbers: the same number where another device shows the same datagram.
#[derive(Debug, Default)]
pub struct PacketNumbering {
    known: HashMap<u64, VecDeque<SeenDatagram>>,
    order: VecDeque<(Nanos, u64)>,
    next: u64,
}

impl PacketNumbering {
    /// The number of a packet that was seen at a time.
    pub fn id(&mut self, packet: &Packet<'_>, at: Nanos) -> PacketId {
        if packet.flow.transport == Transport::Tcp {
            return self.new_id();
        }
        self.forget(at);
        let token = token(packet);
        let place = (packet.hook, packet.device);
        let known = self.known.get_mut(&token);
        // Equal datagrams pass each device in the same order.
        let is_it =
            |one: &&mut SeenDatagram| !one.places.contains(&place) && one.places.len() < PLACES;
        if let Some(datagram) = known.and_then(|all| all.iter_mut().find(is_it)) {
            datagram.places.push(place);
            return datagram.id;
        }
        let id = self.new_id();
        self.known.entry(token).or_default().push_back(SeenDatagram { id, places: vec![place] });
        self.order.push_back((at, token));
        id
    }

    fn new_id(&mut self) -> PacketId {
        self.next = self.next.wrapping_add(1);
        PacketId(self.next)
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(&(at, token)) = self.order.front()
            && (at + LONGEST < now || self.order.len() >= MOST)
        {
            self.order.pop_front();
            if let Some(all) = self.known.get_mut(&token) {
                all.pop_front();
                if all.is_empty() {
                    self.known.remove(&token);
                }
            }
        }
    }
}

fn token(packet: &Packet<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let prefix = packet.payload.len().min(PREFIX);
    (packet.flow.src, packet.flow.dst, packet.payload_len).hash(&mut hasher);
    packet.payload[..prefix].hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{FlowKey, NetNs, PacketKind, TaskId};

    fn packet(hook: PacketHook, device: u32, payload: &[u8]) -> Packet<'_> {
        let [src, dst] = ["10.0.0.1:1", "10.0.0.2:2"].map(|address| address.parse().unwrap());
        Packet {
            hook,
            flow: FlowKey::new(Transport::Udp, src, dst, NetNs(1)),
            id: PacketId(0),
            socket: None,
            task: TaskId::default(),
            netns: NetNs(1),
            device: IfIndex(device),
            queued: None,
            queue: 0,
            wire_bytes: 0,
            link_header: 0,
            ip_header: 20,
            transport_header: 8,
            payload_len: u32::try_from(payload.len()).unwrap(),
            segments: 1,
            deferred: false,
            kind: PacketKind::Whole,
            tcp: None,
            payload,
        }
    }

    #[test]
    fn a_datagram_on_several_devices_is_one_and_equal_ones_are_several() {
        use PacketHook::{Rx, Xmit};
        let mut sightings = PacketNumbering::default();
        let mut id = |hook, device, payload: &[u8], ms| {
            sightings.id(&packet(hook, device, payload), Nanos::from_millis(ms)).0
        };
        let first = id(Rx, 1, b"same", 0);
        let second = id(Rx, 1, b"same", 1);
        assert_ne!(first, second);
        assert_eq!([id(Xmit, 2, b"same", 2), id(Xmit, 2, b"same", 3)], [first, second]);
        assert_ne!(id(Xmit, 2, b"other", 3), first);
        assert_eq!(id(Rx, 3, b"same", 4), first);
        // Long after, an equal one is another.
        let later = id(Xmit, 9, b"same", 1_000);
        assert!(later != first && later != second);
    }

    #[test]
    fn memory_is_bounded() {
        let mut sightings = PacketNumbering::default();
        for number in 0..100_000_u32 {
            sightings.id(&packet(PacketHook::Rx, 1, &number.to_ne_bytes()), Nanos(0));
        }
        assert!(sightings.order.len() <= MOST && sightings.known.len() <= MOST);
    }
}
