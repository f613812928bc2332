//! Captures of two hosts. `hosts/` has both ends of a publisher, a subscriber and a broker, by tcpdump in two network
//! namespaces whose packets took 5 ms and more each way: one clock, so that every offset of it is known.

#![allow(missing_docs, reason = "a test")]

#[path = "hosts/captures.rs"]
mod captures;
#[path = "hosts/recorded.rs"]
mod recorded;

use captures::{
    CLIENT, DESTINATION, Packet, SERVER, SOURCE, client, datagrams, server, shifted, three,
};
use recorded::{TOLD, WRITTEN, recorded};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, packets: &[Packet]) -> PathBuf {
        let words = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 1];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for packet in packets {
            let [seconds, part] = [packet.at / 1_000_000_000, packet.at % 1_000_000_000];
            let [seconds, part] = [seconds, part].map(|time| u32::try_from(time).unwrap());
            let len = u32::try_from(packet.bytes.len()).unwrap();
            bytes.extend(
                [seconds, part, len, packet.original].into_iter().flat_map(u32::to_le_bytes),
            );
            bytes.extend(&packet.bytes);
        }
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn wirelap(&self, words: &[&str], captures: [&[Packet]; 2]) -> Output {
        let [first, second] = captures;
        let files = [self.write("client.pcap", first), self.write("server.pcap", second)];
        Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).args(files).output().unwrap()
    }

    fn analyze(&self, captures: [&[Packet]; 2]) -> Value {
        let output = self.wirelap(&["analyze", "--json", "-"], captures);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// One sentence and status 2.
    fn refused(&self, captures: [&[Packet]; 2], why: &str) {
        let output = self.wirelap(&["analyze"], captures);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.starts_with("wirelap: ") && complaint.contains(why), "{complaint}");
    }

    fn one(&self, packets: &[Packet]) -> Value {
        let file = self.write("one.pcap", packets);
        let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
        let output = wirelap.args(["analyze", "--json", "-"]).arg(file).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn clocks(report: &Value) -> &Value {
    &report["results"][0]["trust"]["clocks"]
}

/// Milliseconds of a segment of a leg: the median.
fn segment(report: &Value, leg: u64, name: &str) -> Option<f64> {
    let rows = report["results"][0]["segments"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| row["leg"] == leg && row["segment"] == name);
    Some(found.next()?["p50_ns"].as_f64().unwrap() / 1e6)
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

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
        let messages = &report["results"][0]["messages"];
        assert_eq!(messages["matched"], 160);
        for leg in [1, 2] {
            let [wire, expected] =
                [&report, &even].map(|report| segment(report, leg, "wire").unwrap());
            // The histogram's classes are a hundredth wide.
            let slack = 2.0 * within as f64 / 1e6 + 0.06;
            assert!((wire - expected).abs() < slack, "{leg}: {wire} {expected}");
            assert!((4.9..5.6).contains(&wire), "{wire}");
        }
        let text = notes(&report);
        assert!(text.contains("Two hosts: the clock of"), "{text}");
        assert!(text.contains("packets do not show which is the case"), "{text}");
    }
}

/// By tshark: of each PUBLISH, the time of the packet from the broker less that of the packet to it, at the client.
const ONE_WAYS: u64 = 1_723_464_362;

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
fn one_end_alone_says_what_it_does_not_have() {
    let bench = Bench::new();
    for (packets, dwell) in [(client(), 10.0..11.0), (server(), 0.05..0.2)] {
        let report = bench.one(&packets);
        assert_eq!(report["results"][0]["messages"]["matched"], 160);
        assert_eq!(segment(&report, 1, "wire"), None);
        let seen = segment(&report, 2, "broker_dwell").unwrap();
        assert!(dwell.contains(&seen), "{seen}");
        assert!(clocks(&report).is_null());
        let text = notes(&report);
        assert!(
            text.contains(
                "Stages that are not in the files, and so in no figure: send, xmit, ready"
            ),
            "{text}"
        );
        assert!(text.contains("includes both ways if the broker is on another host"), "{text}");
    }
}

/// Recordings of the client's host and the server's, whose clock is 70 s behind.
fn recordings(bench: &Bench, payload: [bool; 2]) -> [PathBuf; 2] {
    let server = shifted(server(), -70_000_000_000, 0);
    [("a.pcapng", client(), CLIENT, payload[0]), ("b.pcapng", server, SERVER, payload[1])].map(
        |(name, packets, address, payload)| {
            let capture = bench.write("capture.pcap", &packets);
            let path = bench.0.path().join(name);
            fs::write(&path, recorded(&capture, address, address == SERVER, payload)).unwrap();
            path
        },
    )
}

