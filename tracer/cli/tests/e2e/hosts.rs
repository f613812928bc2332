//! Two hosts, as two network namespaces of this one: the recording that has both is the truth for the two that it is
//! taken apart into.

use crate::LONG;
use crate::bench::{Bench, poll};
use crate::offline::{analyze, number};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wirelap_events::{Body, Event, FlowKey, NetNs, Packet, PacketHook, Pid, Seq, SocketId};
use wirelap_recording::{Encoder, EncoderSettings, Entry, Note, Recording, SectionHeader};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const BROKER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const PORT: u16 = 28_411;
const MESSAGES: u64 = 300;

/// Nanoseconds by which the second host's clock is ahead.
const AHEAD: i64 = 3_141_592_653;

/// Two namespaces with a line between them, that go again.
pub struct Line([String; 2]);

impl Line {
    /// The name of a namespace.
    pub fn namespace(&self, end: usize) -> &str {
        &self.0[end]
    }

    pub fn new() -> Line {
        let line = Line(["a", "b"].map(|end| format!("wirelap-{end}-{}", std::process::id())));
        let [a, b] = &line.0;
        ip(&format!("netns add {a}"));
        ip(&format!("netns add {b}"));
        ip(&format!("-n {a} link add line type veth peer name line netns {b}"));
        for (end, address) in [(a, CLIENT), (b, BROKER)] {
            ip(&format!("-n {end} addr add {address}/24 dev line"));
            ip(&format!("-n {end} link set line up"));
        }
        line
    }

    /// A program at one end.
    fn run(&self, end: usize, words: &str) -> Child {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[end]]).args(words.split(' '));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for end in &self.0 {
            // Gone already if it was never made.
            let _ = Command::new("ip").args(["netns", "del", end]).status();
        }
    }
}

fn ip(words: &str) {
    assert!(Command::new("ip").args(words.split(' ')).status().unwrap().success(), "ip {words}");
}

/// Messages one by one, through a broker at the other end.
fn talk(line: &Line, config: &Path) -> Child {
    let text = format!("listener {PORT} {BROKER}\nallow_anonymous true\nset_tcp_nodelay true\n");
    fs::write(config, text).unwrap();
    let broker = line.run(1, &format!("mosquitto -c {}", config.display()));
    let at = format!("-h {BROKER} -p {PORT} -t demo/line");
    poll("the broker", Duration::from_secs(10), || {
        let mut asked = line.run(0, &format!("mosquitto_pub {at} -n"));
        asked.wait().unwrap().success().then_some(())
    });
    let mut reader = line.run(0, &format!("mosquitto_sub {at} -C {}", MESSAGES + 1));
    let mut read = BufReader::new(reader.stdout.take().unwrap());
    let mut publisher = line.run(0, &format!("mosquitto_pub {at} -l"));
    let mut lines = publisher.stdin.take().unwrap();
    let mut heard = String::new();
    // Until the subscription is there, somebody else's messages tell.
    let hello = format!("mosquitto_pub {at} -m hello -r");
    assert!(line.run(0, &hello).wait().unwrap().success());
    read.read_line(&mut heard).unwrap();
    for number in 0..MESSAGES {
        writeln!(lines, "reading {number}").unwrap();
        heard.clear();
        read.read_line(&mut heard).unwrap();
        assert_eq!(heard, format!("reading {number}\n"));
    }
    drop(lines);
    assert!(publisher.wait().unwrap().success() && reader.wait().unwrap().success());
    broker
}

/// Recordings that two hosts would have made of that.
struct Apart {
    encoders: [Encoder; 2],
    files: [Vec<u8>; 2],
    namespaces: HashMap<NetNs, usize>,
    sockets: HashMap<SocketId, usize>,
    processes: HashMap<Pid, usize>,
    /// Payload by flow and sequence number: where both ends are on one host, only the sender's packets have their bytes.
    sent: HashMap<(FlowKey, Seq), Vec<u8>>,
}

impl Apart {
    fn of(recording: &Path) -> [Vec<u8>; 2] {
        let mut recording = Recording::new(wirelap_recording::open(recording).unwrap()).unwrap();
        let wall = recording.wall().unwrap();
        let encoders = [0, AHEAD].map(|ahead| {
            let section = SectionHeader { wall: wall + ahead, ..SectionHeader::default() };
            let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
            let mut encoder = Encoder::new(section, settings, Box::new(|_, _| None));
            encoder.note(Note { subject: "payload", text: "kept" });
            encoder
        });
        let mut apart = Apart {
            encoders,
            files: [Vec::new(), Vec::new()],
            namespaces: HashMap::new(),
            sockets: HashMap::new(),
            processes: HashMap::new(),
            sent: HashMap::new(),
        };
        while let Some(entry) = recording.next() {
            if let Entry::Event(event) = entry {
                apart.event(&event);
            }
        }
        assert!(recording.problems().is_empty(), "{:?}", recording.problems());
        for (encoder, file) in apart.encoders.iter_mut().zip(&mut apart.files) {
            encoder.complete();
            file.extend_from_slice(encoder.bytes());
        }
        apart.files
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(host) = self.host(&event.body) else { return };
        let mut body = event.body;
        if let Body::Packet(packet) = body
            && let Some(tcp) = packet.tcp
        {
            let key = (packet.flow, tcp.seq);
            if packet.hook == PacketHook::Xmit {
                self.sent.insert(key, packet.payload.to_vec());
            } else if let Some(payload) = self.sent.get(&key) {
                body = Body::Packet(Packet { payload, ..packet });
            }
        }
        self.encoders[host].event(&Event { body, ..*event });
        let encoder = &mut self.encoders[host];
        self.files[host].extend_from_slice(encoder.bytes());
        encoder.clear();
    }

