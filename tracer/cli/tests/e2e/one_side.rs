//! A broker whose clients are elsewhere, seen by its process alone, beside the view of everything: counts are those of the
//! clients, times are those of the whole view, and each acknowledgement is a bound on the arrival that it stands for.

use crate::LONG;
use crate::bench::{kill, poll};
use crate::hidden::assert_count;
use crate::islands::{Islands, read_by};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use wirelap_correlate::DeliverySink;
use wirelap_events::{Delivery, Event, Nanos, Stage};
use wirelap_process::Failure;
use wirelap_replay::{Follower, Replay};

const MESSAGES: u64 = 500;
/// As many readers has each message.
const READERS: u64 = 2;

/// The deliveries to each reader's address in their order, those followed from end to end and those seen in part.
#[derive(Default)]
struct Collected(Vec<Delivery>);

impl DeliverySink for Collected {
    fn delivery(&mut self, delivery: &Delivery) {
        self.0.push(delivery.clone());
    }

    fn aside(&mut self, delivery: &Delivery) {
        self.0.push(delivery.clone());
    }
}

impl Follower for Collected {
    const DELIVERIES: bool = true;

    fn begin(&mut self, _: Option<i64>) {}

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        Ok(())
    }

    fn sink(&mut self) -> Option<&mut dyn DeliverySink> {
        Some(self)
    }
}

/// Reads from a recording the messages on their way to readers: the reader's address, and the send on the last leg.
fn deliveries(file: &Path) -> Vec<(SocketAddr, Nanos, Delivery)> {
    let mut replay = Replay::new(&[], Collected::default());
    replay.files(&[file.to_owned()]).unwrap();
    let Ok(replayed) = replay.end() else { panic!("{}", file.display()) };
    let of = |delivery: Delivery| {
        let last = delivery.legs.last()?;
        Some((last.flow.dst, last.times.get(Stage::Send)?, delivery))
    };
    let mut all: Vec<_> = replayed.follower.0.into_iter().filter_map(of).collect();
    all.sort_by_key(|(reader, sent, _)| (*reader, *sent));
    all
}

fn count(result: &Value, pointer: &str) -> Option<u64> {
    result.pointer(pointer).and_then(Value::as_u64)
}

fn only_result(islands: &Islands, file: &Path) -> Value {
    let words = format!("analyze --decode {}=mqtt {}", islands.port, file.display());
    let ended = islands.bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = islands.bench.report();
    let [result] = report["results"].as_array().unwrap().as_slice() else {
        panic!("not one row: {}", ended.stdout)
    };
    result.clone()
}

#[test]
fn a_broker_seen_by_its_process_alone_shows_what_the_whole_view_shows() {
    let mut islands = Islands::new();
    let file = |name: &str| islands.bench.file(name);
    let [part, whole, sender] = ["part.pcapng", "whole.pcapng", "sender.pcapng"].map(file);
    let (broker, port) = (islands.broker, islands.port);
    let mut tracers = vec![
        islands.record(&part, &format!("--pid {broker}")),
        islands.record(&whole, &format!("--ports {port}")),
    ];
    // The first reader acknowledges each message, the second none.
    let readers =
        [("1", 1), ("0", 2)].map(|(qos, net)| islands.client(net, "mosquitto_sub", &["-q", qos]).2);
    let (publisher, mut lines, _) = islands.client(0, "mosquitto_pub", &["-q", "1", "-l"]);
    let filter = format!("--pid {publisher} --decode {port}=mqtt");
    tracers.push(islands.record(&sender, &filter));
    let (mut sent, mut next) = (0, Instant::now());
    poll("the end of publishing", LONG, || {
        if Instant::now() >= next {
            sent += 1;
            next += Duration::from_millis(4);
            writeln!(lines, "message {sent}").unwrap();
        }
        (sent == MESSAGES).then_some(())
    });
    poll("the arrival of all", LONG, || {
        readers.iter().all(|said| read_by(said) == MESSAGES).then_some(())
    });
    islands.all_is_read();
    for tracer in tracers {
        kill(tracer.pid(), Signal::INT);
        let ended = tracer.end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }

    let all = only_result(&islands, &whole);
    assert_count(&all, "/messages/matched", MESSAGES * READERS);
    assert!(all["partial_sight"].is_null(), "{:#}", all["partial_sight"]);

    let seen = only_result(&islands, &part);
    assert_eq!((&seen["view"], count(&seen, "/messages/sent")), (&"broker".into(), Some(MESSAGES)));
    let sight = &seen["partial_sight"];
    for (name, messages) in [
        ("/by_broker", MESSAGES * READERS),
        ("/by_sender", 0),
        ("/by_receiver", 0),
        ("/ingress_ns/count", MESSAGES),
        ("/dwell_ns/count", MESSAGES * READERS),
        ("/egress_ns/count", MESSAGES * READERS),
        ("/unacknowledged", 0),
        // The readers' acknowledgements of the messages with QoS 1.
        ("/requests/round_trip_ns/count", MESSAGES),
        ("/requests/unanswered", 0),
    ] {
        assert_eq!(count(sight, name), Some(messages), "{name}: {sight:#}");
    }
    let rows = all["segments"].as_array().unwrap();
    let dwell = rows.iter().find(|row| row["segment"] == "broker_dwell").unwrap();
    let [here, there] = [&sight["dwell_ns"]["p50"], &dwell["p50_ns"]].map(|p| p.as_f64().unwrap());
    // At each event one tracer's programs run after those of the others, which takes some hundred nanoseconds, and a few microseconds
    // where other programs keep the caches.
    assert!((here - there).abs() < 0.05 * there + 6_000.0, "{here} ns, {there} ns");

    let (bounds, truth) = (deliveries(&part), deliveries(&whole));
    assert_eq!((bounds.len() as u64, truth.len() as u64), (MESSAGES * READERS, MESSAGES * READERS));
    for ((reader, _, seen), (same, _, all)) in bounds.iter().zip(&truth) {
        assert_eq!(reader, same);
        let arrived = all.legs.last().and_then(|leg| leg.times.get(Stage::Rx)).unwrap();
        let heard = seen.legs.last().and_then(|leg| leg.circumstances.path.heard).unwrap();
        assert!(heard.at >= arrived, "heard at {}, arrived at {arrived}", heard.at);
    }

    let seen = only_result(&islands, &sender);
    assert_eq!((&seen["view"], count(&seen, "/messages/sent")), (&"sender".into(), Some(MESSAGES)));
    let requests = &seen["partial_sight"]["requests"];
    for part in ["round_trip_ns", "here_ns", "away_ns"] {
        assert_eq!(count(&requests[part], "/count"), Some(MESSAGES), "{requests:#}");
        assert!(count(&requests[part], "/p50") <= count(requests, "/round_trip_ns/p50"));
    }
    assert_eq!(count(requests, "/unanswered"), Some(0));
    let share = requests["here_share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0, "{requests:#}");
}