fn of(words: &[&str], files: &[PathBuf]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).args(files).output().unwrap()
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
fn both_ends_in_one_file_are_one_capture() {
    let bench = Bench::new();
    let mut both = [client(), server()].concat();
    both.sort_by_key(|packet| packet.at);
    let report = bench.one(&both);
    let apart = bench.analyze([&client(), &server()]);
    let [result, apart] = [&report, &apart].map(|report| &report["results"][0]);
    assert_eq!(result["messages"], apart["messages"]);
    assert_eq!(result["overhead"], apart["overhead"]);
    let worst = |result: &Value| number(&result["why"]["worst"][0]["one_way_ns"]);
    assert_eq!(worst(result), worst(apart));
    for leg in [1, 2] {
        let wire = segment(&report, leg, "wire").unwrap();
        assert!((5.0..5.5).contains(&wire), "{wire}");
    }
    let text = notes(&report);
    assert!(text.contains("the file contains each packet twice"), "{text}");
}

#[test]
fn parts_of_one_capture_are_read_one_after_the_other() {
    let bench = Bench::new();
    let all = client();
    let half = all.len() / 2;
    let report = bench.analyze([&all[..half], &all[half..]]);
    assert!(clocks(&report).is_null());
    assert_eq!(report["results"][0]["messages"], bench.one(&all)["results"][0]["messages"]);
}

impl Bench {
    /// Captures by name.
    fn several(&self, words: &[&str], captures: &[(&str, &[Packet])]) -> Output {
        let files: Vec<_> =
            captures.iter().map(|(name, packets)| self.write(name, packets)).collect();
        of(words, &files)
    }

