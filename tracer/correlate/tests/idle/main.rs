//! The memory that connections cost which do nothing. Each test measures the memory of its process, and so needs one of its own, as
//! nextest starts it: memory that one test gave back would hide what another takes.

use wirelap_correlate::{Config, Correlator};
use wirelap_events::{Body, Delivery, Nanos, PacketHook, tcp_flags};
use wirelap_test_support::compose::mqtt;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

const BROKER: &str = "127.0.0.1:1883";

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Takes in what was told, and forgets it.
fn play(correlator: &mut Correlator, world: &mut World) -> u64 {
    let mut deliveries = 0;
    for told in world.events.drain(..) {
        correlator.take(&told.event(), &mut |_: &Delivery| deliveries += 1);
    }
    deliveries
}

/// Connection number `n`, its session and `messages`.
fn session(world: &mut World, n: u32, messages: u32, closes: bool) {
    let from =
        format!("127.{}.{}.{}:{}", n >> 16 & 127, n >> 8 & 255, n & 255, 40_000 + n % 20_000);
    let (client, broker) = (process(1000 + n % 500, "client"), process(10, "broker"));
    let mut connection = world.connect_mqtt(client, &from, broker, BROKER);
    for message in 0..messages {
        let bytes = mqtt::publish("t", &payload(stamp(n * 8 + message), 64));
        world.message(&mut connection.up, &bytes);
    }
    if closes {
        for way in [connection.up, connection.down] {
            let mut fin = world.tcp_packet(&way, PacketHook::Xmit, way.next, 0);
            fin.tcp = fin.tcp.map(|tcp| wirelap_events::TcpFields { flags: tcp_flags::FIN, ..tcp });
            world.tell(Body::Packet(fin), &[]);
            world.tell(Body::Closed(way.from.0), &[]);
        }
    }
}

/// Ten thousand connections, opened at 100 a second, that say now and then that they are there.
#[test]
fn idle_connections() {
    const CONNECTIONS: u32 = 10_000;
    /// Measured: 10.9 KB, of which 0.35 KB are how far its client is on a topic, what it missed of it, and its name, and 0.5 KB its
    /// subscriptions and acknowledgements.
    const EACH: u64 = (11 << 10) + 256;
    let mut correlator = Correlator::new(Config::default());
    let mut world = World::new();
    let before = resident();
    for n in 0..CONNECTIONS {
        session(&mut world, n, 4, false);
        world.now += 10_000_000;
        play(&mut correlator, &mut world);
    }
    // What they needed for their messages is given back.
    for _ in 0..20 {
        world.now += 1_000_000_000;
        correlator.tick(Nanos(world.now), &mut |_: &Delivery| ());
    }
    let each = (resident() - before) / u64::from(CONNECTIONS);
    println!("{each} bytes for an idle connection");
    assert!(each < EACH, "{each}");
    assert_eq!(correlator.snapshot(Nanos(world.now)).trust.evicted, 0);
}

/// Five thousand connections a second that come and go.
#[test]
fn short_connections() {
    const A_SECOND: u32 = 5_000;
    /// Memory of two rounds differs by less.
    const NOISE: u64 = 4 << 20;
    let mut correlator = Correlator::new(Config::default());
    let mut world = World::new();
    let mut second = |n: u32| {
        let start = world.now;
        for connection in 0..A_SECOND {
            session(&mut world, n * A_SECOND + connection, 1, true);
            world.now = world.now.max(start + u64::from(connection) * 200_000);
            play(&mut correlator, &mut world);
        }
        resident()
    };
    let settled = (0..10).map(&mut second).max().unwrap();
    let later = (10..40).map(&mut second).max().unwrap();
    println!("{settled} bytes after 10 s, at most {later} after 40 s");
    assert!(later < settled + NOISE, "{settled}, then {later}");
    let snapshot = correlator.snapshot(Nanos(world.now));
    assert_eq!(snapshot.trust.evicted, 0, "nothing was given up");
    assert_eq!(snapshot.groups[0].messages.sent, u64::from(A_SECOND) * 40);
}
