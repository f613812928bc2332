//! Datagrams.

use crate::played::Played;
use wirelap_correlate::{Config, GroupNote, Label, VerdictKind};
use wirelap_events::{
    Body, Cpu, DropCause, DroppedPacket, Event, IfIndex, Nanos, NetNs, PacketHook, PacketId, Pid,
    ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, Stage, Stamp, TaskId, Tid, Wake,
};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::udp::{ALL, End, Reported, datagram, end, flow, packet};
use wirelap_test_support::world::{IP, LINK, Process, STEP, UDP, World, process};

#[test]
fn a_datagram_has_all_stages() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let (sent, read) = datagram(&mut world, way, 77, a, &[b], &payload(stamp(0), 64), ALL);
    let played = Played::of(&world);
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
    let played = Played::of(&world);
    assert_eq!(played.counts(), [50, 50, 50, 0]);
    for (delivery, (sent, read)) in played.deliveries.iter().zip(times) {
        assert_eq!(delivery.one_way(), read[0].since(sent));
    }
}

#[test]
fn without_the_entry_of_sends_the_latency_starts_at_the_queue() {
    let mut world = World::new();
    let a = end(&mut world, process(1, "ping"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "pong"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    let tells = Reported { entry: false, ..ALL };
    let (entered, read) = datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), tells);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.one_way(), read[0].since(entered + Nanos(STEP / 2)));
    assert_eq!(delivery.legs[0].sender, Some(a.owner.task));
    assert_eq!(played.group().notes[0], GroupNote::SendNotSeen { deliveries: 1 });
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
    let played = Played::of(&world);
    assert_eq!(played.counts(), [4, 20, 20, 0]);
    assert!(played.deliveries.iter().map(wirelap_events::Delivery::one_way).eq(expected));
    assert_eq!(played.group().processes.len(), 6);
}

/// The process that is named for a datagram that found a full socket, on a way with two readers.
fn named_for_a_full_socket(to: &str) -> Option<Pid> {
    let mut world = World::new();
    let a = end(&mut world, process(1, "pub"), "10.0.0.1:5000");
    let readers: Vec<_> =
        (0..2).map(|n| end(&mut world, process(10 + n, "sub"), "0.0.0.0:7401")).collect();
    let way = flow("10.0.0.1:5000", to);
    for n in 0..4 {
        datagram(&mut world, way, 9, a, &readers, &payload(stamp(n), 64), ALL);
    }
    let drop = DroppedPacket {
        flow: way,
        cause: DropCause::SocketBuffer,
        reason: 6,
        len: 64,
        outward: false,
        queued: None,
        netns: NetNs(0),
        mtu: 0,
        tcp: None,
    };
    world.tell(Body::Drop(drop), &[]);
    let played = Played::of(&world);
    let kind = VerdictKind::QueueOverflow;
    let verdict = played.group().why.verdicts.iter().find(|verdict| verdict.kind == kind);
    verdict.expect("a full socket").process.map(|(task, _)| task.pid)
}

/// The drop does not say which member of a group has the full socket: the last that got a copy is a healthy one.
#[test]
fn a_full_socket_of_a_group_is_nobodys() {
    assert_eq!(named_for_a_full_socket("239.255.0.1:7401"), None);
    assert_eq!(named_for_a_full_socket("10.0.0.2:7401"), Some(Pid(11)));
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
    let played = Played::of(&world);
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
    let played = Played::of(&world);
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
    let played = Played::new(Config { labels: vec![label], ..Config::default() }, &world.events);
    assert_eq!(played.group().middleware, "ours");
    assert_eq!(played.counts(), [2, 2, 2, 0]);
}

/// Checks what a datagram's leg knows of the threads before it. One of two wakes the other, which sends;
/// the call may be reported before the datagram leaves its qdisc, and its thread may sleep within it.
fn sent_by_another_thread(is_held: bool, sleeps: bool) {
    let mut world = World::new();
    let agent = process(10, "agent");
    let worker = TaskId { tid: Tid(11), ..agent.task };
    let a = end(&mut world, Process { task: worker, ..agent }, "127.0.0.1:5000");
    let b = end(&mut world, process(2, "sub"), "127.0.0.1:6000");
    world.wake(agent.task, None);
    let woken = [world.wake(agent.task, None), world.wake(worker, Some(agent.task))];
    let first = world.events.len();
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    datagram(&mut world, way, 1, a, &[b], &payload(stamp(0), 64), ALL);
    let send = first + 3;
    assert!(matches!(world.events[send].event.body, Body::Send(_)));
    if is_held {
        world.events[first..=send].rotate_right(1);
    } else if sleeps {
        let at = world.events[first].event.at;
        let wake = Wake { task: worker, woken: at, from_irq: true, ..Wake::default() };
        let event = Event { at, cpu: Cpu(0), body: Body::Wake(wake) };
        world.events.insert(send, OwnedEvent { event, payload: Vec::new() });
    }
    let played = Played::of(&world);
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
    let played = Played::of(&world);
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
    let sent: u64 =
        Played::of(&world).snapshot.groups.iter().map(|group| group.messages.sent).sum();
    assert_eq!(sent, 60);
}
