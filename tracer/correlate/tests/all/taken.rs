//! The datagram that a read took, where that can be told, and none where it cannot.

use crate::played::Played;
use wirelap_correlate::SnapshotNote;
use wirelap_events::{
    Body, FlowKey, LossCause, LostEvents, Nanos, Probe, ReadCall, ReadKind, Stage, TaskId, Tid,
    Wake,
};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::udp::{ALL, End, Reported, datagram, end, flow};
use wirelap_test_support::world::{STEP, World, process};

/// Both ends of a flow of datagrams, and the flow.
fn pair(world: &mut World) -> (End, End, FlowKey) {
    let a = end(world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(world, process(2, "pong"), "127.0.0.1:6000");
    (a, b, flow("127.0.0.1:5000", "127.0.0.1:6000"))
}

const NAMED: Reported = Reported { seen: true, ..ALL };

/// Takes the last `count` events, which are reads, out again.
fn take_reads(world: &mut World, count: usize) -> Vec<OwnedEvent> {
    let reads = world.events.split_off(world.events.len() - count);
    assert!(reads.iter().all(|read| matches!(read.event.body, Body::Read(_))));
    reads
}

/// A read of `b` of which nothing is known.
fn unnamed_read(world: &mut World, b: End, len: u32) -> Nanos {
    let kind = ReadKind::Datagram { packet: None, seen: None, flow: None, len };
    world.tell(Body::Read(ReadCall { socket: b.id, task: b.owner.task, kind }), &[])
}

/// Reads by the number of their message.
fn read_times(played: &Played) -> Vec<(u32, Option<Nanos>)> {
    let time = |d: &wirelap_events::Delivery| d.legs[0].times.get(Stage::Read);
    let mut times: Vec<_> =
        played.deliveries.iter().map(|d| (d.stamp.unwrap().seq, time(d))).collect();
    times.sort_unstable();
    times
}

/// Each read says when the memory was its packet's; it is another's when the read is reported.
#[test]
fn a_read_takes_what_had_the_memory_when_it_was_seen_in_the_queue() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    let mut reads = Vec::new();
    for n in 0..5 {
        datagram(&mut world, way, 7, a, &[b], &payload(stamp(n), 64), NAMED);
        reads.extend(take_reads(&mut world, 1));
    }
    let mut expected = Vec::new();
    for (n, mut read) in (0..5).zip(reads).rev() {
        world.now += STEP;
        read.event.at = Nanos(world.now);
        expected.push((n, Some(read.event.at)));
        world.events.push(read);
    }
    expected.reverse();
    let played = Played::of(&world);
    assert_eq!(played.counts(), [5, 5, 5, 0]);
    assert_eq!(read_times(&played), expected);
}

/// Two datagrams change places between two CPUs: announced in one order, read in the other.
#[test]
fn the_order_of_announcements_does_not_say_what_was_read() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    let mut reads = Vec::new();
    for n in 0..2 {
        datagram(&mut world, way, 7 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        reads.extend(take_reads(&mut world, 1));
    }
    let times = [1, 0].map(|n: usize| {
        world.now += STEP;
        reads[n].event.at = Nanos(world.now);
        world.events.push(reads[n].clone());
        Some(Nanos(world.now))
    });
    let played = Played::of(&world);
    assert_eq!(read_times(&played), [(0, times[1]), (1, times[0])]);
}

#[test]
fn a_read_that_can_have_taken_but_one_datagram_took_that() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), NAMED);
    for n in 1..10 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        take_reads(&mut world, 1);
        unnamed_read(&mut world, b, 64);
        world.now += 5_000_000;
        world.tell(Body::Wake(Wake { task: TaskId::default(), ..Wake::default() }), &[]);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert!(read_times(&played).iter().all(|(_, read)| read.is_some()));
    assert!(played.snapshot.notes.is_empty(), "{:?}", played.snapshot.notes);
}

/// As where several threads take turns: none of the reads has a name, and after each the queue is empty.
#[test]
fn what_was_read_is_known_from_when_the_queue_was_empty() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    world.now += 10_000_000;
    for n in 0..10 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        take_reads(&mut world, 1);
        let seen = Some(Nanos(world.now));
        let kind = ReadKind::Datagram { packet: None, seen, flow: None, len: 64 };
        world.tell(Body::Read(ReadCall { socket: b.id, task: b.owner.task, kind }), &[]);
    }
    // Two are there at once, and the first is read.
    for n in 10..12 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        take_reads(&mut world, 1);
    }
    unnamed_read(&mut world, b, 64);
    // What was read just before is looked for when the socket is closed already.
    world.tell(Body::Closed(b.id), &[]);
    let played = Played::of(&world);
    let reads: Vec<_> = read_times(&played).iter().map(|(n, _)| *n).collect();
    assert_eq!(reads, (1..11).collect::<Vec<_>>());
    assert!(played.snapshot.notes.contains(&SnapshotNote::UnknownDatagrams { reads: 1 }));
}

