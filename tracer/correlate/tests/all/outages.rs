//! Brokers that end, and others that serve at their address since: who was away, and who is named.

use crate::audience::{Audience, Watch};
use crate::words::words;
use wirelap_correlate::{Clause, Group, Severity, Verdict, VerdictKind};
use wirelap_events::{Body, Nanos, PacketHook, Pid, ProcessEnd, Seq, TcpFields, tcp_flags};
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, produce, record};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World, process};

const KAFKA: &str = "127.0.0.1:9092";

/// Connects a client of a process to a broker of another one. Each connection has sequence numbers of its own.
fn connect(world: &mut World, client: (u32, &str), broker: u32, port: u16) -> Connection {
    let (pid, name) = client;
    let from = format!("127.0.0.1:{port}");
    let isn = Seq(u32::from(port) << 14);
    world.connect_at(process(pid, name), &from, process(broker, "java"), KAFKA, isn)
}

/// A client's attempt to connect is refused: nobody listens.
fn refused(world: &mut World, client: (u32, &str), port: u16) {
    refused_at(world, client, KAFKA, port);
}

fn refused_at(world: &mut World, (pid, name): (u32, &str), server: &str, port: u16) {
    let mut elsewhere = World::new();
    let (client, from) = (process(pid, name), format!("127.0.0.1:{port}"));
    let isn = Seq(u32::from(port) << 14);
    let nobody = process(0, "");
    let Connection { up, down } = elsewhere.connect_at(client, &from, nobody, server, isn);
    let syn = Seq(up.next.0.wrapping_sub(1));
    let answer = (down, Seq(0), tcp_flags::RST | tcp_flags::ACK, up.next);
    for (way, seq, flags, ack) in [(up, syn, tcp_flags::SYN, Seq(0)), answer] {
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            let mut packet = world.tcp_packet(&way, hook, seq, 0);
            packet.socket = None;
            packet.tcp = packet.tcp.map(|tcp| TcpFields { flags, ack, ..tcp });
            world.tell(Body::Packet(packet), &[]);
        }
    }
}

/// The way in which a consumer lost its connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// The broker was killed, and attempts to connect are refused until another process serves.
    KilledAndRefuses,
    /// The broker was killed, and nobody tries to connect before another process serves.
    Killed,
    /// The consumer closed it.
    ByConsumer,
    /// The broker closed it, and serves others.
    ByBroker,
    /// A process that the broker's had forked for this connection closed it and ended.
    ByForked,
}

/// The process that accepts has handed a connection to one that it forked.
fn forked(connection: &mut Connection, pid: u32) {
    (connection.up.to.1, connection.down.from.1) = (process(pid, "java"), process(pid, "java"));
}

/// Thirty records, each of which the consumer gets at once. Then the consumer's connection ends. Thirty more records are produced, and the
/// consumer comes back and gets them.
fn crashed(ended: Ended) -> Watch {
    let mut world = World::new();
    let (maker, taker) = ((20, "producer"), (30, "consumer"));
    let mut producer = connect(&mut world, maker, 10, 40_020);
    let mut consumer = connect(&mut world, taker, 10, 40_030);
    if ended == Ended::ByForked {
        forked(&mut consumer, 15);
    }
    let mut watch = Watch::new(world);
    let records = |n: u8| batch(1, &record(&[n; 20]));
    for n in 0..30_u8 {
        watch.world.message(&mut consumer.up, &fetch(n.into()));
        watch.world.message(&mut producer.up, &produce(n.into(), "t", &records(n)));
        watch.world.message(&mut consumer.down, &fetched(n.into(), "t", &records(n)));
        watch.take(100);
    }
    let is_killed = matches!(ended, Ended::Killed | Ended::KilledAndRefuses);
    let closes = if ended == Ended::ByConsumer { consumer.up } else { consumer.down };
    watch.world.tell(Body::Closed(closes.from.0), &[]);
    let mut broker = 10;
    if is_killed {
        broker = 11;
        watch.world.tell(Body::Closed(producer.down.from.0), &[]);
        watch.take(300);
        if ended == Ended::KilledAndRefuses {
            refused(&mut watch.world, taker, 40_031);
        }
        watch.take(700);
        producer = connect(&mut watch.world, maker, broker, 40_021);
    }
    for n in 30..60_u8 {
        watch.world.message(&mut producer.up, &produce(n.into(), "t", &records(n)));
        watch.take(100);
    }
    consumer = connect(&mut watch.world, taker, broker, 40_032);
    if ended == Ended::ByForked {
        forked(&mut consumer, 16);
    }
    for n in 30..60_u8 {
        watch.world.message(&mut consumer.up, &fetch(n.into()));
        watch.world.message(&mut consumer.down, &fetched(n.into(), "t", &records(n)));
        watch.take(20);
    }
    watch.take(1_000);
    watch
}

