//! Messages inside TLS between programs that nobody here wrote.

mod kafka;
mod mqtt;
mod nats;

use crate::LONG;
use crate::bench::{Bench, Running, poll};
use crate::hidden::{assert_count, assert_none};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that ends with the test.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Foreign {
    /// Waits until it ends, which it has to do well.
    fn succeeds(mut self) {
        let status = poll("the end of a program", LONG, || self.0.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }

    /// Writes `count` numbered lines to it, of which each becomes a message, and waits until it has sent them.
    fn sends(mut self, count: usize) {
        let mut input = self.0.stdin.take().unwrap();
        for n in 0..count {
            writeln!(input, "{}", secret(n)).unwrap();
        }
        drop(input);
        self.succeeds();
    }
}

fn command(folder: &Path, program: &str, arguments: &str) -> Command {
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(folder);
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    // Cargo puts the libraries in it that were built for the workloads: that of Kafka's clients knows no TLS.
    command.env_remove("LD_LIBRARY_PATH");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn spawn(mut command: Command) -> Foreign {
    let started = command.spawn();
    Foreign(started.unwrap_or_else(|error| panic!("{command:?} is installed: {error}")))
}

fn foreign(folder: &Path, program: &str, arguments: &str) -> Foreign {
    spawn(command(folder, program, arguments))
}

/// A program that prints a line for each message that it gets.
struct Subscriber {
    process: Foreign,
    lines: BufReader<ChildStdout>,
}

impl Subscriber {
    /// Waits for its first line, which has to be `ready`.
    fn start(folder: &Path, program: &str, arguments: &str) -> Subscriber {
        let mut command = command(folder, program, arguments);
        command.stdout(Stdio::piped());
        let mut process = spawn(command);
        let mut lines = BufReader::new(process.0.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Subscriber { process, lines }
    }

    /// Waits until it has got `count` messages and ends.
    fn gets(self, count: usize) {
        let lines: Vec<_> = self.lines.lines().map(Result::unwrap).collect();
        let expected: Vec<_> = (0..count).map(secret).collect();
        assert_eq!(lines, expected);
        self.process.succeeds();
    }
}

/// Text of a message that no file may have.
fn secret(n: usize) -> String {
    format!("a secret in message {n}")
}

/// Makes a key and a certificate for this host: `key.pem` and `cert.pem`.
fn certificate(folder: &Path) {
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost";
    foreign(folder, "openssl", made).succeeds();
}

/// Waits until a server takes connections.
fn until_it_listens(port: u16) {
    poll("a server's start", LONG, || TcpStream::connect(("127.0.0.1", port)).ok().map(drop));
}

/// Waits until wirelap traces.
fn until_tracing(run: &Running) {
    poll("a first line", LONG, || run.has_printed().then_some(()));
}

fn report_of(run: Running, bench: &Bench) -> (Value, String) {
    run.signal(Signal::INT);
    let ended = run.end(LONG);
    assert!(ended.status.is_some(), "{}", ended.stderr);
    (bench.report(), ended.stdout)
}

/// The only row of a report.
fn only_row(report: &Value) -> &Value {
    let [result] = &report["results"].as_array().unwrap()[..] else { panic!("{report:#}") };
    result
}

/// A run that reads the text of TLS and writes what it sees, once it traces; and the file.
fn reading_tls(bench: &Bench, port: u16) -> (Running, PathBuf) {
    let recording = bench.file("seen.pcapng");
    let words =
        format!("live --plain --sample off --tls --ports {port} --pcapng {}", recording.display());
    let run = bench.wirelap(&words).json().start();
    until_tracing(&run);
    (run, recording)
}

/// A run that does not, once it traces.
fn without_tls(bench: &Bench, port: u16) -> Running {
    let run = bench.wirelap(&format!("live --plain --sample off --ports {port}")).json().start();
    until_tracing(&run);
    run
}

/// All of `count` messages of a middleware were followed.
fn assert_followed(report: &Value, middleware: &str, count: u64) {
    let result = only_row(report);
    assert_eq!(result["middleware"], middleware);
    for name in ["sent", "delivered", "matched"] {
        assert_count(result, &format!("/messages/{name}"), count);
    }
    assert_none(result, "/messages/uncovered");
}

/// The text of no message is in the recording, nor in a file beside it.
fn assert_no_text(recording: &Path) {
    let files = written(recording.parent().unwrap());
    assert!(files.len() > 1000 && !files.windows(8).any(|bytes| bytes == b"a secret"));
}

/// Every file that a run has left among its results.
fn written(folder: &Path) -> Vec<u8> {
    let files = fs::read_dir(folder).unwrap().flatten();
    files
        .filter(|file| file.file_name() != "wirelap")
        .flat_map(|file| fs::read(file.path()).unwrap())
        .collect()
}

/// There is no row, and a sentence says that it is encrypted, and how its messages are to be seen.
fn assert_encrypted(report: &Value) {
    assert_eq!(report["results"].as_array().map(Vec::len), Some(0), "{report:#}");
    let traffic = &report["unknown"]["traffic"][0];
    assert_eq!((&traffic["protocol"], &traffic["encrypted"]), (&"TLS".into(), &true.into()));
    let sentence = traffic["sentence"].as_str().unwrap();
    assert!(sentence.contains("--tls"), "{sentence}");
}
