//! `wirelap export` as a program: what it draws of recordings, and how it ends.

#![allow(missing_docs, reason = "a test")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wirelap_test_support::committed::{of_protocols, repository};

fn wirelap(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Recordings of scenarios with and without a broker, sent over TCP.
fn recordings() -> Vec<PathBuf> {
    let folder = repository("tracer/correlate/tests/why");
    ["steady", "contended", "loss", "fetch_wait"]
        .map(|name| folder.join(format!("{name}.pcapng.gz")))
        .into()
}

fn other_capture() -> PathBuf {
    of_protocols("kafka/captures/kcat.pcap")
}

fn exported(recording: &Path) -> Value {
    let recording = recording.display().to_string();
    let output = wirelap(&["export", "--perfetto", &recording, "-o", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn analysed(recording: &Path) -> Value {
    let output = wirelap(&["analyze", &recording.display().to_string(), "--json", "-"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn slices<'a>(trace: &'a Value, category: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = trace["traceEvents"].as_array().unwrap().iter();
    all.filter(move |event| event["ph"] == "X" && event["cat"] == category)
}

fn ns(slice: &Value) -> u64 {
    let time = slice["dur"].as_f64().unwrap();
    format!("{:.0}", time * 1e3).parse().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// The one-way time of each delivery, by message, found by adding up its slices.
fn sums(trace: &Value) -> Vec<(u64, u64)> {
    let mut legs = BTreeMap::<u64, u64>::new();
    for slice in slices(trace, "segment") {
        *legs.entry(number(&slice["args"]["leg_id"])).or_default() += ns(slice);
    }
    let messages = slices(trace, "message").map(|message| {
        let ids = message["args"]["leg_ids"].as_array().unwrap().iter();
        let sum: u64 = ids.map(|id| legs[&number(id)]).sum();
        assert_eq!(sum, number(&message["args"]["one_way_ns"]));
        (number(&message["args"]["message"]), sum)
    });
    messages.collect()
}

#[test]
fn slices_add_up_to_what_analyze_says() {
    for recording in recordings() {
        let (trace, report) = (exported(&recording), analysed(&recording));
        let result = &report["results"][0];
        let sums = sums(&trace);
        assert_eq!(sums.len() as u64, number(&result["messages"]["matched"]));
        let worst = result["why"]["worst"].as_array().unwrap();
        assert_eq!(worst.len(), 10);
        for message in worst {
            let told = (number(&message["message"]), number(&message["one_way_ns"]));
            assert!(sums.contains(&told), "{told:?} {}", recording.display());
        }
        let slowest = sums.iter().map(|(_, time)| *time).max().unwrap();
        assert_eq!(slowest, number(&worst[0]["one_way_ns"]));
        // The scenario without a broker has bare TCP, which has no topics.
        let topic = if result["broker"].is_null() { "message" } else { "wirelap" };
        let named = |slice: &Value| slice["name"].as_str().unwrap().starts_with(topic);
        assert!(slices(&trace, "message").all(named), "{topic}");
    }
}

#[test]
fn packets_alone_are_drawn_too() {
    let (trace, report) = (exported(&other_capture()), analysed(&other_capture()));
    let sums = sums(&trace);
    assert!(!sums.is_empty());
    assert_eq!(sums.len() as u64, number(&report["results"][0]["messages"]["matched"]));
    let zero = number(&trace["otherData"]["zero_unix_ns"]);
    // A string, because a double does not hold so large a number.
    let seconds = trace["otherData"]["zero_unix_seconds"].as_str().unwrap();
    assert_eq!(seconds.replace('.', "").parse(), Ok(zero), "{seconds}");
    // 2020 and 2100.
    assert!((1_577_836_800_000_000_000..4_102_444_800_000_000_000).contains(&zero), "{zero}");
}

#[test]
fn a_recording_that_is_cut_off_is_drawn_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let packed = fs::read(&recordings()[0]).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let mut before = 0;
    for tenths in 3..=10 {
        let cut = folder.path().join("cut.pcapng");
        fs::write(&cut, &bytes[..bytes.len() * tenths / 10 - 1]).unwrap();
        let messages = sums(&exported(&cut)).len();
        assert!(messages >= before);
        before = messages;
    }
    assert!(before > 100);
}

#[test]
fn a_file_is_written_whole_and_not_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recordings()[0].display().to_string();
    let plain = folder.path().join("trace.json");
    let packed = folder.path().join("trace.json.gz");
    for out in [&plain, &packed] {
        let output = wirelap(&["export", "--perfetto", &recording, "-o", out.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(" messages, "), "{}", text(&output.stdout));
    }
    let plain_bytes = fs::read(&plain).unwrap();
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&fs::read(&packed).unwrap()[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(plain_bytes, unpacked);
    let out = plain.to_str().unwrap();
    let again = wirelap(&["export", "--perfetto", &recording, "-o", out]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is there already"), "{}", text(&again.stderr));
    assert_eq!(fs::read(&plain).unwrap(), plain_bytes);
    let forced = wirelap(&["export", "--perfetto", &recording, "-o", out, "--force"]);
    assert!(forced.status.success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_cannot_be_exported_gets_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recordings()[0].display().to_string();
    let none = folder.path().join("none");
    fs::write(&none, "no capture").unwrap();
    let none = none.display().to_string();
    let silent = folder.path().join("silent.pcap");
    fs::write(&silent, &fs::read(other_capture()).unwrap()[..24]).unwrap();
    let silent = silent.display().to_string();
    let out = folder.path().join("out.json").display().to_string();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--perfetto", &none, "-o", &out], 2, "is neither pcapng nor pcap"),
        (&["--perfetto", "/nowhere/a.pcap", "-o", &out], 2, "No such file"),
        (&["--perfetto", &silent, "-o", &out], 1, "no message was found"),
        (&["--perfetto", &recording, "-o", "/dev/full"], 1, "No space left on device"),
        (&["--perfetto", &recording, "-o", "/nowhere/out.json"], 2, "No such file"),
        (&[&recording, "-o", &out], 2, "--perfetto"),
    ];
    for (words, status, why) in cases {
        let output = wirelap(&[&["export"], words].concat());
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?} {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.starts_with("wirelap: ") && complaint.contains(why), "{complaint}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside");
}
