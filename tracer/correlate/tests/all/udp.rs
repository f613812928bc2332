//! Datagrams.

use crate::mqtt::{payload, stamp};
use crate::world::{
    IP, LINK, LO, Played, Process, STEP, UDP, WorkloadCounts, World, addr, process,
};
use wirelap_correlate::{Config, Label};
use wirelap_events::{
    Body, Cpu, Event, FlowKey, IfIndex, Lost, Nanos, NetNs, Origin, Packet, PacketHook, PacketId,
    Pid, Portion, Probe, ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, Socket,
    SocketId, Stage, Stamp, TaskId, Tid, Transport, Wake,
};

/// A UDP socket and its owner.
#[derive(Clone, Copy)]
pub struct End {
    pub id: SocketId,
    pub owner: Process,
}

pub fn end(world: &mut World, owner: Process, local: &str) -> End {
    let id = world.socket_id();
    world.tell(
        Body::Socket(Socket {
            id,
            netns: LO.0,
            transport: Transport::Udp,
            local: addr(local),
            remote: None,
            task: owner.task,
            comm: owner.comm,
            origin: Origin::FirstSeen,
            tx_next: None,
            rx_next: None,
        }),
        &[],
    );
    End { id, owner }
}

pub fn flow(from: &str, to: &str) -> FlowKey {
    FlowKey::new(Transport::Udp, addr(from), addr(to), LO.0)
}

fn packet(
    hook: PacketHook,
    flow: FlowKey,
    id: u64,
    from: End,
    len: u32,
    now: u64,
) -> Packet<'static> {
    Packet {
        hook,
        flow,
        id: PacketId(id),
        socket: (hook == PacketHook::Xmit).then_some(from.id),
        task: from.owner.task,
        netns: LO.0,
        device: LO.1,
        queued: (hook == PacketHook::Xmit).then_some(Nanos(now + STEP / 2)),
        queue: 0,
        wire_bytes: u32::from(LINK + IP + UDP) + len,
        link_header: LINK,
        deferred: false,
        portion: Portion::Whole,
        ip_header: IP,
        transport_header: UDP,
        payload_len: len,
        segments: 1,
        tcp: None,
        payload: &[],
    }
}

/// What the kernel tells of packets beyond the flow.
#[derive(Clone, Copy)]
pub struct Tells {
    pub identity: bool,
    /// When the packet's memory was its.
    pub seen: bool,
    pub entry: bool,
}

/// As the first recordings tell it.
pub const ALL: Tells = Tells { identity: true, seen: false, entry: true };

/// One datagram to each of `to`. Returns when it was sent, and when each has read it.
pub fn datagram(
    world: &mut World,
    flow: FlowKey,
    id: u64,
    from: End,
    to: &[End],
    bytes: &[u8],
    tells: Tells,
) -> (Nanos, Vec<Nanos>) {
    let len = u32::try_from(bytes.len()).unwrap();
    world.now += STEP;
    let entered = Nanos(world.now);
    let xmit = packet(PacketHook::Xmit, flow, id, from, len, world.now);
    world.tell(Body::Packet(xmit), bytes);
    world.tell(Body::Packet(packet(PacketHook::Rx, flow, id, from, len, 0)), &[]);
    let name = tells.identity.then_some(PacketId(id));
    let seen = Some(Nanos(world.now)).filter(|_| tells.seen);
    for end in to {
        let kind = ReadyKind::Datagram { packet: name, seen };
        world.tell(Body::Ready(Ready { socket: end.id, kind }), &[]);
    }
    let kind = SendKind::Datagram { len, entered: tells.entry.then_some(entered) };
    world.tell(Body::Send(SendCall { socket: from.id, task: from.owner.task, kind }), &[]);
    let reads = to.iter().map(|end| {
        let key = name.filter(|_| !tells.seen).map(|_| flow);
        let kind = ReadKind::Datagram { packet: name, seen, flow: key, len };
        world.tell(Body::Read(ReadCall { socket: end.id, task: end.owner.task, kind }), &[])
    });
    (entered, reads.collect())
}

#[test]
fn a_datagram_has_all_stages() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let (sent, read) = datagram(&mut world, way, 77, a, &[b], &payload(stamp(0), 64), ALL);
    let played = world.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.one_way(), read[0].since(sent));
    let stages: Vec<_> = delivery.legs[0].times.seen().map(|(stage, _)| stage).collect();
    let expected =
        [Stage::Send, Stage::Sent, Stage::Queue, Stage::Xmit, Stage::Rx, Stage::Ready, Stage::Read];
    assert_eq!(stages, expected);
    assert_eq!(delivery.legs[0].to, Some(b.id));
    assert_eq!(played.group().overhead.total(), 64 + u64::from(LINK + IP + UDP));
}

