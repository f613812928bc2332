//! Ends of workloads: told to, or because something is wrong. Nothing of them stays behind.

mod common;

use common::{Case, Failure, Workload, eventually, is_gone, sleeps};
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use wirelap_contract::{LinkTransport, Role, Spec};

fn every_middleware() -> Vec<Case> {
    vec![
        Case::of("tcp"),
        Case::of("udp"),
        Case::mqtt("rumqttd", 1),
        Case::mqtt("mosquitto", 0),
        Case::kafka("mock"),
        Case::kafka("apache"),
        Case::zenoh(LinkTransport::Tcp),
        Case::routed("router"),
        Case::of("dds"),
        Case::nats(),
        Case::amqp(),
        Case::of("zeromq"),
        Case::of("zeromq-rust"),
        Case::opcua(),
        Case::of("opcua-write"),
    ]
}

/// A pair in the middle of a run without an end.
fn running(case: &mut Case) -> (Option<Workload>, Workload, Workload) {
    case.base.messages = None;
    case.base.rate = Some(1_000.0);
    let broker = case.start_broker();
    let subscriber = case.start_listener(Role::Sub, None);
    let mut publisher = Workload::start(&case.role(Role::Pub));
    let before = sleeps(publisher.pid());
    publisher.go();
    // A paced publisher sleeps once a message, and the first of them are warm-up.
    eventually("messages are sent", || sleeps(publisher.pid()) > before + 100);
    (broker, subscriber, publisher)
}

/// A publisher that is told to stop still gets rid of what it has published.
#[test]
fn signals_end_a_run_with_done() {
    for (mut case, signal) in every_middleware().into_iter().zip(["TERM", "INT"].iter().cycle()) {
        let (broker, subscriber, publisher) = running(&mut case);
        publisher.signal(signal);
        let published = publisher.done();
        assert!(published.sent > Some(0));
        subscriber.signal("TERM");
        let received = subscriber.done();
        assert!(received.received <= published.sent, "{:?}", case.base);
        // A Java program that has just started may not have handed on anything yet.
        let is_slow = case.broker == Some("apache");
        assert!(received.received > Some(0) || is_slow, "{:?}", case.base);
        if let Some(broker) = broker {
            broker.signal("TERM");
            broker.done();
        }
    }
}

#[test]
fn the_end_of_stdin_ends_every_role() {
    for mut case in every_middleware() {
        let (broker, mut subscriber, mut publisher) = running(&mut case);
        publisher.close_stdin();
        assert!(publisher.done().sent > Some(0));
        subscriber.close_stdin();
        subscriber.done();
        if let Some(mut broker) = broker {
            let served_by = broker.ready.pid;
            broker.close_stdin();
            broker.done();
            assert!(is_gone(served_by));
        }
    }
}

#[test]
fn ping_and_pong_wait_and_end_with_stdin() {
    for mut case in every_middleware() {
        let _broker = case.start_broker();
        let mut pong = case.start_listener(Role::Pong, None);
        let mut ping = Workload::start(&case.role(Role::Ping));
        ping.close_stdin();
        assert_eq!(ping.done().sent, Some(0));
        pong.close_stdin();
        pong.done();
    }
}

#[test]
fn a_killed_workload_takes_its_broker_with_it() {
    let brokers = [Case::mqtt("mosquitto", 0), Case::nats(), Case::amqp(), Case::kafka("apache")];
    for mut case in brokers {
        let broker = case.start_broker().unwrap();
        let child = broker.ready.pid;
        assert_ne!(child, broker.pid());
        assert!(!is_gone(child));
        broker.signal("KILL");
        eventually("the broker is gone", || is_gone(child));
    }
}

#[test]
fn a_broker_that_dies_is_told_by_everyone() {
    let mqtt = |name| Case::mqtt(name, 1);
    let others = [Case::nats(), Case::amqp(), Case::opcua(), Case::routed("router")];
    let kafka = ["mock", "apache"].map(Case::kafka);
    let others = others.into_iter().chain(kafka);
    for mut case in [mqtt("rumqttd"), mqtt("mosquitto")].into_iter().chain(others) {
        let (broker, subscriber, publisher) = running(&mut case);
        broker.unwrap().signal("KILL");
        for end in [subscriber, publisher] {
            let endpoint = &case.base.endpoint;
            assert_sentence(&end.failure(), &["the broker", endpoint, "closed the connection"]);
        }
    }
}