fn group(watch: &Watch) -> Group {
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    assert_eq!(groups.len(), 1, "{groups:?}");
    groups.remove(0)
}

fn of_kind(group: &Group, kind: VerdictKind) -> Option<&Verdict> {
    group.why.verdicts.iter().find(|verdict| verdict.kind == kind)
}

#[test]
fn who_was_away_is_who_had_gone() {
    for ended in [
        Ended::KilledAndRefuses,
        Ended::Killed,
        Ended::ByConsumer,
        Ended::ByBroker,
        Ended::ByForked,
    ] {
        let group = group(&crashed(ended));
        assert_eq!(group.messages.delivered, 60, "{ended:?}");
        let away = [VerdictKind::BrokerAway, VerdictKind::SubscriberAway];
        let [broker, subscriber] = away.map(|kind| of_kind(&group, kind));
        let is_broker = matches!(ended, Ended::KilledAndRefuses | Ended::Killed);
        let found = (broker.is_some(), subscriber.is_some());
        assert_eq!(found, (is_broker, !is_broker), "{ended:?}: {:?}", group.why.verdicts);
        let named = broker.or(subscriber).and_then(|one| one.process).map(|(task, _)| task.pid.0);
        assert_eq!(named, Some(if is_broker { 11 } else { 30 }), "{ended:?}");
    }
}

#[test]
fn the_process_that_serves_now_is_named() {
    // A new server is named as soon as it serves, before it has delivered anything.
    let mut all = Audience::new();
    for n in 0..20 {
        let bytes = all.publish_number(n);
        all.second_gets(&bytes);
        all.watch.take(100);
    }
    let brokers = |watch: &Watch| {
        let group = group(watch);
        let all = group.processes.into_iter().filter(|process| process.role == "broker");
        all.map(|process| (process.pid.0, process.comm)).collect::<Vec<_>>()
    };
    assert_eq!(brokers(&all.watch), [(10, "mosquitto".to_owned())]);
    let world = &mut all.watch.world;
    for down in [all.publisher.down, all.subscribers[0].down, all.subscribers[1].down] {
        world.tell(Body::Closed(down.from.0), &[]);
    }
    let broker = process(12, "rumqttd");
    let (publisher, at) = (process(20, "pub"), crate::brokered::BROKER);
    let mut again = world.connect_mqtt(publisher, "127.0.0.1:41020", broker, at);
    world.message(&mut again.up, &publish("t", &payload(stamp(20), 64)));
    all.watch.take(1_000);
    let named = [(10, "mosquitto".to_owned()), (12, "rumqttd".to_owned())];
    assert_eq!(brokers(&all.watch), named);
    let group = group(&all.watch);
    assert_eq!(group.broker.as_deref(), Some("rumqttd"));
}

/// Thirty messages, and then the broker is killed. `with` of its clients end with it; the publisher tries to come back so often.
fn killed(status: u32, with: &[u32], attempts: u16) -> Group {
    let mut all = Audience::new();
    for n in 0..30 {
        let bytes = all.publish_number(n);
        all.second_gets(&bytes);
        all.watch.take(100);
    }
    let end = |pid: u32, status| {
        let task = process(pid, "").task;
        Body::Ended(ProcessEnd { task, status, ..ProcessEnd::default() })
    };
    let world = &mut all.watch.world;
    world.tell(end(10, status), &[]);
    for down in [all.publisher.down, all.subscribers[0].down, all.subscribers[1].down] {
        world.tell(Body::Closed(down.from.0), &[]);
    }
    for &pid in with {
        world.tell(end(pid, 15), &[]);
    }
    for attempt in 0..attempts {
        refused_at(world, (20, "pub"), crate::brokered::BROKER, 41_000 + attempt);
    }
    all.watch.take(3_000);
    group(&all.watch)
}

