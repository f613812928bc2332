//! Files whose times are out of order, were stamped by a clock that was set, or are coarse; and files that say that packets are missing.

use crate::bench::{Bench, notes, number};
use crate::captures::{Packet, client};
use serde_json::Value;

fn trust(report: &Value) -> &Value {
    &report["results"][0]["trust"]
}

/// The kinds of reasons, and the first one as a sentence.
fn reasons(report: &Value) -> (Vec<String>, String) {
    let reasons = trust(report)["reasons"].as_array().unwrap().iter();
    let words = |of: &Value, what| of[what].as_str().unwrap().to_owned();
    let kinds = reasons.clone().map(|reason| words(reason, "kind")).collect();
    (kinds, reasons.map(|reason| words(reason, "text")).next().unwrap_or_default())
}

#[test]
fn packets_that_are_out_of_order_are_sorted() {
    let bench = Bench::new();
    let (all, mut shuffled) = (client(), client());
    for (at, few) in shuffled.chunks_mut(14).enumerate() {
        few.rotate_left(at % 5);
        few.reverse();
    }
    let [plain, sorted] = [bench.one(&all), bench.one(&shuffled)];
    assert!(!notes(&plain).contains("behind later"), "{}", notes(&plain));
    assert!(notes(&sorted).contains("behind later ones"), "{}", notes(&sorted));
    for part in ["messages", "latency", "overhead", "trust"] {
        assert_eq!(sorted["results"][0][part], plain["results"][0][part], "{part}");
    }
}

#[test]
fn times_go_on_where_a_clock_was_set_back() {
    const BACK: i64 = 5_000_000_000;
    let bench = Bench::new();
    let (all, mut set) = (client(), client());
    let half = set.len() / 2;
    for packet in &mut set[half..] {
        packet.at -= BACK;
    }
    let [plain, moved] = [bench.one(&all), bench.one(&set)];
    let counts = |report: &Value, what: &str| number(&report["results"][0]["messages"][what]);
    for what in ["sent", "delivered", "matched"] {
        assert_eq!(counts(&moved, what), counts(&plain, what), "{what}");
    }
    let rate = |report: &Value| report["results"][0]["throughput"]["msg_per_s"].as_f64();
    let [moved_rate, plain_rate] = [rate(&moved), rate(&plain)].map(Option::unwrap);
    assert!((moved_rate / plain_rate - 1.0).abs() < 0.2, "{moved_rate} {plain_rate}");
    assert!(notes(&moved).contains("the clock goes back 1 time, by up to "), "{}", notes(&moved));
}

#[test]
fn coarse_times_show_no_latency() {
    let bench = Bench::new();
    let with = |unit: i64| {
        let packets = client().into_iter();
        let coarse = |packet: Packet| Packet { at: packet.at - packet.at % unit, ..packet };
        bench.one(&packets.map(coarse).collect::<Vec<_>>())
    };
    assert_eq!(trust(&with(1_000))["verdict"], "good");
    let report = with(1_000_000_000);
    assert_eq!(trust(&report)["verdict"], "unusable");
    let (kinds, text) = reasons(&report);
    assert_eq!(kinds, ["coarse_times"]);
    assert!(text.starts_with("all times in the file are multiples of 1"), "{text}");
    let none: Vec<_> = client().into_iter().map(|packet| Packet { at: 0, ..packet }).collect();
    assert_eq!(reasons(&bench.one(&none)).0, ["coarse_times"]);
}
