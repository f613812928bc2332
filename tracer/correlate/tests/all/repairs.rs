//! Messages in fragments, some of which are lost, and sent again or not.

use crate::played::Played;
use wirelap_correlate::{Config, VerdictKind};
use wirelap_events::{
    Body, DropCause, DroppedPacket, FlowKey, LossCause, LostEvents, Nanos, Probe, ReadKind, Stage,
};
use wirelap_test_support::world::udp::{ALL, End, Reported, datagram, end, flow};
use wirelap_test_support::world::{World, process};

const PREFIX: [u8; 12] = [1, 0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const WRITER: u32 = 0x0000_0b02;

/// Bytes of a fragment, and fragments of a sample.
const PART: usize = 1000;
const PARTS: u32 = 5;

/// Serialized bytes of a sample: the last fragment is shorter.
const SAMPLE: usize = 4500;

fn header() -> Vec<u8> {
    let mut message = b"RTPS\x02\x05\x01\x10".to_vec();
    message.extend(PREFIX);
    message
}

/// A `DATA_FRAG` with one fragment, which counts from 0, little-endian.
fn submessage(writer: u32, number: u32, fragment: u32) -> Vec<u8> {
    let start = fragment as usize * PART;
    let len = PART.min(SAMPLE - start);
    let mut bytes = vec![0x16, 1];
    bytes.extend(u16::try_from(32 + len).unwrap().to_le_bytes());
    bytes.extend([0, 0, 28, 0, 0, 0, 0, 0]);
    bytes.extend(writer.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend((fragment + 1).to_le_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(u16::try_from(PART).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(SAMPLE).unwrap().to_le_bytes());
    // The encapsulation header, and a body that is no lone sequence.
    let body = [0u8, 1, 0, 0].into_iter().chain(std::iter::repeat(7));
    bytes.extend(body.skip(start.min(4)).take(len));
    bytes
}

/// A sender, and readers of its own or of a group.
struct Net {
    world: World,
    from: End,
    packets: u64,
}

impl Net {
    fn new() -> Net {
        let mut world = World::new();
        let from = end(&mut world, process(1, "pub"), "10.0.0.1:7411");
        Net { world, from, packets: 0 }
    }

    fn reader(&mut self, pid: u32, port: u16) -> End {
        end(&mut self.world, process(pid, "sub"), &format!("10.0.0.1:{port}"))
    }

    fn send(&mut self, way: FlowKey, to: &[End], submessages: &[Vec<u8>]) -> (Nanos, Vec<Nanos>) {
        self.packets += 1;
        let bytes = [header(), submessages.concat()].concat();
        datagram(&mut self.world, way, self.packets, self.from, to, &bytes, ALL)
    }

    fn part(&mut self, way: FlowKey, to: &[End], number: u32, part: u32) -> (Nanos, Vec<Nanos>) {
        self.send(way, to, &[submessage(WRITER, number, part)])
    }

    /// A sample to one reader, who does not get what is `lost`. When it was sent.
    fn sample(&mut self, way: FlowKey, to: End, number: u32, lost: &[u32]) -> Nanos {
        let mut sent = None;
        for part in 0..PARTS {
            let to: &[End] = if lost.contains(&part) { &[] } else { &[to] };
            let (at, _) = self.part(way, to, number, part);
            sent.get_or_insert(at);
        }
        sent.unwrap()
    }

    fn rest(&mut self, millis: u64) {
        self.world.now += millis * 1_000_000;
    }

    fn dropped(&mut self, way: FlowKey) {
        let drop = DroppedPacket {
            flow: way,
            cause: DropCause::SocketBuffer,
            reason: 6,
            len: 1000,
            outward: false,
            queued: None,
            tcp: None,
        };
        self.world.tell(Body::Drop(drop), &[]);
    }

    fn play(&self) -> Played {
        Played::new(Config::default(), &self.world.events)
    }
}

fn way(port: u16) -> FlowKey {
    flow("10.0.0.1:7411", &format!("10.0.0.1:{port}"))
}

fn verdicts(played: &Played) -> Vec<VerdictKind> {
    played.group().why.verdicts.iter().map(|verdict| verdict.kind).collect()
}

#[test]
fn samples_that_came_whole_are_delivered_with_their_last_fragment() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let mut expected = Vec::new();
    for number in 1..=3 {
        let sent = net.sample(way(7413), to, number, &[]);
        expected.push(Nanos(net.world.now).since(sent));
    }
    let played = net.play();
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    assert!(played.deliveries.iter().map(wirelap_events::Delivery::one_way).eq(expected));
    assert_eq!(verdicts(&played), []);
    assert_eq!(played.group().messages.duplicates, 0);
}

#[test]
fn a_sample_with_a_hole_is_not_delivered_whichever_fragment_is_missing() {
    for hole in 0..PARTS {
        let mut net = Net::new();
        let to = net.reader(2, 7413);
        for number in 1..=20 {
            let lost: &[u32] = if number % 2 == 0 { &[hole] } else { &[] };
            net.sample(way(7413), to, number, lost);
        }
        let played = net.play();
        let counts = played.group().messages;
        assert_eq!((counts.sent, counts.delivered, counts.matched), (20, 10, 10), "hole {hole}");
        assert_eq!(verdicts(&played), [VerdictKind::NeverDelivered], "hole {hole}");
    }
}

#[test]
fn a_full_buffer_is_the_cause_and_whose_it_is_is_told() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=10 {
        net.sample(way(7413), to, number, &[3]);
        net.dropped(way(7413));
    }
    let played = net.play();
    assert_eq!(played.group().messages.delivered, 0);
    assert_eq!(verdicts(&played), [VerdictKind::QueueOverflow]);
    let (task, comm) = played.group().why.verdicts[0].process.unwrap();
    assert_eq!((task.pid.0, comm.as_str()), (2, "sub"));
}

#[test]
fn what_is_sent_again_completes_the_sample_and_its_loss_is_the_networks() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let sent = net.sample(way(7413), to, 1, &[1, 4]);
    net.rest(300);
    net.part(way(7413), &[to], 1, 4);
    let (again, read) = net.part(way(7413), &[to], 1, 1);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.one_way(), read[0].since(sent));
    let times = delivery.legs[0].times;
    assert_eq!(times.get(Stage::Send), Some(sent));
    assert!(times.get(Stage::Lost).unwrap() < sent + Nanos::from_millis(1), "first sent then");
    assert!(times.get(Stage::Rx).unwrap() > again, "and came when it was sent again");
    assert!(delivery.legs[0].circumstances.resent);
    let overhead = played.group().overhead;
    let repeats = overhead.detail.parts()[wirelap_correlate::Part::Repeats];
    assert_eq!(repeats, (SAMPLE - 4 * PART + PART) as u64);
}

