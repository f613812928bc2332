//! A broker in a network namespace of its own, and a namespace for each of its clients.

use crate::bench::{Bench, Running, poll};
use crate::{LONG, free_port};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

const SPACES: [&str; 3] = ["p", "s", "t"];

/// mosquitto in a network namespace, and one for each client, with a cable to it. Dropping it ends everything.
pub struct Islands {
    pub bench: Bench,
    pub port: u16,
    pub spaces: Vec<String>,
    children: Vec<Child>,
    pub broker: u32,
}

pub fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {words}");
}

/// Bytes that are not acknowledged yet, and bytes that wait unread, in the TCP sockets of a process's network namespace
/// (`/proc/PID/net/tcp`: `tx_queue:rx_queue`). None of a process that has ended.
fn queued(process: u32) -> (u64, u64) {
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    let queues = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4));
    let bytes = |text| u64::from_str_radix(text, 16).unwrap();
    let each = queues.filter_map(|queues| queues.split_once(':'));
    each.fold((0, 0), |(sent, read), (tx, rx)| (sent + bytes(tx), read + bytes(rx)))
}

impl Islands {
    /// Waits until the broker has read everything that its clients have sent: first that it has arrived, then that it is read.
    pub fn all_is_read(&self) {
        let has_arrived = |client: &Child| queued(client.id()).0 == 0;
        poll("the broker to read all", LONG, || {
            (self.children.iter().all(has_arrived) && queued(self.broker).1 == 0).then_some(())
        });
    }

    pub fn new() -> Islands {
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
    pub fn client(
        &mut self,
        net: usize,
        program: &str,
        words: &[&str],
    ) -> (u32, ChildStdin, PathBuf) {
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

    pub fn record(&self, file: &Path, filter: &str) -> Running {
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

/// True if a connection is established in the namespace of a process (`proc_pid_net(5)`: the state is the fourth field).
fn connected(pid: u32) -> bool {
    let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    sockets.lines().any(|line| line.split_whitespace().nth(3) == Some("01"))
}

pub fn said_so(file: &Path, words: &str) -> bool {
    fs::read_to_string(file).unwrap_or_default().contains(words)
}

/// The messages that a client has printed.
pub fn read_by(file: &Path) -> u64 {
    let said = fs::read_to_string(file).unwrap_or_default();
    said.lines().filter(|line| line.starts_with("message ")).count() as u64
}
