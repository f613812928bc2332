//! Discovery: topics that one conversation tells, known on another.

use crate::played::Played;
use wirelap_correlate::{Config, GroupNote};
use wirelap_events::{Body, PacketHook};
use wirelap_test_support::compose::rtps::{Message, PREFIX, PUBLICATIONS_WRITER};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::udp::{ALL, End, datagram, end, flow, packet};
use wirelap_test_support::world::{World, process};

const WRITERS: [(u32, &str); 2] = [(0x0000_0b02, "Square"), (0x0000_0c02, "Circle")];

/// A message of one `DATA`, little-endian.
fn data(writer: u32, number: u32, encapsulation: u8, body: &[u8]) -> Vec<u8> {
    let serialized = [&[0, encapsulation, 0, 0], body].concat();
    Message::new(true).data(writer, number.into(), &serialized).bytes
}

/// The discovery of a writer and its topic.
fn publication(number: u32, (writer, topic): (u32, &str)) -> Vec<u8> {
    let mut guid = PREFIX.to_vec();
    guid.extend(writer.to_be_bytes());
    let mut name = u32::try_from(topic.len() + 1).unwrap().to_le_bytes().to_vec();
    name.extend(topic.as_bytes());
    name.resize(name.len().next_multiple_of(4) + 4, 0);
    let list = [(0x5a, guid), (0x05, name), (0x01, vec![])];
    let writes = Message::new(true);
    let body: Vec<u8> = list.iter().flat_map(|(id, value)| writes.parameter(*id, value)).collect();
    data(PUBLICATIONS_WRITER, number, 3, &body)
}

struct Ends {
    world: World,
    a: End,
    b: End,
    packets: u64,
}

impl Ends {
    fn send(&mut self, to: u16, bytes: &[u8]) {
        self.packets += 1;
        let way = flow("127.0.0.1:7411", &format!("127.0.0.1:{to}"));
        datagram(&mut self.world, way, self.packets, self.a, &[self.b], bytes, ALL);
    }
}

/// Two writers, each with a sample of the same stamp. `told` are discovered before.
fn play(told: &[(u32, &str)]) -> Played {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "127.0.0.1:7411");
    let b = end(&mut world, process(2, "sub"), "127.0.0.1:7413");
    let mut ends = Ends { world, a, b, packets: 0 };
    for (number, &writer) in (1..).zip(told) {
        ends.send(7412, &publication(number, writer));
    }
    for (writer, _) in WRITERS {
        let mut body = 64u32.to_le_bytes().to_vec();
        body.extend(payload(stamp(0), 64));
        ends.send(7413, &data(writer, 1, 1, &body));
    }
    Played::of(&ends.world)
}

#[test]
fn topics_that_discovery_told_tell_messages_apart() {
    let played = play(&WRITERS);
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    assert_eq!(played.group().messages.duplicates, 0);
    assert_eq!(played.snapshot.trust.evicted, 0);
}

#[test]
fn a_stamp_on_topics_that_are_not_known_is_one_message() {
    let played = play(&[]);
    assert_eq!((played.counts()[0], played.group().messages.duplicates), (1, 1));
}

#[test]
fn topics_that_had_to_be_forgotten_are_counted() {
    let names: Vec<String> = (0..4100).map(|n| format!("t{n}")).collect();
    let told: Vec<_> = (0u32..).zip(&names).map(|(n, t)| (n << 8 | 2, t.as_str())).collect();
    assert_eq!(play(&told).snapshot.trust.evicted, 4);
}

/// Two participants that find each other in a domain's group, and send the rest to ports of no domain.
#[test]
fn what_a_participant_says_at_any_port_belongs_to_its_domain() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "10.0.0.1:40001");
    let b = end(&mut world, process(2, "sub"), "10.0.0.1:40002");
    let (to_b, to_a) =
        (flow("10.0.0.1:40001", "10.0.0.1:40002"), flow("10.0.0.1:40002", "10.0.0.1:40001"));
    let sample = |number| data(WRITERS[0].0, number, 1, &[7; 64]);
    let mut send = |number: u32, way, from: End, to: End, bytes: &[u8]| {
        datagram(&mut world, way, number.into(), from, &[to], bytes, ALL);
    };
    // Before anything tells of the domain.
    send(1, to_b, a, b, &sample(1));
    let group = flow("10.0.0.1:40001", "239.255.0.1:7400");
    send(2, group, a, b, &data(0x0001_00c2, 1, 3, &[0; 16]));
    for number in 2..=5 {
        send(number + 1, to_b, a, b, &sample(number));
    }
    send(7, to_a, b, a, &data(PUBLICATIONS_WRITER, 1, 3, &[0; 16]));
    let played = Played::of(&world);
    let groups = &played.snapshot.groups;
    assert_eq!(groups.len(), 1);
    assert!(groups[0].notes.contains(&GroupNote::Domain { domain: 0 }));
    assert_eq!(groups[0].messages.delivered, 5);
    assert_eq!(groups[0].messages.sent, 5);
}

/// In a capture, no process tells that they are in one domain; participants tell their names.
#[test]
fn what_a_participant_says_in_a_capture_belongs_to_its_domain() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "10.0.0.1:40001");
    let mut id = 0;
    let mut send = |world: &mut World, from: &str, to: &str, message: Message| {
        id += 1;
        let len = u32::try_from(message.bytes.len()).unwrap();
        let mut seen = packet(PacketHook::Rx, flow(from, to), id, a, len, 0);
        seen.socket = None;
        world.tell(Body::Packet(seen), &message.bytes);
    };
    let sample = |number: u32| {
        Message::new(true).data(
            WRITERS[0].0,
            number.into(),
            &[&[0, 1, 0, 0][..], &[7; 64]].concat(),
        )
    };
    // Before anything tells of the domain.
    send(&mut world, "10.0.0.1:40001", "10.0.0.2:40002", sample(1));
    send(&mut world, "10.0.0.1:40001", "239.255.0.1:26650", Message::new(true).participant("pub"));
    (2..=5).for_each(|n| send(&mut world, "10.0.0.1:40001", "10.0.0.2:40002", sample(n)));
    // Another one, of whom that is not known.
    let mut other = sample(9);
    other.bytes[8..20].copy_from_slice(&[6; 12]);
    send(&mut world, "10.0.0.9:40001", "10.0.0.9:40002", other);
    let config = Config { packets_only: true, ..Config::default() };
    let played = Played::new(config, &world.events);
    let groups = &played.snapshot.groups;
    let names: Vec<_> = groups.iter().map(|group| group.broker.as_deref()).collect();
    assert_eq!(names.len(), 2);
    assert!(
        names.contains(&Some("domain 77")) && names.contains(&Some("10.0.0.9:40001")),
        "{names:?}"
    );
    let domain = groups.iter().find(|group| group.broker.as_deref() == Some("domain 77")).unwrap();
    assert_eq!((domain.messages.sent, domain.messages.delivered), (5, 5));
}
