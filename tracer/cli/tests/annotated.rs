//! What packets tell of their messages: tshark, with our dissector, must read of each message what the correlator
//! says of it, beside the packet that the leg's stages name.
//!
//! Needs tshark: `cargo test -p wirelap --features privileged --test annotated`. The recordings are those of the verdicts.

#![cfg(feature = "privileged")]
#![allow(missing_docs, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wirelap_correlate::{Config, Correlator, DeliverySink, HeldUp, Label};
use wirelap_events::{Delivery, Leg, Nanos, Pid, Stage};
use wirelap_recording::{Entry, Note, Recording};

/// What is told of a message on a leg: by the name of the field.
type Fields = BTreeMap<String, String>;

/// A message and a leg, from 1.
type Key = (u64, usize);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn recordings() -> Vec<PathBuf> {
    let folder = root().join("tracer/correlate/tests/why");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "gz")).collect();
    all.sort();
    all
}

/// The correlator's word for every message.
#[derive(Default)]
struct Truth {
    all: BTreeMap<Key, (Option<Nanos>, Fields)>,
    /// When the packet with the last byte was handed to a device, or else received.
    packets: BTreeMap<Key, Vec<Nanos>>,
    deliveries: Vec<Delivery>,
}

impl Truth {
    fn hear(&mut self, delivery: &Delivery, held_up: Option<HeldUp>, standing: &str) {
        let one_way = delivery.one_way().filter(|_| standing != "incomplete");
        for (index, segments) in delivery.segments() {
            let leg: &Leg = &delivery.legs[index];
            let mut fields = Fields::new();
            let mut put = |name: &str, value: String| drop(fields.insert(name.into(), value));
            put("standing", standing.into());
            put("legs", delivery.legs.len().to_string());
            put("payload_bytes", delivery.payload_len.to_string());
            put("leg_ns", segments.sum().0.to_string());
            for (segment, time) in segments.iter() {
                put(&format!("segment.{}_ns", segment.name()), time.0.to_string());
            }
            if let Some(one_way) = one_way {
                put("one_way_ns", one_way.0.to_string());
            }
            for (name, task) in [("sender", leg.sender), ("reader", leg.reader)] {
                if let Some(task) = task.filter(|task| task.pid != Pid(0)) {
                    put(&format!("{name}.pid"), task.pid.0.to_string());
                    put(&format!("{name}.tid"), task.tid.0.to_string());
                }
            }
            if let Some(held_up) = held_up {
                put("verdict", held_up.kind.name().into());
                put("verdict.leg", (held_up.leg + 1).to_string());
                put("verdict.segment", held_up.segment.name().into());
                put("verdict.ns", held_up.time.0.to_string());
            }
            let key = (delivery.message.0, index + 1);
            let times = [Stage::Xmit, Stage::Rx].map(|stage| leg.times.get(stage));
            self.packets.entry(key).or_default().extend(times.into_iter().flatten());
            let known = self.all.entry(key).or_insert_with(|| (one_way, fields.clone()));
            if one_way > known.0 {
                *known = (one_way, fields);
            }
        }
        self.deliveries.push(delivery.clone());
    }
}

impl DeliverySink for Truth {
    fn delivery(&mut self, _: &Delivery) {
        unreachable!("it is judged");
    }

    fn judged(&mut self, delivery: &Delivery, held_up: Option<HeldUp>) {
        self.hear(delivery, held_up, "counted");
    }

    fn aside(&mut self, delivery: &Delivery) {
        let warmup = delivery.stamp.is_some_and(|stamp| stamp.warmup);
        self.hear(delivery, None, if warmup { "warm-up" } else { "incomplete" });
    }
}

fn label(note: Note<'_>) -> Option<Label> {
    let told: serde_json::Value = serde_json::from_str(note.text).ok()?;
    let numbers = |name: &str| told[name].as_array().into_iter().flatten();
    let number = |value: &serde_json::Value| u32::try_from(value.as_u64()?).ok();
    Some(Label {
        name: told["name"].as_str()?.to_owned(),
        broker: told["broker"].as_str().map(str::to_owned),
        ports: numbers("ports").filter_map(|port| u16::try_from(number(port)?).ok()).collect(),
        pids: numbers("pids").filter_map(number).map(Pid).collect(),
    })
}

