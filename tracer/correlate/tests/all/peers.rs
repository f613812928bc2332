//! Straight from the publisher to the subscriber.

use crate::played::{Played, seen};
use wirelap_correlate::GroupNote;
use wirelap_events::{Cpu, Hop, Nanos, Pid, Segment, Stage, Stamp, TaskId, Tid};
use wirelap_test_support::compose::{plain, stamp};
use wirelap_test_support::world::{Connection, STEP, World, process};

fn pair(world: &mut World) -> Connection {
    world.connect(process(1, "ping"), "127.0.0.1:40000", process(2, "pong"), "127.0.0.1:9000")
}

#[test]
fn one_leg_is_a_whole_delivery() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let (sent, read) = world.message(&mut pair.up, &plain(stamp(0), 64));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(played.deliveries[0].one_way(), read.since(sent));
    assert_eq!(played.group().sched_gap.max, Nanos(STEP));
}

/// A Zenoh session, then a message whose payload is in shared memory: `shared-memory.hex` of the
/// decoder's corpus begins so.
#[test]
fn a_payload_in_shared_memory_is_told() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:7447");
    let (a, b) = (&mut pair.up, &mut pair.down);
    world.message(a, b"\x07\x00\x41\x09\x01\xaa\x0a\xff\xff");
    world.message(b, b"\x0a\x00\x61\x09\x00\xbb\x0a\xff\xff\x02\xc0\xc1");
    world.message(a, b"\x06\x00\x42\x0a\x05\x02\xc0\xc1");
    world.message(b, b"\x03\x00\x62\x0a\x07");
    world.message(a, b"\x0e\x00\x25\x05\x3d\x00\x01k\x81\x12\x01\x01\x03\x01\x02\x03");
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let notes = &played.group().notes;
    assert!(notes.contains(&GroupNote::SharedMemory { legs: 1 }), "{notes:?}");
}

#[test]
fn a_reply_is_another_message() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    for n in 0..5 {
        world.message(&mut pair.up, &plain(stamp(n), 64));
        world.message(&mut pair.down, &plain(Stamp { reply: true, ..stamp(n) }, 64));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 1));
    assert!(played.group().processes.iter().all(|process| process.role == "peer"));
}

#[test]
fn many_messages_in_one_send() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let batch: Vec<u8> = (0..50).flat_map(|n| plain(stamp(n), 20)).collect();
    let (sent, read) = world.message(&mut pair.up, &batch);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [50, 50, 50, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.one_way() == read.since(sent)));
}

#[test]
fn a_message_in_parts_is_sent_when_its_first_byte_is_and_there_when_its_last_is() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let bytes = plain(stamp(0), 3000);
    let (start, _) = pair.up.advance(bytes.len());
    let way = pair.up;
    let mut sends = Vec::new();
    for (n, part) in (0u32..).zip(bytes.chunks(1000)) {
        let at = start.plus(n * 1000);
        sends.push(world.send(&way, at, u32::try_from(bytes.len()).unwrap() - n * 1000));
        world.xmit(&way, at, part);
    }
    for n in 0..4 {
        world.rx(&way, start.plus(n * 1000), 1000.min(3004 - n * 1000));
    }
    let ready = world.ready(&way, start.plus(3004));
    world.read(&way, start.plus(2000), 2000);
    let read = world.read(&way, start.plus(3004), 1004);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let times = &played.deliveries[0].legs[0].times;
    assert_eq!(times.get(Stage::Send), Some(sends[0]));
    assert_eq!(times.get(Stage::Sent), Some(sends[3]));
    assert_eq!(times.get(Stage::Ready), Some(ready));
    assert_eq!(times.get(Stage::Read), Some(read));
    let segments = played.deliveries[0].legs[0].segments();
    assert_eq!(segments.get(Segment::Write), sends[3].since(sends[0]));
    assert_eq!(segments.get(Segment::Busy), read.since(ready));
}

