//! Two processes and every middleware: what one says it sent, the other says it got.

mod common;

use common::{Case, Workload, eventually, expected_stamps, records};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;
use wirelap_contract::{LinkTransport, Role, Spec, TruthKind};
use wirelap_events::Nanos;

/// Publishes and subscribes; each message must come exactly once and not before it was sent.
fn one_way(mut case: Case) {
    let folder = tempfile::tempdir().unwrap();
    let (sent, got) = (folder.path().join("pub"), folder.path().join("sub"));
    let broker = case.start_broker();
    let subscriber = case.start_listener(Role::Sub, Some(&got));
    let mut publisher =
        Workload::start(&Spec { truth: Some(sent.clone()), ..case.role(Role::Pub) });
    publisher.go();
    let (published, received) = (publisher.done(), subscriber.done());
    let messages = case.base.messages.unwrap();
    assert_eq!((published.sent, published.received), (Some(messages), Some(0)));
    assert_eq!((received.received, received.duplicates), (Some(messages), 0));
    assert!(published.first_ns <= received.first_ns && received.first_ns <= received.last_ns);
    assert_same_messages(&case.base, &sent, &got);
    if let Some(mut broker) = broker {
        broker.close_stdin();
        broker.done();
    }
}

fn assert_same_messages(spec: &Spec, sent: &Path, got: &Path) {
    let published = records(sent, TruthKind::Publish);
    let delivered = records(got, TruthKind::Deliver);
    let expected = expected_stamps(spec, false);
    assert_eq!(published.len(), expected.len());
    assert_eq!(delivered.len(), expected.len());
    for stamp in expected {
        let (publish, deliver) = (published[&stamp], delivered[&stamp]);
        assert!(publish.at <= deliver.at, "{publish:?} {deliver:?}");
        assert!(publish.aux <= publish.at.0, "sent before its intended time: {publish:?}");
    }
}

/// Every ping is answered, and both sides tell the same story.
fn round_trips(mut case: Case) {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("ping"), folder.path().join("pong"));
    let broker = case.start_broker();
    let pong = case.start_listener(Role::Pong, Some(&there));
    let mut ping = Workload::start(&Spec { truth: Some(here.clone()), ..case.role(Role::Ping) });
    ping.go();
    let (ping, pong) = (ping.done(), pong.done());
    let messages = case.base.messages.unwrap();
    assert_eq!((ping.sent, ping.received, ping.duplicates), (Some(messages), Some(messages), 0));
    assert_eq!((pong.sent, pong.received, pong.duplicates), (Some(messages), Some(messages), 0));
    let rtt = ping.rtt.unwrap();
    assert_eq!(rtt.count, messages);
    assert!(rtt.p50_ns <= rtt.p99_ns && rtt.p99_ns <= rtt.max_ns && rtt.p50_ns > 0);
    assert_same_messages(&case.base, &here, &there);
    assert_round_trips(&case.base, &here, &there);
    drop(broker);
}

fn assert_round_trips(spec: &Spec, here: &Path, there: &Path) {
    let pings = records(here, TruthKind::Publish);
    let round_trips = records(here, TruthKind::RoundTrip);
    let replies = records(there, TruthKind::Publish);
    let answers = records(here, TruthKind::Deliver);
    // Over DDS the answering end may come to know the reader of its replies later than that reader its writer, and what it
    // writes before is for nobody: the first of the warm-up.
    let unanswered = usize::from(spec.middleware == "dds");
    assert!(round_trips.len() + unanswered >= pings.len(), "{} {}", round_trips.len(), pings.len());
    for (ping, reply) in expected_stamps(spec, false).iter().zip(expected_stamps(spec, true)) {
        if ping.warmup && !round_trips.contains_key(ping) {
            continue;
        }
        let (published, trip) = (pings[ping], round_trips[ping]);
        assert_eq!(Nanos(trip.aux), trip.at - published.at);
        assert_eq!(answers[&reply].at, trip.at);
        assert!(published.at <= replies[&reply].at && replies[&reply].at <= trip.at);
    }
}