/// And the difference from the monotonic clock to the wall clock.
fn truth(file: &Path) -> (Truth, i64) {
    let mut recording = Recording::new(wirelap_recording::open(file).unwrap()).unwrap();
    let wall = recording.section().unwrap().wall;
    let mut correlator = Correlator::new(Config { topics: true, ..Config::default() });
    let mut truth = Truth::default();
    while let Some(entry) = recording.next() {
        match entry {
            Entry::Event(event) => correlator.take(&event, &mut truth),
            Entry::Known(event) => correlator.event(&event),
            Entry::Tick(at) => correlator.tick(at, &mut truth),
            Entry::Note(note) if note.subject == "label" => {
                correlator.add_label(label(note).unwrap());
            }
            Entry::Note(_) => {}
        }
    }
    correlator.finish(&mut truth);
    for delivery in &truth.deliveries {
        let Some(topic) = delivery.topic.and_then(|id| correlator.topic(id)) else { continue };
        for leg in 1..=delivery.legs.len() {
            let (_, fields) = truth.all.get_mut(&(delivery.message.0, leg)).unwrap();
            fields.insert("topic".into(), String::from_utf8(topic.to_vec()).unwrap());
        }
    }
    (truth, wall)
}

fn tshark(file: &Path, words: &[&str]) -> String {
    let script = root().join("dissectors/wirelap.lua").canonicalize().unwrap();
    let output = Command::new("tshark")
        .args(["-X", &format!("lua_script:{}", script.display()), "-r"])
        .arg(file)
        .args(words)
        // Not the user's preferences, nor dissectors that are installed.
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("tshark");
    // Errors in Lua show up there.
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> =
        complaints.lines().filter(|line| !line.starts_with("Running as user")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{complaints:#?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A packet that tells of a message.
struct Told {
    frame: u64,
    /// Nanoseconds since 1970.
    at: u64,
    fields: Fields,
}

impl Told {
    fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name).map(|value| value.parse().unwrap())
    }

    /// Whether the packet has the message's last byte.
    fn has_end(&self) -> bool {
        self.number("part.to") == self.number("part.of")
    }
}

/// What tshark reads. Of its outputs only PDML keeps the messages of one packet apart.
fn told(file: &Path) -> Vec<Told> {
    let pdml = tshark(file, &["-2", "-Y", "wirelap", "-T", "pdml", "-J", "frame wirelap"]);
    let mut all: Vec<Told> = Vec::new();
    let (mut frame, mut at) = (0, 0);
    for line in pdml.lines() {
        let attribute = |name: &str| {
            let start = line.find(&format!(" {name}=\""))? + name.len() + 3;
            line[start..].split('"').next()
        };
        let (name, show) =
            (attribute("name").unwrap_or_default(), attribute("show").unwrap_or_default());
        match name {
            "frame.number" => frame = show.parse().unwrap(),
            "frame.time_epoch" => at = show.replace('.', "").parse().unwrap(),
            "wirelap" => all.push(Told { frame, at, fields: Fields::new() }),
            _ => {
                if let Some(name) = name.strip_prefix("wirelap.") {
                    let plain = show.replace("&quot;", "\"").replace("&amp;", "&");
                    all.last_mut().unwrap().fields.insert(name.to_owned(), plain);
                }
            }
        }
    }
    all
}

fn annotate(recording: &Path, to: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_wirelap"))
        .arg("analyze")
        .args([recording, Path::new("--annotate"), to])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compares what packets tell with what is true. Returns how many packets there were to compare.
fn compare(file: &Path) -> usize {
    let (truth, wall) = truth(file);
    let told = told(file);
    let mut left: BTreeSet<Key> = truth.all.keys().copied().collect();
    let mut ends: BTreeMap<Key, Vec<&Told>> = BTreeMap::new();
    for packet in &told {
        let leg = usize::try_from(packet.number("leg").unwrap()).unwrap();
        let key = (packet.number("msg.id").unwrap(), leg);
        let (_, expected) =
            truth.all.get(&key).unwrap_or_else(|| panic!("no such message: {key:?}"));
        left.remove(&key);
        for (name, value) in expected {
            assert_eq!(packet.fields.get(name), Some(value), "{key:?} {name} in {}", packet.frame);
        }
        let is_verdict =
            |name: &&String| name.starts_with("verdict") || name.starts_with("segment.");
        for name in packet.fields.keys().filter(is_verdict) {
            assert!(expected.contains_key(name), "{key:?} {name}");
        }
        if packet.has_end() {
            ends.entry(key).or_default().push(packet);
        }
    }
    assert!(left.is_empty(), "{}: no packet tells of {left:?}", file.display());
    for (&(message, leg), packets) in &ends {
        let times = &truth.packets[&(message, leg)];
        let is_named = |packet: &&&Told| {
            let at = Nanos(packet.at.wrapping_sub(wall.cast_unsigned()));
            times.contains(&at)
        };
        assert!(
            packets.iter().any(|packet| is_named(&packet)),
            "message {message}, leg {leg}: not its packet"
        );
        for (field, other) in [("previous_leg", leg - 1), ("next_leg", leg + 1)] {
            let other = ends.get(&(message, other));
            for packet in packets {
                let linked = packet.number(field);
                let is_right = match other {
                    None => linked.is_none(),
                    Some(others) => others.iter().any(|other| Some(other.frame) == linked),
                };
                assert!(is_right, "message {message}, leg {leg}: {field} is {linked:?}");
            }
        }
    }
    told.len()
}

#[test]
fn tshark_reads_of_each_message_what_the_correlator_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = 0;
    for recording in recordings() {
        let copy = folder.path().join(recording.file_stem().unwrap());
        annotate(&recording, &copy);
        // A recording that was written again is the same.
        assert_eq!(truth(&copy).0.deliveries, truth(&recording).0.deliveries, "{}", copy.display());
        packets += compare(&copy);
    }
    assert!(packets > 1_500, "{packets}");
}

#[test]
fn nothing_is_malformed_and_nothing_of_ours_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("stopped.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/stopped.pcapng.gz"), &copy);
    let wrong =
        "_ws.malformed || _ws.lua.error || wirelap.unreadable || _ws.expert.severity == \"Error\"";
    assert_eq!(tshark(&copy, &["-2", "-Y", wrong]), "");
    // The broker had been stopped for a while.
    let count = |filter: &str| tshark(&copy, &["-Y", filter]).lines().count();
    let late = count("wirelap.verdict == \"broker_stalled\" && wirelap.late");
    assert!(late > 10, "{late}");
    assert_eq!(count("wirelap.late && wirelap.verdict.ns < 1000000"), 0);
}

