//! Comparison of what the workloads say they sent and got with what Kafka's brokers say they stored.

mod common;

use common::{Case, Workload};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::time::Duration;
use wirelap_contract::Role;

const ANSWER: Duration = Duration::from_secs(10);

/// Messages that were ever stored in a topic, by partition: where each ends.
fn stored(broker: &str, topic: &str) -> Vec<i64> {
    let asker: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    let told = asker.fetch_metadata(Some(topic), ANSWER).unwrap();
    let partitions = told.topics()[0].partitions();
    let ends =
        partitions.iter().map(|partition| asker.fetch_watermarks(topic, partition.id(), ANSWER));
    ends.map(|ends| ends.unwrap().1).collect()
}

/// Every way of acknowledging: the broker has all, the subscriber gets all.
fn counts_agree(broker: &'static str) {
    let mut case = Case::kafka(broker).set("partitions", "3");
    let server = case.start_broker();
    let mut before = 0;
    for acks in ["0", "1", "all"] {
        let mut case = case.clone().set("acks", acks);
        case.base.messages = Some(900);
        let subscriber = case.start_listener(Role::Sub, None);
        let mut publisher = Workload::start(&case.role(Role::Pub));
        assert_eq!(publisher.ready.settings["acks"], acks);
        publisher.go();
        assert_eq!((publisher.done().sent, subscriber.done().received), (Some(900), Some(900)));
        let ends = stored(&case.base.endpoint, "wirelap.data");
        assert_eq!(ends.len(), 3);
        let sum: i64 = ends.iter().sum();
        assert_eq!(sum - before, 920, "with the warm-up, acks={acks}: {ends:?}");
        before = sum;
    }
    drop(server);
}

#[test]
fn the_mock_stored_what_was_sent() {
    counts_agree("mock");
}

#[test]
fn apache_kafka_stored_what_was_sent() {
    counts_agree("apache");
}

/// The mock is not to be taken for the real one.
#[test]
fn the_mock_says_what_it_is() {
    let server = Case::kafka("mock").start_broker().unwrap();
    let told = format!("{:?} {:?}", server.ready.versions, server.ready.settings);
    assert!(told.contains("mock") && told.contains("not Apache Kafka"), "{told}");
}

/// Another broker of the same kind, told by its address only.
#[test]
fn a_running_broker_needs_no_name() {
    let mut case = Case::kafka("apache");
    let _server = case.start_broker();
    case.base.broker = None;
    let subscriber = case.start_listener(Role::Sub, None);
    let mut publisher = Workload::start(&case.role(Role::Pub));
    publisher.go();
    assert_eq!((publisher.done().sent, subscriber.done().received), (Some(500), Some(500)));
}

#[test]
fn wrong_values_of_settings_are_named() {
    let mut case = Case::kafka("mock");
    let _server = case.start_broker();
    for (name, value) in [("acks", "some"), ("linger.ms", "never"), ("compression.type", "zip")] {
        let told = case.clone().set(name, value);
        let failure = Workload::try_start(&told.role(Role::Pub)).err().unwrap();
        assert_eq!(failure.code, Some(1), "{failure:?}");
        assert!(failure.stderr.contains(&format!("--set {name}={value}")), "{failure:?}");
    }
}