    /// Returns the host on which an event happened.
    fn host(&mut self, body: &Body<'_>) -> Option<usize> {
        match body {
            Body::Socket(socket) => {
                let host = usize::from(socket.local.ip() == IpAddr::from(BROKER));
                self.namespaces.insert(socket.netns, host);
                self.sockets.insert(socket.id, host);
                self.processes.insert(socket.task.pid, host);
                Some(host)
            }
            Body::Packet(packet) => self.namespaces.get(&packet.netns).copied(),
            Body::Send(send) => self.sockets.get(&send.socket).copied(),
            Body::Read(read) => self.sockets.get(&read.socket).copied(),
            Body::Ready(ready) => self.sockets.get(&ready.socket).copied(),
            Body::Closed(id) => self.sockets.get(id).copied(),
            Body::Retransmit(again) => self.sockets.get(&again.socket).copied(),
            Body::Wake(wake) => self.processes.get(&wake.task.pid).copied(),
            Body::State(state) => self.processes.get(&state.task.pid).copied(),
            Body::Quota(quota) => self.processes.get(&quota.task.pid).copied(),
            Body::Ended(end) => self.processes.get(&end.task.pid).copied(),
            Body::Plain(plain) => self.sockets.get(&plain.socket).copied(),
            Body::Written(written) => self.sockets.get(&written.socket).copied(),
            Body::Drop(_) | Body::Lost(_) | Body::Window(_) | Body::Waiting(_) => None,
        }
    }
}

/// The medians of a leg's segments.
fn medians(result: &Value) -> HashMap<(u64, String), f64> {
    let rows = result["segments"].as_array().unwrap().iter();
    rows.map(|row| {
        let name = row["segment"].as_str().unwrap().to_owned();
        ((number(row, "/leg"), name), row["p50_ns"].as_f64().unwrap())
    })
    .collect()
}

#[test]
fn recordings_of_two_hosts_say_what_one_of_both_says() {
    let bench = Bench::new();
    let line = Line::new();
    let whole = bench.file("whole.pcapng");
    let words = format!("record --payload -o {} --ports {PORT}", whole.display());
    let recorder = bench.wirelap(&words).start();
    poll("the recorder", LONG, || recorder.has_printed().then_some(()));
    let mut broker = talk(&line, &bench.file("mosquitto.conf"));
    recorder.signal(Signal::INT);
    let ended = recorder.end(LONG);
    broker.kill().unwrap();
    broker.wait().unwrap();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);

    let (truth, _) = analyze(&bench, &[&whole]);
    let [a, b] = ["a.pcapng", "b.pcapng"].map(|name| bench.file(name));
    for (path, bytes) in [&a, &b].into_iter().zip(Apart::of(&whole)) {
        fs::write(path, bytes).unwrap();
    }
    let (both, _) = analyze(&bench, &[&a, &b]);
    let [truth, both] = [&truth, &both].map(|report| {
        assert_eq!(report["results"].as_array().unwrap().len(), 1, "{report:#}");
        &report["results"][0]
    });
    assert!(number(truth, "/messages/matched") >= MESSAGES, "{}", truth["messages"]);
    assert_eq!(both["messages"], truth["messages"]);
    // Sent and read on one host: whatever the other one's clock is.
    assert_eq!(both["latency"], truth["latency"]);
    let clocks = &both["trust"]["clocks"];
    let error = (clocks["offset_ns"].as_i64().unwrap() - AHEAD).unsigned_abs();
    let at_most = number(clocks, "/at_most_ns");
    assert!(error <= at_most, "{error} {clocks}");
    let (seen, expected) = (medians(both), medians(truth));
    assert_eq!(seen.len(), expected.len(), "{seen:?} {expected:?}");
    for (place, expected) in &expected {
        // Classes of the histogram are a hundredth wide; only the wire is between the hosts.
        let between = if place.1 == "wire" { at_most as f64 } else { 100.0 };
        let error = (seen[place] - expected).abs();
        assert!(error <= between + expected / 50.0, "{place:?}: {} {expected}", seen[place]);
    }
    let processes = both["processes"].as_array().unwrap().iter();
    let there: Vec<_> = processes.filter(|one| one["host"] == 2).map(|one| &one["name"]).collect();
    assert_eq!(there, ["mosquitto"]);
}
