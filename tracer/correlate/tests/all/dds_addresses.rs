//! Readers of DDS that are sent each sample several times: at several addresses, or by multicast.

use crate::played::Played;
use wirelap_correlate::{Config, Counts, GroupNote};
use wirelap_events::{Body, PacketHook};
use wirelap_test_support::compose::rtps::{
    Cut, Message, PREFIX, SPDP_WRITER, USER_WRITER, user_guid,
};
use wirelap_test_support::world::udp::{ALL, End, datagram, end, flow, packet};
use wirelap_test_support::world::{World, process};

const READER: [u8; 12] = [9; 12];
const OTHER: [u8; 12] = [8; 12];

/// A sample with this number of 64 bytes.
fn sample(number: u32) -> Message {
    let body = [&[0, 1, 0, 0][..], &[u8::try_from(number).unwrap(); 64]].concat();
    Message::new(true).info_dst_of(READER).data(USER_WRITER, number.into(), &body)
}

/// A fragment of a sample of 3,000 bytes in three.
fn fragment(number: u32, first: u32) -> Message {
    let cut = Cut { first, count: 1, each: 1_000, sample: 3_000 };
    let mut part = vec![u8::try_from(number).unwrap(); 1_000];
    if first == 1 {
        part[..4].copy_from_slice(&[0, 1, 0, 0]);
    }
    Message::new(true).info_dst_of(READER).data_frag(USER_WRITER, number.into(), cut, &part)
}

/// sent, delivered, followed, duplicates.
fn sums(played: &Played) -> [u64; 4] {
    let sum = |of: fn(&Counts) -> u64| {
        played.snapshot.groups.iter().map(|group| of(&group.messages)).sum()
    };
    [
        sum(|all| all.sent),
        sum(|all| all.delivered),
        sum(|all| all.matched),
        sum(|all| all.duplicates),
    ]
}

struct Two {
    world: World,
    from: End,
    to: End,
    packets: u64,
}

impl Two {
    /// A writer, and a reader whose socket has all addresses of its host.
    fn new() -> Two {
        let mut world = World::new();
        let from = end(&mut world, process(1, "pub"), "0.0.0.0:40001");
        let to = end(&mut world, process(2, "sub"), "0.0.0.0:40002");
        Two { world, from, to, packets: 0 }
    }

    fn send(&mut self, host: &str, message: &Message) {
        self.packets += 1;
        let way = flow(&format!("{host}:40001"), &format!("{host}:40002"));
        datagram(&mut self.world, way, self.packets, self.from, &[self.to], &message.bytes, ALL);
    }

    fn played(&self) -> [Played; 2] {
        let mut packets = World::new();
        packets.events.clone_from(&self.world.events);
        packets.events.retain(|told| {
            matches!(&told.event.body, Body::Packet(packet) if packet.hook == PacketHook::Xmit)
        });
        for told in &mut packets.events {
            if let Body::Packet(packet) = &mut told.event.body {
                packet.socket = None;
            }
        }
        let packets_only = Config { packets_only: true, ..Config::default() };
        [Played::of(&self.world), Played::new(packets_only, &packets.events)]
    }
}

const HOSTS: [&str; 2] = ["10.0.0.1", "127.0.0.1"];

#[test]
fn a_sample_to_two_addresses_of_a_reader_is_one_delivery() {
    let mut two = Two::new();
    for number in 1..=20 {
        // Whichever comes first.
        for index in 0..2 {
            two.send(HOSTS[(index + number as usize) % 2], &sample(number));
        }
    }
    for played in two.played() {
        assert_eq!(sums(&played), [20, 20, 20, 0]);
    }
}

#[test]
fn fragments_to_two_addresses_of_a_reader_are_one_delivery() {
    for is_interleaved in [true, false] {
        let mut two = Two::new();
        for number in 1..=20 {
            if is_interleaved {
                for first in 1..=3 {
                    for host in &HOSTS {
                        two.send(host, &fragment(number, first));
                    }
                }
            } else {
                for host in &HOSTS {
                    for first in 1..=3 {
                        two.send(host, &fragment(number, first));
                    }
                }
            }
        }
        for played in two.played() {
            assert_eq!(sums(&played), [20, 20, 20, 0], "{is_interleaved}");
        }
    }
}

/// Each address has fragments that the other lacks.
#[test]
fn a_reader_has_a_sample_with_the_fragments_of_both_addresses() {
    let mut two = Two::new();
    for number in 1..=20 {
        for (host, first) in [(0, 1), (1, 2), (1, 3)] {
            two.send(HOSTS[host], &fragment(number, first));
        }
    }
    let [played, _] = two.played();
    assert_eq!(sums(&played), [20, 20, 20, 0]);
}