/// One thread empties a queue: the datagrams of one flow are read in their order. Two threads may take them in any.
#[test]
fn who_empties_a_queue_alone_reads_in_order() {
    for threads in [1, 2] {
        let mut world = World::new();
        let (a, b, way) = pair(&mut world);
        world.now += 10_000_000;
        let mut number = 0;
        for burst in 0..4 {
            for n in number..number + 3 {
                let id = 1 + u64::from(n);
                datagram(&mut world, way, id, a, &[b], &payload(stamp(n), 64), NAMED);
                take_reads(&mut world, 1);
            }
            number += 3;
            for read in 0..3 {
                let seen = (read == 2).then_some(Nanos(world.now));
                let tid = Tid(b.owner.task.tid.0 + (read + burst) % threads);
                let task = TaskId { tid, ..b.owner.task };
                let kind = ReadKind::Datagram { packet: None, seen, flow: None, len: 64 };
                world.tell(Body::Read(ReadCall { socket: b.id, task, kind }), &[]);
            }
        }
        let played = Played::of(&world);
        let reads = read_times(&played);
        let read: Vec<_> = reads.iter().map(|(n, _)| *n).collect();
        let expected = if threads == 1 { (3..12).collect() } else { vec![] };
        assert_eq!(read, expected);
        assert!(reads.is_sorted_by_key(|(_, at)| *at));
    }
}

#[test]
fn of_two_datagrams_neither_is_guessed() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), NAMED);
    for n in 1..3 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        take_reads(&mut world, 1);
    }
    unnamed_read(&mut world, b, 64);
    unnamed_read(&mut world, b, 64);
    let played = Played::of(&world);
    let reads: Vec<_> = read_times(&played).into_iter().filter(|(_, at)| at.is_some()).collect();
    assert_eq!(reads.len(), 1);
    assert!(played.snapshot.notes.contains(&SnapshotNote::UnknownDatagrams { reads: 2 }));
    // They were delivered, and what is said of them is not to be trusted.
    assert_eq!(played.counts(), [3, 1, 1, 0]);
    assert_eq!(played.group().uncertain.perhaps_read, 2, "{:?}", played.group().messages);
    let doubts = played.group().doubts(&played.snapshot.trust);
    assert!(doubts.iter().any(|doubt| doubt.reason.name() == "perhaps_read"), "{doubts:?}");
}

/// A later read names the second: what is left for the first is the first.
#[test]
fn a_read_is_told_by_what_others_took_later() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), NAMED);
    let mut reads = Vec::new();
    for n in 1..3 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), NAMED);
        reads.extend(take_reads(&mut world, 1));
    }
    let first = unnamed_read(&mut world, b, 64);
    let mut second = reads.pop().unwrap();
    world.now += STEP;
    second.event.at = Nanos(world.now);
    world.events.push(second);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    assert_eq!(read_times(&played)[1..], [(1, Some(first)), (2, Some(Nanos(world.now)))]);
}

#[test]
fn what_sockets_at_one_port_read_is_not_told_by_what_is_left() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    let other = end(&mut world, process(3, "pong"), "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), NAMED);
    datagram(&mut world, way, 2, a, &[b], &payload(stamp(1), 64), NAMED);
    take_reads(&mut world, 1);
    unnamed_read(&mut world, other, 64);
    let played = Played::of(&world);
    assert!(read_times(&played).iter().all(|&(n, read)| n == 0 || read.is_none()));
}

/// Datagrams that were sent while nobody looked may have had the memory of what was sent before.
#[test]
fn what_left_before_a_pause_is_not_what_was_read_after_it() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 7, a, &[b], &payload(stamp(0), 64), NAMED);
    let mut read = take_reads(&mut world, 1).remove(0);
    world.tell(Body::Window(false), &[]);
    world.tell(Body::Window(true), &[]);
    world.now += STEP;
    read.event.at = Nanos(world.now);
    let Body::Read(ReadCall { kind: ReadKind::Datagram { seen, .. }, .. }) = &mut read.event.body
    else {
        unreachable!()
    };
    *seen = Some(Nanos(world.now));
    world.events.push(read);
    let played = Played::of(&world);
    assert!(read_times(&played).iter().all(|(_, read)| read.is_none()));
}

