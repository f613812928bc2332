//! A broker whose clients are elsewhere, seen by its process alone, beside the view of everything: counts are those of the
//! clients, times are those of the whole view, and each acknowledgement is a bound on the arrival that it stands for.

use crate::bench::{Bench, Running, kill, lock, poll};
use crate::{LONG, free_port};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use wirelap_correlate::DeliverySink;
use wirelap_events::{Delivery, Event, Nanos, Stage};
use wirelap_process::Failure;
use wirelap_replay::{Follower, Replay};

const MESSAGES: u64 = 500;
/// As many readers has each message.
const READERS: u64 = 2;
const SPACES: [&str; 3] = ["p", "s", "t"];

/// mosquitto in a network namespace, and one for each client, with a cable to it. Dropping it ends everything.
struct Islands {
    bench: Bench,
    port: u16,
    spaces: Vec<String>,
    children: Vec<Child>,
    broker: u32,
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {words}");
}

impl Islands {
    fn new() -> Islands {
        let bench = Bench::new();
        let number = std::process::id();
        let mut islands = Islands {
            bench,
            port: free_port(),
            spaces: Vec::new(),
            children: Vec::new(),
            broker: 0,
        };
        let broker = islands.space(&format!("wirelap{number}b"));
        for (net, name) in SPACES.iter().enumerate() {
            let client = islands.space(&format!("wirelap{number}{name}"));
            ip(&format!("-n {broker} link add name {name} type veth peer name far netns {client}"));
            for (space, device, host) in [(&broker, *name, 1), (&client, "far", 2)] {
                ip(&format!("-n {space} addr add 10.83.{net}.{host}/24 dev {device}"));
                ip(&format!("-n {space} link set dev {device} up"));
            }
        }
        let config = islands.bench.file("mosquitto.conf");
        let port = islands.port;
        fs::write(&config, format!("listener {port} 0.0.0.0\nallow_anonymous true\n")).unwrap();
        let config = config.display().to_string();
        islands.broker = islands.start(0, "mosquitto", &["-c", &config], Stdio::null()).0;
        poll("the start of mosquitto", LONG, || {
            let mut ask = islands.command(1, "mosquitto_pub");
            let ask =
                ask.args(islands.address(0)).args(["-t", "start", "-n"]).stderr(Stdio::null());
            ask.status().unwrap().success().then_some(())
        });
        islands
    }

    fn space(&mut self, name: &str) -> String {
        ip(&format!("netns add {name}"));
        self.spaces.push(name.to_owned());
        ip(&format!("-n {name} link set lo up"));
        name.to_owned()
    }

    /// A program in a namespace.
    fn command(&self, space: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        // A line is written when it is said, not only when there are many.
        command.args(["netns", "exec", &self.spaces[space], "stdbuf", "-oL", program]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command
    }

    fn address(&self, net: usize) -> [String; 4] {
        ["-h".into(), format!("10.83.{net}.1"), "-p".into(), self.port.to_string()]
    }

    fn start(
        &mut self,
        space: usize,
        program: &str,
        words: &[&str],
        output: Stdio,
    ) -> (u32, ChildStdin) {
        let mut command = self.command(space, program);
        command.args(words).stdin(Stdio::piped()).stdout(output).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (id, stdin) = (child.id(), child.stdin.take().unwrap());
        self.children.push(child);
        (id, stdin)
    }

    /// A client in the namespace of its number.
    fn client(&mut self, net: usize, program: &str, words: &[&str]) -> (u32, ChildStdin, PathBuf) {
        let said = self.bench.file(&format!("{net}.txt"));
        let address = self.address(net);
        let mut all: Vec<&str> = address.iter().map(String::as_str).collect();
        all.extend(["-t", "a/b", "-d"].iter().chain(words));
        let (id, stdin) = self.start(net + 1, program, &all, File::create(&said).unwrap().into());
        poll("a client's connection", LONG, || {
            let is_reader = program.ends_with("sub");
            let is_ready =
                if is_reader { said_so(&said, "received SUBACK") } else { connected(id) };
            is_ready.then_some(())
        });
        (id, stdin, said)
    }

    fn record(&self, file: &Path, filter: &str) -> Running {
        let words = format!("record -o {} --payload {filter}", file.display());
        let running = self.bench.wirelap(&words).start();
        poll("the start of wirelap", LONG, || running.has_printed().then_some(()));
        running
    }
}

impl Drop for Islands {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}

/// Whether a connection is established in the namespace of a process (`proc_pid_net(5)`: the state is the fourth field).
fn connected(pid: u32) -> bool {
    let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    sockets.lines().any(|line| line.split_whitespace().nth(3) == Some("01"))
}

fn said_so(file: &Path, words: &str) -> bool {
    fs::read_to_string(file).unwrap_or_default().contains(words)
}

/// The messages that a client has printed.
fn read_by(file: &Path) -> u64 {
    let said = fs::read_to_string(file).unwrap_or_default();
    said.lines().filter(|line| line.starts_with("message ")).count() as u64
}

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

/// What a recording has of the messages on their way to readers: the reader's address, and the send on the last leg.
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
    let _alone = lock();
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
    for tracer in tracers {
        kill(tracer.pid(), Signal::INT);
        let ended = tracer.end(LONG);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }

    let all = only_result(&islands, &whole);
    assert_eq!(count(&all, "/messages/matched"), Some(MESSAGES * READERS), "{all:#}");
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
    assert!((here / there - 1.0).abs() < 0.05, "{here} ns, {there} ns");

    let (bounds, truth) = (deliveries(&part), deliveries(&whole));
    assert_eq!((bounds.len() as u64, truth.len() as u64), (MESSAGES * READERS, MESSAGES * READERS));
    for ((reader, _, seen), (same, _, all)) in bounds.iter().zip(&truth) {
        assert_eq!(reader, same);
        let arrived = all.legs.last().and_then(|leg| leg.times.get(Stage::Rx)).unwrap();
        let heard = seen.legs.last().and_then(|leg| leg.circumstances.heard).unwrap();
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
