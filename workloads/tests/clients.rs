//! Several publishers and subscribers in two processes: each subscriber gets what it has subscribed to, once.

mod common;

use common::{Case, Workload};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use wirelap_contract::{
    Done, Handles, LinkTransport, Role, Spec, SubscribedTopics, TruthKind, TruthReader,
    WorkloadTopology,
};

fn topology(publishers: u32, subscribers: u32, topics: u32) -> WorkloadTopology {
    WorkloadTopology { publishers, subscribers, topics, ..WorkloadTopology::default() }
}

fn with(subscription: SubscribedTopics, topology: WorkloadTopology) -> WorkloadTopology {
    WorkloadTopology { subscription, ..topology }
}

/// Publishes and subscribes, and tells what both counted.
fn counts(case: &mut Case, topology: WorkloadTopology, truth: Option<&Path>) -> (Done, Done) {
    case.base.topology = topology;
    let broker = case.start_broker();
    let messages = case.base.messages;
    case.base.messages = messages.map(|messages| topology.deliveries(messages));
    let subscriber = case.start_listener(Role::Sub, truth);
    case.base.messages = messages;
    let mut publisher = Workload::start(&case.role(Role::Pub));
    publisher.go();
    let counts = (publisher.done(), subscriber.done());
    if let Some(mut broker) = broker {
        broker.close_stdin();
        broker.done();
    }
    counts
}

/// Each message must come to each of its subscribers once.
fn delivered(mut case: Case, topology: WorkloadTopology) {
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("sub");
    let (published, received) = counts(&mut case, topology, Some(&got));
    let messages = case.base.messages.unwrap();
    assert_eq!(published.sent, Some(messages));
    let expected = topology.deliveries(messages);
    assert_eq!((received.received, received.duplicates), (Some(expected), 0));
    let mut by_message: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for truth in TruthReader::new(BufReader::new(File::open(got).unwrap())).unwrap() {
        let truth = truth.unwrap();
        if truth.kind == TruthKind::Deliver && !truth.stamp.warmup {
            by_message.entry(truth.stamp.seq).or_default().push(truth.aux);
        }
    }
    assert_eq!(by_message.len() as u64, messages);
    for (seq, mut subscribers) in by_message {
        let topic = topology.topic_of_publisher(topology.publisher(seq.into()));
        subscribers.sort_unstable();
        let has = |s: &u32| topology.topics_of_subscriber(*s).contains(&topic);
        let expected: Vec<u64> = match topology.subscription {
            SubscribedTopics::Shared => vec![0],
            _ => (0..topology.subscribers).filter(has).map(u64::from).collect(),
        };
        assert_eq!(subscribers, expected, "message {seq}");
    }
}

macro_rules! clients {
    ($($name:ident: $case:expr, $topology:expr;)*) => {
        $(#[test] fn $name() { delivered($case, $topology); })*
    };
}

clients! {
    mqtt_pairs: Case::mqtt("rumqttd", 1), topology(20, 20, 20);
    mosquitto_pairs: Case::mqtt("mosquitto", 1), topology(20, 20, 20);
    mqtt_one_to_many: Case::mqtt("mosquitto", 0).payload(16, 50), topology(1, 50, 1);
    mqtt_everybody_has_everything:
        Case::mqtt("mosquitto", 0), with(SubscribedTopics::All, topology(5, 7, 5));
    mosquitto_shared: Case::mqtt("mosquitto", 1), with(SubscribedTopics::Shared, topology(10, 3, 10));
    more_subscribers_than_topics: Case::mqtt("rumqttd", 0), topology(4, 7, 2);
    nats_pairs: Case::nats(), topology(5, 5, 5);
    nats_everybody_has_everything: Case::nats(), with(SubscribedTopics::All, topology(3, 4, 3));
    nats_shared: Case::nats(), with(SubscribedTopics::Shared, topology(4, 3, 4));
    amqp_pairs: Case::amqp(), topology(5, 5, 5);
    amqp_everybody_has_everything: Case::amqp(), with(SubscribedTopics::All, topology(3, 4, 3));
    amqp_shared: Case::amqp(), with(SubscribedTopics::Shared, topology(4, 3, 4));
    zenoh_router: Case::routed("router"), topology(3, 4, 2);
    zenoh_router_everything: Case::routed("router"), with(SubscribedTopics::All, topology(3, 2, 3));
    zenoh_many_to_one: Case::zenoh(LinkTransport::Tcp), topology(3, 1, 1);
    kafka_topics: Case::kafka("mock"), topology(3, 3, 3);
    zeromq_many_to_one: Case::of("zeromq").set("pattern", "pushpull"), topology(3, 1, 1);
}

/// Publishers in threads of their own: each has a stream of its own, and the sums are the same.
#[test]
fn publishers_in_threads_of_their_own_send_everything() {
    for handles in [Handles::Own, Handles::Shared] {
        let [nats, amqp, mqtt] = [Case::nats(), Case::amqp(), Case::mqtt("mosquitto", 0)];
        for mut case in [nats, amqp, mqtt, Case::zenoh(LinkTransport::Tcp)] {
            let topology = WorkloadTopology { handles: Some(handles), ..topology(4, 1, 1) };
            let (published, received) = counts(&mut case, topology, None);
            let sums = (published.sent, received.received, received.duplicates);
            assert_eq!(sums, (Some(500), Some(500), 0), "{handles:?} {}", case.base.middleware);
        }
    }
}

#[test]
fn connections_are_opened_at_a_rate_and_kept() {
    for mut case in [Case::mqtt("mosquitto", 0), Case::nats(), Case::amqp()] {
        case.base.topology = WorkloadTopology { connections: 50, ..WorkloadTopology::default() };
        let _broker = case.start_broker();
        let mut clients = Workload::start(&Spec { rate: Some(500.0), ..case.role(Role::Connect) });
        clients.go();
        let done = clients.done();
        let times = done.rtt.unwrap();
        assert_eq!((done.sent, times.count), (Some(50), 50), "{}", case.base.middleware);
        assert!(times.min_ns > 0 && times.p50_ns <= times.max_ns);
        // The last was due 49 intervals after the first.
        assert!(done.last_ns - done.first_ns + times.max_ns > 49 * 2_000_000);
    }
}

#[test]
fn what_a_middleware_does_not_have_is_refused() {
    let refused = |middleware: &str, role, topology| {
        let failure = Workload::try_start(&Spec { topology, ..Spec::new(role, middleware) });
        failure.err().map(|failure| failure.stderr).unwrap_or_default()
    };
    let text = refused("tcp", Role::Pub, topology(2, 1, 1));
    assert_eq!(text, "wirelap-workload: tcp does not support several publishers\n");
    let shared = with(SubscribedTopics::Shared, topology(1, 2, 1));
    let text = refused("zenoh-brokered", Role::Sub, shared);
    assert_eq!(text, "wirelap-workload: zenoh-brokered does not support shared subscriptions\n");
    let text = refused("mqtt", Role::Ping, topology(2, 2, 2));
    assert_eq!(text, "wirelap-workload: a ping-pong has one publisher and one subscriber\n");
    let text = refused("mqtt", Role::Pub, topology(1, 2, 2));
    assert!(text.contains("--topics 2: each publisher has one topic"), "{text}");
}
