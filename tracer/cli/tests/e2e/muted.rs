//! A muted row, and one that is not, whose connections have the same addresses in another network namespace.

use crate::bench::{Bench, poll};
use crate::hidden::{assert_count, assert_none, hidden_packets};
use crate::islands::{ip, read_by, said_so};
use crate::screen::Screen;
use crate::{LONG, free_port};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The broker's address, and that of its clients: both on the loopback device, and none of its own.
const BROKER: &str = "10.83.9.1";
const CLIENTS: &str = "10.83.9.2";

/// A broker with a subscriber and a publisher in a network namespace of their own.
struct Twin {
    space: String,
    children: Vec<Child>,
    lines: ChildStdin,
    said: PathBuf,
    published: u64,
}

impl Twin {
    /// `name`: what the broker is called, which is mosquitto.
    fn new(bench: &Bench, name: &str, port: u16) -> Twin {
        let space = format!("wirelap{}{name}", std::process::id());
        ip(&format!("netns add {space}"));
        ip(&format!("-n {space} link set lo up"));
        for address in [BROKER, CLIENTS] {
            ip(&format!("-n {space} addr add {address}/32 dev lo"));
        }
        // Two ports for two connections: the same in each namespace.
        let range = "echo 41000 41001 > /proc/sys/net/ipv4/ip_local_port_range";
        assert!(within(&space, "sh").args(["-c", range]).status().unwrap().success());
        let program = bench.file(name);
        fs::copy("/usr/sbin/mosquitto", &program).expect("mosquitto is installed");
        let config = bench.file("twin.conf");
        fs::write(&config, format!("listener {port} {BROKER}\nallow_anonymous true\n")).unwrap();
        let broker = within(&space, &program.display().to_string())
            .args(["-c", &config.display().to_string()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        poll("the broker's start", LONG, || ports(broker.id(), "0A").contains(&port).then_some(()));
        let said = bench.file(&format!("{name}.txt"));
        let client = |program: &str| {
            let mut command = within(&space, "stdbuf");
            let port = port.to_string();
            command.args(["-oL", program, "-h", BROKER, "-p", &port, "-A", CLIENTS, "-t", "a/b"]);
            command.stderr(Stdio::null());
            command
        };
        let output = File::create(&said).unwrap();
        let subscriber = client("mosquitto_sub").arg("-d").stdout(output).spawn().unwrap();
        poll("a subscription", LONG, || said_so(&said, "received SUBACK").then_some(()));
        let mut publisher =
            client("mosquitto_pub").arg("-l").stdin(Stdio::piped()).spawn().unwrap();
        let lines = publisher.stdin.take().unwrap();
        let children = vec![publisher, subscriber, broker];
        Twin { space, children, lines, said, published: 0 }
    }

    /// Publishes messages of so many bytes, and waits until they are read.
    fn publish(&mut self, messages: u64, bytes: usize) {
        for _ in 0..messages {
            self.published += 1;
            writeln!(self.lines, "message {:0>bytes$}", self.published).unwrap();
        }
        poll("the messages", LONG, || (read_by(&self.said) == self.published).then_some(()));
    }

    /// The ports of its clients.
    fn ports(&self) -> Vec<u16> {
        let mut ports = ports(self.children[0].id(), "01");
        ports.retain(|port| (41_000..=41_001).contains(port));
        ports.sort_unstable();
        ports
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        ip(&format!("netns del {}", self.space));
    }
}

/// A program in a namespace.
fn within(space: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", space, program]).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The local ports of the sockets in a state, in the namespace of a process (`proc_pid_net(5)`).
fn ports(process: u32, state: &str) -> Vec<u16> {
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    let local = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = fields.get(1)?.rsplit(':').next()?;
        (*fields.get(3)? == state).then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().skip(1).filter_map(local).collect()
}

/// The row of a broker.
fn row<'r>(report: &'r Value, broker: &str) -> &'r Value {
    let rows = report["results"].as_array().unwrap();
    let row = rows.iter().find(|row| row["broker"] == broker);
    row.unwrap_or_else(|| panic!("no {broker} in {rows:#?}"))
}

#[test]
fn a_row_with_the_addresses_of_a_muted_one_is_counted_exactly() {
    let (bench, port) = (Bench::new(), free_port());
    let folder = bench.file("screens");
    fs::create_dir(&folder).unwrap();
    let words = format!(
        "live --save-to {} --ports {port} --sample off --mute mqtt/mutedmq",
        folder.display()
    );
    let call = bench.wirelap(&words).json();
    let mut screen = Screen::start(&folder, |slave| call.on_terminal(slave, false));
    screen.until(&["No middleware traffic seen yet"]);
    let [mut muted, mut other] = ["mutedmq", "othermq"].map(|name| Twin::new(&bench, name, port));
    for twin in [&mut muted, &mut other] {
        twin.publish(20, 100);
    }
    assert_eq!((muted.ports(), muted.ports().len()), (other.ports(), 2));
    screen.until(&["1 row muted", "mutedmq", "othermq"]);
    // More than the numbers of one flow may be apart in two places.
    for _ in 0..5 {
        muted.publish(30, 20_000);
        other.publish(10, 100);
    }
    while !screen.text().contains("▶ mqtt mutedmq") {
        screen.press("j");
    }
    screen.press("M");
    poll("the end of muting", LONG, || (!screen.text().contains("1 row muted")).then_some(()));
    for twin in [&mut muted, &mut other] {
        twin.publish(20, 100);
    }
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
    let report = bench.report();
    let other = row(&report, "othermq");
    for name in ["sent", "delivered", "matched"] {
        assert_count(other, &format!("/messages/{name}"), 90);
    }
    assert_none(other, "/messages/uncovered");
    let muted = row(&report, "mutedmq");
    let matched = muted["messages"]["matched"].as_u64().unwrap();
    if hidden_packets(muted) == 0 {
        assert_eq!(muted["messages"]["sent"], matched, "{muted:#}");
        assert_eq!(muted["messages"]["delivered"], matched, "{muted:#}");
        assert_eq!(muted["messages"]["uncovered"], 0, "{muted:#}");
    }
    assert!((20..=40).contains(&matched), "{matched}");
}