/// The hook at data ready may run when a reader on another CPU has been faster.
#[test]
fn a_datagram_that_was_read_before_it_was_announced_contradicts_nothing() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 7, a, &[b], &payload(stamp(0), 64), NAMED);
    let last = world.events.len() - 1;
    let ready = world.events.iter().position(|t| matches!(t.event.body, Body::Ready(_))).unwrap();
    let mut ready = world.events.remove(ready);
    ready.event.at = world.events[last - 1].event.at + Nanos(5);
    world.events.push(ready);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert!(played.snapshot.notes.is_empty(), "{:?}", played.snapshot.notes);
    assert_eq!(played.deliveries[0].legs[0].times.get(Stage::Ready), None);
}

#[test]
fn without_packet_identity_reads_take_nothing() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    let tells = Reported { identity: false, ..ALL };
    for n in 0..10 {
        datagram(&mut world, way, u64::from(n), a, &[b], &payload(stamp(n), 64), tells);
    }
    let played = Played::of(&world);
    assert!(read_times(&played).iter().all(|(_, read)| read.is_none()));
    assert!(played.snapshot.notes.contains(&SnapshotNote::UnknownDatagrams { reads: 10 }));
}

#[test]
fn a_datagram_whose_read_was_not_seen_does_not_hold_up_the_next_ones() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), ALL);
    let read = world.events.pop();
    assert!(matches!(read.unwrap().event.body, Body::Read(_)));
    for n in 1..10 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), ALL);
    }
    let played = Played::of(&world);
    assert_eq!(played.early.groups[0].messages.matched, 9);
}

/// Two datagrams in the same memory; `lost` says which events of the first and of the second were lost.
fn in_reused_memory(lost: impl Fn(u32, &Body<'_>) -> bool) -> Vec<u32> {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let mut times = Vec::new();
    for n in 0..2 {
        let first = world.events.len();
        let (sent, read) = datagram(&mut world, way, 7, a, &[b], &payload(stamp(n), 64), ALL);
        times.push(read[0].since(sent));
        let told = world.events.split_off(first);
        for told in &told {
            let probe = match told.event.body {
                Body::Read(_) => Probe::Read,
                Body::Ready(_) => Probe::Ready,
                _ => continue,
            };
            if lost(n, &told.event.body) {
                world.tell(
                    Body::Lost(LostEvents { probe, count: 1, cause: LossCause::RingFull }),
                    &[],
                );
            }
        }
        world.events.extend(told.into_iter().filter(|told| !lost(n, &told.event.body)));
    }
    let played = Played::of(&world);
    for delivery in &played.deliveries {
        let seq = delivery.stamp.unwrap().seq as usize;
        assert_eq!(delivery.one_way(), times[seq], "number {seq}");
    }
    played.deliveries.iter().map(|delivery| delivery.stamp.unwrap().seq).collect()
}

/// The memory of what a reader is taking is another's before its call ends.
#[test]
fn memory_that_is_used_again_before_a_read_ends_is_not_what_was_read() {
    for is_ready in [false, true] {
        let mut world = World::new();
        let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
        let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
        let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
        datagram(&mut world, way, 7, a, &[b], &payload(stamp(0), 64), ALL);
        let read = world.events.pop().unwrap();
        let first = world.events.len();
        datagram(&mut world, way, 7, a, &[b], &payload(stamp(1), 64), ALL);
        // Its packet leaves, or has come in, too.
        let seen = first + if is_ready { 3 } else { 1 };
        world.events.insert(seen, OwnedEvent { event: read.event, payload: Vec::new() });
        let at = world.events[seen - 1].event.at;
        world.events[seen].event.at = at;
        let played = Played::of(&world);
        assert_eq!(played.counts(), [2, 2, 2, 0]);
        let reads = played.deliveries.iter().map(|d| d.legs[0].times.get(Stage::Read));
        assert!(reads.eq([Some(at), Some(Nanos(world.now))]));
    }
}

#[test]
fn a_lost_read_does_not_lend_the_next_ones_time() {
    let is_read = |body: &Body<'_>| matches!(body, Body::Read(_));
    let is_ready = |body: &Body<'_>| matches!(body, Body::Ready(_));
    assert_eq!(in_reused_memory(|n, body| n == 0 && is_read(body)), [1]);
    let lost = |n: u32, body: &Body<'_>| if n == 0 { is_read(body) } else { is_ready(body) };
    assert_eq!(in_reused_memory(lost), [1]);
}