/// These libraries connect again by themselves, and would go on without a word.
#[test]
fn a_subscriber_that_dies_is_told_by_its_publisher() {
    for mut case in [Case::of("zeromq"), Case::of("zeromq-rust")] {
        let (_, subscriber, publisher) = running(&mut case);
        subscriber.signal("KILL");
        assert_sentence(&publisher.failure(), &[&case.base.endpoint, "closed the connection"]);
    }
}

/// Exit status 1 and one line that has all the words.
fn assert_sentence(failure: &Failure, words: &[&str]) {
    let lines: Vec<&str> = failure.stderr.lines().collect();
    assert_eq!((failure.code, lines.len()), (Some(1), 1), "{failure:?}");
    assert!(lines[0].starts_with("wirelap-workload: "), "{failure:?}");
    for word in words {
        assert!(lines[0].contains(word), "{word:?} is not in {failure:?}");
    }
}

fn refusal(spec: &Spec) -> Failure {
    match Workload::try_start(spec) {
        Ok(workload) => panic!("{spec:?} is ready: {:?}", workload.ready),
        Err(failure) => failure,
    }
}

#[test]
fn a_port_in_use_is_named() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let tcp = tcp.local_addr().map(|address| (tcp, address.to_string())).unwrap();
    let udp = udp.local_addr().map(|address| (udp, address.to_string())).unwrap();
    let broker = |name: &str| Spec { broker: Some(name.into()), ..Spec::new(Role::Broker, "mqtt") };
    let router = Spec::new(Role::Broker, "zenoh-brokered");
    let kafka = Spec { apache: true, ..Spec::new(Role::Broker, "kafka") };
    let cases = [
        (Spec::new(Role::Sub, "tcp"), &tcp.1),
        (Spec::new(Role::Pong, "udp"), &udp.1),
        (Spec::new(Role::Sub, "zenoh-p2p"), &tcp.1),
        (Case::zenoh(LinkTransport::Udp).role(Role::Sub), &udp.1),
        (Spec::new(Role::Sub, "opcua-write"), &tcp.1),
        (Spec::new(Role::Sub, "iperf3"), &tcp.1),
        (Spec::new(Role::Broker, "opcua"), &tcp.1),
        (broker("rumqttd"), &tcp.1),
        (broker("mosquitto"), &tcp.1),
        (Spec::new(Role::Broker, "nats"), &tcp.1),
        (Spec::new(Role::Broker, "amqp"), &tcp.1),
        (Spec::new(Role::Sub, "zeromq"), &tcp.1),
        (Spec::new(Role::Pong, "zeromq-rust"), &tcp.1),
        (router, &tcp.1),
        (kafka, &tcp.1),
    ];
    for (spec, endpoint) in cases {
        let failure = refusal(&Spec { endpoint: endpoint.clone(), ..spec });
        assert_sentence(&failure, &[endpoint, "already in use"]);
    }
}

#[test]
fn nobody_at_the_endpoint_is_named() {
    // Bound and not listening: connections are refused, and nobody else gets the port.
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let endpoint = taken.local_addr().unwrap().to_string();
    let connecting = [
        "tcp",
        "mqtt",
        "kafka",
        "zenoh-p2p",
        "zenoh-brokered",
        "nats",
        "amqp",
        "zeromq",
        "zeromq-rust",
        "opcua",
        "opcua-write",
    ];
    for middleware in connecting {
        let spec = Spec { endpoint: endpoint.clone(), ..Spec::new(Role::Pub, middleware) };
        assert_sentence(&refusal(&spec), &["nobody listens on", &endpoint]);
    }
}