#[test]
fn what_is_sent_again_to_one_who_has_it_is_no_delivery() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.sample(way(7413), to, 1, &[]);
    net.rest(10);
    net.sample(way(7413), to, 1, &[]);
    net.rest(3_000);
    net.sample(way(7413), to, 1, &[]);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(verdicts(&played), []);
}

#[test]
fn fragments_overtake_each_other_and_several_are_in_one_datagram() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=2 {
        let part = |part| submessage(WRITER, number, part);
        let other = submessage(WRITER + 0x100, number, 2);
        net.send(way(7413), &[to], &[part(0), part(1), other]);
        net.send(way(7413), &[to], &[part(4)]);
        let readers: &[End] = if number == 1 { &[to] } else { &[] };
        net.send(way(7413), readers, &[part(2), part(3)]);
    }
    net.rest(20);
    net.send(way(7413), &[to], &[submessage(WRITER, 2, 3)]);
    let (_, read) = net.send(way(7413), &[to], &[submessage(WRITER, 2, 2)]);
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.delivered, counts.matched), (2, 2));
    assert_eq!(played.deliveries[1].legs[0].times.get(Stage::Read), Some(read[0]));
}

#[test]
fn each_of_several_readers_is_followed() {
    let mut net = Net::new();
    let (a, b) = (net.reader(2, 7413), net.reader(3, 7415));
    for number in 1..=10 {
        for part in 0..PARTS {
            net.part(way(7413), &[a], number, part);
            let to: &[End] = if number > 4 && part == 2 { &[] } else { &[b] };
            net.part(way(7415), to, number, part);
        }
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (10, 14, 14));
}

