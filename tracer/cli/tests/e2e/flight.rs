//! The flight recorder: what is kept in memory is written when it matters, and at no other time.

use crate::bench::{Bench, Ended, Running, kill, mosquitto, poll};
use crate::offline::{analyze, number};
use crate::{LONG, free_port};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// mosquitto with a publisher and a subscriber, and wirelap beside them. Dropping it ends all of them.
struct Flight {
    bench: Bench,
    children: Vec<Child>,
    broker: u32,
    lines: std::process::ChildStdin,
    published: u32,
    wirelap: Option<Running>,
}

impl Flight {
    fn start(options: &str) -> Flight {
        let (bench, port) = (Bench::new(), free_port());
        let broker = mosquitto(port);
        let file = bench.file("flight.pcapng");
        let words = format!("record -o {} --ports {port} --payload {options}", file.display());
        let wirelap = bench.wirelap(&words).start();
        poll("the start of wirelap", LONG, || wirelap.has_printed().then_some(()));
        let client = |program: &str, words: &[&str]| {
            Command::new(program)
                .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-t", "a/b"])
                .args(words)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .expect("mosquitto-clients is installed")
        };
        let subscriber = client("mosquitto_sub", &[]);
        let mut publisher = client("mosquitto_pub", &["-l"]);
        let lines = publisher.stdin.take().unwrap();
        let id = broker.id();
        let children = vec![publisher, subscriber, broker];
        Flight { bench, children, broker: id, lines, published: 0, wirelap: Some(wirelap) }
    }

    /// Publishes a message every few milliseconds for a time.
    fn publish(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let mut next = Instant::now();
        poll("the end of publishing", time * 10, || {
            if Instant::now() >= next {
                next += Duration::from_millis(20);
                // Messages of one content could not be told apart where several are forwarded at once.
                self.published += 1;
                writeln!(self.lines, "message {}", self.published).unwrap();
            }
            (Instant::now() >= end).then_some(())
        });
    }

    /// The files, which are complete once they have a name.
    fn files(&self) -> Vec<PathBuf> {
        let folder = self.bench.file("flight.pcapng");
        let all = fs::read_dir(folder.parent().unwrap()).unwrap().flatten();
        let all = all.map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|end| end == "pcapng")).collect()
    }

    fn end(&mut self) -> Ended {
        let wirelap = self.wirelap.take().unwrap();
        wirelap.signal(Signal::INT);
        wirelap.end(LONG)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_broker_that_stands_still_is_written_once_with_its_slow_messages() {
    let mut flight = Flight::start("--keep 20s --after 1s --dump-when max>400ms");
    flight.publish(Duration::from_secs(2));
    kill(flight.broker, Signal::STOP);
    flight.publish(Duration::from_millis(800));
    kill(flight.broker, Signal::CONT);
    poll("the file", LONG, || {
        flight.publish(Duration::from_millis(50));
        (!flight.files().is_empty()).then_some(())
    });
    flight.publish(Duration::from_secs(2));
    let files = flight.files();
    assert_eq!(files.len(), 1, "{files:?}");
    let ended = flight.end();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(flight.files(), files, "{}", ended.stderr);
    assert!(ended.stderr.contains("max>400ms of mqtt mosquitto"), "{}", ended.stderr);
    let (report, shown) = analyze(&flight.bench, &[&files[0]]);
    let latency = number(&report["results"][0], "/latency/one_way_ns/max");
    assert!((400_000_000..5_000_000_000).contains(&latency), "{latency}");
    assert!(number(&report["results"][0], "/messages/matched") > 100, "{report:#}");
    assert!(shown.contains("A flight recorder wrote this file: max>400ms"), "{shown}");
}

#[test]
fn who_sends_sigusr1_gets_a_file_at_once_and_nothing_else_is_written() {
    let mut flight = Flight::start("--keep 20s");
    flight.publish(Duration::from_secs(1));
    assert_eq!(flight.files(), [] as [PathBuf; 0]);
    flight.wirelap.as_ref().unwrap().signal(Signal::USR1);
    let first = poll("the file", LONG, || flight.files().pop());
    flight.publish(Duration::from_secs(1));
    flight.wirelap.as_ref().unwrap().signal(Signal::USR1);
    poll("the second file", LONG, || (flight.files().len() == 2).then_some(()));
    let ended = flight.end();
    assert_eq!((ended.status, flight.files().len()), (Some(0), 2), "{}", ended.stderr);
    let matched = |file: &PathBuf| {
        let (report, shown) = analyze(&flight.bench, &[file]);
        assert!(shown.contains("A flight recorder wrote this file: SIGUSR1"), "{shown}");
        number(&report["results"][0], "/messages/matched")
    };
    let second = flight.files().into_iter().find(|file| *file != first).unwrap();
    let (before, all) = (matched(&first), matched(&second));
    assert!(before > 10 && all > before, "{before}, {all}");
}

#[test]
fn events_that_are_lost_are_a_reason() {
    let mut flight = Flight::start("--keep 20s --after 0s --dump-when loss --ring-size 4K");
    let file = poll("the file", LONG, || {
        flight.publish(Duration::from_millis(50));
        for _ in 0..2_000 {
            writeln!(flight.lines, "one of many").unwrap();
        }
        flight.files().pop()
    });
    assert!(file.to_string_lossy().ends_with("-00001.pcapng"));
    let ended = flight.end();
    assert!(ended.stderr.contains("loss: "), "{}", ended.stderr);
}