#[test]
fn packets_in_reused_memory_are_different_datagrams() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let times: Vec<_> = (0..50)
        .map(|n| datagram(&mut world, way, u64::from(n) % 2, a, &[b], &payload(stamp(n), 64), ALL))
        .collect();
    let played = world.play();
    assert_eq!(played.counts(), [50, 50, 50, 0]);
    for (delivery, (sent, read)) in played.deliveries.iter().zip(times) {
        assert_eq!(delivery.one_way(), read[0].since(sent));
    }
}

/// Both ends of a flow of datagrams, and the flow.
fn pair(world: &mut World) -> (End, End, FlowKey) {
    let a = end(world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(world, process(2, "pong"), "127.0.0.1:6000");
    (a, b, flow("127.0.0.1:5000", "127.0.0.1:6000"))
}

const NAMED: Tells = Tells { seen: true, ..ALL };

/// Takes the last `count` events, which are reads, out again.
fn take_reads(world: &mut World, count: usize) -> Vec<WorkloadCounts> {
    let reads = world.told.split_off(world.told.len() - count);
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
        world.told.push(read);
    }
    expected.reverse();
    let played = world.play();
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
        world.told.push(reads[n].clone());
        Some(Nanos(world.now))
    });
    let played = world.play();
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
    let played = world.play();
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert!(read_times(&played).iter().all(|(_, read)| read.is_some()));
    assert_eq!(played.snapshot.notes, [""; 0]);
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
    let played = world.play();
    let reads: Vec<_> = read_times(&played).iter().map(|(n, _)| *n).collect();
    assert_eq!(reads, (1..11).collect::<Vec<_>>());
    assert!(played.snapshot.notes.iter().any(|note| note.starts_with("1 reads of UDP sockets")));
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
        let played = world.play();
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
    let played = world.play();
    let reads: Vec<_> = read_times(&played).into_iter().filter(|(_, at)| at.is_some()).collect();
    assert_eq!(reads.len(), 1);
    assert!(played.snapshot.notes.iter().any(|note| note.starts_with("2 reads of UDP sockets")));
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
    world.told.push(second);
    let played = world.play();
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
    let played = world.play();
    assert!(read_times(&played).iter().all(|&(n, read)| n == 0 || read.is_none()));
}

/// What was sent while nobody looked may have had the memory of what was sent before.
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
    world.told.push(read);
    let played = world.play();
    assert!(read_times(&played).iter().all(|(_, read)| read.is_none()));
}

/// The hook at data ready may run when a reader on another CPU has been faster.
#[test]
fn a_datagram_that_was_read_before_it_was_announced_contradicts_nothing() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    datagram(&mut world, way, 7, a, &[b], &payload(stamp(0), 64), NAMED);
    let last = world.told.len() - 1;
    let ready = world.told.iter().position(|t| matches!(t.event.body, Body::Ready(_))).unwrap();
    let mut ready = world.told.remove(ready);
    ready.event.at = world.told[last - 1].event.at + Nanos(5);
    world.told.push(ready);
    let played = world.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(played.snapshot.notes, [""; 0]);
    assert_eq!(played.deliveries[0].legs[0].times.get(Stage::Ready), None);
}

#[test]
fn without_packet_identity_reads_take_nothing() {
    let mut world = World::new();
    let (a, b, way) = pair(&mut world);
    let tells = Tells { identity: false, ..ALL };
    for n in 0..10 {
        datagram(&mut world, way, u64::from(n), a, &[b], &payload(stamp(n), 64), tells);
    }
    let played = world.play();
    assert!(read_times(&played).iter().all(|(_, read)| read.is_none()));
    assert!(played.snapshot.notes.iter().any(|note| note.starts_with("10 reads of UDP sockets")));
}

#[test]
fn without_the_entry_of_sends_the_latency_starts_at_the_queue() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let tells = Tells { entry: false, ..ALL };
    let (entered, read) = datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), tells);
    let played = world.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.one_way(), read[0].since(entered + Nanos(STEP / 2)));
    assert_eq!(delivery.legs[0].sender, Some(a.owner.task));
    assert!(played.group().notes[0].contains("send call was not seen"));
}

