//! A fleet of three network namespaces: a publisher's, the hub's with a broker and the router, and a subscriber's, where somebody
//! watches. Needs root, mosquitto, and `wirelap` beside `wirelap-fleet`: `cargo build -p wirelap`.

use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The longest wait for anything.
const LONG: Duration = Duration::from_mins(1);

const MESSAGES: u64 = 300;
const BROKER: &str = "10.84.0.2";
const ROUTER: &str = "tcp/10.84.0.2:7447";

/// Asks again and again until there is an answer.
fn poll<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wirelap_test_support::poll(what, LONG, ask)
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {words}");
}

/// Three network namespaces on one bridge, and what runs in them. Dropping it ends everything.
struct Fleet {
    folder: TempDir,
    spaces: [String; 3],
    children: Vec<Child>,
}

impl Fleet {
    fn new() -> Fleet {
        let number = std::process::id();
        let spaces = ["r", "h", "d"].map(|name| format!("wirelap{number}{name}"));
        let fleet = Fleet { folder: TempDir::new().unwrap(), spaces, children: Vec::new() };
        let hub = &fleet.spaces[1];
        for (at, space) in fleet.spaces.iter().enumerate() {
            ip(&format!("netns add {space}"));
            ip(&format!("-n {space} link set lo up"));
            if at == 1 {
                ip(&format!("-n {hub} link add bridge type bridge"));
                ip(&format!("-n {hub} addr add {BROKER}/24 dev bridge"));
                ip(&format!("-n {hub} link set bridge up"));
            }
        }
        for (space, host) in [(&fleet.spaces[0], 1), (&fleet.spaces[2], 3)] {
            ip(&format!("-n {hub} link add name to{host} type veth peer name far netns {space}"));
            ip(&format!("-n {hub} link set to{host} master bridge up"));
            ip(&format!("-n {space} addr add 10.84.0.{host}/24 dev far"));
            ip(&format!("-n {space} link set far up"));
        }
        // Where the programs find each other.
        let built = PathBuf::from(env!("CARGO_BIN_EXE_wirelap-fleet"));
        for name in ["wirelap", "wirelap-fleet"] {
            let program = built.with_file_name(name);
            assert!(program.is_file(), "{} is missing: cargo build -p {name}", program.display());
            fs::copy(program, fleet.file(name)).unwrap();
        }
        fleet
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a program in a namespace, and returns its place among all.
    fn start(&mut self, space: usize, name: &str, words: &str) -> usize {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.spaces[space], "stdbuf", "-oL"]);
        let own = self.file(name);
        command.arg(if own.exists() { own } else { name.into() }).args(words.split(' '));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin")).stdin(Stdio::piped());
        let said = |what| File::create(self.file(&format!("{}.{what}", self.children.len())));
        command.stdout(said("out").unwrap()).stderr(said("err").unwrap());
        self.children.push(command.spawn().unwrap());
        self.children.len() - 1
    }

    fn said(&self, child: usize, what: &str) -> String {
        fs::read_to_string(self.file(&format!("{child}.{what}"))).unwrap_or_default()
    }

    fn says(&self, child: usize, words: &str) {
        poll(words, || self.said(child, "err").contains(words).then_some(()));
    }

    /// The agents that observe.
    fn observing(&self) -> Vec<u32> {
        let program = self.file("wirelap").display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|one| one.file_name().to_str()?.parse().ok());
        let is_one = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = words.split(|byte| *byte == 0);
            words.next() == Some(program.as_bytes()) && words.next() == Some(b"agent")
        };
        numbers.filter(is_one).filter(|pid| has_probes(*pid)).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}

/// True if a process holds BPF links.
fn has_probes(pid: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let mut texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.any(|text| text.contains("link_id:"))
}

/// Number of times that a process has slept: an agent does so many times a second.
fn sleeps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let states = threads.filter_map(|one| fs::read_to_string(one.path().join("status")).ok());
    let count = |status: String| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    states.filter_map(count).sum()
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

fn read_by(said: &str) -> u64 {
    said.lines().filter(|line| line.starts_with("message ")).count() as u64
}

fn report(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn messages_between_the_hosts_of_a_fleet_are_followed_and_what_carries_them_is_left_out() {
    let mut fleet = Fleet::new();
    let config = fleet.file("mosquitto.conf");
    fs::write(&config, "listener 1883 0.0.0.0\nallow_anonymous true\n").unwrap();
    fleet.start(1, "mosquitto", &format!("-c {}", config.display()));
    let router = fleet.start(1, "wirelap-fleet", "router --listen tcp/0.0.0.0:7447");
    fleet.says(router, "routes on");
    for (space, name) in [(0, "robot"), (1, "hub")] {
        let words = format!("agent --to {ROUTER} --name {name}");
        let agent = fleet.start(space, "wirelap-fleet", &words);
        fleet.says(agent, "waits in fleet default");
    }
    let address = format!("-h {BROKER} -t a/b");
    let subscriber = fleet.start(2, "mosquitto_sub", &format!("{address} -d"));
    poll("the subscription", || {
        fleet.said(subscriber, "out").contains("received SUBACK").then_some(())
    });
    let publisher = fleet.start(0, "mosquitto_pub", &format!("{address} -l"));
    assert_eq!(fleet.observing(), [0; 0], "nobody watches");
    let json = fleet.file("report.json");
    let words = format!("live --plain --not-here --from {ROUTER} --json {}", json.display());
    let live = fleet.start(2, "wirelap", &words);
    let agents = poll("the start of both agents", || {
        Some(fleet.observing()).filter(|agents| agents.len() == 2)
    });
    for agent in agents {
        let before = sleeps(agent);
        poll("an agent's records", || (sleeps(agent) > before + 200).then_some(()));
    }
    let mut lines = fleet.children[publisher].stdin.take().unwrap();
    for number in 0..MESSAGES {
        writeln!(lines, "message {number}").unwrap();
    }
    poll("the messages", || (read_by(&fleet.said(subscriber, "out")) == MESSAGES).then_some(()));
    interrupt(&fleet.children[live]);
    assert_eq!(fleet.children[live].wait().unwrap().code(), Some(0), "{}", fleet.said(live, "err"));
    poll("the end of the agents", || fleet.observing().is_empty().then_some(()));
    let report = report(&json);
    let hosts = report["hosts"].as_array().unwrap();
    let mut states: Vec<&str> = hosts.iter().filter_map(|host| host["status"].as_str()).collect();
    states.sort_unstable();
    assert_eq!(states, ["connected", "same kernel"], "{report:#}");
    // The router's own traffic would be a row of Zenoh.
    let rows = report["results"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["middleware"].to_string()).collect();
    assert!(names.iter().all(|name| !name.contains("zenoh")), "{names:?}");
    let is_ours = |row: &&Value| row["messages"]["delivered"] == MESSAGES;
    let row = rows.iter().find(is_ours).unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(row["messages"]["matched"], MESSAGES, "{}", row["messages"]);
}
