//! The cost of one event: an MQTT stream through a broker, two legs a message, ticks included.
//!
//! Measured in CPU time of the thread, so that a busy machine does not count.

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wirelap_correlate::{BreakdownQuery, Config, Correlator, Dimension};
use wirelap_events::{Delivery, Nanos};
use wirelap_test_support::compose::mqtt;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::traffic::{self, Every};
use wirelap_test_support::world::{World, process};

const MESSAGES: u32 = 40_000;

/// MQTT messages through a broker at 20,000 a second, 12 events each.
///
/// The first half brings the correlator's tables to the size that they keep; the second half is measured.
fn traffic(payload_len: usize, per_send: u32) -> Vec<OwnedEvent> {
    let mut world = World::new();
    let broker = process(10, "broker");
    let to = "127.0.0.1:1883";
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    for n in 0..MESSAGES / per_send {
        let bytes: Vec<u8> = (0..per_send)
            .flat_map(|m| {
                let stamp = stamp(n * per_send + m);
                mqtt::publish("wirelap/data", &payload(stamp, payload_len))
            })
            .collect();
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 36_000;
    }
    world.events
}

/// Settings with a patience so short that messages are forgotten as fast as they come, as they are in a long run.
fn steady() -> Config {
    Config { patience: Nanos::from_millis(200), ..Config::default() }
}

/// Correlates events, with a tick every five milliseconds. Returns the number of deliveries.
fn play(correlator: &mut Correlator, told: &[OwnedEvent]) -> u64 {
    let (mut deliveries, mut ticks) = (0, Every::TICK);
    for told in told {
        let event = told.event();
        correlator.event(&event);
        if ticks.is_due(event.at) {
            correlator.tick(event.at, &mut |_: &Delivery| deliveries += 1);
        }
    }
    deliveries
}

/// A correlator that has been given the first half of the events.
fn warm(told: &[OwnedEvent]) -> Correlator {
    let mut correlator = Correlator::new(steady());
    play(&mut correlator, told);
    correlator
}