#[test]
fn super_packets_on_the_way_out_and_small_ones_on_the_way_in() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let bytes: Vec<u8> = (0..30).flat_map(|n| plain(stamp(n), 1000)).collect();
    let (start, len) = pair.up.advance(bytes.len());
    let way = pair.up;
    world.send(&way, start, len);
    world.xmit(&way, start, &bytes);
    let mut arrived = Vec::new();
    for n in 0..len.div_ceil(1448) {
        arrived.push(world.rx(&way, start.plus(n * 1448), 1448.min(len - n * 1448)));
    }
    world.ready(&way, way.next);
    world.read(&way, way.next, len);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    for (n, delivery) in played.deliveries.iter().enumerate() {
        let last_byte = (n + 1) * 1004 - 1;
        let rx = delivery.legs[0].times.get(Stage::Rx);
        assert_eq!(rx, Some(arrived[last_byte / 1448]));
    }
}

#[test]
fn the_thread_that_polls_wakes_the_thread_that_reads() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let thread = |tid| TaskId { pid: Pid(2), tid: Tid(tid) };
    let bytes = plain(stamp(0), 16);
    let (start, len) = pair.up.advance(bytes.len());
    let mut way = pair.up;
    world.send(&way, start, len);
    world.xmit(&way, start, &bytes);
    world.rx(&way, start, len);
    world.ready(&way, way.next);
    let polled = world.wake(thread(7), None);
    let worked = world.wake(thread(8), Some(thread(7)));
    way.to.1.task = thread(8);
    world.read(&way, way.next, len);
    let played = Played::of(&world);
    let leg = &played.deliveries[0].legs[0];
    let hop = Hop { cpu: Some(Cpu(0)), ..Hop::default() };
    let half = Nanos(STEP / 2);
    assert_eq!(
        leg.chain.as_slice(),
        [
            Hop { task: thread(7), woken: polled - half, running: polled, from_irq: true, ..hop },
            Hop { task: thread(8), woken: worked - half, running: worked, ..hop },
        ]
    );
    let segments = leg.segments();
    assert_eq!(segments.get(Segment::RunQueue), Some(half + half));
    assert_eq!(segments.get(Segment::Handoff), Some(half));
    assert_eq!(leg.reader, Some(thread(8)));
}

#[test]
fn a_copy_that_is_sent_again_counts_by_the_one_that_arrived() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let bytes = plain(stamp(0), 100);
    let (start, len) = pair.up.advance(bytes.len());
    let way = pair.up;
    let sent = world.send(&way, start, len);
    world.xmit(&way, start, &bytes);
    world.now += 200_000_000;
    let again = world.xmit(&way, start, &bytes);
    world.rx(&way, start, len);
    world.ready(&way, way.next);
    let read = world.read(&way, way.next, len);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.legs[0].times.get(Stage::Xmit), Some(again));
    assert_eq!(delivery.one_way(), read.since(sent));
    let overhead = played.group().overhead;
    assert_eq!(overhead.retransmitted, u64::from(len) + 14 + 20 + 32);
    assert_eq!((overhead.payload, overhead.protocol), (100, 4));
}

#[test]
fn the_stages_of_a_leg_come_in_their_order() {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    world.message(&mut pair.up, &plain(stamp(0), 64));
    let played = Played::of(&world);
    let stages = seen(&played.deliveries[0], 0);
    assert!(stages.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    assert_eq!(stages.len(), 9);
}

/// The greeting of ZMTP 3.0 with the NULL mechanism, and READY with the socket's type (ZMTP 3.0 §Greeting, §NULL).
fn zmtp(socket_type: &str) -> Vec<u8> {
    let mut bytes = b"\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL".to_vec();
    bytes.resize(64, 0);
    let len = u8::try_from(socket_type.len()).unwrap();
    bytes.extend([0x04, 6 + 12 + 4 + len]);
    bytes.extend(b"\x05READY\x0bSocket-Type\0\0\0");
    bytes.push(len);
    bytes.extend(socket_type.as_bytes());
    bytes
}

/// A process may publish to itself; what it receives goes no further for that.
#[test]
fn a_process_that_talks_to_itself_is_no_forwarder() {
    let mut world = World::new();
    let all = process(7, "python3");
    let mut readers: Vec<_> = ["127.0.0.1:40001", "127.0.0.1:40002"]
        .map(|from| world.connect(all, from, all, "127.0.0.1:5555"))
        .into();
    for reader in &mut readers {
        world.message(&mut reader.up, &zmtp("SUB"));
        world.message(&mut reader.down, &zmtp("PUB"));
    }
    for _ in 0..10 {
        for reader in &mut readers {
            world.message(&mut reader.down, b"\x01\x01t\x00\x04same");
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 20, 20, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 1));
}
