//! Rows by client and by group: who is named how, and who is not.

use crate::played::Played;
use wirelap_correlate::{Breakdown, BreakdownQuery, Config, Dimension};
use wirelap_test_support::compose::rtps::{Message, USER_WRITER, sequence};
use wirelap_test_support::compose::{amqp, kafka, mqtt, nats, payload, stamp};
use wirelap_test_support::world::udp::{ALL, datagram, end, flow};
use wirelap_test_support::world::{Connection, World, process};

fn breakdown(world: &World, by: &[Dimension]) -> Breakdown {
    let config = Config { breakdown: BreakdownQuery::by(by), ..Config::default() };
    Played::new(config, &world.events).snapshot.breakdown.unwrap()
}

/// The rows as `name … sent/delivered`, by name; `?` is not known.
fn rows(world: &World, by: &[Dimension]) -> Vec<String> {
    let rows = breakdown(world, by).rows.into_iter().map(|row| {
        let names: Vec<&str> =
            row.names.iter().map(|name| name.as_deref().unwrap_or("?")).collect();
        format!("{} {}/{}", names.join(" "), row.sent, row.delivered)
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

const CLIENT: &[Dimension] = &[Dimension::Client];
const GROUP: &[Dimension] = &[Dimension::Group];
const BOTH: &[Dimension] = &[Dimension::Group, Dimension::Client];

/// A publisher and two readers of a broker.
fn house(world: &mut World, port: u16) -> [Connection; 3] {
    [20_u32, 30, 40].map(|pid| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let to = format!("127.0.0.1:{port}");
        world.connect(process(pid, "client"), &from, process(10, "broker"), &to)
    })
}

#[test]
fn shared_subscriptions_of_mqtt() {
    let mut world = World::new();
    let mut all = house(&mut world, 1883);
    for (connection, name) in all.iter_mut().zip(["maker", "worker", "other"]) {
        world.message(&mut connection.up, &mqtt::connect(name));
        world.message(&mut connection.down, mqtt::CONNACK);
    }
    let [maker, worker, other] = &mut all;
    world.message(&mut worker.up, &mqtt::subscribe("$share/jobs/#"));
    world.message(&mut worker.up, &mqtt::subscribe("$share/billing/jobs/+"));
    world.message(&mut other.up, &mqtt::subscribe("jobs/#"));
    for n in 0..10 {
        let bytes = mqtt::publish("jobs/1", &payload(stamp(n), 64));
        world.message(&mut maker.up, &bytes);
        world.message(&mut other.down, &bytes);
        if n % 2 == 0 {
            world.message(&mut worker.down, &bytes);
        }
    }
    assert_eq!(rows(&world, CLIENT), ["maker 10/0", "other 0/10", "worker 0/5"]);
    // `$share/jobs/#` is the group `jobs` with the filter `#`: both subscriptions match.
    assert_eq!(rows(&world, BOTH), [" maker 10/0", " other 0/10", "? worker 0/5"]);
    let mut world = World::new();
    let [mut maker, mut worker, _] = house(&mut world, 1883);
    world.message(&mut worker.up, &mqtt::connect("worker"));
    world.message(&mut worker.down, mqtt::CONNACK);
    world.message(&mut worker.up, &mqtt::subscribe("$share/billing/jobs/+"));
    world.message(&mut maker.up, &mqtt::connect("maker"));
    world.message(&mut maker.down, mqtt::CONNACK);
    let bytes = mqtt::publish("jobs/1", &payload(stamp(0), 64));
    world.message(&mut maker.up, &bytes);
    world.message(&mut worker.down, &bytes);
    assert_eq!(rows(&world, BOTH), [" maker 1/0", "billing worker 0/1"]);
}

#[test]
fn queue_groups_of_nats() {
    let mut world = World::new();
    let mut all = house(&mut world, 4222);
    for (connection, name) in all.iter_mut().zip(["maker", "worker", "other"]) {
        world.message(&mut connection.up, &nats::connect(name));
    }
    let [maker, worker, other] = &mut all;
    world.message(&mut worker.up, &nats::subscribe("jobs billing 7"));
    world.message(&mut worker.up, &nats::subscribe("jobs 8"));
    world.message(&mut other.up, &nats::subscribe("jobs audit 1"));
    for n in 0..10 {
        let payload = payload(stamp(n), 64);
        world.message(&mut maker.up, &nats::message("PUB jobs", &payload));
        let (sid, reader) = if n % 2 == 0 { (7, &mut *worker) } else { (1, &mut *other) };
        world.message(&mut reader.down, &nats::message(&format!("MSG jobs {sid}"), &payload));
    }
    let last = payload(stamp(10), 64);
    world.message(&mut maker.up, &nats::message("PUB jobs", &last));
    world.message(&mut worker.down, &nats::message("MSG jobs 8", &last));
    let expected = [" maker 11/0", " worker 0/1", "audit other 0/5", "billing worker 0/5"];
    assert_eq!(rows(&world, BOTH), expected);
}

/// Two consumers, each with a connection to the coordinator and one to the leader, all open before anyone looked.
fn consumers(pids: [u32; 2], names: [&str; 2], groups: [&str; 2]) -> World {
    let mut world = World::new();
    let broker = process(10, "java");
    let join = |world: &mut World, pid, port: u16| {
        let from = format!("127.0.0.1:{port}");
        world.existing(process(pid, "client"), &from, broker, "127.0.0.1:9092")
    };
    let mut producer = join(&mut world, 20, 40_000);
    for (n, ((pid, name), group)) in (0u16..).zip(pids.into_iter().zip(names).zip(groups)) {
        let mut coordinator = join(&mut world, pid, 41_000 + n);
        let mut leader = join(&mut world, pid, 42_000 + n);
        if !group.is_empty() {
            world.message(&mut coordinator.up, &kafka::heartbeat_of(name, group, 1));
        }
        for id in 0..5 {
            let value =
                kafka::batch(1, &kafka::record(&payload(stamp(u32::from(n) * 10 + id), 40)));
            let id = id as usize;
            world.message(&mut leader.up, &kafka::fetch_of_client(name, id));
            world.message(&mut producer.up, &kafka::produce(usize::from(n) * 10 + id, "t", &value));
            world.message(&mut leader.down, &kafka::fetched(id, "t", &value));
        }
    }
    world
}

#[test]
fn consumer_groups_of_kafka_hold_for_the_clients_other_connections() {
    let world = consumers([30, 40], ["reader", "reader"], ["billing", "audit"]);
    let expected = [" maker 10/0", "audit reader 0/5", "billing reader 0/5"];
    assert_eq!(rows(&world, BOTH), expected);
    assert_eq!(rows(&world, CLIENT), ["maker 10/0", "reader 0/10"]);
    // A consumer that names no group, and two of one process and name.
    let world = consumers([30, 40], ["reader", "reader"], ["billing", ""]);
    assert_eq!(rows(&world, GROUP), [" 10/0", "? 0/5", "billing 0/5"]);
    let world = consumers([30, 30], ["reader", "reader"], ["billing", "audit"]);
    assert_eq!(rows(&world, GROUP), [" 10/0", "? 0/10"]);
    let world = consumers([30, 30], ["one", "two"], ["billing", "audit"]);
    assert_eq!(rows(&world, GROUP), [" 10/0", "audit 0/5", "billing 0/5"]);
}

#[test]
fn connections_of_amqp() {
    let mut world = World::new();
    let [mut maker, mut reader, _] = house(&mut world, 5672);
    for (connection, name) in [(&mut maker, "maker"), (&mut reader, "reader")] {
        world.message(&mut connection.up, b"AMQP\0\0\x09\x01");
        world.message(&mut connection.up, &amqp::start_ok(name));
    }
    for n in 0..5 {
        let payload = payload(stamp(n), 64);
        world.message(&mut maker.up, &amqp::publish("x", "k", &payload));
        world.message(&mut reader.down, &amqp::deliver("x", "k", n.into(), &payload));
    }
    assert_eq!(rows(&world, CLIENT), ["maker 5/0", "reader 0/5"]);
}

/// The reader's name is that which messages are for; its title comes by multicast, from another port.
#[test]
fn participants_of_dds() {
    let mut world = World::new();
    let writer = end(&mut world, process(1, "pub"), "127.0.0.1:7411");
    let reader = end(&mut world, process(2, "sub"), "127.0.0.1:7413");
    let data = flow("127.0.0.1:7411", "127.0.0.1:7413");
    for n in 0..5 {
        let sample = sequence(true, &payload(stamp(n), 64));
        let message = Message::new(true).info_dst_of([9; 12]);
        let bytes = message.data(USER_WRITER, u64::from(n) + 1, &sample).bytes;
        datagram(&mut world, data, u64::from(n) + 1, writer, &[reader], &bytes, ALL);
    }
    let discovery = flow("127.0.0.1:7411", "239.255.0.1:7400");
    let bytes = Message::new(true).participant("talker").bytes;
    datagram(&mut world, discovery, 6, writer, &[reader], &bytes, ALL);
    let expected = ["09090909:09090909:09090909 0/5", "talker (01100203:04050607:08090a0b) 5/0"];
    assert_eq!(rows(&world, CLIENT), expected);
}

/// Names of 900 bytes, each used once, and each a name that differs from the one before.
#[test]
fn a_client_that_changes_its_name_has_bounded_rows_and_loses_no_message() {
    const CHANGES: u32 = 30_000;
    let mut world = World::new();
    let [mut maker, ..] = house(&mut world, 4222);
    world.message(&mut maker.up, &nats::connect("first"));
    let mut bytes = Vec::new();
    for n in 0..CHANGES {
        bytes.extend(nats::connect(&format!("{n:0900}")));
        bytes.extend(nats::message("PUB jobs", &payload(stamp(n), 16)));
        if bytes.len() > 40_000 {
            world.message(&mut maker.up, &std::mem::take(&mut bytes));
        }
    }
    world.message(&mut maker.up, &bytes);
    let found = breakdown(&world, CLIENT);
    let sent: u64 = found.rows.iter().map(|row| row.sent).sum();
    assert_eq!(sent + found.rest.sent, u64::from(CHANGES));
    let text: usize = found.rows.iter().flat_map(|row| &row.names).flatten().map(String::len).sum();
    assert!(text <= 17 << 20, "{text}");
}

/// A hundred thousand topics, 20 in a packet: those with the fewest messages are put together, the busy one stays.
#[test]
fn a_hundred_thousand_topics_are_bounded_and_add_up() {
    const TOPICS: u32 = 100_000;
    let mut world = World::new();
    let broker = process(10, "broker");
    let to = "127.0.0.1:1883";
    let mut maker = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut reader = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    for first in (0..TOPICS).step_by(20) {
        let mut bytes = mqtt::publish("busy", &payload(stamp(TOPICS + first), 16));
        for n in first..first + 20 {
            bytes.extend(mqtt::publish(&format!("topic/{n}"), &payload(stamp(n), 16)));
        }
        world.message(&mut maker.up, &bytes);
        world.message(&mut reader.down, &bytes);
    }
    let found = breakdown(&world, &[Dimension::Topic]);
    assert!(found.is_crowded && found.rows.len() <= 32_768);
    let counted = |of: fn(&wirelap_correlate::BreakdownRow) -> u64| {
        found.rows.iter().map(of).sum::<u64>() + of(&found.rest)
    };
    let all = u64::from(TOPICS + TOPICS / 20);
    assert_eq!((counted(|row| row.sent), counted(|row| row.delivered)), (all, all));
    let busy = &found.rows[0];
    assert_eq!(busy.names, [Some("busy".to_owned())]);
    assert_eq!(busy.delivered, u64::from(TOPICS / 20));
}