    fn report_of(&self, captures: &[(&str, &[Packet])]) -> Value {
        let output = self.several(&["analyze", "--json", "-"], captures);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn three_hosts_are_joined_over_the_one_in_the_middle() {
    let bench = Bench::new();
    let [publisher, broker, subscriber] = three();
    let even = bench.analyze([&client(), &server()]);
    for (of_broker, of_subscriber, ppm) in
        [(0, 0, 0), (-3_700_000_000, 12_300_000_000, 0), (86_400_000_000_000, -5_000_000_000, 90)]
    {
        let broker = shifted(broker.clone(), of_broker, 0);
        let subscriber = shifted(subscriber.clone(), of_subscriber, ppm);
        let files: [(&str, &[Packet]); 3] =
            [("p.pcap", &publisher), ("b.pcap", &broker), ("s.pcap", &subscriber)];
        for order in [[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 0, 2]] {
            let report = bench.report_of(&order.map(|index| files[index]));
            let [result, expected] = [&report, &even].map(|report| &report["results"][0]);
            assert_eq!(result["messages"], expected["messages"], "{order:?}");
            assert_eq!(result["overhead"], expected["overhead"], "{order:?}");
            assert!(clocks(&report).is_null());
            let hosts = result["trust"]["hosts"].as_array().unwrap();
            assert_eq!(hosts.iter().map(|host| number(&host["host"])).collect::<Vec<_>>(), [2, 3]);
            for leg in [1, 2] {
                let wire = segment(&report, leg, "wire").unwrap();
                let expected = segment(&even, leg, "wire").unwrap();
                let within = hosts.iter().map(|host| number(&host["within_ns"])).max().unwrap();
                let slack = 2.0 * within as f64 / 1e6 + 0.06;
                assert!((wire - expected).abs() < slack, "{order:?} {leg}: {wire} {expected}");
            }
            let text = notes(&report);
            assert!(text.contains("Three hosts: the clock of"), "{text}");
        }
        // The publisher's clock is the first, and the subscriber's was compared over the broker's.
        let report = bench.report_of(&files);
        let hosts = &report["results"][0]["trust"]["hosts"];
        let found: Vec<i64> = (0..2).map(|host| number(&hosts[host]["offset_ns"])).collect();
        for (host, offset) in [(0, of_broker), (1, of_subscriber)] {
            // The subscriber's clock drifts from its own first packet on.
            let slack = number(&hosts[host]["within_ns"]) + ppm * 1_000_000;
            assert!((found[host] - offset).abs() <= slack, "{hosts:#}");
        }
        assert!(hosts[1]["through"][0].as_str().unwrap().ends_with("b.pcap"), "{hosts:#}");
        assert!(number(&hosts[1]["at_most_ns"]) > number(&hosts[0]["at_most_ns"]), "{hosts:#}");
    }
}

#[test]
fn a_capture_that_nothing_leads_to_is_named() {
    let bench = Bench::new();
    let [publisher, broker, subscriber] = three();
    let files: [(&str, &[Packet]); 2] = [("p.pcap", &publisher), ("s.pcap", &subscriber)];
    let output = bench.several(&["analyze"], &files);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no flow in common"), "{}", text(&output.stderr));
    let stranger: Vec<Packet> = subscriber
        .iter()
        .cloned()
        .map(|mut packet| {
            for place in [SOURCE, DESTINATION] {
                packet.bytes[place][2] = 99;
            }
            // Sequence numbers of its own.
            packet.bytes[38] ^= 0x55;
            packet.bytes[42] ^= 0x55;
            packet
        })
        .collect();
    let files: [(&str, &[Packet]); 3] =
        [("p.pcap", &publisher), ("b.pcap", &broker), ("x.pcap", &stranger)];
    let output = bench.several(&["analyze"], &files);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("x.pcap cannot be combined with the other files"), "{complaint}");
}

#[test]
fn parts_of_one_hosts_capture_stay_together() {
    let bench = Bench::new();
    let [publisher, broker, subscriber] = three();
    let subscriber = shifted(subscriber, 4_000_000_000, 0);
    let (early, late) = broker.split_at(broker.len() / 3);
    let whole: [(&str, &[Packet]); 3] =
        [("p.pcap", &publisher), ("b.pcap", &broker), ("s.pcap", &subscriber)];
    let parts: [(&str, &[Packet]); 4] =
        [("p.pcap", &publisher), ("b-1.pcap", early), ("b-2.pcap", late), ("s.pcap", &subscriber)];
    let [whole, parts] = [bench.report_of(&whole), bench.report_of(&parts)];
    for part in ["messages", "overhead"] {
        assert_eq!(whole["results"][0][part], parts["results"][0][part], "{part}");
    }
}

#[test]
fn a_router_in_between_is_a_third_host_and_counts_nothing() {
    let bench = Bench::new();
    let mut router: Vec<Packet> = server();
    for packet in &mut router {
        // Two milliseconds before the server has it, and after it has sent it.
        packet.at += if packet.bytes[SOURCE] == SERVER { 2_000_000 } else { -2_000_000 };
    }
    router.sort_by_key(|packet| packet.at);
    let router = shifted(router, 7_000_000_000, 0);
    let (client, server) = (client(), shifted(server(), -2_000_000_000, 0));
    let two = bench.analyze([&client, &server]);
    let report = bench.report_of(&[("c.pcap", &client), ("r.pcap", &router), ("s.pcap", &server)]);
    for part in ["messages", "overhead"] {
        assert_eq!(report["results"][0][part], two["results"][0][part], "{part}");
    }
    for leg in [1, 2] {
        let [wire, expected] = [&report, &two].map(|report| segment(report, leg, "wire").unwrap());
        assert!((wire - expected).abs() < 0.3, "{leg}: {wire} {expected}");
    }
}

#[test]
fn a_page_on_a_capture_speaks_of_its_clock_and_not_of_ours() {
    let bench = Bench::new();
    let file = bench.write("one.pcap", &client());
    let page = text(&of(&["analyze", "--explain"], &[file]).stdout);
    assert!(page.contains("the clock of the host that captured it"), "{page}");
    let both = text(&bench.wirelap(&["analyze", "--explain"], [&client(), &server()]).stdout);
    assert!(both.contains("told by the clock of the host of"), "{both}");
    for page in [page, both] {
        assert!(
            !page.contains("CLOCK_MONOTONIC") && !page.contains("wirelap itself used"),
            "{page}"
        );
    }
}

#[test]
fn what_cannot_be_put_together_is_told() {
    let bench = Bench::new();
    let client = client();
    let translated: Vec<Packet> = server()
        .into_iter()
        .map(|mut packet| {
            for place in [SOURCE, DESTINATION] {
                if packet.bytes[place.clone()] == CLIENT {
                    packet.bytes[place].copy_from_slice(&[192, 168, 1, 1]);
                }
            }
            packet
        })
        .collect();
    // What a router has translated on the way is the same connection.
    let [joined, plain] = [&translated, &server()].map(|server| bench.analyze([&client, server]));
    assert_eq!(joined["results"].as_array().unwrap().len(), 1);
    assert_eq!(joined["results"][0]["messages"], plain["results"][0]["messages"]);
    let stranger: Vec<Packet> = translated
        .into_iter()
        .map(|mut packet| {
            // Sequence and acknowledgement numbers of its own.
            for place in [38, 42] {
                packet.bytes[place] ^= 0x55;
            }
            packet
        })
        .collect();
    bench.refused([&client, &stranger], "no flow in common");
    let one_way: Vec<Packet> =
        server().into_iter().filter(|packet| packet.bytes[SOURCE] == SERVER).collect();
    bench.refused([&client, &one_way], "packets of one direction only");
    let mut set = server();
    let half = set.len() / 2;
    for packet in &mut set[half..] {
        packet.at += 60_000_000_000;
    }
    bench.refused([&client, &set], "a clock was set meanwhile");
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