#[test]
fn a_multicast_has_a_delivery_for_every_reader() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "10.0.0.1:5000");
    let readers: Vec<_> =
        (0..5).map(|n| end(&mut world, process(10 + n, "sub"), "0.0.0.0:7401")).collect();
    let way = flow("10.0.0.1:5000", "239.255.0.1:7401");
    let mut expected = Vec::new();
    for n in 0..4 {
        let bytes = payload(stamp(n), 64);
        let (sent, reads) = datagram(&mut world, way, 9, a, &readers, &bytes, ALL);
        expected.extend(reads.into_iter().map(|read| read.since(sent)));
    }
    let played = world.play();
    assert_eq!(played.counts(), [4, 20, 20, 0]);
    assert!(played.deliveries.iter().map(wirelap_events::Delivery::one_way).eq(expected));
    assert_eq!(played.group().processes.len(), 6);
}

#[test]
fn unicast_copies_are_one_message() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "127.0.0.1:5000");
    let readers: Vec<_> = (0..3u32)
        .map(|n| {
            let local = format!("127.0.0.1:{}", 6000 + n);
            (end(&mut world, process(10 + n, "sub"), &local), flow("127.0.0.1:5000", &local))
        })
        .collect();
    let mut id = 0;
    for n in 0..4 {
        for (reader, way) in &readers {
            id += 1;
            datagram(&mut world, *way, id, a, &[*reader], &payload(stamp(n), 64), ALL);
        }
    }
    let played = world.play();
    let sum = |of: fn(&wirelap_correlate::Group) -> u64| {
        played.snapshot.groups.iter().map(of).sum::<u64>()
    };
    assert_eq!(sum(|group| group.messages.sent), 4);
    assert_eq!(sum(|group| group.messages.matched), 12);
}

#[test]
fn a_datagram_that_no_socket_took_is_completed_by_its_copy() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "sub"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let bytes = payload(stamp(0), 64);
    let (sent, _) = datagram(&mut world, way, 1, a, &[], &bytes, ALL);
    datagram(&mut world, way, 2, a, &[b], &payload(stamp(1), 64), ALL);
    world.now += 80_000_000;
    let (_, read) = datagram(&mut world, way, 3, a, &[b], &bytes, ALL);
    let played = world.play();
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    assert_eq!(played.group().messages.duplicates, 1);
    let late = played.deliveries.iter().find(|d| d.stamp == Some(stamp(0))).unwrap();
    assert_eq!(late.one_way(), read[0].since(sent));
}

/// A socket that came into view in another's context: its owner is not told.
fn anonymous_end(world: &mut World, owner: Process, local: &str) -> End {
    End { owner, ..end(world, process(0, ""), local) }
}

#[test]
fn the_first_message_is_in_the_row_that_its_sockets_turn_out_to_be_in() {
    let mut world = World::new();
    let a = anonymous_end(&mut world, process(1, "pub"), "127.0.0.1:5000");
    let b = anonymous_end(&mut world, process(2, "sub"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), ALL);
    datagram(&mut world, way, 2, a, &[b], &payload(stamp(1), 64), ALL);
    let label =
        Label { name: "ours".into(), broker: None, ports: vec![], pids: vec![Pid(1), Pid(2)] };
    let played = Played::new(Config { labels: vec![label], ..Config::default() }, &world.told);
    assert_eq!(played.group().middleware, "ours");
    assert_eq!(played.counts(), [2, 2, 2, 0]);
}

#[test]
fn a_datagram_whose_read_was_not_seen_does_not_hold_up_the_next_ones() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), ALL);
    let read = world.told.pop();
    assert!(matches!(read.unwrap().event.body, Body::Read(_)));
    for n in 1..10 {
        datagram(&mut world, way, 1 + u64::from(n), a, &[b], &payload(stamp(n), 64), ALL);
    }
    let played = world.play();
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
        let first = world.told.len();
        let (sent, read) = datagram(&mut world, way, 7, a, &[b], &payload(stamp(n), 64), ALL);
        times.push(read[0].since(sent));
        let told = world.told.split_off(first);
        for told in &told {
            let probe = match told.event.body {
                Body::Read(_) => Probe::Read,
                Body::Ready(_) => Probe::Ready,
                _ => continue,
            };
            if lost(n, &told.event.body) {
                world.tell(Body::Lost(Lost { probe, count: 1 }), &[]);
            }
        }
        world.told.extend(told.into_iter().filter(|told| !lost(n, &told.event.body)));
    }
    let played = world.play();
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
        let read = world.told.pop().unwrap();
        let first = world.told.len();
        datagram(&mut world, way, 7, a, &[b], &payload(stamp(1), 64), ALL);
        // Its packet leaves, or has come in, too.
        let seen = first + if is_ready { 3 } else { 1 };
        world.told.insert(seen, WorkloadCounts { event: read.event, payload: Vec::new() });
        let at = world.told[seen - 1].event.at;
        world.told[seen].event.at = at;
        let played = world.play();
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