#[test]
fn wrong_values_are_named() {
    let plain = || Spec::new(Role::Broker, "mqtt");
    let cases = [
        (Spec { payload: 7, ..plain() }, "--payload 7: at least 8 bytes"),
        (Spec { qos: 3, ..plain() }, "--qos 3"),
        (
            Spec { broker: Some("nano".into()), ..plain() },
            "known brokers are rumqttd and mosquitto",
        ),
        (
            Spec { broker: Some("red".into()), ..Spec::new(Role::Broker, "kafka") },
            "known brokers are mock and apache",
        ),
        (
            Spec { endpoint: "127.0.0.1:9092".into(), ..Spec::new(Role::Broker, "kafka") },
            "chooses its port itself",
        ),
        (Spec { topic: "a b".into(), ..Spec::new(Role::Sub, "kafka") }, "--topic a b"),
        (Case::kafka("mock").payload(3_000_000, 1).role(Role::Broker), "at most 2097152 bytes"),
        (Case::kafka("mock").set("partitions", "0").role(Role::Broker), "--set partitions=0"),
        (Spec { endpoint: "127.0.0.1".into(), ..plain() }, "--endpoint 127.0.0.1"),
        (
            Spec {
                set: vec![("timestamping".into(), "maybe".into())],
                ..Spec::new(Role::Broker, "zenoh-brokered")
            },
            "--set timestamping=maybe: true or false",
        ),
        (Spec { pin: Some(1023), ..plain() }, "--pin 1023: there is no such CPU"),
        (Spec::new(Role::Broker, "tcp"), "tcp has no broker"),
        (Spec { payload: 65_508, ..Spec::new(Role::Pub, "udp") }, "at most 65507"),
        (
            Spec { truth: Some("/nowhere/truth".into()), ..Spec::new(Role::Sub, "tcp") },
            "--truth /nowhere/truth",
        ),
        (Spec { interface: "nowhere".into(), ..Case::of("dds").role(Role::Sub) }, "nowhere"),
        (
            Spec {
                set: vec![("queueSize".into(), "0".into())],
                ..Spec::new(Role::Broker, "opcua")
            },
            "--set queueSize=0: at least 1",
        ),
        (Spec { topic: "/a//b".into(), ..Spec::new(Role::Sub, "zenoh-p2p") }, "--topic /a//b"),
        (Case::nats().set("jetstream", "maybe").role(Role::Pub), "--set jetstream=maybe"),
        (Case::nats().payload((8 << 20) + 1, 1).role(Role::Pub), "at most 8388608"),
        (
            Case::amqp().set("confirms", "maybe").role(Role::Pub),
            "--set confirms=maybe: true or false",
        ),
        (Case::amqp().set("prefetch", "70000").role(Role::Sub), "--set prefetch=70000: 0 to 65535"),
        (Case::amqp().payload((128 << 20) + 1, 1).role(Role::Pub), "at most 134217728"),
        (
            Spec { broker: Some("qpid".into()), ..Spec::new(Role::Broker, "amqp") },
            "the only known broker is rabbitmq",
        ),
        (Case::of("zeromq").set("pattern", "reqrep").role(Role::Sub), "pattern=reqrep with sub"),
        (Case::of("zeromq").set("ZMQ_SNDHWM", "-1").role(Role::Pub), "ZMQ_SNDHWM=-1"),
        (Case::of("zeromq-rust").set("ZMQ_SNDHWM", "5").role(Role::Pub), "--set ZMQ_SNDHWM"),
    ];
    for (spec, words) in cases {
        assert_sentence(&refusal(&spec), &[words]);
    }
}

/// A broker that takes the connection and never answers.
#[test]
fn stopping_before_ready_is_no_error() {
    for middleware in ["mqtt", "kafka", "amqp"] {
        // One for each: librdkafka connects more than once.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = silent.local_addr().unwrap().to_string();
        let publisher = Workload::spawn(&Spec { endpoint, ..Spec::new(Role::Pub, middleware) });
        let (_connection, _) = silent.accept().unwrap();
        publisher.signal("TERM");
        assert_eq!(publisher.done().sent, Some(0));
    }
}

#[test]
fn garbage_costs_only_its_own_connection() {
    let mut case = Case::of("tcp");
    let subscriber = case.start_listener(Role::Sub, None);
    let mut garbage = TcpStream::connect(&subscriber.ready.endpoint).unwrap();
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut publisher = Workload::start(&case.role(Role::Pub));
    publisher.go();
    assert_eq!(publisher.done().sent, Some(500));
    let (done, complaint) = subscriber.done_and_stderr();
    assert_eq!(done.received, Some(500));
    assert!(complaint.contains("announced a message of 1195725856 bytes"), "{complaint}");
}
