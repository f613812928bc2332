//! Why messages took so long, and what watching them cost, on real processes.

use crate::LONG;
use crate::bench::Bench;
use crate::hidden::assert_count;
use crate::offline::number;
use serde_json::{Value, json};

/// The problems of the only result, strongest first.
fn problems(report: &Value) -> Vec<&Value> {
    let verdicts = report["results"][0]["why"]["verdicts"].as_array().unwrap();
    verdicts.iter().filter(|verdict| verdict["severity"] == "problem").collect()
}

#[test]
fn nagle_against_delayed_ack_is_named_and_goes_away_with_nodelay() {
    let bench = Bench::new();
    let run = |nodelay| {
        let words = format!(
            "run latency --on mqtt --qos 1 --nodelay {nodelay} --messages 30 --warmup 3 --explain"
        );
        let ended = bench.wirelap(&words).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        (bench.report(), ended.stdout)
    };
    let (report, page) = run(false);
    assert_eq!(problems(&report)[0]["kind"], "nagle_delayed_ack", "{page}");
    // Each of the two processes has its part.
    let shares = problems(&report).into_iter().filter(|one| one["kind"] == "nagle_delayed_ack");
    let share: f64 = shares.filter_map(|one| one["median_share"].as_f64()).sum();
    assert!(share > 0.5, "{page}");
    assert!(page.contains("nodelay"), "{page}");

    let (report, page) = run(true);
    let kinds: Vec<_> = problems(&report).iter().map(|verdict| &verdict["kind"]).collect();
    assert!(!kinds.iter().any(|kind| *kind == "nagle_delayed_ack"), "{page}");
    bench.assert_clean();
}

/// The broker acknowledges the publisher, and then has something for it: with Nagle that waits until the
/// publisher's delayed ACK comes.
#[test]
fn a_brokers_socket_without_nodelay_is_told_from_a_clients() {
    let bench = Bench::new();
    let words = "run latency --on mqtt --broker rumqttd --qos 1 --set broker.tcp_nodelay=false \
                 --messages 30 --warmup 3";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let first = problems(&report)[0];
    assert_eq!(
        (&first["kind"], &first["leg"]),
        (&json!("nagle_delayed_ack"), &json!(2)),
        "{first}"
    );
    assert!(first["remedy"].as_str().unwrap().contains("rumqttd's listening socket"), "{first}");
    // One of the two ways meets it: half of 40 ms and more. A loaded machine adds to all but the shortest.
    let half = &report["results"][0]["latency"]["rtt_half_ns"];
    let of = |name: &str| half[name].as_f64().unwrap();
    assert!(of("p50") > 15e6 && of("min") < 35e6, "{half}");
    bench.assert_clean();
}

/// Only the workloads know when a message was published: the library keeps it for a while.
#[test]
fn a_library_that_lingers_is_named_and_one_that_does_not_is_not() {
    let bench = Bench::new();
    let kinds = |linger: u32| {
        let words = format!(
            "run latency --on kafka --set linger.ms={linger} --set batch.size=100000 --rate 40 --messages 80 --warmup 5"
        );
        let ended = bench.wirelap(&words).json().end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        let report = bench.report();
        let kinds = problems(&report).into_iter().map(|verdict| verdict["kind"].clone());
        kinds.collect::<Vec<_>>()
    };
    assert!(kinds(20).contains(&json!("sender_batching")));
    assert!(!kinds(0).contains(&json!("sender_batching")));
    bench.assert_clean();
}

#[test]
fn the_cost_of_tracing_is_measured_in_turns() {
    let bench = Bench::new();
    let words = "run latency --on tcp --messages 500 --warmup 50 --measure-cost=true";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    // Its messages are in no other figure.
    assert_count(result, "/messages/matched", 1000);
    let tracer = &result["trust"]["tracer"];
    let slowdown = &tracer["slowdown"];
    if slowdown.is_null() {
        // On a machine with too much else to do, and only there, the cost is not known, which is said.
        let why = tracer["slowdown_unknown"].as_str();
        let is_slow = number(result, "/latency/one_way_ns/p50") >= 1_000_000;
        assert!(why == Some("slow_messages") && is_slow || why == Some("few_turns"), "{tracer}");
        assert!(ended.says("the cost of tracing is not known"), "{}", ended.stdout);
        bench.assert_clean();
        return;
    }
    let figure =
        |name: &str| slowdown[name].as_f64().unwrap_or_else(|| panic!("{name}: {slowdown}"));
    assert!(figure("turns") >= 10.0, "{slowdown}");
    assert!(figure("messages") > 1000.0, "{slowdown}");
    assert!(figure("ratio_low") <= figure("ratio"), "{slowdown}");
    assert!(figure("ratio") <= figure("ratio_high"), "{slowdown}");
    // Threads that move between CPUs may hide what tracing adds.
    let words = match (figure("ratio_low"), figure("ratio_high")) {
        (low, _) if low > 1.0 => "tracing cost",
        (_, high) if high < 1.0 => "the cost of tracing is not known, as messages were faster",
        _ => "no measurable cost of tracing",
    };
    assert!(ended.says(words), "{}", ended.stdout);
    bench.assert_clean();
}
