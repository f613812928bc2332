//! Rows by topic and client, and subscribers that are behind: mosquitto with its own clients, watched by `wirelap live`.

use crate::bench::{Bench, Running, kill, mosquitto, poll};
use crate::screen::Screen;
use crate::{LONG, free_port};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A client that `program` is, with a name of its own.
fn client(program: &str, address: &str, id: &str, words: &str) -> Child {
    let (host, port) = address.rsplit_once(':').unwrap();
    Command::new(program)
        .args(["-h", host, "-p", port, "-i", id])
        .args(words.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("mosquitto-clients is installed")
}

/// A broker and its clients. Dropping it ends them.
struct Clients {
    children: Vec<Child>,
    lines: ChildStdin,
    published: u32,
}

impl Clients {
    /// Connects `plc-7`, which publishes to the topic a/b, and these subscribers.
    fn connect(address: &str, broker: Child, subscribers: &[&str]) -> Clients {
        let mut children: Vec<Child> = subscribers
            .iter()
            .map(|id| client("mosquitto_sub", address, id, "-t a/b -q 0"))
            .collect();
        let mut publisher = client("mosquitto_pub", address, "plc-7", "-t a/b -l");
        let lines = publisher.stdin.take().unwrap();
        children.push(publisher);
        children.push(broker);
        Clients { children, lines, published: 0 }
    }

    /// Publishes messages of so many bytes, a hundred a second.
    fn publish(&mut self, time: Duration, bytes: usize) {
        let end = Instant::now() + time;
        let mut next = Instant::now();
        poll("the end of publishing", time * 10 + LONG, || {
            if Instant::now() >= next {
                next += Duration::from_millis(10);
                self.published += 1;
                writeln!(self.lines, "{:0>bytes$}", self.published).unwrap();
            }
            (Instant::now() >= end).then_some(())
        });
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn live(bench: &Bench, words: &str) -> Running {
    let live = bench.wirelap(&format!("live --plain --sample off {words}")).json().start();
    poll("the first lines of `live`", LONG, || live.has_printed().then_some(()));
    live
}

/// The report, and what was printed.
fn end(bench: &Bench, live: Running) -> (Value, String) {
    live.signal(Signal::INT);
    let ended = live.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    (bench.report(), ended.stdout)
}

/// The row with these names.
fn row<'a>(report: &'a Value, names: &[&str]) -> &'a Value {
    let rows = report["breakdown"]["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| {
        let own = row["names"].as_array().unwrap().iter().filter_map(Value::as_str);
        own.eq(names.iter().copied())
    });
    found.unwrap_or_else(|| panic!("no {names:?} in {rows:#?}"))
}

#[test]
fn each_client_has_its_row() {
    let (bench, port) = (Bench::new(), free_port());
    let broker = mosquitto(port);
    let live = live(&bench, &format!("--ports {port} --by client,topic --sort delivered"));
    let address = format!("127.0.0.1:{port}");
    let mut clients = Clients::connect(&address, broker, &["logger", "screen"]);
    clients.publish(Duration::from_secs(2), 20);
    let (report, printed) = end(&bench, live);
    let sent = u64::from(clients.published);
    let counts = |names: &[&str]| {
        let row = row(&report, names);
        ["sent", "delivered"].map(|name| row[name].as_u64().unwrap())
    };
    let publisher = counts(&["plc-7", "a/b"]);
    assert!(publisher[0] + 5 >= sent && publisher[0] <= sent && publisher[1] == 0, "{publisher:?}");
    for subscriber in ["logger", "screen"] {
        let [none, delivered] = counts(&[subscriber, "a/b"]);
        // A subscriber may have connected after the first messages.
        assert!(none == 0 && delivered > sent / 2 && delivered <= sent, "{delivered} of {sent}");
    }
    assert_eq!(report["breakdown"]["order"], "delivered");
    assert!(printed.contains("logger") && printed.contains("plc-7"), "{printed}");
    assert_eq!(report["slow_subscribers"], Value::Null);
}

/// A stopped subscriber is behind, by its own doing, and its neighbour is not.
#[test]
fn a_stopped_subscriber_is_behind_and_its_neighbour_is_not() {
    let (bench, port) = (Bench::new(), free_port());
    let broker = mosquitto(port);
    let live = live(&bench, &format!("--ports {port} --by topic"));
    let address = format!("127.0.0.1:{port}");
    let mut clients = Clients::connect(&address, broker, &["logger", "screen"]);
    clients.publish(Duration::from_secs(1), 20);
    let logger = clients.children[0].id();
    kill(logger, Signal::STOP);
    clients.publish(Duration::from_secs(3), 20);
    let (report, printed) = end(&bench, live);
    kill(logger, Signal::CONT);
    let slow = &report["slow_subscribers"];
    let listed = slow["listed"].as_array().unwrap_or_else(|| panic!("{printed}"));
    let [one] = &listed[..] else { panic!("{listed:#?}") };
    assert_eq!((&one["client"], &one["topic"]), (&"logger".into(), &"a/b".into()));
    assert_eq!(one["now"]["held_up_by"], "subscriber", "{one:#}");
    let unread = one["now"]["unread_messages"].as_u64().unwrap();
    assert!((200..=310).contains(&unread), "{one:#}");
    assert!(one["now"]["oldest_ns"].as_u64() > Some(2_000_000_000), "{one:#}");
    assert!(printed.contains("held up by"), "{printed}");
}

/// Nobody asked for rows at the start.
#[test]
fn the_screen_asks_for_rows_by_name() {
    let (bench, port) = (Bench::new(), free_port());
    let broker = mosquitto(port);
    let folder = bench.file("screens");
    fs::create_dir(&folder).unwrap();
    let call = bench.wirelap(&format!("live --save-to {} --ports {port}", folder.display()));
    let mut screen = Screen::start(&folder, |slave| call.on_terminal(slave, false));
    screen.until(&["No middleware traffic seen yet"]);
    let address = format!("127.0.0.1:{port}");
    let mut clients = Clients::connect(&address, broker, &["logger", "screen"]);
    clients.publish(Duration::from_secs(1), 20);
    // The list to choose from: topic, and inside it the client, which said its name before.
    screen.press("g j \r");
    // From now on each message counts in the rows.
    screen.until(&["by topic, client: ", "since 00:00:"]);
    clients.publish(Duration::from_secs(1), 20);
    screen.until(&["by topic, client: 3 rows, since 00:00:", "a/b", "plc-7", "logger", "screen"]);
    screen.press("/logg\r");
    let shown = screen.until(&["1 of 3 rows with “logg”"]);
    assert!(!shown.contains("plc-7"), "{shown}");
    screen.escape();
    screen.press("ooooo");
    screen.until(&["P99▼", "plc-7"]);
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
    drop(clients);
    bench.assert_clean();
}

#[test]
fn a_run_lists_the_rows_of_each_repetition() {
    let bench = Bench::new();
    let words = "run latency --on mqtt --broker mosquitto --rate 500 --messages 300 --repeat 2 --warmup 50 --by client --seed 1";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    for repetition in report["results"][0]["repetitions"].as_array().unwrap() {
        let rows = repetition["breakdown"]["rows"].as_array().unwrap();
        let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("sent"), sum("delivered")), (300, 300), "{rows:#?}");
    }
    assert!(ended.says("repetition 2:"), "{}", ended.stdout);
}
