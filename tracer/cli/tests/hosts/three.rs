//! Three hosts: joined over the one in the middle.

use crate::bench::{Bench, clocks, notes, number, segment, text};
use crate::captures::{DESTINATION, Packet, SERVER, SOURCE, client, server, shifted, three};

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
            // From the publisher to the subscriber, by way of the broker: the errors of both ways.
            let error = number(&result["latency"]["clock_error_ns"]["p50"]);
            let [time, expected] =
                [result, expected].map(|of| number(&of["latency"]["one_way_ns"]["p50"]));
            assert!((time - expected).abs() <= error, "{order:?}: {time} {expected} {error}");
            let most = hosts.iter().map(|host| number(&host["at_most_ns"])).max().unwrap();
            assert!(error > most - most / 100, "{order:?}: {error} {hosts:?}");
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
