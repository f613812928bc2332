//! A router in this process, and the programs around it.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wirelap_events::{Body, Cpu, Event, Nanos, ProcessEnd};
use wirelap_hosts::stream::{AgentWriter, FleetFrame, FleetReader, Hello};
use wirelap_recording::RecordPacker;
use zenoh::{Config, Session, Wait};

/// The longest wait for anything.
const LONG: Duration = Duration::from_mins(1);

/// A stand-in for `wirelap agent`: it writes a stream, and tells again what is open when it is asked.
const AGENT: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
echo $$ > pid
echo started >> runs
if [ -e broken ]; then cat broken >&2; exit 3; fi
cat stream
while read -r what; do
    [ "$what" != again ] || { echo again >> runs; cat again; }
done
echo ended >> runs
"#;

/// Asks again and again until there is an answer.
pub fn poll<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wirelap_test_support::poll(what, LONG, ask)
}

/// A folder with the programs.
pub struct Bench {
    folder: TempDir,
}

/// Frames of an agent that has seen so many processes end.
fn stream(events: u64, begins: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = AgentWriter::begin(&mut bytes).unwrap();
    if begins {
        writer.hello(&Hello { host: "robot".into(), ..Hello::default() }).unwrap();
    }
    let mut records = RecordPacker::default();
    for at in 0..events {
        let body = Body::Ended(ProcessEnd::default());
        records.event(&Event { at: Nanos(at), cpu: Cpu(1), body });
    }
    writer.records(&mut records).unwrap();
    drop(writer);
    let first_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    if begins { bytes } else { bytes.split_off(first_line) }
}

