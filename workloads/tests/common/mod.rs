//! Starts workload processes, talks with them, and checks their truth files.
#![allow(dead_code)] // Each test file uses a part of it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::{
    About, DdsHistory, Done, LinkReliability, LinkTransport, ReadyLine, Role, Spec, Stamp,
};
use wirelap_contract::{TruthKind, TruthReader, TruthRecord};

/// Longer than any program waits for another one.
pub const LIMIT: Duration = Duration::from_mins(2);

/// A running workload. Killed when dropped.
pub struct Workload {
    child: Child,
    lines: Receiver<String>,
    pub ready: ReadyLine,
}

/// A workload that ended without DONE, or before READY.
#[derive(Debug)]
pub struct Failure {
    pub code: Option<i32>,
    pub stderr: String,
}

impl Workload {
    /// Starts it and waits for READY.
    pub fn start(spec: &Spec) -> Workload {
        Self::try_start(spec).unwrap_or_else(|failure| panic!("{spec:?}: {failure:?}"))
    }

    /// The same for one that may refuse.
    pub fn try_start(spec: &Spec) -> Result<Workload, Failure> {
        let mut workload = Self::spawn(spec);
        match workload.lines.recv_timeout(LIMIT) {
            Ok(line) => {
                workload.ready = ReadyLine::from_line(&line).unwrap().expect("a READY line");
                Ok(workload)
            }
            Err(_) => Err(workload.failure()),
        }
    }

    /// Starts it without waiting for anything.
    pub fn spawn(spec: &Spec) -> Workload {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wirelap-workload"))
            .args(spec.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Workload { child, lines, ready: ReadyLine::default() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"GO\n").unwrap();
    }

    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub fn close_stdin(&mut self) {
        self.child.stdin.take();
    }

    /// Waits for DONE and exit status 0 without a complaint.
    pub fn done(self) -> Done {
        let (done, stderr) = self.done_and_stderr();
        assert_eq!(stderr, "");
        done
    }

    /// The same for one that had something to complain about.
    pub fn done_and_stderr(mut self) -> (Done, String) {
        let line = self.lines.recv_timeout(LIMIT);
        let Ok(line) = line else { panic!("no DONE: {:?}", self.failure()) };
        let done = Done::from_line(&line).unwrap().expect("a DONE line");
        self.close_stdin();
        let code = self.wait();
        let stderr = self.stderr();
        assert_eq!(code, Some(0), "{stderr}");
        (done, stderr)
    }

    /// Waits for its end and tells how it failed.
    pub fn failure(mut self) -> Failure {
        let code = self.wait();
        Failure { code, stderr: self.stderr() }
    }

    fn wait(&mut self) -> Option<i32> {
        let mut code = None;
        eventually("the process ends", || {
            let status = self.child.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        code
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until it is true.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Not there, or dead and only waiting to be collected.
pub fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.starts_with(" Z"))
}

/// Number of times that the process's first thread has gone to sleep.
pub fn sleeps(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// Middlewares that `wirelap-workload list` tells.
pub fn abouts() -> Vec<About> {
    let output = Command::new(env!("CARGO_BIN_EXE_wirelap-workload")).arg("list").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A middleware with the settings under which it loses nothing, and its broker's name.
#[derive(Clone)]
pub struct Case {
    pub base: Spec,
    pub broker: Option<&'static str>,
}

impl Case {
    pub fn of(middleware: &str) -> Case {
        let mut base = Spec::new(Role::Sub, middleware);
        base.history = Some(DdsHistory::KeepAll);
        base.warmup = 20;
        base.messages = Some(500);
        // DDS meets by domain number instead of by address: a number for each case.
        base.domain = free_domain();
        Case { base, broker: None }
    }

    pub fn mqtt(broker: &'static str, qos: u8) -> Case {
        let mut case = Case::of("mqtt");
        case.base.qos = qos;
        case.broker = Some(broker);
        case
    }

    pub fn opcua() -> Case {
        Case { broker: Some("open62541"), ..Case::of("opcua") }
    }

    pub fn kafka(broker: &'static str) -> Case {
        let mut case = Case::of("kafka");
        case.broker = Some(broker);
        // As `wirelap` tells it to the clients too.
        case.base.broker = Some(broker.into());
        case
    }

    pub fn zenoh(transport: LinkTransport) -> Case {
        let mut case = Case::of("zenoh-p2p");
        case.base.transport = Some(transport);
        // Pings are best effort by default: a large one may be dropped.
        case.base.reliability = Some(LinkReliability::Reliable);
        case
    }

    pub fn nats() -> Case {
        let mut case = Case::of("nats");
        case.broker = Some("nats-server");
        case
    }

    pub fn amqp() -> Case {
        Case { broker: Some("rabbitmq"), ..Case::of("amqp") }
    }

    pub fn set(mut self, name: &str, value: &str) -> Case {
        self.base.set.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn routed(broker: &'static str) -> Case {
        let mut case = Case::of("zenoh-brokered");
        case.broker = Some(broker);
        case.base.reliability = Some(LinkReliability::Reliable);
        case
    }

    pub fn payload(mut self, bytes: usize, messages: u64) -> Case {
        self.base.payload = bytes;
        self.base.messages = Some(messages);
        self
    }

    pub fn rate(mut self, rate: f64) -> Case {
        self.base.rate = Some(rate);
        self
    }

    pub fn role(&self, role: Role) -> Spec {
        Spec { role, ..self.base.clone() }
    }

    /// Starts the broker if it needs one; its address becomes everyone's.
    pub fn start_broker(&mut self) -> Option<Workload> {
        let broker = Some(self.broker?.to_owned());
        let workload = Workload::start(&Spec { broker, ..self.role(Role::Broker) });
        self.base.endpoint.clone_from(&workload.ready.endpoint);
        Some(workload)
    }

    /// Starts a `sub` or `pong`; its address becomes everyone's.
    pub fn start_listener(&mut self, role: Role, truth: Option<&Path>) -> Workload {
        let truth = truth.map(Path::to_owned);
        let workload = Workload::start(&Spec { truth, ..self.role(role) });
        if self.broker.is_none() && !workload.ready.endpoint.is_empty() {
            self.base.endpoint.clone_from(&workload.ready.endpoint);
        }
        workload
    }
}

/// A DDS domain of 1 to 199 that no other test of this process, and hardly one of another, uses.
fn free_domain() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    1 + (std::process::id() * 37 + NEXT.fetch_add(1, Ordering::Relaxed)) % 199
}

/// One kind of record by its message. Fails if there is one twice.
pub fn records(path: &Path, kind: TruthKind) -> HashMap<Stamp, TruthRecord> {
    let mut found = HashMap::new();
    for truth in TruthReader::new(BufReader::new(File::open(path).unwrap())).unwrap() {
        let truth = truth.unwrap();
        if truth.kind == kind {
            assert_eq!(found.insert(truth.stamp, truth), None, "twice: {truth:?}");
        }
    }
    found
}

/// The stamps of a whole run, warm-up and all.
pub fn expected_stamps(spec: &Spec, reply: bool) -> Vec<Stamp> {
    let of = |count: u64, warmup: bool| {
        let count = u32::try_from(count).unwrap();
        (0..count).map(move |seq| Stamp { stream: spec.stream, seq, reply, warmup })
    };
    of(spec.warmup, true).chain(of(spec.messages.unwrap(), false)).collect()
}