#[test]
fn a_group_is_repaired_one_by_one() {
    let mut net = Net::new();
    let group = flow("10.0.0.1:7411", "239.255.0.1:7401");
    let (a, b) = (net.reader(2, 7401), net.reader(3, 7401));
    // The socket on which the second one hears what is for itself.
    let own = net.reader(3, 7415);
    let mut sent = None;
    for part in 0..PARTS {
        let to: &[End] = if part == 1 { &[a] } else { &[a, b] };
        let (at, _) = net.part(group, to, 1, part);
        sent.get_or_insert(at);
    }
    net.rest(200);
    let (_, read) = net.part(way(7415), &[own], 1, 1);
    let played = net.play();
    assert_eq!(played.group().messages.delivered, 2);
    assert_eq!(played.counts()[..3], [1, 2, 2]);
    let late = played.deliveries.iter().filter_map(wirelap_events::Delivery::one_way).max();
    assert_eq!(late, read[0].since(sent.unwrap()));
}

#[test]
fn a_fragment_lost_before_anything_saw_it_is_a_message_that_was_sent() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.sample(way(7413), to, 1, &[]);
    for number in 2..=4 {
        for part in (0..PARTS).filter(|&part| part != 0) {
            net.part(way(7413), &[to], number, part);
        }
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (4, 1, 1));
}

#[test]
fn a_sample_that_began_before_it_was_looked_is_none() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for part in 2..PARTS {
        net.part(way(7413), &[to], 7, part);
    }
    net.sample(way(7413), to, 8, &[]);
    // Of the first one, and of one before: repairs of what is not known.
    net.part(way(7413), &[to], 7, 1);
    net.part(way(7413), &[to], 6, 3);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(verdicts(&played), []);
}

#[test]
fn what_lost_events_may_have_hidden_is_not_said_to_be_lost() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=10 {
        net.sample(way(7413), to, number, &[2]);
        net.world.tell(
            Body::Lost(LostEvents { probe: Probe::Read, count: 1, cause: LossCause::RingFull }),
            &[],
        );
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.uncovered), (10, 0, 10));
    assert_eq!(verdicts(&played), []);
}

#[test]
fn a_repaired_single_datagram_left_when_it_was_first_sent() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let (sent, _) = net.send(way(7413), &[], &[data(1)]);
    net.send(way(7413), &[to], &[data(2)]);
    net.rest(150);
    let (_, read) = net.send(way(7413), &[to], &[data(1)]);
    let played = net.play();
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    assert_eq!(played.group().messages.duplicates, 0, "it was needed");
    let leg = &played.deliveries[1].legs[0];
    assert_eq!(played.deliveries[1].one_way(), read[0].since(sent));
    assert!(leg.times.get(Stage::Lost).unwrap() < sent + Nanos::from_millis(1));
    assert!(leg.circumstances.resent);
}

fn data(number: u32) -> Vec<u8> {
    let mut bytes = vec![0x15, 5];
    bytes.extend((24 + 60u16).to_le_bytes());
    bytes.extend([0, 0, 16, 0, 0, 0, 0, 0]);
    bytes.extend(WRITER.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend([0, 1, 0, 0]);
    bytes.extend([7; 60]);
    bytes
}

/// A `HEARTBEAT` of the writer, little-endian.
fn heartbeat(first: u32, last: u32) -> Vec<u8> {
    let mut bytes = vec![0x07, 1, 28, 0, 0, 0, 0, 0];
    bytes.extend(WRITER.to_be_bytes());
    for number in [first, last] {
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    bytes
}

/// Reads of samples 1, 2 (in fragments) and 3, of which the first comes when it is sent again: when each was handed on.
fn handed_on(is_reliable: bool) -> (Vec<Nanos>, [Nanos; 3]) {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.send(way(7413), &[to], &[data(1)]);
    if is_reliable {
        net.send(way(7413), &[to], &[heartbeat(1, 1)]);
    }
    net.send(way(7413), &[], &[data(2)]);
    net.sample(way(7413), to, 3, &[]);
    let third = Nanos(net.world.now);
    let (_, fourth) = net.send(way(7413), &[to], &[data(4)]);
    net.rest(150);
    let (_, second) = net.send(way(7413), &[to], &[data(2)]);
    let played = net.play();
    assert_eq!(played.counts(), [4, 4, 4, 0]);
    let reads = played.deliveries.iter().map(|d| d.legs[0].times.get(Stage::Read).unwrap());
    let mut reads: Vec<Nanos> = reads.skip(1).collect();
    reads.sort();
    (reads, [second[0], third, fourth[0]])
}

#[test]
fn what_a_reliable_reader_has_waits_for_what_was_sent_before() {
    let (reads, [second, ..]) = handed_on(true);
    assert_eq!(reads, [second, second, second]);
}

#[test]
fn a_best_effort_reader_waits_for_nothing() {
    let (reads, [second, third, fourth]) = handed_on(false);
    assert_eq!(reads, [third, fourth, second]);
}

#[test]
fn what_waited_for_something_that_never_came_was_delivered_nobody_knows_when() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.send(way(7413), &[to], &[data(1), heartbeat(1, 1)]);
    net.send(way(7413), &[], &[data(2)]);
    net.send(way(7413), &[to], &[data(3)]);
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (3, 2, 1));
}

