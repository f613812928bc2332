//! The whole program against real brokers and a real kernel. Needs root, BTF, mosquitto and
//! `wirelap-workload`, and fails without them: `cargo test -p wirelap --features privileged`.
#![cfg(feature = "privileged")]

mod agents;
mod agreement;
mod apart;
mod bench;
mod btf;
mod budget;
mod by_name;
mod bytes;
mod clients;
mod containers;
mod crowd;
mod experts;
mod failures;
mod faults;
mod flight;
mod hidden;
mod hosts;
mod islands;
mod limits;
mod memory;
#[cfg(feature = "parquet")]
mod messages;
mod mqtt;
mod muted;
mod offline;
mod one_side;
mod packets;
mod placed;
mod programs;
mod resume;
mod rights;
mod screen;
mod slow_link;
mod soak;
mod terminal;
mod tls;
mod why;
mod workloads;

use bench::Bench;
use hidden::{assert_count, assert_none};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::HashMap;
use std::net::TcpListener;
use std::time::Duration;

/// Enough for anything here, on a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// Every message was sent, delivered and followed; none contradicts the workloads.
fn assert_flawless(result: &Value, messages: u64) {
    let name = &result["middleware"];
    let count = |pointer: &str| result.pointer(pointer).and_then(Value::as_u64);
    for pointer in ["/messages/sent", "/messages/delivered", "/messages/matched"] {
        assert_count(result, pointer, messages);
    }
    assert_count(result, "/ground_truth/compared", messages);
    assert_none(result, "/messages/uncovered");
    for pointer in [
        "/trust/telescoping_violations",
        "/ground_truth/violations",
        "/ground_truth/order_violations",
        "/ground_truth/unknown",
    ] {
        assert_eq!(count(pointer), Some(0), "{name} {pointer}");
    }
    assert_eq!(overflowed(result), 0, "{name}: {}", result["trust"]);
    assert_count(result, "/latency/one_way_ns/count", messages);
    let segments = result["segments"].as_array().unwrap();
    let shares: f64 = segments.iter().filter_map(|row| row["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{name}: shares add up to {shares}");
}

/// The segments of all messages together, in nanoseconds: of those that `keep` takes.
fn total(result: &Value, keep: impl Fn(&str) -> bool) -> u64 {
    let rows = result["segments"].as_array().unwrap().iter();
    let kept = rows.filter(|row| keep(row["segment"].as_str().unwrap()));
    kept.map(|row| row["total_ns"].as_u64().unwrap()).sum()
}

/// Returns the sum of one or two samples: smallest and largest are exact, which the mean of many is not.
fn sum_of_two(samples: &Value) -> u64 {
    let [count, min, max] = ["count", "min", "max"].map(|name| samples[name].as_u64().unwrap());
    assert!((1..=2).contains(&count), "{samples}");
    if count == 1 { min } else { min + max }
}

/// No message's segments add up to anything but its latency, and all of them lie between the shortest and the longest.
fn assert_telescopes(result: &Value) {
    assert_eq!(result["trust"]["telescoping_violations"], 0);
    let count = result["messages"]["matched"].as_u64().unwrap();
    let wire = total(result, |name| !name.starts_with("client_"));
    let [min, max] =
        ["min", "max"].map(|name| result["latency"]["one_way_ns"][name].as_u64().unwrap());
    assert!((count * min..=count * max).contains(&wire), "{count} messages: {wire} ns");
}

fn lost(result: &Value) -> u64 {
    let probes = result["trust"]["events_lost"].as_object().unwrap();
    probes.values().filter_map(Value::as_u64).sum()
}

/// Events that met a full ring buffer. The other lost ones are runs of probes that the kernel skipped for any process of the machine,
/// which may be one that another test started.
fn overflowed(result: &Value) -> u64 {
    lost(result) - result["trust"]["skipped_runs"].as_u64().unwrap()
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn round_trips_of_every_middleware_are_followed_exactly() {
    let bench = Bench::new();
    let words = "run latency --on tcp,udp,mqtt,zenoh-p2p,zenoh-brokered,dds --messages 500 --warmup 50 --seed 1";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["schema"], "wirelap/run/1");
    assert_eq!(report["partial"], false);
    let results = report["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|result| result["middleware"].clone()).collect();
    assert_eq!(names, ["tcp", "udp", "mqtt", "zenoh-p2p", "zenoh-brokered", "dds"]);
    for result in results {
        assert_flawless(result, 1000);
        assert_telescopes(result);
        assert_eq!(result["latency"]["rtt_half_ns"]["count"], 500);
    }
    bench.assert_clean();
}

/// A ping and a pong: their segments are the nanoseconds between the first and the last stage that the kernel saw, and with
/// the libraries' the nanoseconds that the workloads measured, each with its own clock readings.
#[test]
fn the_segments_of_two_messages_are_what_the_workloads_measured() {
    let bench = Bench::new();
    let words = "run latency --on tcp,udp,mqtt,zenoh-brokered,dds --messages 1 --warmup 5 --seed 1";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    for result in results {
        assert_flawless(result, 2);
        assert_telescopes(result);
        let latency = &result["latency"];
        let wire = total(result, |name| !name.starts_with("client_"));
        assert_eq!(wire, sum_of_two(&latency["one_way_ns"]), "{result:#}");
        let all = total(result, |_| true);
        assert_eq!(all, sum_of_two(&latency["publish_to_deliver_ns"]), "{result:#}");
    }
    bench.assert_clean();
}

#[test]
fn one_way_messages_through_mosquitto_and_without_a_broker() {
    let bench = Bench::new();
    let words =
        "run latency --on mqtt,tcp,dds --broker mosquitto --rate 2000 --messages 2000 --repeat 2";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    for result in report["results"].as_array().unwrap() {
        assert_flawless(result, 4000);
        assert_eq!(result["repetitions"].as_array().unwrap().len(), 2);
    }
    let mqtt = &report["results"][0];
    assert_eq!(mqtt["broker"], "mosquitto");
    let legs = mqtt["segments"].as_array().unwrap().iter().filter_map(|row| row["leg"].as_u64());
    assert_eq!(legs.max(), Some(2));
    let payload = mqtt["overhead"]["per_message_bytes"]["payload"].as_f64().unwrap();
    assert!((payload - 128.0).abs() < 0.5, "64 bytes on each of two legs, not {payload}");
    bench.assert_clean();
}

/// Kafka through both brokers: a header that is read apart from its body, batches of one message, acknowledged or not.
#[test]
fn kafka_is_followed_exactly_through_the_mock_and_through_apache() {
    let both = "--on kafka --broker mock,apache --seed 1";
    for (words, messages) in [
        ("run latency --messages 200 --warmup 20", 400),
        ("run latency --messages 500 --warmup 50 --rate 1000 --payload 64,8K --set acks=all", 500),
    ] {
        let bench = Bench::new();
        let ended = bench.wirelap(&format!("{words} {both}")).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        let report = bench.report();
        let results = report["results"].as_array().unwrap();
        let of = |broker: &str| results.iter().filter(|r| r["broker"] == broker).count();
        assert_eq!((of("mock"), of("apache")), (results.len() / 2, results.len() / 2));
        for result in results {
            assert_flawless(result, messages);
            assert_telescopes(result);
        }
        bench.assert_clean();
    }
}

/// NATS and both `ZeroMQ`s: ping-pong and one way, the smallest payloads and larger ones.
#[test]
fn nats_and_zeromq_are_followed_exactly() {
    let on = "--on nats,zeromq,zeromq-rust --seed 1";
    for (words, messages) in [
        ("latency --messages 300 --warmup 50", 600),
        ("latency --messages 300 --rate 2000 --payload 8K --set jetstream=true", 300),
        ("latency --messages 300 --warmup 50 --payload 8 --set pattern=dealer", 600),
        ("latency --messages 30 --rate 50 --payload 1M --set pattern=pushpull", 30),
    ] {
        let bench = Bench::new();
        let ended = bench.wirelap(&format!("run {words} {on}")).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{words}: {}", ended.stderr);
        let report = bench.report();
        assert_eq!(report["results"].as_array().unwrap().len(), 3, "{words}");
        for result in report["results"].as_array().unwrap() {
            assert_flawless(result, messages);
        }
        bench.assert_clean();
    }
}

/// AMQP: the smallest payloads, and such as take several frames; with acks and confirms and without.
#[test]
fn amqp_is_followed_exactly() {
    for (words, messages) in [
        ("--messages 300 --warmup 50", 600),
        ("--messages 300 --rate 1000 --payload 8 --set confirms=false --set acks=false", 300),
        ("--messages 300 --rate 1000 --payload 8K", 300),
        ("--messages 30 --rate 30 --payload 1M", 30),
    ] {
        let bench = Bench::new();
        let words = format!("run latency --on amqp --seed 1 {words}");
        let ended = bench.wirelap(&words).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{words}: {}", ended.stderr);
        let report = bench.report();
        assert_flawless(&report["results"][0], messages);
        assert_telescopes(&report["results"][0]);
        bench.assert_clean();
    }
}

/// Not a child of ours, and there before we came.
#[test]
fn a_broker_that_runs_already_is_followed() {
    let port = free_port();
    let mut mosquitto = bench::mosquitto(port);
    let bench = Bench::new();
    let words = format!(
        "run latency --on mqtt --broker mqtt://127.0.0.1:{port} --messages 300 --warmup 50"
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    mosquitto.kill().unwrap();
    mosquitto.wait().unwrap();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_flawless(&bench.report()["results"][0], 600);
}

#[test]
fn eight_bytes_exactly_once_and_large_payloads() {
    for (words, messages) in [
        ("run latency --on mqtt --payload 8 --qos 2 --rate 500 --messages 500", 500),
        ("run latency --on dds --payload 200K --rate 50 --messages 100", 100),
        ("run latency --on zenoh-p2p --payload 1M --rate 20 --messages 50", 50),
        ("run latency --on zenoh-brokered --payload 8K --rate 500 --messages 500", 500),
    ] {
        let bench = Bench::new();
        let ended = bench.wirelap(words).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{words}: {}", ended.stderr);
        assert_flawless(&bench.report()["results"][0], messages);
    }
}

/// Through the server's subscription, and written to the peer: whole messages, and in chunks.
#[test]
fn values_of_opc_ua_are_followed_exactly() {
    for (words, messages) in [
        ("--messages 300 --warmup 50", 600),
        ("--messages 100 --warmup 50 --payload 8K", 200),
        ("--messages 500 --warmup 50 --rate 500", 500),
        ("--messages 500 --warmup 50 --rate 500 --payload 8K", 500),
        ("--messages 20 --warmup 5 --rate 20 --payload 200K", 20),
    ] {
        let bench = Bench::new();
        let words = format!("run latency --on opcua,opcua-write {words}");
        let ended = bench.wirelap(&words).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{words}: {}", ended.stderr);
        for result in bench.report()["results"].as_array().unwrap() {
            assert_flawless(result, messages);
        }
        bench.assert_clean();
    }
}

/// The kernel counts every echo request that it answers.
#[test]
fn pings_are_as_many_as_the_kernel_answered() {
    let bench = Bench::new();
    let words = "run latency --on ping,tcp --messages 300 --warmup 50 --payload 8192";
    let ended = bench.wirelap_alone(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let counted = icmp_counters(&ended.stdout);
    assert_eq!((counted["InEchos"], counted["InEchoReps"]), (350, 350));
    let report = bench.report();
    let (ping, tcp) = (&report["results"][0], &report["results"][1]);
    assert_eq!((&ping["middleware"], &ping["untraced"]), (&"ping".into(), &true.into()));
    for name in ["sent", "delivered"] {
        assert_eq!(ping["messages"][name], 300);
    }
    assert_eq!(
        (&ping["messages"]["uncovered"], &ping["trust"]["coverage"]),
        (&0.into(), &1.0.into())
    );
    assert_eq!(ping["latency"]["rtt_half_ns"]["count"], 300);
    assert!(ping["latency"]["rtt_half_ns"]["trimmed_p50"].as_u64() > Some(0));
    assert!(ended.says("ping: 300 sent, 300 answered · not traced"), "{}", ended.stdout);
    assert_flawless(tcp, 600);
    bench.assert_clean();
}

/// The two `Icmp:` lines of /proc/net/snmp: names and values.
fn icmp_counters(text: &str) -> HashMap<&str, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Icmp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let values = values.split_whitespace().map(|value| value.parse().unwrap());
    names.split_whitespace().zip(values).collect()
}

#[test]
fn iperf3_tells_its_own_throughput_and_the_trial_ends() {
    let bench = Bench::new();
    let words = "run throughput --on iperf3 --payload 64K --duration 1s";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["partial"], false);
    let result = &report["results"][0];
    assert_eq!((&result["untraced"], &result["messages"]["sent"]), (&true.into(), &0.into()));
    assert!(result["throughput"]["payload_bit_per_s"].as_f64() > Some(1e8), "{result}");
    assert!(report["environment"]["versions"]["iperf3"]["iperf3"].is_string());
    let names: Vec<_> =
        result["processes"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["iperf3", "iperf3"]);
    assert_eq!(
        (&result["overhead"]["packets"], &result["trust"]["undecoded_bytes"]),
        (&0.into(), &0.into())
    );
    bench.assert_clean();
}

#[test]
fn a_signal_leaves_a_valid_partial_report_and_no_process() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let bench = Bench::new();
        let words = "run latency --on mqtt,tcp --warmup 0 --rate 2000 --duration 60s";
        // Who runs the tests may ignore hangups (`nohup`), and wirelap ignores what it was started to ignore.
        let script = "exec env --default-signal=HUP \"$0\" \"$@\"";
        let run = bench.wirelap_by(script, words).json().start();
        Bench::until_messages_flow(&run, LONG);
        let descendants = run.descendants();
        assert!(descendants.len() >= 2);
        run.signal(signal);
        let ended = run.end(LONG);
        assert_eq!(ended.status, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("stopped by"), "{}", ended.stderr);
        let report = bench.report();
        assert_eq!(report["partial"], true);
        assert!(report["results"][0]["messages"]["matched"].as_u64() > Some(0));
        assert_eq!(bench::alive(&descendants), Vec::<u32>::new());
        bench.assert_clean();
    }
}

