//! Events of several hosts, whose clocks are known only so well.

use std::net::IpAddr;
use wirelap_correlate::{BreakdownQuery, Config, Correlator, Dimension, Snapshot, VerdictKind};
use wirelap_events::{
    Body, Delivery, HostBounds, LegHosts, Nanos, PacketHook, Pid, ReadKind, ReadyKind, Segment,
    SendKind, SocketId, Stage, TaskId, Tid,
};
use wirelap_test_support::compose::{mqtt, payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::udp::{ALL, datagram, end, flow};
use wirelap_test_support::world::{Connection, Process, STEP, World, process};

/// A process of a host.
fn on(host: u8, pid: u32, name: &str) -> Process {
    let process = process(pid, name);
    Process { task: TaskId { pid: Pid(pid).on_host(host), tid: Tid(pid).on_host(host) }, ..process }
}

/// The host with an address: its last number.
fn host_of(address: IpAddr) -> u8 {
    let IpAddr::V4(address) = address else { panic!("{address}") };
    address.octets()[3]
}

fn moved(at: Nanos, by: i64) -> Nanos {
    Nanos(at.0.saturating_add_signed(by))
}

/// The events of a world as they come of its hosts: each at its socket's, with numbers of its own, by a clock that is so many nanoseconds
/// wrong.
fn of_hosts(world: &World, wrong: impl Fn(u8) -> i64) -> Vec<OwnedEvent> {
    let sockets: Vec<(SocketId, u8)> = world
        .events
        .iter()
        .filter_map(|event| match event.event.body {
            Body::Socket(socket) => Some((socket.id, host_of(socket.local.ip()))),
            _ => None,
        })
        .collect();
    let of = |id: SocketId| sockets.iter().find(|known| known.0 == id).unwrap().1;
    let mut events = world.events.clone();
    let mut sent = Vec::new();
    for OwnedEvent { event, payload } in &mut events {
        if let Body::Packet(packet) = &event.body {
            // Each host sees the bytes of its own packets.
            let key = (packet.flow, packet.tcp.map_or(packet.id.0, |tcp| tcp.seq.0.into()));
            match packet.hook {
                PacketHook::Xmit => sent.push((key, payload.clone())),
                PacketHook::Rx => {
                    payload.clone_from(&sent.iter().rfind(|sent| sent.0 == key).unwrap().1);
                }
            }
        }
        let socket = |id: &mut SocketId| {
            let host = of(*id);
            *id = id.on_host(host);
            host
        };
        let host = match &mut event.body {
            Body::Socket(opened) => {
                let host = socket(&mut opened.id);
                opened.netns = opened.netns.on_host(host);
                host
            }
            Body::Send(send) => {
                let host = socket(&mut send.socket);
                if let SendKind::Datagram { entered, .. } = &mut send.kind {
                    *entered = entered.map(|at| moved(at, wrong(host)));
                }
                host
            }
            Body::Read(read) => {
                let host = socket(&mut read.socket);
                if let ReadKind::Datagram { packet, seen, .. } = &mut read.kind {
                    *packet = packet.map(|id| id.on_host(host));
                    *seen = seen.map(|at| moved(at, wrong(host)));
                }
                host
            }
            Body::Ready(ready) => {
                let host = socket(&mut ready.socket);
                if let ReadyKind::Datagram { packet, seen } = &mut ready.kind {
                    *packet = packet.map(|id| id.on_host(host));
                    *seen = seen.map(|at| moved(at, wrong(host)));
                }
                host
            }
            Body::Wake(wake) => wake.task.pid.host(),
            Body::Packet(packet) => {
                let host = match packet.hook {
                    PacketHook::Xmit => host_of(packet.flow.src.ip()),
                    PacketHook::Rx => host_of(packet.flow.dst.ip()),
                };
                packet.socket.iter_mut().for_each(|id| *id = id.on_host(host));
                (packet.netns, packet.id) = (packet.netns.on_host(host), packet.id.on_host(host));
                packet.queued = packet.queued.map(|at| moved(at, wrong(host)));
                host
            }
            other => panic!("{other:?}"),
        };
        let by = wrong(host);
        if let Body::Wake(wake) = &mut event.body {
            wake.woken = moved(wake.woken, by);
        }
        event.at = moved(event.at, by);
    }
    events.sort_by_key(|event| event.event.at);
    events
}

/// The deliveries that are followed, and all figures.
fn play(
    config: Config,
    events: &[OwnedEvent],
    bounds: Option<HostBounds>,
) -> (Vec<Delivery>, Snapshot) {
    let mut correlator = Correlator::new(config);
    if let Some(bounds) = bounds {
        correlator.set_host_bounds(bounds);
    }
    let mut deliveries = Vec::new();
    let mut sink = |delivery: &Delivery| deliveries.push(delivery.clone());
    let mut now = Nanos(0);
    for event in events {
        correlator.take(&event.event(), &mut sink);
        now = now.max(event.event.at);
    }
    correlator.tick(now + Nanos::from_millis(12_000), &mut sink);
    correlator.finish(&mut sink);
    (deliveries, correlator.snapshot(now + Nanos::from_millis(12_000)))
}

fn bounds(error: u64) -> HostBounds {
    let mut bounds = HostBounds::default();
    bounds.set(1, 2, Some(Nanos(error)));
    bounds
}

fn pair(world: &mut World) -> Connection {
    world.connect(on(1, 7, "ping"), "10.0.0.1:40000", on(2, 7, "pong"), "10.0.0.2:9000")
}

/// Messages of host 1 to host 2, with the times that they took.
fn messages(count: u32) -> (World, Vec<u64>) {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    let times = (0..count)
        .map(|n| {
            world.now += 1_000_000;
            let (sent, read) = world.message(&mut pair.up, &plain(stamp(n), 64));
            read.0 - sent.0
        })
        .collect();
    (world, times)
}

#[test]
fn the_true_time_lies_in_the_interval_that_is_shown() {
    let (world, times) = messages(50);
    let error = 9 * STEP;
    for wrong in (-9..=9).map(|steps| steps * STEP.cast_signed()) {
        let events = of_hosts(&world, |host| if host == 2 { wrong } else { 0 });
        let (deliveries, snapshot) = play(Config::default(), &events, Some(bounds(error)));
        let group = &snapshot.groups[0];
        assert_eq!((group.messages.matched, deliveries.len()), (50, 50), "{wrong}");
        for (delivery, time) in deliveries.iter().zip(&times) {
            let [least, most] = delivery.one_way_range().unwrap().map(|limit| limit.0);
            assert!((least..=most).contains(time), "{wrong}: {least} {time} {most}");
            let hosts = delivery.legs[0].circumstances.path.hosts;
            assert_eq!(hosts, LegHosts { from: 1, to: 2, error: Nanos(error) });
            assert!(!delivery.legs[0].circumstances.loss.resent, "{wrong}");
            assert!(delivery.legs[0].times.get(Stage::Xmit).is_some(), "{wrong}");
        }
        let (shown, errors) = (group.one_way, group.one_way_error);
        assert_eq!(errors.count, 50);
        for (time, error) in [(shown.p50, errors.p50), (shown.p99, errors.p99)] {
            let [least, most] = [time - error, time + error].map(|limit| limit.0);
            assert!((least..=most).contains(&times[0]), "{wrong}: {least} {most}");
        }
        let crossing: Vec<_> = group.segments.iter().filter(|of| of.error > Nanos(0)).collect();
        assert_eq!(crossing.iter().map(|of| of.segment).collect::<Vec<_>>(), [Segment::Wire]);
        let most = (crossing[0].p50 + crossing[0].error).0;
        // The histogram's classes are a hundredth wide.
        let least = (crossing[0].p50 - crossing[0].error).0;
        assert!(most >= STEP && least <= STEP + STEP / 100, "{wrong}: {least} {most}");
    }
}

#[test]
fn a_datagram_that_comes_in_before_it_leaves_is_one() {
    let mut world = World::new();
    let a = end(&mut world, on(1, 7, "ping"), "10.0.0.1:5000");
    let b = end(&mut world, on(2, 7, "pong"), "10.0.0.2:6000");
    let way = flow("10.0.0.1:5000", "10.0.0.2:6000");
    let times: Vec<u64> = (0..40)
        .map(|n| {
            world.now += 100_000;
            let bytes = payload(stamp(n), 64);
            let (sent, read) = datagram(&mut world, way, u64::from(n) + 1, a, &[b], &bytes, ALL);
            read[0].0 - sent.0
        })
        .collect();
    for wrong in (-9..=9).map(|steps| steps * STEP.cast_signed()) {
        let events = of_hosts(&world, |host| if host == 2 { wrong } else { 0 });
        let (deliveries, snapshot) = play(Config::default(), &events, Some(bounds(9 * STEP)));
        let counts = snapshot.groups[0].messages;
        assert_eq!((counts.sent, counts.matched, deliveries.len()), (40, 40, 40), "{wrong}");
        for (delivery, time) in deliveries.iter().zip(&times) {
            let [least, most] = delivery.one_way_range().unwrap().map(|limit| limit.0);
            assert!((least..=most).contains(time), "{wrong}: {least} {time} {most}");
            assert_eq!(delivery.clock_error, Nanos(9 * STEP));
        }
    }
}

#[test]
fn packets_alone_have_the_same_interval() {
    let (world, _) = messages(50);
    let packets = |events: Vec<OwnedEvent>| -> Vec<OwnedEvent> {
        let is_packet = |event: &OwnedEvent| matches!(event.event.body, Body::Packet(_));
        let mut packets: Vec<OwnedEvent> = events.into_iter().filter(is_packet).collect();
        for OwnedEvent { event, .. } in &mut packets {
            let Body::Packet(packet) = &mut event.body else { unreachable!() };
            (packet.socket, packet.task, packet.queued) = (None, TaskId::default(), None);
        }
        packets
    };
    let config = || Config { packets_only: true, ..Config::default() };
    for wrong in (-4..=4).map(|steps| steps * STEP.cast_signed()) {
        let events = packets(of_hosts(&world, |host| if host == 2 { wrong } else { 0 }));
        let (deliveries, snapshot) = play(config(), &events, Some(bounds(4 * STEP)));
        assert_eq!((snapshot.groups[0].messages.matched, deliveries.len()), (50, 50), "{wrong}");
        for delivery in &deliveries {
            let [least, most] = delivery.one_way_range().unwrap().map(|limit| limit.0);
            assert!((least..=most).contains(&STEP), "{wrong}: {least} {most}");
        }
    }
}

#[test]
fn nothing_is_said_of_times_between_hosts_of_which_nothing_is_known() {
    let (world, _) = messages(20);
    let events = of_hosts(&world, |host| if host == 2 { 3_000 } else { 0 });
    let (_, snapshot) = play(Config::default(), &events, Some(HostBounds::default()));
    let counts = snapshot.groups[0].messages;
    assert_eq!((counts.delivered, counts.matched, counts.uncovered), (20, 0, 20));
    // Further apart than they can be: time ran backwards.
    let events = of_hosts(&world, |host| if host == 2 { -20_000 } else { 0 });
    let (_, snapshot) = play(Config::default(), &events, Some(bounds(2_000)));
    let counts = snapshot.groups[0].messages;
    assert_eq!((counts.delivered, counts.matched, counts.uncovered), (20, 0, 20));
}

#[test]
fn from_a_host_by_way_of_another_and_back_all_is_known() {
    let mut world = World::new();
    let broker = on(2, 9, "broker");
    let mut publisher =
        world.connect_mqtt(on(1, 7, "publish"), "10.0.0.1:40000", broker, "10.0.0.2:1883");
    let mut subscriber =
        world.connect_mqtt(on(1, 8, "subscribe"), "10.0.0.1:40001", broker, "10.0.0.2:1883");
    let mut times = Vec::new();
    for n in 0..30 {
        world.now += 1_000_000;
        let bytes = mqtt::publish("t", &plain(stamp(n), 64));
        let (sent, _) = world.message(&mut publisher.up, &bytes);
        let (_, read) = world.message(&mut subscriber.down, &bytes);
        times.push(read.0 - sent.0);
    }
    let events = of_hosts(&world, |host| if host == 2 { -1_500 } else { 0 });
    let config = Config { breakdown: BreakdownQuery::by(&[Dimension::Link]), ..Config::default() };
    let (deliveries, snapshot) = play(config, &events, Some(bounds(2_000)));
    assert_eq!(snapshot.groups[0].messages.matched, 30);
    assert_eq!(snapshot.groups[0].one_way_error.count, 0);
    // Each leg is in the row of its link, with its own time.
    let links = snapshot.breakdown.unwrap().rows;
    let names: Vec<_> = links.iter().map(|row| row.names[0].clone().unwrap()).collect();
    assert_eq!(names, ["host 1 \u{2192} host 2", "host 2 \u{2192} host 1"]);
    for row in &links {
        assert_eq!((row.sent, row.delivered, row.matched), (30, 30, 30));
        assert_eq!(row.clock_error, Nanos(2_000));
        assert!(row.one_way.max < times.iter().copied().map(Nanos).min().unwrap(), "{row:?}");
    }
    for (delivery, time) in deliveries.iter().zip(times) {
        assert_eq!((delivery.one_way(), delivery.clock_error), (Some(Nanos(time)), Nanos(0)));
        assert!(delivery.legs.iter().all(|leg| leg.crossing().is_some()));
    }
    let errors: Vec<_> = snapshot.groups[0]
        .segments
        .iter()
        .filter(|of| of.error > Nanos(0))
        .map(|of| (of.leg, of.segment))
        .collect();
    assert_eq!(errors, [(1, Segment::Wire), (2, Segment::Wire)]);
}

/// True if it is told that messages lose time on the wire, of which each fifth loses 20 ms, with clocks of this error.
fn is_wire_told(error: u64) -> bool {
    let mut world = World::new();
    let mut pair = pair(&mut world);
    for n in 0..1_000 {
        world.now += 50_000_000;
        let bytes = plain(stamp(n), 64);
        let (start, len) = pair.up.advance(bytes.len());
        let way = pair.up;
        world.send(&way, start, len);
        world.xmit(&way, start, &bytes);
        world.now += if n % 5 == 3 { 20_000_000 } else { 0 };
        world.rx(&way, start, len);
        world.ready(&way, way.next);
        world.wake(way.to.1.task, None);
        world.now += STEP;
        world.read(&way, way.next, len);
    }
    let events = of_hosts(&world, |_| 0);
    let (_, snapshot) = play(Config::default(), &events, Some(bounds(error)));
    let verdicts = &snapshot.groups[0].why.verdicts;
    verdicts.iter().any(|verdict| {
        verdict.segment == Some(Segment::Wire) || verdict.kind == VerdictKind::BottleneckLink
    })
}

#[test]
fn a_wire_is_blamed_for_more_than_the_error_of_the_clocks() {
    assert_eq!([10_000, 5_000_000, 25_000_000].map(is_wire_told), [true, true, false]);
}

#[test]
fn a_capture_of_one_host_is_as_before() {
    let (world, times) = messages(20);
    let (deliveries, snapshot) = play(Config::default(), &of_hosts(&world, |_| 0), None);
    assert_eq!(snapshot.groups[0].one_way_error.count, 0);
    for (delivery, time) in deliveries.iter().zip(times) {
        assert_eq!(delivery.one_way(), Some(Nanos(time)));
        assert_eq!(delivery.legs[0].circumstances.path.hosts, LegHosts::default());
    }
}