#[test]
fn fields_can_be_summed_and_the_summary_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("steady.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/steady.pcapng.gz"), &copy);
    let (truth, _) = truth(&copy);
    let mut times: Vec<u64> = truth
        .all
        .values()
        .filter(|(_, fields)| fields["standing"] == "counted" && fields["leg_ns"] != "0")
        .filter_map(|(one_way, _)| one_way.map(|time| time.0))
        .collect();
    // Both legs have it.
    times.sort_unstable();
    let max = times.last().unwrap();
    let delivered = "wirelap.delivers == 1 && wirelap.standing == \"counted\"";
    let column = format!("MAX(wirelap.one_way_ns)wirelap.one_way_ns && {delivered}");
    let statistics = tshark(&copy, &["-q", "-z", &format!("io,stat,0,{column}")]);
    assert!(statistics.contains(&format!(" {max} ")), "{max}: {statistics}");
    let summary = tshark(&copy, &["-q", "-o", "wirelap.summary:TRUE"]);
    let row: Vec<&str> = summary.lines().nth(1).unwrap().split_whitespace().collect();
    let messages = truth.deliveries.iter().filter(|delivery| {
        delivery.one_way().is_some() && !delivery.stamp.is_some_and(|stamp| stamp.warmup)
    });
    assert_eq!(row[1], messages.count().to_string(), "{summary}");
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    assert_eq!(row[5], us(*max), "{summary}");
}

/// The format that tells a file's compression, and one that is not ours.
#[test]
fn what_cannot_be_written_again_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |file: &Path, to: &Path, why: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_wirelap"))
            .arg("analyze")
            .args([file, Path::new("--annotate"), to])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    };
    let other = root().join("tracer/protocols/tests/kafka/captures/kcat.pcap");
    refuse(&other, &folder.path().join("a"), "is not a recording of wirelap's");
    let own = folder.path().join("own.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/nagle.pcapng.gz"), &own);
    refuse(&own, &own, "cannot write over");
    assert!(fs::metadata(&own).unwrap().len() > 10_000);
}