#[test]
fn two_readers_at_two_addresses_are_two_deliveries() {
    let mut two = Two::new();
    for number in 1..=20 {
        two.send(HOSTS[0], &sample(number));
        let mut other = sample(number);
        let at = other.bytes.windows(12).position(|bytes| bytes == READER).unwrap();
        other.bytes[at..at + 12].copy_from_slice(&OTHER);
        two.send(HOSTS[1], &other);
    }
    for played in two.played() {
        assert_eq!(sums(&played), [20, 40, 40, 0]);
    }
}

/// The kernel hands readers on the sender's host a copy before its device gets the datagram; the sender's own socket gets one, too.
#[test]
fn a_multicast_on_a_device_has_a_delivery_for_each_reader_and_none_for_its_sender() {
    let mut world = World::new();
    let writer = process(1, "pub");
    let from = end(&mut world, writer, "10.0.0.1:40001");
    let readers = [writer, process(2, "sub"), process(3, "sub")]
        .map(|process| end(&mut world, process, "0.0.0.0:7401"));
    let way = flow("10.0.0.1:40001", "239.255.0.1:7401");
    for number in 1..=20 {
        let body = [&[0, 1, 0, 0][..], &[u8::try_from(number).unwrap(); 64]].concat();
        let bytes = Message::new(true).data(USER_WRITER, number, &body).bytes;
        let before = world.events.len();
        datagram(&mut world, way, number, from, &readers, &bytes, ALL);
        // A copy comes in before the device has the datagram, and may be read before, too.
        let told = &mut world.events[before..];
        let mut parts: Vec<_> =
            told.iter().map(|told| (told.event.body, told.payload.clone())).collect();
        let xmit = parts.remove(0);
        parts[0].1.clone_from(&xmit.1);
        parts.insert(if number % 2 == 0 { 1 } else { parts.len() }, xmit);
        for (told, (body, payload)) in told.iter_mut().zip(parts) {
            (told.event.body, told.payload) = (body, payload);
        }
    }
    let played = Played::of(&world);
    assert_eq!(sums(&played), [20, 40, 40, 0]);
    let notes = &played.group().notes;
    assert!(!notes.iter().any(|note| matches!(note, GroupNote::ReaderNotSeen { .. })), "{notes:?}");
    assert!(played.deliveries.iter().all(|one| one.legs[0].from == Some(from.id)));
}

/// Packets show a multicast to readers that discovery has told of.
#[test]
fn a_multicast_in_a_capture_has_a_delivery_for_each_participant_that_reads_its_topic() {
    let subscription = |participant: [u8; 12], topic: &str| {
        let mut guid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 4];
        guid[..12].copy_from_slice(&participant);
        Message::new(true).publication(guid, topic).reader().bytes
    };
    let mut world = World::new();
    let from = end(&mut world, process(1, "pub"), "10.0.0.1:40001");
    let mut id = 0;
    let mut send = |world: &mut World, to: &str, bytes: &[u8]| {
        id += 1;
        let len = u32::try_from(bytes.len()).unwrap();
        let way = flow("10.0.0.1:40001", to);
        let mut seen = packet(PacketHook::Rx, way, id, from, len, 0);
        seen.socket = None;
        world.tell(Body::Packet(seen), bytes);
    };
    let group = "239.255.0.1:7401";
    let found = Message::new(true).publication(user_guid(), "Square").bytes;
    send(&mut world, "10.0.0.2:7410", &found);
    for (participant, topic) in
        [(READER, "Square"), (OTHER, "Square"), (PREFIX, "Square"), ([7; 12], "Circle")]
    {
        send(&mut world, "10.0.0.2:7410", &subscription(participant, topic));
    }
    let data = |number: u64| {
        let body = [&[0, 1, 0, 0][..], &[u8::try_from(number).unwrap(); 64]].concat();
        Message::new(true).data(USER_WRITER, number, &body).bytes
    };
    (1..=20).for_each(|number| send(&mut world, group, &data(number)));
    // One of them goes.
    let mut gone = OTHER.to_vec();
    gone.extend([0, 0, 1, 0xc1]);
    let list = [vec![0, 3, 0, 0, 0x50, 0, 16, 0], gone, vec![1, 0, 0, 0]].concat();
    let key = Message::new(true).data_with(8, SPDP_WRITER, 9, &list).bytes;
    send(&mut world, "239.255.0.1:7400", &key);
    (21..=30).for_each(|number| send(&mut world, group, &data(number)));
    let config = Config { packets_only: true, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(sums(&played), [30, 50, 50, 0]);
    let doubts = played.snapshot.groups[0].doubts(&played.snapshot.trust);
    assert!(!doubts.is_empty(), "who got it, packets do not show");
}
