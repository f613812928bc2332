//! Why messages took so long, and what watching them cost, on real processes.

use crate::LONG;
use crate::bench::{Bench, lock};
use serde_json::Value;

/// The problems of the only result, strongest first.
fn problems(report: &Value) -> Vec<&Value> {
    let verdicts = report["results"][0]["why"]["verdicts"].as_array().unwrap();
    verdicts.iter().filter(|verdict| verdict["severity"] == "problem").collect()
}

#[test]
fn nagle_against_delayed_ack_is_named_and_goes_away_with_nodelay() {
    let _alone = lock();
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
    let first = problems(&report)[0];
    assert_eq!(first["kind"], "nagle_delayed_ack", "{page}");
    assert!(first["median_share"].as_f64().unwrap() > 0.5, "{page}");
    assert!(page.contains("nodelay"), "{page}");

    let (report, page) = run(true);
    let kinds: Vec<_> = problems(&report).iter().map(|verdict| &verdict["kind"]).collect();
    assert!(!kinds.iter().any(|kind| *kind == "nagle_delayed_ack"), "{page}");
    bench.assert_clean();
}

#[test]
fn the_cost_of_tracing_is_measured_in_turns() {
    let _alone = lock();
    let bench = Bench::new();
    let words = "run latency --on tcp --messages 500 --warmup 50 --measure-cost=true";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    // Its messages are in no other figure.
    assert_eq!(result["messages"]["matched"], 1000);
    let slowdown = &result["trust"]["tracer"]["slowdown"];
    let figure =
        |name: &str| slowdown[name].as_f64().unwrap_or_else(|| panic!("{name}: {slowdown}"));
    assert!(figure("turns") >= 10.0, "{slowdown}");
    assert!(figure("messages") > 1000.0, "{slowdown}");
    assert!(figure("ratio_low") <= figure("ratio"), "{slowdown}");
    assert!(figure("ratio") <= figure("ratio_high"), "{slowdown}");
    assert!(ended.stdout.contains("tracing cost"), "{}", ended.stdout);
    bench.assert_clean();
}