/// What the second read took is found out when the later reads are known: the later messages did not wait for it.
#[test]
fn a_read_that_is_identified_late_holds_up_nothing() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let mut expected = Vec::new();
    for number in 1..=5 {
        net.packets += 1;
        let bytes = [header(), data(number), heartbeat(1, number)].concat();
        let named = Reported { seen: true, ..ALL };
        let (packets, from) = (net.packets, net.from);
        let (_, reads) = datagram(&mut net.world, way(7413), packets, from, &[to], &bytes, named);
        expected.extend(reads);
        let read = net.world.events.last_mut().map(|event| &mut event.event.body);
        if let (2, Some(Body::Read(read))) = (number, read) {
            let len = u32::try_from(bytes.len()).unwrap();
            read.kind = ReadKind::Datagram { packet: None, seen: None, flow: None, len };
        }
    }
    let played = net.play();
    assert_eq!(played.counts(), [5, 5, 5, 0]);
    let reads = played.deliveries.iter().map(|d| d.legs[0].times.get(Stage::Read).unwrap());
    let mut reads: Vec<Nanos> = reads.collect();
    reads.sort();
    assert_eq!(reads, expected);
    assert!(played.deliveries.iter().all(|d| !d.legs[0].circumstances.behind_loss));
}

#[test]
fn a_reader_of_a_group_that_lacks_a_whole_message_gets_it_alone() {
    let mut net = Net::new();
    let group = flow("10.0.0.1:7411", "239.255.0.1:7401");
    let (a, b) = (net.reader(2, 7401), net.reader(3, 7401));
    let own = net.reader(3, 7415);
    net.send(group, &[a, b], &[data(1)]);
    let (sent, _) = net.send(group, &[a], &[data(2)]);
    net.rest(150);
    let (_, read) = net.send(way(7415), &[own], &[data(2)]);
    net.send(group, &[a, b], &[data(3)]);
    let played = net.play();
    assert_eq!(played.counts(), [3, 6, 6, 0]);
    let late = played.deliveries.iter().filter_map(wirelap_events::Delivery::one_way).max();
    assert_eq!(late, read[0].since(sent));
}

#[test]
fn a_datagram_that_was_first_sent_unseen_took_nobody_knows_how_long() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in [1, 3, 2] {
        net.send(way(7413), &[to], &[data(number)]);
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (3, 3, 2));
}

#[test]
fn who_joins_late_is_sent_old_messages_again_and_they_count_once() {
    let mut net = Net::new();
    let (early, late) = (net.reader(2, 7413), net.reader(3, 7415));
    for number in 1..=10 {
        net.send(way(7413), &[early], &[data(number)]);
        net.rest(10);
    }
    net.rest(8_000);
    for number in 11..=12 {
        net.send(way(7413), &[early], &[data(number)]);
        net.send(way(7415), &[late], &[data(number)]);
    }
    for number in 1..=10 {
        net.send(way(7415), &[late], &[data(number)]);
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered), (12, 24));
    assert_eq!(counts.matched + counts.uncovered, 24);
    assert_eq!(counts.duplicates, 0);
}