macro_rules! pairs {
    ($($name:ident: $case:expr;)*) => {
        mod pub_sub { $(#[test] fn $name() { super::one_way($case); })* use super::*; }
        mod ping_pong { $(#[test] fn $name() { super::round_trips($case); })* use super::*; }
    };
}

pairs! {
    tcp: Case::of("tcp");
    tcp_smallest: Case::of("tcp").payload(8, 500);
    tcp_1_mb: Case::of("tcp").payload(1_000_000, 20);
    udp: Case::of("udp").rate(5_000.0);
    udp_largest: Case::of("udp").payload(65_507, 50).rate(500.0);
    rumqttd_qos_0: Case::mqtt("rumqttd", 0);
    rumqttd_qos_1: Case::mqtt("rumqttd", 1);
    rumqttd_qos_2: Case::mqtt("rumqttd", 2);
    rumqttd_1_mb: Case::mqtt("rumqttd", 0).payload(1_000_000, 20);
    mosquitto_qos_0: Case::mqtt("mosquitto", 0);
    mosquitto_qos_1: Case::mqtt("mosquitto", 1);
    mosquitto_qos_2: Case::mqtt("mosquitto", 2).payload(8, 500);
    mosquitto_1_mb: Case::mqtt("mosquitto", 1).payload(1_000_000, 20);
    kafka_mock: Case::kafka("mock").payload(8, 500);
    kafka_mock_acks_1_lz4: Case::kafka("mock").set("acks", "1").set("compression.type", "lz4");
    kafka_mock_1_mb: Case::kafka("mock").payload(1_000_000, 20).rate(50.0);
    kafka_apache: Case::kafka("apache");
    kafka_apache_1_mb: Case::kafka("apache").payload(1_000_000, 20).set("acks", "1");
    kafka_apache_group: Case::kafka("apache").set("acks", "all").set("compression.type", "zstd")
        .set("group.id", "pairs").set("partitions", "3");
    zenoh_tcp: Case::zenoh(LinkTransport::Tcp);
    zenoh_tcp_4_mb: Case::zenoh(LinkTransport::Tcp).payload(4_000_000, 10);
    zenoh_router: Case::routed("router");
    zenoh_router_smallest: Case::routed("router").payload(8, 500);
    zenoh_router_1_mb: Case::routed("router").payload(1_000_000, 20);
    dds: Case::of("dds");
    dds_odd_size: Case::of("dds").payload(9, 500);
    opcua: Case::opcua();
    opcua_smallest: Case::opcua().payload(8, 500);
    opcua_1_mb: Case::opcua().payload(1_000_000, 20);
    opcua_write: Case::of("opcua-write");
    opcua_write_smallest: Case::of("opcua-write").payload(8, 500);
    opcua_write_1_mb: Case::of("opcua-write").payload(1_000_000, 20);
    dds_200_kb: Case::of("dds").payload(200_000, 20);
    amqp: Case::amqp();
    amqp_8_mb: Case::amqp().payload(8 << 20, 5);
    amqp_1_mb: Case::amqp().payload(1_000_000, 20);
    amqp_unconfirmed: Case::amqp().set("confirms", "false").set("acks", "false").payload(8, 500);
    nats: Case::nats();
    nats_smallest: Case::nats().payload(8, 500);
    nats_8_mb: Case::nats().payload(8 << 20, 5);
    nats_jetstream: Case::nats().set("jetstream", "true");
    nats_jetstream_on_disk: Case::nats().set("jetstream", "true").set("storage", "file").payload(8, 500);
    nats_jetstream_1_mb: Case::nats().set("jetstream", "true").payload(1_000_000, 20);
    zeromq: Case::of("zeromq");
    zeromq_smallest: Case::of("zeromq").payload(8, 500);
    zeromq_8_mb: Case::of("zeromq").payload(8 << 20, 10);
    zeromq_rust: Case::of("zeromq-rust");
    zeromq_rust_smallest: Case::of("zeromq-rust").payload(8, 500);
    zeromq_rust_8_mb: Case::of("zeromq-rust").payload(8 << 20, 10);
}

#[test]
fn zeromq_has_other_sockets() {
    for name in ["zeromq", "zeromq-rust"] {
        one_way(Case::of(name).set("pattern", "pushpull"));
        round_trips(Case::of(name).set("pattern", "dealer"));
    }
    // The publisher waits for the subscriber however short the queues are.
    let mut short = Case::of("zeromq").set("ZMQ_SNDHWM", "1").set("ZMQ_RCVHWM", "1");
    short.base.messages = Some(20_000);
    one_way(short);
}

/// Back to back, far more messages than any queue holds, and none is lost.
#[test]
fn full_speed_loses_nothing() {
    for mut case in [Case::nats(), Case::amqp(), Case::of("zeromq"), Case::of("zeromq-rust")] {
        case.base.messages = Some(200_000);
        one_way(case.clone());
        one_way(case.payload(8, 200_000));
    }
}

/// The server counts what was sent and delivered, to the message and to the byte.
#[test]
fn nats_counts_as_its_server_does() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut case = Case::nats().set("http_port", &port.to_string());
    let _broker = case.start_broker();
    let subscriber = case.start_listener(Role::Sub, None);
    let before = varz(port);
    let mut publisher = Workload::start(&case.role(Role::Pub));
    publisher.go();
    assert_eq!(publisher.done().sent, Some(500));
    assert_eq!(subscriber.done().received, Some(500));
    let after = varz(port);
    let grown = |name: &str| after[name].as_u64().unwrap() - before[name].as_u64().unwrap();
    let messages = case.base.warmup + 500;
    // One more in: the question to nobody with which the publisher makes sure that the server has everything.
    assert_eq!((grown("in_msgs"), grown("out_msgs")), (messages + 1, messages));
    assert_eq!((grown("in_bytes"), grown("out_bytes")), (messages * 64, messages * 64));
}

/// The server's counters.
fn varz(port: u16) -> serde_json::Value {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Tests with another program as the router.
mod zenohd {
    use super::{Case, one_way, round_trips};

    #[test]
    #[ignore = "zenohd takes too long to install for every run: cargo install --locked zenohd"]
    fn pub_sub() {
        one_way(Case::routed("zenohd"));
        one_way(Case::routed("zenohd").payload(1_000_000, 20));
    }

    #[test]
    #[ignore = "zenohd takes too long to install for every run: cargo install --locked zenohd"]
    fn ping_pong() {
        round_trips(Case::routed("zenohd"));
    }
}

/// Bytes that wait unread in the UDP sockets of a port (`/proc/net/udp`: `local_address`, `tx_queue:rx_queue`).
fn unread_datagrams(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap();
    let here = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let here =
        here.filter(|words| words.get(1).is_some_and(|at| at.ends_with(&format!(":{port:04X}"))));
    here.filter_map(|words| u64::from_str_radix(words.get(4)?.split_once(':')?.1, 16).ok()).sum()
}

/// Zenoh does not send again what UDP loses, and loses a message now and then even on loopback: what
/// arrived must still be told truly.
#[test]
fn zenoh_udp_counts_what_arrives() {
    let mut case = Case::zenoh(LinkTransport::Udp).rate(2_000.0);
    let folder = tempfile::tempdir().unwrap();
    let (sent, got) = (folder.path().join("pub"), folder.path().join("sub"));
    let mut endless = case.clone();
    endless.base.messages = None;
    let mut subscriber = endless.start_listener(Role::Sub, Some(&got));
    case.base.endpoint = subscriber.ready.endpoint.clone();
    let mut publisher =
        Workload::start(&Spec { truth: Some(sent.clone()), ..case.role(Role::Pub) });
    publisher.go();
    assert_eq!(publisher.done().sent, Some(500));
    let port = case.base.endpoint.rsplit_once(':').unwrap().1.parse().unwrap();
    eventually("the subscriber has read what came", || unread_datagrams(port) == 0);
    subscriber.close_stdin();
    let received = subscriber.done();
    let published = records(&sent, TruthKind::Publish);
    let delivered = records(&got, TruthKind::Deliver);
    assert!(delivered.values().all(|truth| published[&truth.stamp].at <= truth.at));
    let counted = delivered.keys().filter(|stamp| !stamp.warmup).count() as u64;
    assert_eq!((received.received, received.duplicates), (Some(counted), 0));
    assert!(counted > 400, "{counted} of 500");
}

#[test]
fn zenoh_udp_answers_pings() {
    let mut case = Case::zenoh(LinkTransport::Udp);
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("ping");
    let _pong = case.start_listener(Role::Pong, None);
    let mut ping = Workload::start(&Spec { truth: Some(here.clone()), ..case.role(Role::Ping) });
    ping.go();
    let ping = ping.done();
    let trips = records(&here, TruthKind::RoundTrip);
    let counted = trips.keys().filter(|stamp| !stamp.warmup).count() as u64;
    assert_eq!((ping.sent, ping.rtt.unwrap().count), (Some(500), counted));
    assert!(counted > 490 && ping.received >= Some(counted), "{counted} of 500");
}

/// The intended times are the schedule's, whatever the real ones were. It begins anew only with the first message that
/// counts, and not before its time.
#[test]
fn a_rate_makes_a_schedule() {
    let mut case = Case::of("tcp").rate(2_000.0);
    case.base.messages = Some(400);
    let folder = tempfile::tempdir().unwrap();
    let sent = folder.path().join("pub");
    let subscriber = case.start_listener(Role::Sub, None);
    let mut publisher =
        Workload::start(&Spec { truth: Some(sent.clone()), ..case.role(Role::Pub) });
    publisher.go();
    publisher.done();
    subscriber.done();
    let published = records(&sent, TruthKind::Publish);
    let stamps = expected_stamps(&case.base, false);
    let steps = stamps.windows(2).map(|pair| {
        let step = published[&pair[1]].aux - published[&pair[0]].aux;
        (pair[0].warmup == pair[1].warmup, step)
    });
    let (within, between): (Vec<_>, Vec<_>) = steps.partition(|&(is_within, _)| is_within);
    assert!(within.iter().all(|&(_, step)| step == 500_000), "{within:?}");
    assert!(matches!(between[..], [(_, step)] if step >= 500_000), "{between:?}");
}

/// A server that may keep one value for a subscriber loses the older ones, and the subscriber counts what came.
#[test]
fn opcua_loses_what_its_queue_cannot_hold() {
    let mut case = Case::opcua();
    case.base.set =
        vec![("queueSize".into(), "1".into()), ("publishingInterval".into(), "50".into())];
    let _broker = case.start_broker();
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("sub");
    let mut endless = case.clone();
    endless.base.messages = None;
    let mut subscriber = endless.start_listener(Role::Sub, Some(&got));
    assert_eq!(subscriber.ready.settings["queueSize"], "1");
    let mut publisher = Workload::start(&case.rate(1_000.0).role(Role::Pub));
    publisher.go();
    assert_eq!(publisher.done().sent, Some(500));
    subscriber.close_stdin();
    let received = subscriber.done().received.unwrap();
    let delivered = records(&got, TruthKind::Deliver);
    assert!(received > 0 && received < 250, "{received} of 500 in half a second");
    assert_eq!(delivered.keys().filter(|stamp| !stamp.warmup).count() as u64, received);
}

/// `list` and `ping` tell what to do where no ICMP socket may be opened.
#[test]
fn the_kernel_answers_pings_or_the_remedy_is_told() {
    let case = Case::of("ping").payload(1000, 300);
    let folder = tempfile::tempdir().unwrap();
    let truth = folder.path().join("ping");
    let spec = Spec { truth: Some(truth.clone()), ..case.role(Role::Ping) };
    let about = common::abouts().into_iter().find(|about| about.name == "ping").unwrap();
    if let Some(remedy) = about.available.remedy() {
        assert!(remedy.contains("net.ipv4.ping_group_range"), "{remedy}");
        let failure = Workload::try_start(&spec).err().expect("it was refused in `list`");
        assert!(failure.stderr.contains(remedy), "{failure:?}");
        return;
    }
    let mut ping = Workload::start(&spec);
    ping.go();
    let ping = ping.done();
    assert_eq!((ping.sent, ping.received, ping.duplicates), (Some(300), Some(300), 0));
    let (trips, rtt) = (records(&truth, TruthKind::RoundTrip), ping.rtt.unwrap());
    assert_eq!((trips.len(), rtt.count), (320, 300));
    assert!(rtt.p50_ns > 0 && rtt.p50_ns <= rtt.max_ns);
}

/// Blocks by number, and the two sides agree on how fast they went.
#[test]
fn iperf3_sends_what_it_is_told_to() {
    let mut case = Case::of("iperf3").payload(100_000, 10_000);
    let subscriber = case.start_listener(Role::Sub, None);
    assert_ne!(subscriber.ready.pid, subscriber.pid());
    let mut publisher = Workload::start(&case.role(Role::Pub));
    publisher.go();
    let (sent, got) = (publisher.done(), subscriber.done());
    let (there, here) = (sent.payload_bit_per_s.unwrap(), got.payload_bit_per_s.unwrap());
    assert!(there > 1e7 && here > 1e7 && here < there * 1.5, "{there} {here}");
    assert_eq!((sent.sent, got.received), (None, None));
}

/// `--seconds` ends a publisher that has no count.
#[test]
fn seconds_end_a_publisher() {
    let mut case = Case::of("tcp").rate(1_000.0);
    case.base.messages = None;
    let _subscriber = case.start_listener(Role::Sub, None);
    let mut publisher = Workload::start(&Spec { seconds: Some(0.2), ..case.role(Role::Pub) });
    publisher.go();
    let published = publisher.done();
    // One that is late by more than it may be ends when the time is over, whatever it has sent.
    let took = Duration::from_nanos(published.last_ns - published.first_ns);
    assert!(published.sent == Some(200) || took > Duration::from_millis(290), "{published:?}");
}
