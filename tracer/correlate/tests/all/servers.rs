//! Messages that go through several servers, and several times to one client.

use crate::played::Played;
use crate::words::words;
use wirelap_test_support::compose::{amqp, mqtt, nats, payload, stamp};
use wirelap_test_support::world::{Connection, Process, World, process};

const FIRST: &str = "127.0.0.1:4222";
const SECOND: &str = "127.0.0.1:4322";
const ROUTE: &str = "127.0.0.1:6222";

/// Two NATS servers that are joined by a route; a publisher and a subscriber at the first, a subscriber at the second.
struct Cluster {
    world: World,
    publisher: Connection,
    local: Connection,
    route: Connection,
    remote: Connection,
}

impl Cluster {
    fn new() -> Cluster {
        let mut world = World::new();
        let servers: [Process; 2] = [process(10, "nats-server"), process(11, "nats-server")];
        let mut route = world.connect(servers[1], "127.0.0.1:39000", servers[0], ROUTE);
        let introduction = "CONNECT {\"name\":\"NA\",\"cluster\":\"C\"}\r\n";
        world.message(&mut route.up, introduction.as_bytes());
        world.message(&mut route.up, b"RS+ $G orders\r\n");
        let mut join = |pid: u32, name: &str, server: usize, at: &str| {
            let from = format!("127.0.0.1:{}", 40_000 + pid);
            let mut client = world.connect(process(pid, name), &from, servers[server], at);
            world.message(&mut client.up, &nats::connect(name));
            client
        };
        let publisher = join(20, "maker", 0, FIRST);
        let local = join(30, "local", 0, FIRST);
        let remote = join(31, "remote", 1, SECOND);
        Cluster { world, publisher, local, route, remote }
    }

    /// A message on the route towards the second server.
    fn routed(&mut self, line: &str, payload: &[u8]) {
        self.world.message(&mut self.route.down, &nats::message(line, payload));
    }

    /// sent, delivered, matched, uncovered, at both servers.
    fn counts(&self) -> [u64; 4] {
        let mut sum = [0; 4];
        for group in &Played::of(&self.world).snapshot.groups {
            let counts = group.messages;
            let row = [counts.sent, counts.delivered, counts.matched, counts.uncovered];
            sum = std::array::from_fn(|n| sum[n] + row[n]);
        }
        sum
    }
}

#[test]
fn a_message_goes_on_over_a_route() {
    let mut cluster = Cluster::new();
    // Equal contents, too, are as many messages.
    for content in [0, 1, 1, 1] {
        let payload = payload(stamp(content), 64);
        let published = nats::message("PUB orders", &payload[16..]);
        cluster.world.message(&mut cluster.publisher.up, &published);
        cluster.routed("RMSG $G orders", &payload[16..]);
        let delivered = nats::message("MSG orders 1", &payload[16..]);
        cluster.world.message(&mut cluster.local.down, &delivered);
        cluster.world.message(&mut cluster.remote.down, &delivered);
    }
    assert_eq!(cluster.counts(), [4, 8, 8, 0]);
    let played = Played::of(&cluster.world);
    let legs = |n: usize| played.deliveries.iter().filter(|one| one.legs.len() == n).count();
    assert_eq!((legs(2), legs(3)), (4, 4));
}

#[test]
fn what_a_server_has_stored_is_sent_by_nobody() {
    let mut cluster = Cluster::new();
    let payload = payload(stamp(0), 64);
    cluster.routed("RMSG $G _INBOX.x $JS.ACK.S.C.1.1.1.1.0@orders", &payload);
    let line = "MSG orders 1 $JS.ACK.S.C.1.1.1.1.0";
    cluster.world.message(&mut cluster.remote.down, &nats::message(line, &payload));
    assert_eq!(cluster.counts(), [0, 1, 0, 1]);
}

#[test]
fn what_servers_say_to_each_other_is_no_message_of_the_application() {
    let mut cluster = Cluster::new();
    for line in ["RMSG $NRG.AE.S $NRG.R.x", "RMSG $JSC.ARU.$G.x", "RMSG $G $JS.ACK.S.C.1.1.1.1.0"] {
        cluster.routed(line, b"0123456789");
    }
    cluster.routed("RMSG _R_.x.y", b"{\"type\":\"io.nats.jetstream.api.v1.x\"}");
    assert_eq!(cluster.counts(), [0, 0, 0, 0]);
}