#[test]
fn a_tiny_ring_buffer_loses_events_counts_them_and_ends() {
    let bench = Bench::new();
    let words = "run throughput --on tcp --payload 4K --messages 20000 --sample off --ring-size 4K";
    let ended = bench.wirelap(words).json().end(LONG);
    // What was lost is too much for the figures to be used.
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    assert!(lost(result) > 0);
    assert_eq!(result["trust"]["verdict"], "unusable");
    let reasons = result["trust"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["kind"] == "events_lost"), "{reasons:?}");
    assert_eq!(result["messages"]["sent"], 20_000);
    assert_eq!(result["messages"]["delivered"], 20_000);
    assert!(result["messages"]["uncovered"].as_u64() > Some(0));
    bench.assert_clean();
}

#[test]
fn throughput_is_sampled_in_windows() {
    let bench = Bench::new();
    let ended = bench
        .wirelap("run throughput --on tcp,mqtt,nats,zeromq,zeromq-rust --duration 2s")
        .json()
        .end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    for result in bench.report()["results"].as_array().unwrap() {
        assert_eq!(result["messages"]["sent"], result["messages"]["delivered"]);
        assert!(result["messages"]["matched"].as_u64() > Some(0));
        assert!(result["throughput"]["msg_per_s"].as_f64() > Some(100.0));
        let share = result["trust"]["window_share"].as_f64().unwrap();
        assert!(share > 0.02 && share < 0.9, "{share}");
    }
}

#[test]
fn json_on_stdout_is_alone_there() {
    let ended = Bench::new().wirelap("run latency --on udp --messages 100 --json -").end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["results"][0]["middleware"], "udp");
    assert!(ended.stderr.contains("udp"));
}

#[test]
fn live_shows_its_own_workloads_and_stops_them() {
    let bench = Bench::new();
    // Without a filter, the same workloads of other tests would be among the rows.
    let own = std::process::id();
    let words = format!("live --plain --on tcp,mqtt --rate 500 --duration 5s --pid {own}");
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("mqtt") && ended.stdout.contains("tcp"), "{}", ended.stdout);
    let report = bench.report();
    for name in ["tcp", "mqtt"] {
        let results = report["results"].as_array().unwrap();
        let row = results.iter().find(|row| row["middleware"] == name).unwrap();
        assert!(row["messages"]["matched"].as_u64() > Some(100), "{name}: {row}");
    }
    bench.assert_clean();
}
