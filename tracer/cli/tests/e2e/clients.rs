//! Several publishers, subscribers and topics: each delivery is followed, and none contradicts the workloads' records.

use crate::bench::{Bench, mosquitto};
use crate::hidden::{assert_count, assert_none};
use crate::{LONG, assert_telescopes, free_port, overflowed};
use serde_json::Value;

fn measured(words: &str) -> Value {
    let bench = Bench::new();
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    bench.assert_clean();
    report
}

/// Each of `sent` messages has come to each of its subscribers, `delivered` deliveries in all, and all were followed.
fn assert_followed(result: &Value, sent: u64, delivered: u64) {
    let name = &result["middleware"];
    let count = |pointer: &str| result.pointer(pointer).and_then(Value::as_u64);
    assert_count(result, "/messages/sent", sent);
    assert_none(result, "/messages/uncovered");
    for pointer in [
        "/messages/delivered",
        "/messages/matched",
        "/ground_truth/delivered",
        "/ground_truth/compared",
        "/latency/one_way_ns/count",
        "/latency/publish_to_deliver_ns/count",
    ] {
        assert_count(result, pointer, delivered);
    }
    for pointer in [
        "/messages/duplicates",
        "/ground_truth/violations",
        "/ground_truth/order_violations",
        "/ground_truth/unknown",
    ] {
        assert_eq!(count(pointer), Some(0), "{name} {pointer}");
    }
    assert_eq!(overflowed(result), 0, "{name}: {}", result["trust"]);
    assert_telescopes(result);
}

#[test]
fn pairs_are_followed_exactly() {
    let report = measured(
        "run latency --on mqtt,nats,amqp,zenoh-brokered --rate 500 --messages 600 --warmup 20 \
         --publishers 20 --subscribers 20 --topics 20 --measure-cost=false",
    );
    for result in report["results"].as_array().unwrap() {
        assert_followed(result, 600, 600);
        assert_eq!(result["topology"]["publishers"], 20);
    }
    assert_eq!(report["scenario"]["topology"]["topics"], 20);
}

#[test]
fn every_subscriber_of_a_message_is_followed() {
    let report = measured(
        "run latency --on mqtt,nats,amqp --broker mosquitto --rate 50 --messages 40 --warmup 4 \
         --publishers 2 --topics 2 --subscribers 50 --subscription all --measure-cost=false",
    );
    for result in report["results"].as_array().unwrap() {
        assert_followed(result, 40, 2000);
        assert_eq!(result["messages"]["expected"], 2000);
        assert_eq!(result["trust"]["coverage"], 1.0);
    }
}

#[test]
fn shared_messages_come_once_and_threads_of_publishers_are_counted() {
    let report = measured(
        "run latency --on mqtt,nats,amqp --broker mosquitto --rate 500 --messages 500 --warmup 20 \
         --publishers 10 --topics 10 --subscribers 3 --subscription shared --measure-cost=false",
    );
    for result in report["results"].as_array().unwrap() {
        assert_followed(result, 500, 500);
    }
    let report = measured(
        "run throughput --on zenoh-p2p --duration 1s --publishers 3 --repeat 2 \
         --ab handles=own handles=shared --measure-cost=false",
    );
    for result in report["results"].as_array().unwrap() {
        let messages = &result["messages"];
        assert!(messages["sent"].as_u64().unwrap() > 1000, "{messages}");
        assert_eq!(messages["sent"], messages["delivered"]);
        assert_eq!(result["topology"]["publishers"], 3);
    }
}

/// A broker that was running before is found by its address, and the connections to it are counted by the client and by the trace.
#[test]
fn connections_to_a_running_broker_are_opened_and_it_is_watched() {
    let port = free_port();
    let mut broker = mosquitto(port);
    let report = measured(&format!(
        "run mqtt-connections --broker 127.0.0.1:{port} --connections 200 --rate 400 --duration 2s"
    ));
    let pid = broker.id();
    broker.kill().unwrap();
    broker.wait().unwrap();
    let result = &report["results"][0];
    assert_eq!(result["connections"]["opened"], 200, "{result:#}");
    assert_eq!(result["connections"]["connect_ns"]["count"], 200);
    let operations = result["overhead"]["operations"].as_array().unwrap();
    let opened = operations.iter().find(|one| one["operation"] == "open").unwrap();
    assert_eq!(opened["count"], 200);
    let processes = result["processes"].as_array().unwrap();
    let watched = processes.iter().find(|one| one["role"] == "broker").unwrap();
    assert_eq!((&watched["pid"], &watched["name"]), (&pid.into(), &"mosquitto".into()));
    let each = result["repetitions"][0]["processes"].as_array().unwrap();
    let broker = each.iter().find(|one| one["role"] == "broker").unwrap();
    assert!(broker["over_time"].as_array().unwrap().len() > 5);
}
