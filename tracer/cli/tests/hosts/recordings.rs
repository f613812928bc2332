//! Recordings of two hosts.

use crate::bench::{Bench, clocks, notes, of, segment, text};
use crate::captures::{CLIENT, SERVER, client, server, shifted};
use crate::clocks::ONE_WAYS;
use crate::recorded::{TOLD, WRITTEN, recorded};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Recordings of the client's host and the server's, whose clock is 70 s behind.
fn recordings(bench: &Bench, payload: [bool; 2]) -> [PathBuf; 2] {
    let server = shifted(server(), -70_000_000_000, 0);
    [("a.pcapng", client(), CLIENT, payload[0]), ("b.pcapng", server, SERVER, payload[1])].map(
        |(name, packets, address, payload)| {
            let capture = bench.write("capture.pcap", &packets);
            let path = bench.0.path().join(name);
            let of = (address, u64::from(address[3]));
            fs::write(&path, recorded(&capture, of, address == SERVER, payload)).unwrap();
            path
        },
    )
}

#[test]
fn what_two_recordings_of_one_kernel_have_is_counted_once() {
    let bench = Bench::new();
    let [first, other] = recordings(&bench, [true, true]);
    let again = bench.0.path().join("again.pcapng");
    fs::copy(&first, &again).unwrap();
    let report = |files: &[PathBuf]| -> Value {
        let output = of(&["analyze", "--json", "-"], files);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let [one, both] = [vec![first.clone()], vec![first.clone(), again.clone()]];
    let [one, both] = [&one, &both].map(|files| report(files));
    assert!(one["results"][0]["messages"]["sent"].as_u64() > Some(0));
    assert_eq!(one["results"][0]["messages"], both["results"][0]["messages"]);
    assert!(notes(&both).contains("of one kernel"), "{}", notes(&both));
    let [two, three] = [vec![first.clone(), other.clone()], vec![first, again, other]];
    let [two, three] = [&two, &three].map(|files| report(files));
    assert_eq!(two["results"][0]["messages"], three["results"][0]["messages"]);
    assert_eq!(clocks(&two)[0]["at_most_ns"], clocks(&three)[0]["at_most_ns"]);
}

#[test]
fn recordings_of_two_hosts_are_put_together_whole() {
    let bench = Bench::new();
    let files = recordings(&bench, [true, true]);
    let output = of(&["analyze", "--json", "-"], &files);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let captures = bench.analyze([&client(), &shifted(server(), -70_000_000_000, 0)]);
    let [result, expected] = [&report, &captures].map(|report| &report["results"][0]);
    assert_eq!(result["messages"], expected["messages"]);
    assert_eq!(clocks(&report), &{
        let mut same = clocks(&captures).clone();
        same["first"] = clocks(&report)["first"].clone();
        same["second"] = clocks(&report)["second"].clone();
        same
    });
    let text = notes(&report);
    assert!(
        !text.contains("Only packets were captured") && !text.contains("not in the files"),
        "{text}"
    );
    for leg in [1, 2] {
        // Milliseconds; the histogram's classes are a hundredth wide.
        let times = [0.010, 0.003, 0.002, 0.004, 0.008];
        for (name, time) in
            ["qdisc", "stack_rx", "wakeup", "runqueue", "read"].into_iter().zip(times)
        {
            let seen = segment(&report, leg, name).unwrap_or_else(|| panic!("{leg} {name}"));
            assert!((seen - time).abs() < time / 50.0, "{leg} {name}: {seen}");
        }
        let [wire, alone] = [&report, &captures].map(|all| segment(all, leg, "wire").unwrap());
        assert!((wire - alone).abs() < alone / 50.0, "{leg}: {wire} {alone}");
    }
    let processes = result["processes"].as_array().unwrap();
    let told: Vec<_> = processes
        .iter()
        .map(|process| {
            (process["name"].as_str().unwrap(), process["pid"].as_u64(), process["host"].as_u64())
        })
        .collect();
    assert!(told.contains(&("the-broker", Some(700), Some(2))), "{told:?}");
    assert!(told.contains(&("a-client", Some(701), None)), "{told:?}");
    assert_eq!(told.iter().filter(|(_, _, host)| host.is_some()).count(), 1, "{told:?}");
}

#[test]
fn one_way_times_between_two_recordings_are_from_call_to_read() {
    let bench = Bench::new();
    let files = recordings(&bench, [true, true]);
    let output = of(&["export", "--perfetto", "-o", "-"], &files);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let messages = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "message");
    let times: Vec<_> = messages.map(|one| one["args"]["one_way_ns"].as_u64().unwrap()).collect();
    assert_eq!(times.len(), 160);
    // Before tshark's first packet and after its last.
    assert_eq!(times.iter().sum::<u64>(), ONE_WAYS + 160 * (WRITTEN + TOLD[3]).0);
    let names = events.iter().filter(|event| event["name"] == "process_name");
    let names: Vec<_> = names.map(|name| name["args"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"the-broker (broker, second host)"), "{names:?}");
}

#[test]
fn a_recording_and_a_capture_are_put_together_by_their_packets() {
    let bench = Bench::new();
    let server = shifted(server(), -70_000_000_000, 0);
    let [own, _] = recordings(&bench, [true, true]);
    let other = bench.write("server.pcap", &server);
    let output = of(&["analyze", "--json", "-"], &[own, other]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let captures = bench.analyze([&client(), &server]);
    let [result, expected] = [&report, &captures].map(|report| &report["results"][0]);
    for part in ["messages", "latency", "segments"] {
        assert_eq!(result[part], expected[part], "{part}");
    }
    assert!(notes(&report).contains("only the packets are combined"), "{}", notes(&report));
}

#[test]
fn recordings_without_payload_are_not_put_together() {
    let bench = Bench::new();
    for payload in [[false, true], [true, false]] {
        let output = of(&["analyze"], &recordings(&bench, payload));
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains("record with --payload on all"), "{complaint}");
    }
}

#[test]
fn two_files_of_a_ring_are_one_recording() {
    let bench = Bench::new();
    let files = recordings(&bench, [true, true]);
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[1], &bytes[..200]).unwrap();
    let output = of(&["analyze", "--json", "-"], &files);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