#[test]
fn a_broker_that_dies_for_good_is_told() {
    let told = |group: &Group| {
        let verdict = of_kind(group, VerdictKind::BrokerAway)?;
        let [Clause::ServerGone(gone)] = &verdict.evidence[..] else { panic!("{verdict:?}") };
        let who = verdict.process.map(|(task, name)| (task.pid.0, name.as_str().to_owned()));
        assert_eq!(who, Some((10, "mosquitto".to_owned())));
        Some((verdict.severity, (**gone).clone()))
    };
    let killed_alone = killed(9, &[], 4);
    assert!(!killed_alone.why.is_healthy());
    let (severity, gone) = told(&killed_alone).unwrap();
    assert_eq!((severity, gone.connections, gone.refused), (Severity::Problem, 3, 4));
    assert_eq!(gone.end.and_then(|end| end.signal()), Some(9));
    let clients: Vec<_> = gone.clients.iter().map(|(pid, _)| pid.0).collect();
    assert_eq!(clients, [20, 30, 31]);
    // Nobody tries to come back: those who were connected live on all the same.
    assert_eq!(told(&killed(9, &[], 0)).unwrap().0, Severity::Problem);
    // All of it was ended.
    assert_eq!(told(&killed(9, &[20, 30, 31], 0)).unwrap().0, Severity::Note);
    // It was asked to end.
    assert_eq!(told(&killed(15, &[], 0)).unwrap().0, Severity::Note);
    assert_eq!(told(&killed(15, &[], 2)).unwrap().0, Severity::Problem);
}

/// The first of several processes at one address that was seen gives its name, as long as it has connections.
#[test]
fn a_further_process_at_the_address_replaces_nobody() {
    let mut all = Audience::new();
    let mut further = None;
    for n in 0..20 {
        let bytes = all.publish_number(n);
        all.second_gets(&bytes);
        all.watch.take(100);
        let world = &mut all.watch.world;
        let client = further.get_or_insert_with(|| {
            let (client, at) = (process(40, "pub"), crate::brokered::BROKER);
            world.connect_mqtt(client, "127.0.0.1:41040", process(12, "worker"), at)
        });
        world.message(&mut client.up, &publish("u", &payload(stamp(100 + n), 64)));
    }
    all.watch.take(1_000);
    assert_eq!(group(&all.watch).broker.as_deref(), Some("mosquitto"));
}

/// Messages that a subscriber had not got are said to be lost with the broker where that was killed; where the broker goes on, that it
/// closed the connection is said.
#[test]
fn what_nobody_got_when_the_broker_ended_is_the_brokers() {
    for is_gone in [true, false] {
        let mut all = Audience::new();
        all.second_gets_half_of_sixty();
        let world = &mut all.watch.world;
        world.tell(Body::Closed(all.subscribers[1].down.from.0), &[]);
        if is_gone {
            for down in [all.publisher.down, all.subscribers[0].down] {
                world.tell(Body::Closed(down.from.0), &[]);
            }
            let (broker, at) = (process(12, "mosquitto"), crate::brokered::BROKER);
            let mut again = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41020", broker, at);
            world.message(&mut again.up, &publish("u", &payload(stamp(60), 64)));
        }
        all.watch.take(2_000);
        let group = group(&all.watch);
        let never = of_kind(&group, VerdictKind::NeverDelivered).unwrap();
        let said = words(never);
        let how = if is_gone {
            "when the broker was gone, and its connection with it"
        } else {
            "when the broker closed its connection"
        };
        assert!(said.contains(how), "{said}");
        assert!(said.contains("sub (pid 31)"), "{said}");
        let serves = group.processes.iter().find(|process| process.pid == Pid(12));
        assert_eq!(serves.is_some(), is_gone);
    }
}
