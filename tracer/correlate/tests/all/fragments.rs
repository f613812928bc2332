//! Datagrams in IP fragments, and ICMP errors.

use crate::played::Played;
use proptest::prelude::*;
use wirelap_correlate::Part;
use wirelap_events::{Body, PacketHook, PacketId, PacketKind, Stage};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::udp::{ALL, End, datagram, end, flow};
use wirelap_test_support::world::{IP, LINK, UDP, World, process};

/// Payload bytes of the first fragment and of those after it (RFC 791 §3.2: multiples of 8, the UDP
/// header among them).
const FIRST: usize = 1472;
const LATER: usize = 1480;

/// The fragments of a datagram's packet where the MTU is 1500.
fn cut(told: &OwnedEvent) -> Vec<OwnedEvent> {
    let Body::Packet(whole) = told.event.body else { return vec![told.clone()] };
    let of = whole.payload_len;
    if of as usize <= FIRST {
        return vec![told.clone()];
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < of as usize {
        let len = if start == 0 { FIRST } else { LATER.min(of as usize - start) };
        let header = if start == 0 { UDP } else { 0 };
        let mut piece = told.clone();
        let end = (start + len).min(told.payload.len());
        piece.payload = told.payload.get(start..end).unwrap_or_default().to_vec();
        if let Body::Packet(packet) = &mut piece.event.body {
            packet.payload_len = u32::try_from(len).unwrap();
            packet.transport_header = header;
            packet.wire_bytes = u32::from(LINK + IP + header) + packet.payload_len;
            packet.kind = PacketKind::Fragment { start: u32::try_from(start).unwrap(), of };
        }
        piece.event.at.0 += pieces.len() as u64 * 10;
        pieces.push(piece);
        start += len;
    }
    pieces
}

/// `count` stamped datagrams of `len` bytes from one process to another.
fn traffic(count: u32, len: usize) -> World {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b: End = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    for n in 0..count {
        let id = 100 + u64::from(n);
        datagram(&mut world, way, id, a, &[b], &payload(stamp(n), len), ALL);
    }
    world
}

fn sent_bytes(told: &[OwnedEvent]) -> u64 {
    let bytes = told.iter().filter_map(|told| match &told.event.body {
        Body::Packet(packet) if packet.hook == PacketHook::Xmit => Some(packet.wire_bytes),
        _ => None,
    });
    bytes.map(u64::from).sum()
}

#[test]
fn a_datagram_in_fragments_is_one_message() {
    let mut world = traffic(3, 5000);
    world.events = world.events.iter().flat_map(cut).collect();
    let played = Played::of(&world);
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    let overhead = played.group().overhead;
    assert_eq!(overhead.total(), sent_bytes(&world.events));
    assert_eq!((overhead.payload, overhead.opaque, overhead.packets), (15_000, 0, 12));
    assert_eq!(overhead.detail.framed.frames, 12);
    // The last byte leaves and arrives with the last fragment.
    let times = played.deliveries[0].legs[0].times;
    let last = |hook: PacketHook| {
        let mut packets = world.events.iter().filter(|told| {
            matches!(&told.event.body, Body::Packet(packet)
                if packet.hook == hook && packet.id.0 == 100)
        });
        packets.next_back().map(|told| told.event.at)
    };
    assert_eq!(times.get(Stage::Xmit), last(PacketHook::Xmit));
    assert_eq!(times.get(Stage::Rx), last(PacketHook::Rx));
}

#[test]
fn an_icmp_error_is_counted_whole_to_its_conversation() {
    let mut world = traffic(1, 100);
    let sent = sent_bytes(&world.events);
    let mut error = world.events.iter().find_map(|told| match told.event.body {
        Body::Packet(packet) if packet.hook == PacketHook::Xmit => Some(packet),
        _ => None,
    });
    if let Some(packet) = &mut error {
        packet.kind = PacketKind::IcmpError;
        packet.flow = packet.flow.reversed();
        packet.payload_len = 128;
        packet.wire_bytes = u32::from(LINK + IP + UDP) + 128;
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            packet.hook = hook;
            world.tell(Body::Packet(*packet), &[]);
        }
    }
    let overhead = Played::of(&world).group().overhead;
    let cost = 128 + u64::from(LINK + IP + UDP);
    assert_eq!(overhead.total(), sent + cost);
    assert_eq!(overhead.detail.parts()[Part::Connection], cost);
    assert_eq!((overhead.packets, overhead.payload), (2, 100));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn fragments_add_up_in_any_order_whatever_else_is_lost(
        len in 1usize..20_000,
        lost in prop::collection::vec(prop::bool::weighted(0.1), 97),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..5), 0..20),
        snap in prop_oneof![Just(usize::MAX), 0usize..2000],
    ) {
        let mut world = traffic(10, len.max(16));
        // The sockets, and a first datagram that tells what is spoken.
        let (start, rest) = world.events.split_at(8);
        let leaves = |told: &OwnedEvent| matches!(&told.event.body,
            Body::Packet(packet) if packet.hook == PacketHook::Xmit);
        let mut told: Vec<OwnedEvent> = rest.iter().flat_map(cut).enumerate()
            .filter(|(n, told)| leaves(told) || !lost[n % lost.len()])
            .map(|(_, mut told)| { told.payload.truncate(snap); told })
            .collect();
        let sent: Vec<usize> = (0..told.len()).filter(|&n| leaves(&told[n])).collect();
        // Nothing is received before it was sent: only the fragments of one datagram overtake each other.
        let id = |told: &OwnedEvent| match &told.event.body {
            Body::Packet(packet) => packet.id,
            _ => PacketId(0),
        };
        for (index, by) in swaps {
            let at = index.index(sent.len());
            let (a, b) = (sent[at], sent[(at + by) % sent.len()]);
            if id(&told[a]) == id(&told[b]) {
                told.swap(a, b);
            }
        }
        let first: Vec<OwnedEvent> = start.iter().flat_map(cut).collect();
        world.events = first.into_iter().chain(told).collect();
        let played = Played::of(&world);
        let overhead = played.group().overhead;
        prop_assert_eq!(overhead.total(), sent_bytes(&world.events));
        prop_assert!(overhead.payload <= 10 * len.max(16) as u64);
    }
}
