//! Work of one kind, to be counted by callgrind: `count make|read|write|correlate|capture|live FILE`.
//!
//! `make` writes a recording of MQTT messages through a broker: 40,000 of 64 B, 20,000 a second, 12 events each. `read` reads
//! it; `write` and `correlate` read it too, and write its events again, or correlate them. What they cost without
//! reading is the difference to `read`. `capture` correlates a capture of another program, in which MQTT is spoken at port 18831,
//! as `wirelap analyze` does; `live` correlates a recording of such traffic with the settings of a session.

use std::hint::black_box;
use std::{env, fs};
use wirelap_correlate::{Config, Correlator};
use wirelap_events::{Delivery, Nanos, TxState};
use wirelap_recording::{Encoder, Entry, Recording, Section, Settings};
use wirelap_test_support::compose::{mqtt, payload, stamp};
use wirelap_test_support::world::{World, process};

const MESSAGES: u32 = 40_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [work, file] = &arguments[..] else {
        panic!("count make|read|write|correlate|capture|live FILE")
    };
    if work == "make" {
        return fs::write(file, make()).expect("the file can be written");
    }
    let bytes = fs::read(file).expect("the file can be read");
    let recording = Recording::new(&bytes[..]).expect("the file is a recording");
    let count = match work.as_str() {
        "read" => read(recording),
        "write" => write(recording),
        "correlate" => correlate(recording),
        "capture" => capture(recording, true),
        "live" => capture(recording, false),
        other => panic!("unknown work: {other}"),
    };
    println!("{count}");
}

/// The bytes of a recording.
fn make() -> Vec<u8> {
    let mut world = World::new();
    world.state = Some(TxState { window: 65_535, mss: 32_768, cwnd: 10, ..TxState::default() });
    let (broker, to) = (process(10, "broker"), "127.0.0.1:1883");
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    for n in 0..MESSAGES {
        let bytes = mqtt::publish("wirelap/data", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 36_000;
    }
    let mut encoder = encoder();
    for event in &world.events {
        encoder.event(&event.event());
    }
    encoder.complete();
    encoder.bytes().to_vec()
}

fn encoder() -> Encoder {
    let settings = Settings { payload: true, ..Settings::default() };
    Encoder::new(Section::default(), settings, Box::new(|_, _| None))
}

/// Returns the number of entries.
fn read(mut recording: Recording<&[u8]>) -> usize {
    let mut entries = 0;
    while let Some(entry) = recording.next() {
        black_box(&entry);
        entries += 1;
    }
    entries
}

/// Returns the number of bytes.
fn write(mut recording: Recording<&[u8]>) -> usize {
    let mut encoder = encoder();
    let mut written = 0;
    while let Some(entry) = recording.next() {
        if let Entry::Event(event) | Entry::Known(event) = &entry {
            encoder.event(event);
        }
        if encoder.bytes().len() > 1 << 16 {
            written += encoder.bytes().len();
            encoder.clear();
        }
    }
    written
}

/// Returns the number of deliveries.
fn correlate(mut recording: Recording<&[u8]>) -> usize {
    let config = Config { patience: Nanos::from_millis(200), ..Config::default() };
    let mut correlator = Correlator::new(config);
    let (mut deliveries, mut ticked) = (0, Nanos(0));
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { continue };
        correlator.event(&event);
        if event.at > ticked + Nanos::from_millis(5) {
            ticked = event.at;
            correlator.tick(event.at, &mut |_: &Delivery| deliveries += 1);
        }
    }
    deliveries
}

/// Returns the number of deliveries.
fn capture(mut recording: Recording<&[u8]>, packets_only: bool) -> usize {
    let decode = vec![(18831, "mqtt".to_owned())];
    let config = Config { packets_only, topics: true, decode, ..Config::default() };
    let mut correlator = Correlator::new(config);
    let mut deliveries = 0;
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { continue };
        correlator.take(&event, &mut |_: &Delivery| deliveries += 1);
    }
    correlator.finish(&mut |_: &Delivery| deliveries += 1);
    deliveries
}
