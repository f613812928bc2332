//! Messages inside TLS between programs that nobody here wrote: mosquitto and its clients.

use crate::bench::{Bench, Running, lock, poll};
use crate::{LONG, free_port};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that ends with the test.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn foreign(folder: &Path, program: &str, arguments: &str) -> Foreign {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).current_dir(folder);
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Foreign(command.spawn().unwrap_or_else(|error| panic!("{program} is installed: {error}")))
}

/// A mosquitto that speaks TLS only, with a certificate of its own making.
fn broker(folder: &Path, port: u16) -> Foreign {
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost";
    assert!(foreign(folder, "openssl", made).0.wait().unwrap().success());
    let settings = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\ncertfile cert.pem\nkeyfile key.pem\n"
    );
    fs::write(folder.join("mosquitto.conf"), settings).unwrap();
    let broker = foreign(folder, "mosquitto", "-c mosquitto.conf");
    let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop);
    poll("mosquitto's start", LONG, listens);
    broker
}

/// Subscribes and publishes `count` messages, which all arrive.
fn exchange(folder: &Path, port: u16, version: &str, count: usize) {
    let tls =
        format!("--cafile cert.pem --insecure --tls-version {version} -p {port} -h localhost");
    // The first message is kept by the broker, so that it tells when the subscription is in force.
    let probe = format!("{tls} -t wirelap/ready -r -m ready");
    assert!(foreign(folder, "mosquitto_pub", &probe).0.wait().unwrap().success());
    let mut subscriber = Command::new("mosquitto_sub");
    subscriber.args(tls.split(' ')).args(["-t", "wirelap/#", "-C", &(count + 1).to_string()]);
    subscriber.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut subscriber = Foreign(subscriber.spawn().unwrap());
    let mut lines = std::io::BufReader::new(subscriber.0.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut publisher = foreign(folder, "mosquitto_pub", &format!("{tls} -t wirelap/a -l"));
    let mut input = publisher.0.stdin.take().unwrap();
    for n in 0..count {
        writeln!(input, "a secret in message {n}").unwrap();
    }
    drop(input);
    assert!(publisher.0.wait().unwrap().success());
    poll("all messages", LONG, || subscriber.0.try_wait().unwrap())
        .success()
        .then_some(())
        .unwrap();
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

/// Every file that a run has left among its results.
fn written(folder: &Path) -> Vec<u8> {
    let files = fs::read_dir(folder).unwrap().flatten();
    files
        .filter(|file| file.file_name() != "wirelap")
        .flat_map(|file| fs::read(file.path()).unwrap())
        .collect()
}

#[test]
fn messages_in_tls_are_followed_and_their_text_is_in_no_file() {
    let _alone = lock();
    for version in ["tlsv1.3", "tlsv1.2"] {
        let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
        let _broker = broker(folder.path(), port);
        let recording = bench.file("seen.pcapng");
        let words = format!("live --plain --tls --ports {port} --pcapng {}", recording.display());
        let run = bench.wirelap(&words).json().start();
        until_tracing(&run);
        exchange(folder.path(), port, version, 50);
        let (report, _) = report_of(run, &bench);
        let [result] = &report["results"].as_array().unwrap()[..] else { panic!("{report:#}") };
        assert_eq!(result["middleware"], "mqtt", "{version}");
        let messages = &result["messages"];
        for name in ["delivered", "matched"] {
            // And the one that says that the subscription is in force.
            let count = messages[name].as_u64().unwrap();
            assert!((50..=51).contains(&count), "{version}: {messages:#}");
        }
        assert_eq!(messages["uncovered"], 0, "{version}: {messages:#}");
        let files = written(recording.parent().unwrap());
        assert!(files.len() > 1000 && !files.windows(8).any(|bytes| bytes == b"a secret"));
    }
}

#[test]
fn without_tls_a_sentence_says_that_it_is_encrypted() {
    let _alone = lock();
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _broker = broker(folder.path(), port);
    let run = bench.wirelap(&format!("live --plain --ports {port}")).json().start();
    until_tracing(&run);
    exchange(folder.path(), port, "tlsv1.3", 5);
    let (report, _) = report_of(run, &bench);
    assert_eq!(report["results"].as_array().map(Vec::len), Some(0), "{report:#}");
    let traffic = &report["unknown"]["traffic"][0];
    assert_eq!((&traffic["protocol"], &traffic["encrypted"]), (&"TLS".into(), &true.into()));
    let sentence = traffic["sentence"].as_str().unwrap();
    assert!(sentence.contains("--tls"), "{sentence}");
}

/// Programs whose text cannot be read are named, with the reason.
#[test]
fn with_tls_it_is_said_whose_text_is_not_read_and_why() {
    let _alone = lock();
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost";
    assert!(foreign(folder.path(), "openssl", made).0.wait().unwrap().success());
    // Both ends encrypt in memory: asyncio hands what comes out of OpenSSL to the socket later.
    let script = "import asyncio, ssl, sys
port = int(sys.argv[1])
async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line)
async def main():
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain('cert.pem', 'key.pem')
    await asyncio.start_server(serve, '127.0.0.1', port, ssl=own)
    other = ssl.create_default_context(cafile='cert.pem')
    other.check_hostname = False
    reader, writer = await asyncio.open_connection('127.0.0.1', port, ssl=other)
    for n in range(100):
        writer.write(b'a line\\n')
        await reader.readline()
asyncio.run(main())
";
    fs::write(folder.path().join("echo.py"), script).unwrap();
    let run = bench.wirelap(&format!("live --plain --tls --ports {port}")).json().start();
    until_tracing(&run);
    let mut python = Command::new("/usr/bin/python3");
    python.args(["echo.py", &port.to_string()]).current_dir(folder.path()).stdin(Stdio::null());
    let mut python = Foreign(python.spawn().unwrap());
    assert!(poll("all lines", LONG, || python.0.try_wait().unwrap()).success());
    let (report, _) = report_of(run, &bench);
    let traffic = &report["unknown"]["traffic"][0];
    let sentence = traffic["sentence"].as_str().unwrap();
    let reason = format!("python3 (PID {}): no text came from libssl", python.0.id());
    assert!(sentence.contains(&reason), "{sentence}");
}