#[test]
fn one_route_carries_a_message_for_each_consumer() {
    let mut cluster = Cluster::new();
    for n in 0..3 {
        let payload = payload(stamp(n), 64);
        cluster.world.message(&mut cluster.publisher.up, &nats::message("PUB orders", &payload));
        for (consumer, inbox) in [("C", "_INBOX.x"), ("D", "_INBOX.y")] {
            cluster.routed(
                &format!("RMSG $G {inbox} $JS.ACK.S.{consumer}.1.1.1.1.0@orders"),
                &payload,
            );
            let line = format!("MSG orders {inbox} $JS.ACK.S.{consumer}.1.1.1.1.0");
            cluster.world.message(&mut cluster.remote.down, &nats::message(&line, &payload));
        }
    }
    assert_eq!(cluster.counts(), [3, 6, 6, 0]);
}

#[test]
fn a_server_without_use_for_a_message_has_not_lost_it() {
    let mut cluster = Cluster::new();
    for n in 0..100 {
        let payload = payload(stamp(n), 64);
        cluster.world.message(&mut cluster.publisher.up, &nats::message("PUB orders", &payload));
        cluster.routed("RMSG $G orders", &payload);
        if n % 10 != 5 {
            let delivered = nats::message("MSG orders 1", &payload);
            cluster.world.message(&mut cluster.local.down, &delivered);
        }
    }
    let played = Played::of(&cluster.world);
    let verdicts = played.snapshot.groups.iter().flat_map(|group| &group.why.verdicts);
    let told: Vec<String> = verdicts.map(words).collect();
    assert_eq!(told, ["10 of 100 messages were read by the broker and passed on to nobody"]);
}

/// A publisher and a subscriber, which gets each of these messages twice, with these bytes.
fn twice(port: u16, opening: &[u8], published: &[Vec<u8>], delivered: &[[Vec<u8>; 2]]) -> [u64; 4] {
    let mut world = World::new();
    let (server, at) = (process(10, "server"), format!("127.0.0.1:{port}"));
    let mut join = |pid, from| {
        let mut client = world.connect(process(pid, "client"), from, server, &at);
        world.message(&mut client.up, opening);
        client
    };
    let [mut maker, mut taker] = [join(20, "127.0.0.1:40000"), join(30, "127.0.0.1:40001")];
    for (published, delivered) in published.iter().zip(delivered) {
        world.message(&mut maker.up, published);
        for bytes in delivered {
            world.message(&mut taker.down, bytes);
        }
    }
    Played::of(&world).counts()
}

#[test]
fn a_client_gets_a_message_once_for_each_subscription() {
    // The last three have the same content.
    let contents: Vec<Vec<u8>> =
        [0, 1, 2, 2, 2].map(|n| payload(stamp(n), 64)[16..].to_vec()).into();
    let all =
        |encode: &dyn Fn(&[u8]) -> Vec<u8>| contents.iter().map(|c| encode(c)).collect::<Vec<_>>();
    let both = |encode: &dyn Fn(usize, &[u8]) -> Vec<u8>| {
        contents.iter().map(|c| [encode(0, c), encode(1, c)]).collect::<Vec<_>>()
    };
    let published = all(&|content| nats::message("PUB orders", content));
    let delivered = both(&|n, content| nats::message(&format!("MSG orders {n}"), content));
    assert_eq!(twice(4222, &nats::connect("c"), &published, &delivered), [5, 10, 10, 0], "NATS");
    let published = all(&|content| amqp::publish("", "orders", content));
    let delivered = both(&|n, content| amqp::deliver_on([1, 2][n], ["", "orders"], 1, content));
    assert_eq!(twice(5672, b"AMQP\0\0\x09\x01", &published, &delivered), [5, 10, 10, 0], "AMQP");
    let published = all(&|content| mqtt::publish_v5("orders", content));
    let delivered = both(&|n, content| mqtt::publish_v5_for([1, 2][n], "orders", content));
    assert_eq!(twice(1883, mqtt::CONNECT_V5, &published, &delivered), [5, 10, 10, 0], "MQTT 5");
}
