//! Hours of traffic with connections that come and go and topics that change: memory stays as it is, latency does, and
//! every message is counted. `make soak`; `WIRELAP_SOAK_SECONDS` says how long.

use crate::LONG;
use crate::bench::{Bench, kill, mosquitto, poll};
use rustix::process::Signal;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that publish, each one message every 10 ms: 2,000 messages a second.
const PUBLISHERS: usize = 20;
const INTERVAL: Duration = Duration::from_millis(10);

/// One of them is replaced, with a new topic, every so many intervals: 10 a second.
const REPLACED_EVERY: u64 = 10;

fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

/// A client of MQTT 3.1.1 (OASIS, §3).
fn connect(port: u16, number: u64) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let id = format!("soak-{number:010}");
    let mut packet = vec![0x10, 12 + byte(id.len())];
    // A new session, and no keep-alive.
    packet.extend(b"\0\x04MQTT\x04\x02\0\0\0");
    packet.push(byte(id.len()));
    packet.extend(id.as_bytes());
    stream.write_all(&packet).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [0x20, 2, 0, 0]);
    stream
}

/// Counts what a subscriber of every topic is sent.
fn subscribe(port: u16) -> Arc<AtomicU64> {
    let mut stream = connect(port, u64::MAX / 2);
    stream.write_all(b"\x82\x06\0\x01\0\x01#\0").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut head = [0; 2];
        let mut body = [0; 127];
        // Until the broker ends.
        while stream.read_exact(&mut head).is_ok() {
            assert!(head[0] == 0x30 && head[1] < 128, "{head:?}");
            stream.read_exact(&mut body[..usize::from(head[1])]).unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    count
}

struct Publisher {
    stream: TcpStream,
    topic: String,
}

impl Publisher {
    fn new(port: u16, number: u64) -> Publisher {
        Publisher { stream: connect(port, number), topic: format!("soak/{number:08}") }
    }

    fn publish(&mut self, number: u64) {
        let mut packet = vec![0x30, byte(2 + self.topic.len() + 64), 0, byte(self.topic.len())];
        packet.extend(self.topic.as_bytes());
        packet.extend(number.to_be_bytes());
        packet.resize(packet.len() + 56, b'.');
        self.stream.write_all(&packet).unwrap();
    }
}

/// Publishes for so long, and calls `look` once a second. Returns how many messages it was.
fn publish(port: u16, time: Duration, mut look: impl FnMut()) -> u64 {
    let mut publishers: Vec<_> =
        (0..PUBLISHERS as u64).map(|number| Publisher::new(port, number)).collect();
    let begun = Instant::now();
    let (mut sent, mut interval, mut connections) = (0, 0, PUBLISHERS as u64);
    while begun.elapsed() < time {
        interval += 1;
        for publisher in &mut publishers {
            publisher.publish(sent);
            sent += 1;
        }
        if interval % REPLACED_EVERY == 0 {
            let oldest = (interval / REPLACED_EVERY) as usize % PUBLISHERS;
            publishers[oldest].stream.write_all(b"\xe0\0").unwrap();
            publishers[oldest] = Publisher::new(port, connections);
            connections += 1;
        }
        if interval % 100 == 0 {
            look();
        }
        let next = begun + INTERVAL * u32::try_from(interval).unwrap();
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    println!("{sent} messages of {connections} connections");
    sent
}

/// Resident memory in kB (`VmRSS` of proc(5)).
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[ignore = "takes two hours: make soak"]
fn hours_change_neither_memory_nor_latency_nor_counts() {
    let seconds = std::env::var("WIRELAP_SOAK_SECONDS").map_or(7_200, |text| text.parse().unwrap());
    let bench = Bench::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // On a machine with other things to do, `live` would sample by itself.
    let arguments = format!("live --plain --sample off --ports {port}");
    let run = bench.wirelap(&arguments).json().start();
    poll("tracing", LONG, || run.has_printed().then_some(()));
    let mut broker = mosquitto(port);
    let received = subscribe(port);
    let mut memories = Vec::new();
    let sent = publish(port, Duration::from_secs(seconds), || memories.push(memory(run.pid())));
    poll("all messages", LONG, || (received.load(Ordering::Relaxed) == sent).then_some(()));
    run.signal(Signal::INT);
    let ended = run.end(LONG);
    kill(broker.id(), Signal::TERM);
    broker.wait().unwrap();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);

    // Every quarter after the first, which fills what has limits.
    let quarters: Vec<_> = memories
        .chunks(memories.len().div_ceil(4))
        .map(|part| part.iter().max().unwrap())
        .collect();
    println!("most memory in each quarter: {quarters:?} kB");
    assert!(*quarters[3] as f64 <= *quarters[1] as f64 * 1.05, "{quarters:?}");
    let report = bench.report();
    let [row] = &report["results"].as_array().unwrap()[..] else { panic!("{report:#}") };
    let messages = &row["messages"];
    for count in ["sent", "delivered", "matched"] {
        assert_eq!(messages[count], sent, "{count}: {messages}");
    }
    let typical: Vec<_> = ended.stdout.lines().filter_map(typical_latency).collect();
    let quarters: Vec<_> = typical.chunks(typical.len().div_ceil(4)).map(median).collect();
    println!("median of p50 in each quarter: {quarters:?} µs");
    assert!(quarters[3] <= quarters[1] * 1.5, "{quarters:?}");
}

/// The p50 of a row in the plain table, in µs.
fn typical_latency(line: &str) -> Option<f64> {
    let mut words = line.strip_prefix("mqtt")?.split_whitespace().skip(1);
    // After the rate, which may have a unit, comes a time.
    let (number, unit) = loop {
        let number = words.next()?;
        let unit = words.clone().next()?;
        if matches!(unit, "ns" | "µs" | "ms" | "s") {
            break (number.parse::<f64>().ok()?, unit.to_owned());
        }
    };
    let scale = match unit.as_str() {
        "ns" => 1e-3,
        "µs" => 1.0,
        "ms" => 1e3,
        _ => 1e6,
    };
    Some(number * scale)
}

fn median(part: &[f64]) -> f64 {
    let mut sorted = part.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
