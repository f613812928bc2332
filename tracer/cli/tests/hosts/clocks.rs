//! The clocks of two hosts: how far they are apart, and times across both.

use crate::bench::{Bench, clocks, notes, number, of, segment, text};
use crate::captures::{client, datagrams, server, shifted};
use serde_json::Value;

/// By tshark: of each PUBLISH, the time of the packet from the broker less that of the packet to it, at the client.
pub const ONE_WAYS: u64 = 1_723_464_362;

#[test]
fn a_clock_that_is_ahead_or_runs_fast_is_found_out() {
    let bench = Bench::new();
    let (client, server) = (client(), server());
    let even = bench.analyze([&client, &server]);
    let worst = |report: &Value| number(&report["results"][0]["why"]["worst"][0]["one_way_ns"]);
    for (offset, ppm) in [
        (0, 0),
        (3_217_004_711, 0),
        (-86_400_500_000_000, 0),
        (10_000_000, 90),
        (-7_200_000_000_000, -250),
    ] {
        let report = bench.analyze([&client, &shifted(server.clone(), offset, ppm)]);
        let found = clocks(&report);
        let within = number(&found["within_ns"]);
        let error = (number(&found["offset_ns"]) - offset).abs();
        assert!(error <= within, "{offset} {ppm}: {error} {found}");
        assert!(within < 200_000 && number(&found["at_most_ns"]) < 5_200_000, "{found}");
        let drift = (found["drift_ppm"].as_f64().unwrap() - ppm as f64).abs();
        assert!(drift <= found["drift_within_ppm"].as_f64().unwrap(), "{found}");
        // Both ends of the one-way time are on the first host.
        assert_eq!(worst(&report), worst(&even));
        assert!(report["results"][0]["latency"]["clock_error_ns"].is_null());
        let messages = &report["results"][0]["messages"];
        assert_eq!(messages["matched"], 160);
        for leg in [1, 2] {
            let [wire, expected] =
                [&report, &even].map(|report| segment(report, leg, "wire").unwrap());
            // The histogram's classes are a hundredth wide.
            let slack = 2.0 * within as f64 / 1e6 + 0.06;
            assert!((wire - expected).abs() < slack, "{leg}: {wire} {expected}");
            assert!((4.9..5.6).contains(&wire), "{wire}");
            // What holds in any case is shown with it.
            let shown = error_of(&report, leg, "wire").unwrap();
            assert!((0.0..0.1).contains(&(shown - number(&found["at_most_ns"]) as f64 / 1e6)));
            assert!((wire - expected).abs() <= shown, "{leg}: {wire} {expected} {shown}");
        }
        let text = notes(&report);
        assert!(text.contains("Two hosts: the clock of"), "{text}");
        assert!(text.contains("packets do not show which is the case"), "{text}");
    }
}

/// Milliseconds of the error of a segment's times.
fn error_of(report: &Value, leg: u64, name: &str) -> Option<f64> {
    let mut rows = report["results"][0]["segments"].as_array().unwrap().iter();
    let found = rows.find(|row| row["leg"] == leg && row["segment"] == name)?;
    Some(found["clock_error_ns"].as_f64()? / 1e6)
}

#[test]
fn a_time_from_one_host_to_another_has_the_error_of_their_clocks() {
    let bench = Bench::new();
    let [client, server] = datagrams();
    let even = bench.analyze([&client, &server]);
    let ahead = bench.analyze([&client, &shifted(server, 1_000_700_000, 0)]);
    let [even, ahead] = [even, ahead].map(|report| report["results"][0].clone());
    let error = &ahead["latency"]["clock_error_ns"];
    assert_eq!(error["count"], ahead["messages"]["matched"]);
    for name in ["p50", "p99", "max"] {
        let [time, expected] =
            [&ahead, &even].map(|all| number(&all["latency"]["one_way_ns"][name]));
        assert!(
            (time - expected).abs() <= number(&error[name]),
            "{name}: {time} {expected} {error}"
        );
    }
    let reasons = ahead["trust"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["kind"] == "clocks"), "{reasons:?}");
}

#[test]
fn one_way_times_are_those_that_tshark_tells() {
    let bench = Bench::new();
    let server = shifted(server(), -40_000_000_000, 120);
    let output = bench.wirelap(&["export", "--perfetto", "-o", "-"], [&client(), &server]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let messages = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "message");
    let times = messages.map(|message| message["args"]["one_way_ns"].as_u64().unwrap());
    assert_eq!(times.sum::<u64>(), ONE_WAYS);
    let wires = events.iter().filter(|event| event["name"] == "wire").count();
    assert_eq!(wires, 2 * 160);
}

#[test]
fn the_order_of_the_files_says_whose_clock_counts() {
    let bench = Bench::new();
    let ahead = shifted(server(), 5_000_000_000, 0);
    let there = bench.analyze([&client(), &ahead]);
    let back = bench.analyze([&ahead, &client()]);
    let sum = number(&clocks(&there)["offset_ns"]) + number(&clocks(&back)["offset_ns"]);
    assert!(sum.abs() <= 1, "{sum}");
    assert_eq!(back["results"][0]["messages"], there["results"][0]["messages"]);
    assert!(segment(&back, 1, "wire").is_some());
}

#[test]
fn datagrams_tell_how_clocks_differ_too() {
    let bench = Bench::new();
    let [client, server] = datagrams();
    for offset in [0, -55_000_000_000] {
        let report = bench.analyze([&client, &shifted(server.clone(), offset, 0)]);
        let found = clocks(&report);
        let error = (number(&found["offset_ns"]) - offset).abs();
        assert!(error <= number(&found["within_ns"]), "{error} {found}");
        assert!(number(&found["at_most_ns"]) < 2_100_000, "{found}");
        let wire = segment(&report, 1, "wire").unwrap();
        assert!((1.9..2.2).contains(&wire), "{wire}");
        let messages = &report["results"][0]["messages"];
        assert_eq!(messages["matched"], messages["sent"]);
        assert!(number(&messages["sent"]) > 3, "{messages}");
    }
}

#[test]
fn a_short_part_of_the_other_side_is_enough() {
    let bench = Bench::new();
    let server = shifted(server(), -9_000_000_000, 0);
    let third = server.len() / 3;
    let report = bench.analyze([&client(), &server[third..2 * third]]);
    let error = (number(&clocks(&report)["offset_ns"]) + 9_000_000_000).abs();
    assert!(error <= number(&clocks(&report)["within_ns"]), "{}", clocks(&report));
}

#[test]
fn a_page_on_a_capture_speaks_of_its_clock_and_not_of_ours() {
    let bench = Bench::new();
    let file = bench.write("one.pcap", &client());
    let page = text(&of(&["analyze", "--explain"], &[file]).stdout);
    assert!(page.contains("by the clock of the capturing host"), "{page}");
    let both = text(&bench.wirelap(&["analyze", "--explain"], [&client(), &server()]).stdout);
    assert!(both.contains("times are by the clock of the host of"), "{both}");
    for page in [page, both] {
        assert!(
            !page.contains("CLOCK_MONOTONIC") && !page.contains("wirelap itself used"),
            "{page}"
        );
    }
}