fn benches(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("mqtt, two legs");
    for (name, payload, per_send) in
        [("64 B, one a send", 64, 1), ("64 B, 20 a send", 64, 20), ("8 KiB, one a send", 8192, 1)]
    {
        let told = traffic(payload, per_send);
        let (first, second) = told.split_at(told.len() / 2);
        let deliveries = play(&mut warm(first), second);
        assert!(deliveries > u64::from(MESSAGES) * 4 / 10, "{deliveries}");
        group.throughput(Throughput::Elements(second.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || warm(first),
                // Handed back, so that dropping it is not measured.
                |mut correlator| (black_box(play(&mut correlator, second)), correlator),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Events of a busy flow beside idle connections that send pings: those before the measurement, and those that are measured.
struct Crowd {
    before: Vec<OwnedEvent>,
    during: Vec<OwnedEvent>,
}

const SECOND: u64 = 1_000_000_000;

/// New connections a second.
const OPENED: u64 = 100;

/// Seconds between two pings of an idle connection.
const KEEP_ALIVE: u64 = 60;

/// Messages of the busy flow.
const BUSY: u32 = 20_000;

fn crowd(idle: u64) -> Crowd {
    let mut world = World::new();
    let broker = process(10, "broker");
    let to = "127.0.0.1:1883";
    let join = |world: &mut World, n: u64| {
        let from = format!("127.0.{}.{}:40000", n / 250, n % 250 + 1);
        let client = process(1000 + u32::try_from(n).unwrap_or_default(), "idle");
        world.connect_mqtt(client, &from, broker, to)
    };
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    let start = world.now;
    let mut all = Vec::new();
    for n in 0..idle {
        world.now = world.now.max(start + n * SECOND / OPENED);
        all.push(join(&mut world, n));
    }
    let mut split = 0;
    let (mut due, mut opened) = (world.now, world.now);
    for n in 0..2 * BUSY {
        if n == BUSY {
            split = world.events.len();
        }
        let bytes = mqtt::publish("wirelap/data", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 36_000;
        if world.now >= opened {
            opened += SECOND / OPENED;
            join(&mut world, idle + u64::from(n));
        }
        while world.now >= due && !all.is_empty() {
            due += KEEP_ALIVE * SECOND / idle;
            let index = n as usize % all.len();
            world.message(&mut all[index].up, b"\xc0\x00");
            world.message(&mut all[index].down, b"\xd0\x00");
        }
    }
    let during = world.events.split_off(split);
    Crowd { before: world.events, during }
}

/// The cost of a message on the busy flow, snapshots included.
fn crowds(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("beside idle connections");
    for idle in [10, 10_000] {
        let Crowd { before, during } = crowd(idle);
        let deliveries = play(&mut warm(&before), &during);
        assert!(deliveries > u64::from(BUSY) * 9 / 10, "{deliveries}");
        group.throughput(Throughput::Elements(u64::from(BUSY)));
        group.bench_function(format!("{idle} idle"), |bencher| {
            bencher.iter_batched(
                || warm(&before),
                |mut correlator| {
                    let mut count = 0;
                    // A snapshot each quarter of a second.
                    for part in during.chunks(during.len() / 4) {
                        count += play(&mut correlator, part);
                        black_box(correlator.snapshot(Nanos(0)));
                    }
                    (count, correlator)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Messages of many clients, half of them publishers, each of which has a subscriber. Several of these pairs share a topic. Returns the
/// events before the measurement, and those that are measured.
fn many(clients: u32, topics: u32) -> (Vec<OwnedEvent>, Vec<OwnedEvent>) {
    let mut world = World::new();
    let broker = process(10, "broker");
    let pairs = clients / 2;
    let mut join = |n: u32, side: u32| {
        let from = format!("127.{side}.{}.{}:40000", n / 250, n % 250 + 1);
        let client = process(100_000 * side + n, "client");
        let mut connection = world.connect(client, &from, broker, "127.0.0.1:1883");
        let name = mqtt::connect(&format!("client-{side}-{n}"));
        world.message(&mut connection.up, &name);
        world.message(&mut connection.down, mqtt::CONNACK);
        if side == 2 {
            let subscribe = mqtt::subscribe(&format!("$share/group-{}/#", n % 10));
            world.message(&mut connection.up, &subscribe);
        }
        connection
    };
    let mut all: Vec<_> = (0..pairs).map(|n| (join(n, 1), join(n, 2))).collect();
    let mut split = 0;
    for n in 0..2 * BUSY {
        if n == BUSY {
            split = world.events.len();
        }
        let pair = n * 7 % pairs;
        let (publisher, subscriber) = &mut all[pair as usize];
        let bytes = mqtt::publish(&format!("wirelap/{}", pair % topics), &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 36_000;
    }
    let during = world.events.split_off(split);
    (world.events, during)
}

/// The cost of a message with and without `--by`.
fn breakdowns(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("10,000 clients on 1,000 topics");
    let (before, during) = many(10_000, 1_000);
    let cases: [(&str, &[Dimension]); 4] = [
        ("one row", &[]),
        ("by client", &[Dimension::Client]),
        ("by broker, topic, client", &[Dimension::Broker, Dimension::Topic, Dimension::Client]),
        ("by group, topic, host", &[Dimension::Group, Dimension::Topic, Dimension::Host]),
    ];
    for (name, by) in cases {
        let warm = || {
            let mut correlator =
                Correlator::new(Config { breakdown: BreakdownQuery::by(by), ..steady() });
            play(&mut correlator, &before);
            correlator
        };
        group.throughput(Throughput::Elements(u64::from(BUSY)));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                warm,
                |mut correlator| (black_box(play(&mut correlator, &during)), correlator),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Measures the cost of a message where messages pile up, in a session that somebody watches.
fn piled_up(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("messages pile up");
    let cases: [(&str, traffic::Maker); 4] = [
        ("slow subscriber, 50 clients", |messages| traffic::slow_subscriber(messages, 50)),
        ("slow subscriber, 1,000 clients", |messages| traffic::slow_subscriber(messages, 1_000)),
        ("broker that blocks publishers", traffic::blocked),
        ("acknowledged one by one", traffic::acknowledged),
    ];
    for (name, make) in cases {
        let told = make(BUSY);
        let (before, during) = told.split_at(told.len() / 2);
        assert!(watch(&mut patient(before), during) > u64::from(BUSY) / 10);
        group.throughput(Throughput::Elements(u64::from(BUSY / 2)));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || patient(before),
                |mut correlator| (black_box(watch(&mut correlator, during)), correlator),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// A correlator that keeps messages as long as a session does, and that has been given these events.
fn patient(told: &[OwnedEvent]) -> Correlator {
    let mut correlator = Correlator::new(Config::default());
    watch(&mut correlator, told);
    correlator
}

/// Correlates events as a session does that somebody watches. Returns the number of deliveries.
fn watch(correlator: &mut Correlator, told: &[OwnedEvent]) -> u64 {
    let (mut deliveries, mut looks) = (0, Every::LOOK);
    for told in told {
        let event = told.event();
        correlator.take(&event, &mut |_: &Delivery| deliveries += 1);
        if looks.is_due(event.at) {
            black_box(correlator.holding(event.at));
            black_box(correlator.snapshot(event.at));
        }
    }
    deliveries
}

criterion_group! {
    name = pipeline;
    config = Criterion::default().with_measurement(CpuTime).sample_size(10);
    targets = benches, crowds, breakdowns, piled_up
}
criterion_main!(pipeline);