/// What a datagram's leg knows of the threads before it. One of two wakes the other, which sends; the call
/// may be reported before the datagram leaves its qdisc, and its thread may sleep within it.
fn sent_by_another_thread(is_held: bool, sleeps: bool) {
    let mut world = World::new();
    let agent = process(10, "agent");
    let worker = TaskId { tid: Tid(11), ..agent.task };
    let a = end(&mut world, Process { task: worker, ..agent }, "127.0.0.1:5000");
    let b = end(&mut world, process(2, "sub"), "127.0.0.1:6000");
    world.wake(agent.task, None);
    let woken = [world.wake(agent.task, None), world.wake(worker, Some(agent.task))];
    let first = world.told.len();
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), ALL);
    let send = first + 3;
    assert!(matches!(world.told[send].event.body, Body::Send(_)));
    if is_held {
        world.told[first..=send].rotate_right(1);
    } else if sleeps {
        let at = world.told[first].event.at;
        let wake = Wake { task: worker, woken: at, from_irq: true, ..Wake::default() };
        let event = Event { at, cpu: Cpu(0), body: Body::Wake(wake) };
        world.told.insert(send, WorkloadCounts { event, payload: Vec::new() });
    }
    let played = world.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let before = played.deliveries[0].legs[0].before.iter();
    let before: Vec<_> = before.map(|hop| (hop.task, hop.running)).collect();
    assert_eq!(before, [(agent.task, woken[0]), (worker, woken[1])]);
}

#[test]
fn the_threads_that_led_to_a_datagram_are_known() {
    sent_by_another_thread(false, false);
}

#[test]
fn a_call_whose_datagram_leaves_the_qdisc_later_keeps_its_threads() {
    sent_by_another_thread(true, false);
}

#[test]
fn a_sender_that_slept_within_its_call_was_not_led_there_by_it() {
    sent_by_another_thread(false, true);
}

#[test]
fn a_datagram_whose_addresses_are_translated_is_one_datagram() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "10.0.1.2:5000");
    let b = end(&mut world, process(2, "pong"), "10.0.2.2:6000");
    let before = flow("10.0.1.2:5000", "10.0.1.1:9000");
    let after = flow("10.0.2.1:5000", "10.0.2.2:6000");
    for n in 0..30 {
        let bytes = payload(stamp(n), 64);
        // Memory is used again and again.
        let id = 77 + u64::from(n % 2);
        let hops = [
            (PacketHook::Xmit, before, 1, 1),
            (PacketHook::Rx, before, 2, 1),
            (PacketHook::Xmit, after, 2, 2),
            (PacketHook::Rx, after, 3, 1),
        ];
        let entered = Nanos(world.now);
        for (hop, (hook, flow, netns, device)) in hops.into_iter().enumerate() {
            let mut packet = packet(hook, flow, id, a, 64, world.now);
            (packet.netns, packet.device) = (NetNs(netns), IfIndex(device));
            packet.socket = packet.socket.filter(|_| hop == 0);
            let payload = if hook == PacketHook::Xmit { bytes.as_slice() } else { &[] };
            world.tell(Body::Packet(packet), payload);
        }
        let kind = ReadyKind::Datagram { packet: Some(PacketId(id)), seen: None };
        world.tell(Body::Ready(Ready { socket: b.id, kind }), &[]);
        let kind = SendKind::Datagram { len: 64, entered: Some(entered) };
        world.tell(Body::Send(SendCall { socket: a.id, task: a.owner.task, kind }), &[]);
        let kind = ReadKind::Datagram {
            packet: Some(PacketId(id)),
            seen: None,
            flow: Some(after),
            len: 64,
        };
        world.tell(Body::Read(ReadCall { socket: b.id, task: b.owner.task, kind }), &[]);
    }
    let played = world.play();
    assert_eq!(played.snapshot.groups.len(), 1);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
}

#[test]
fn a_datagram_in_memory_of_another_one_is_another_one() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "10.0.1.2:5000");
    let b = end(&mut world, process(2, "pong"), "10.0.1.1:9000");
    let c = end(&mut world, process(3, "pang"), "10.0.2.2:6000");
    for n in 0..30 {
        let bytes = payload(stamp(n), 64);
        let first = flow("10.0.1.2:5000", "10.0.1.1:9000");
        datagram(&mut world, first, 77, a, &[b], &bytes, ALL);
        let second = flow("10.0.1.1:9000", "10.0.2.2:6000");
        datagram(
            &mut world,
            second,
            77,
            b,
            &[c],
            &payload(Stamp { stream: 1, ..stamp(n) }, 64),
            ALL,
        );
    }
    let sent: u64 = world.play().snapshot.groups.iter().map(|group| group.messages.sent).sum();
    assert_eq!(sent, 60);
}
