//! `run --pcapng` of every middleware that needs nothing but ourselves: what Wireshark's dissectors and ours in Lua read in
//! the recordings, what our decoders read, and what `analyze` counts must be the same, message by message.

mod cases;
mod ours;
mod theirs;

use crate::LONG;
use crate::bench::Bench;
use crate::offline::{analyze, number};
use cases::{CASES, Case, RECORDED};
use ours::Carrying;
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use wirelap_test_support::committed::repository;
use wirelap_test_support::messages::compare;

/// A trial's recording.
struct Recorded {
    case: &'static Case,
    file: PathBuf,
}

/// Runs these middlewares, and finds the recording of each.
fn record(bench: &Bench, on: &[&str], more: &str) -> (Value, Vec<Recorded>) {
    let file = bench.file("trace.pcapng");
    let words =
        format!("run latency --on {} --warmup 0 {more} --pcapng {}", on.join(","), file.display());
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let order = report["scenario"]["order"].as_array().unwrap();
    let recorded = (1..).zip(order).map(|(number, title)| {
        let name = title.as_str().unwrap().split(' ').next().unwrap();
        let case = CASES.iter().find(|case| case.on == name).unwrap();
        let file =
            if on.len() > 1 { wirelap_recording::numbered(&file, number) } else { file.clone() };
        Recorded { case, file }
    });
    let recorded = recorded.collect();
    (report, recorded)
}

/// Compares what is in one recording. Returns how many messages it was.
fn check(bench: &Bench, report: &Value, Recorded { case, file }: &Recorded) -> usize {
    let (messages, read) = agree(bench, case, file);
    let row = only_row(&read);
    let ran = report["results"].as_array().unwrap().iter();
    let ran = ran.clone().find(|result| result["middleware"] == case.on).unwrap();
    // A look whether a server is there yet is in a row of its own, where nobody says whose it is.
    let is_alone = read["results"].as_array().unwrap().len() == 1;
    assert_same(ran, row, is_alone);
    messages
}

/// All that read a recording say the same. Returns how many messages it was, and what `analyze` says.
fn agree(bench: &Bench, case: &Case, file: &Path) -> (usize, Value) {
    let ours = ours::read(file, case.protocol, case.take);
    if case.is_read() {
        let mut theirs = case.theirs(file, &ours.servers);
        (case.same)(&ours.messages, &mut theirs);
        compare(&ours.messages, &theirs);
    }
    case.assert_quiet(file, &ours.servers);
    let (read, _) = analyze(bench, &[file]);
    assert_counted(case, only_row(&read), &ours.carrying);
    (ours.messages.values().map(Vec::len).sum(), read)
}

/// The row that has messages.
fn only_row(read: &Value) -> &Value {
    let rows = read["results"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.filter(|row| number(row, "/messages/sent") > 0).collect();
    let [row] = rows[..] else { panic!("{rows:#?}") };
    row
}

/// `analyze` counts what others do.
fn assert_counted(case: &Case, read: &Value, carrying: &Carrying) {
    let (sent, delivered) = (number(read, "/messages/sent"), number(read, "/messages/delivered"));
    let Carrying { to_servers, others, stored, bytes } = *carrying;
    let legs = to_servers + others;
    if case.brokered {
        assert_eq!((sent, delivered), (to_servers, others), "{}", case.on);
    } else {
        assert_eq!((sent, delivered), (legs, legs), "{}", case.on);
    }
    let operations = read["overhead"]["operations"].as_array().unwrap().iter();
    let published = operations.filter(|operation| operation["operation"] == "publish");
    let published: u64 = published.map(|row| number(row, "/count")).sum();
    assert_eq!(published, legs + stored, "{}", case.on);
    let part = |name: &str| number(read, &format!("/overhead/parts_bytes/{name}"));
    let payload = part("payload") + part("copies");
    let repeats = part("repeats");
    // Fragments that DDS sent again are in no message of their own.
    let is_right = if case.on == "dds" {
        payload <= bytes && bytes <= payload + repeats
    } else {
        payload + repeats == bytes
    };
    assert!(is_right, "{}: {payload} bytes and {repeats} again, of {bytes}", case.on);
}

/// Panics unless the file has the figures that `run` itself said.
fn assert_same(ran: &Value, read: &Value, is_alone: bool) {
    let messages = ["/messages/matched", "/messages/delivered", "/latency/one_way_ns/p50"];
    let bytes =
        ["/overhead/parts_bytes", "/overhead/packets", "/overhead/operations", "/trust/events"];
    let bytes = bytes.into_iter().filter(|_| is_alone);
    for pointer in messages.into_iter().chain(bytes) {
        assert_eq!(ran.pointer(pointer), read.pointer(pointer), "{}: {pointer}", ran["middleware"]);
    }
}

/// Small messages, and such as take several packets, datagrams, fragments; what is acknowledged twice; batches in datagrams.
#[test]
fn whatever_others_read_in_a_recording_is_what_was_counted() {
    let bench = Bench::new();
    let every: Vec<_> = CASES.iter().map(|case| case.on).collect();
    let runs: [(&[&str], &str); 4] = [
        (&every, "--messages 60 --payload 64"),
        (&["mqtt", "kafka", "dds", "zenoh-p2p"], "--messages 6 --payload 300K"),
        (&["mqtt"], "--messages 20 --payload 64 --qos 2"),
        (&["zenoh-p2p"], "--messages 20 --payload 64 --transport udp"),
    ];
    let mut messages = 0;
    for (on, more) in runs {
        let (report, recorded) = record(&bench, on, more);
        assert_eq!(recorded.len(), on.len());
        for recorded in &recorded {
            messages += check(&bench, &report, recorded);
        }
    }
    println!("{messages} messages agree");
    bench.assert_clean();
}

/// Programs of the user's own build cannot run everywhere, and tshark 4.0 does not know the records of today's Kafka clients:
/// recordings stand in. Each was made with `wirelap record --payload`.
///
/// `recorded/kafka`: Debian's `kcat` 1.7.1 (Produce 7, Fetch 11) through Apache Kafka 4.3.1: a file as one message, 30 messages one by
/// one, two with keys, and a consumer.
///
/// `recorded/xrce-dds`: `MicroXRCEAgent` 3.0.1 (`udp4 -m ced`) and the example clients of Micro XRCE-DDS, of four samples; their topic,
/// writer and reader are created in the binary form, as that agent's own broker wants it. `recorded/zenoh-pico`: `z_pong` as a peer
/// and `z_ping` as a client over TCP, 20 messages of 64 bytes and 6 of 3000.
#[test]
fn whatever_others_read_in_kept_recordings_is_what_was_counted() {
    let bench = Bench::new();
    let folder = repository("tracer/cli/tests/e2e/agreement/recorded");
    for (case, carrying) in &RECORDED {
        let name = format!("{}.pcapng", case.on);
        let mut from = wirelap_recording::open(&folder.join(format!("{name}.gz"))).unwrap();
        let file = bench.file(&name);
        io::copy(&mut from, &mut File::create(&file).unwrap()).unwrap();
        let (messages, read) = agree(&bench, case, &file);
        assert!(messages > 40, "{}: {messages}", case.on);
        let row = only_row(&read);
        let counted = ["/messages/sent", "/messages/delivered", "/messages/matched"];
        assert_eq!(counted.map(|pointer| number(row, pointer)), [*carrying; 3], "{}", case.on);
    }
}