impl Bench {
    pub fn new() -> Bench {
        let bench = Bench { folder: TempDir::new().unwrap() };
        fs::copy(env!("CARGO_BIN_EXE_wirelap-fleet"), bench.file("wirelap-fleet")).unwrap();
        let agent = bench.file("wirelap");
        fs::write(&agent, AGENT).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(bench.file("stream"), stream(3, true)).unwrap();
        fs::write(bench.file("again"), stream(2, false)).unwrap();
        bench
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// From now on, the agent says this and ends.
    pub fn breaks_with(&self, words: &str) {
        fs::write(self.file("broken"), format!("wirelap: {words}\n")).unwrap();
    }

    /// Number of times that the agent has started.
    pub fn started(&self) -> usize {
        self.runs("started")
    }

    /// Number of times that the agent has ended by itself.
    pub fn ended(&self) -> usize {
        self.runs("ended")
    }

    /// Number of times that the agent was asked to tell again what is open.
    pub fn told_again(&self) -> usize {
        self.runs("again")
    }

    /// True if the agent that was started last is there.
    pub fn is_there(&self) -> bool {
        let pid = fs::read_to_string(self.file("pid")).unwrap();
        // A process that has ended and was not waited for has no command line.
        fs::read(format!("/proc/{}/cmdline", pid.trim())).is_ok_and(|line| !line.is_empty())
    }

    fn runs(&self, what: &str) -> usize {
        let runs = fs::read_to_string(self.file("runs")).unwrap_or_default();
        runs.lines().filter(|line| *line == what).count()
    }

    pub fn agent(&self, router: &Router, name: &str, words: &[&str]) -> Program {
        let mut command = self.command("agent");
        command.args(["--to", &router.locator(), "--name", name, "--fleet", "plant"]).args(words);
        Program::start(command)
    }

    pub fn collect(&self, router: &Router, words: &[&str]) -> Collector {
        let mut command = self.command("collect");
        command.args(["--from", &router.locator(), "--fleet", "plant"]).args(words);
        Collector::start(command)
    }

    fn command(&self, what: &str) -> Command {
        let mut command = Command::new(self.file("wirelap-fleet"));
        command.arg(what).env("PATH", "/usr/bin:/bin");
        command
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A router in this process.
pub struct Router {
    pub port: u16,
    scheme: &'static str,
    session: Mutex<Option<Session>>,
}

impl Router {
    fn start(port: u16, scheme: &'static str, mut config: Config) -> Router {
        for (key, value) in [
            ("mode", "\"router\"".to_owned()),
            ("listen/endpoints", format!("[\"{scheme}/127.0.0.1:{port}\"]")),
            ("scouting/multicast/enabled", "false".into()),
        ] {
            config.insert_json5(key, &value).unwrap();
        }
        // The port of a router that has ended may not be free at once.
        let session = poll("the start of the router", || zenoh::open(config.clone()).wait().ok());
        Router { port, scheme, session: Mutex::new(Some(session)) }
    }

    /// A router at a free port.
    pub fn new() -> Router {
        Router::at(free_port())
    }

    pub fn at(port: u16) -> Router {
        Router::start(port, "tcp", Config::default())
    }

    pub fn secured(config: Config) -> Router {
        Router::start(free_port(), "tls", config)
    }

    pub fn locator(&self) -> String {
        let host = if self.scheme == "tls" { "localhost" } else { "127.0.0.1" };
        format!("{}/{host}:{}", self.scheme, self.port)
    }

    pub fn stop(&self) {
        self.session.lock().unwrap().take().unwrap().close().wait().unwrap();
    }
}

/// A program that runs, and what it has said. Dropping it ends it.
pub struct Program {
    child: Mutex<Child>,
    said: TempDir,
}

impl Program {
    fn start(mut command: Command) -> Program {
        let said = TempDir::new().unwrap();
        let stderr = File::create(said.path().join("stderr")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn();
        Program { child: Mutex::new(child.unwrap()), said }
    }

    /// Waits until it says so, and forgets what it has said.
    pub fn says(&self, words: &str) {
        let file = self.said.path().join("stderr");
        poll(words, || said(&file).contains(words).then_some(()));
        // The program goes on behind what is left out, because the file is not truncated.
        fs::write(self.said.path().join("before"), said(&file)).unwrap();
    }

    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The lines of a program since it was waited for last.
fn said(file: &Path) -> String {
    let all = fs::read_to_string(file).unwrap_or_default();
    let before = fs::read_to_string(file.with_file_name("before")).unwrap_or_default();
    all.get(before.len()..).unwrap_or_default().to_owned()
}

/// A `wirelap-fleet collect`, whose frames are read. Dropping it ends it.
pub struct Collector {
    child: Mutex<Child>,
    frames: Receiver<FleetFrame>,
    said: TempDir,
}

impl Collector {
    fn start(mut command: Command) -> Collector {
        let said = TempDir::new().unwrap();
        let stderr = File::create(said.path().join("stderr")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (frames_to, frames) = channel();
        thread::spawn(move || {
            let mut reader = FleetReader::begin(BufReader::new(stdout)).unwrap();
            while let Ok((_, frame, _)) = reader.next_frame() {
                if frames_to.send(frame).is_err() {
                    break;
                }
            }
        });
        Collector { child: Mutex::new(child), frames, said }
    }

    /// Waits for a frame; those before it are left out.
    pub fn gets(&self, what: &str, is_it: impl Fn(&FleetFrame) -> bool) {
        let deadline = Instant::now() + LONG;
        let mut others = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.frames.recv_timeout(left) {
                Ok(frame) if is_it(&frame) => return,
                Ok(frame) => others.push(frame),
                Err(RecvTimeoutError::Timeout) => panic!("{what} did not come, but {others:?}"),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{what} did not come, but {others:?}; {}", self.said())
                }
            }
        }
    }

    pub fn ask(&self, line: &str) {
        let mut child = self.child.lock().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn said(&self) -> String {
        said(&self.said.path().join("stderr"))
    }

    /// Its exit status, once it has ended.
    pub fn status(&self) -> Option<i32> {
        poll("the end of a collector", || self.child.lock().unwrap().try_wait().unwrap()).code()
    }

    /// Ends it as `wirelap` does.
    pub fn end(&self) {
        drop(self.child.lock().unwrap().stdin.take());
        assert_eq!(self.status(), Some(0), "{}", self.said());
    }

    pub fn kill(&self) {
        self.child.lock().unwrap().kill().unwrap();
        self.status();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
