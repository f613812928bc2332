//! Captures that are put together, and others that cannot be.

use crate::bench::{Bench, clocks, notes, number, segment};
use crate::captures::{CLIENT, DESTINATION, Packet, SERVER, SOURCE, client, server};
use serde_json::Value;

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
