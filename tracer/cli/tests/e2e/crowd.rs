//! Many clients of one broker, none of them ours, watched by `wirelap live`: what is sent once and
//! delivered often, what is sent by many, what is shared, stored, and sent again after a reconnection.

use crate::bench::{self, Bench, Running, poll};
use crate::hidden::{assert_count, assert_none};
use crate::mqtt::Client;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_mins(2);

/// mosquitto, watched.
struct Watched {
    bench: Bench,
    live: Option<Running>,
    broker: Child,
    address: String,
}

impl Watched {
    /// With the clients.
    fn start() -> Watched {
        Watched::by(|port, _| format!("--ports {port}"))
    }

    /// Starts them with a filter that is made from the broker's port and process.
    fn by(filter: impl Fn(&str, u64) -> String) -> Watched {
        let mut broker = Command::new(bench::workload())
            .args("broker mqtt --broker mosquitto".split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(broker.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(line.strip_prefix("READY ").unwrap()).unwrap();
        let address = ready["endpoint"].as_str().unwrap().to_owned();
        let port = address.rsplit_once(':').unwrap().1;
        let bench = Bench::new();
        let filter = filter(port, ready["pid"].as_u64().unwrap());
        let live = bench.wirelap(&format!("live --plain --sample off {filter}")).json().start();
        poll("the first lines of `live`", LONG, || live.has_printed().then_some(()));
        Watched { bench, live: Some(live), broker, address }
    }

    fn client(&self, id: &str) -> Client {
        Client::connect(&self.address, id)
    }

    /// Ends `live` and returns its result for the broker's messages.
    fn result(mut self) -> Value {
        let live = self.live.take().unwrap();
        live.signal(Signal::INT);
        let ended = live.end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        let report = self.bench.report();
        let results = report["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{results:?}");
        results[0].clone()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // A workload ends when its stdin does.
        drop(self.broker.stdin.take());
        let _ = self.broker.wait();
    }
}

/// Sent, delivered, and all of them followed.
fn assert_messages(result: &Value, sent: u64, delivered: u64) {
    assert_count(result, "/messages/sent", sent);
    assert_count(result, "/messages/delivered", delivered);
    assert_count(result, "/messages/matched", delivered);
    assert_none(result, "/messages/uncovered");
    assert_eq!(result["messages"]["duplicates"], 0, "{}", result["messages"]);
}

/// Bodies alike and unlike: half of them are the same.
fn body(number: usize) -> Vec<u8> {
    format!("reading {}", number / 2).into_bytes()
}

/// The clients' own sends and reads are not traced, but the bytes of both ways are.
#[test]
fn a_broker_watched_alone_tells_what_it_is_sent() {
    let watched = Watched::by(|_, pid| format!("--pid {pid}"));
    let (mut publisher, mut reader) = (watched.client("p"), watched.client("r"));
    reader.subscribe("demo/#");
    for number in 0..200_u32 {
        publisher.publish("demo/a", &number.to_be_bytes(), false);
        reader.take(1);
    }
    let result = watched.result();
    assert_eq!(result["messages"]["sent"], 200, "{}", result["messages"]);
    // Nobody is seen to read them, and it says so.
    assert_eq!(result["messages"]["delivered"], 0, "{}", result["messages"]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("200 legs end at another host, or at a process"), "{notes}");
}

#[test]
fn one_publish_has_a_hundred_deliveries() {
    let watched = Watched::start();
    let mut readers: Vec<_> = (0..100).map(|n| watched.client(&format!("reader-{n}"))).collect();
    for reader in &mut readers {
        reader.subscribe("fan/out");
    }
    let mut writer = watched.client("writer");
    for number in 0..20 {
        writer.publish("fan/out", &body(number), false);
        for reader in &mut readers {
            reader.take(1);
        }
    }
    assert_messages(&watched.result(), 20, 2000);
}

#[test]
fn a_thousand_publishers_reach_one_subscriber() {
    let watched = Watched::start();
    let mut reader = watched.client("reader");
    reader.subscribe("fan/in/#");
    let mut writers: Vec<_> = (0..1000).map(|n| watched.client(&format!("writer-{n}"))).collect();
    for round in 0..2 {
        for (number, writer) in writers.iter_mut().enumerate() {
            // Some share a topic, and half of these a payload.
            writer.publish(&format!("fan/in/{}", number % 10), &body(number + round), false);
        }
        reader.take(1000);
    }
    assert_messages(&watched.result(), 2000, 2000);
}

#[test]
fn a_shared_subscription_delivers_each_message_once() {
    let watched = Watched::start();
    let mut readers: Vec<_> = (0..5).map(|n| watched.client(&format!("worker-{n}"))).collect();
    for reader in &mut readers {
        reader.subscribe("$share/pool/jobs/+");
    }
    let mut writer = watched.client("writer");
    for number in 0..500 {
        writer.publish(&format!("jobs/{}", number % 3), &body(number), false);
    }
    writer.settle();
    let quiet = Duration::from_millis(300);
    let taken: usize = readers.iter_mut().map(|reader| reader.take_all(quiet)).sum();
    assert_eq!(taken, 500);
    assert_messages(&watched.result(), 500, 500);
}

#[test]
fn what_was_retained_has_no_publisher_and_is_told_apart() {
    let watched = Watched::start();
    let mut writer = watched.client("writer");
    for number in 0..10 {
        writer.publish(&format!("state/{number}"), &body(number), true);
    }
    writer.settle();
    let mut reader = watched.client("reader");
    reader.subscribe("state/+");
    reader.take(10);
    writer.publish("state/0", b"new", false);
    reader.take(1);
    let result = watched.result();
    assert_count(&result, "/messages/matched", 1);
    assert_none(&result, "/messages/uncovered");
    assert_count(&result, "/messages/retained", 10);
}
