//! The text of TLS: `openssl s_client` and `openssl s_server`, with the library of the machine and with one of their own.

use crate::support::{everything, in_own_netns};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wirelap_capture::{Capture, CaptureConfig, TLS_TEXT, TlsAccess};
use wirelap_events::{Body, Pid, TextPlace};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends with the test.
pub struct Running(pub Child);

impl Running {
    pub fn write(&mut self, line: &str) {
        self.0.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn openssl(folder: &Path, arguments: &str, libraries: Option<&Path>) -> Running {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(folder) = libraries {
        command.env("LD_LIBRARY_PATH", folder);
    }
    Running(command.spawn().unwrap())
}

/// Answers each line with the same line backwards. It reads and writes inside the library, where no probe is.
const BACKWARDS: &str = "-rev";

/// Says what comes to its standard input.
const TALKER: &str = "-quiet";

/// A folder with a key and a certificate for `localhost`: `key.pem` and `cert.pem`.
pub fn certificate() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE";
    assert!(openssl(folder.path(), made, None).0.wait().unwrap().success());
    folder
}

/// A folder with a certificate, and a server of one of these kinds.
fn server(kind: &str) -> (TempDir, Running) {
    let folder = certificate();
    let words = format!("s_server -accept 127.0.0.1:8443 -cert cert.pem -key key.pem {kind}");
    let server = openssl(folder.path(), &words, None);
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect("127.0.0.1:8443").is_err() {
        assert!(Instant::now() < deadline, "openssl s_server listens");
        std::thread::yield_now();
    }
    (folder, server)
}

const CLIENT: &str = "s_client -connect 127.0.0.1:8443 -quiet";

pub fn capture() -> Capture {
    let config = CaptureConfig { tls: true, ..everything() };
    let capture = Capture::attach(&config).unwrap();
    let chosen = capture.hooks().iter().find(|hook| hook.observation == TLS_TEXT);
    assert!(chosen.is_some_and(|hook| hook.hook.is_some()), "{chosen:?}");
    capture
}

/// A text with its place, and its process.
#[derive(Debug)]
struct Seen {
    text: String,
    place: TextPlace,
    text_start: u32,
    pid: Pid,
}

impl Seen {
    fn is_sent(&self) -> bool {
        matches!(self.place, TextPlace::Sent { .. })
    }
}

/// Collects texts until `enough` says so.
fn texts(capture: &mut Capture, what: &str, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
    let deadline = Instant::now() + PATIENCE;
    let mut all = Vec::new();
    while !enough(&all) {
        assert!(Instant::now() < deadline, "{what}: {all:?}");
        let _ = capture.poll(Duration::from_millis(10), &mut |event| {
            if let Body::Plain(plain) = &event.body {
                let text = String::from_utf8_lossy(plain.text).into_owned();
                let (place, text_start) = (plain.place, plain.text_start);
                all.push(Seen { text, place, text_start, pid: plain.task.pid });
            }
        });
    }
    all
}

fn backwards(line: &str) -> String {
    line.trim_end().chars().rev().chain(['\n']).collect()
}

/// Both ends of a connection tell the text, each with the place in its own stream.
#[test]
fn the_text_of_a_record_comes_with_its_place_from_both_ends() {
    in_own_netns(|_| {
        let (folder, mut server) = server(TALKER);
        let mut capture = capture();
        for (version, overhead) in [("-tls1_3", 17), ("-tls1_2", 24)] {
            let mut client = openssl(folder.path(), &format!("{CLIENT} {version}"), None);
            let mut before = 0;
            for line in ["wirelap reads one line\n", "wirelap reads another line\n"] {
                let len = u32::try_from(line.len()).unwrap();
                // There, and back once it has come.
                for from_client in [true, false] {
                    let (from, to) =
                        if from_client { (&mut client, &server) } else { (&mut server, &client) };
                    let (sender, reader) = (Pid(from.0.id()), Pid(to.0.id()));
                    from.write(line);
                    let read = |seen: &[Seen]| -> String {
                        let read = seen.iter().filter(|one| one.pid == reader && !one.is_sent());
                        read.map(|one| one.text.as_str()).collect()
                    };
                    let mut seen = texts(&mut capture, line, |seen| read(seen).len() >= line.len());
                    // Libraries are observed in all namespaces, and the programs of other tests talk at the same time.
                    seen.retain(|one| [sender, reader].contains(&one.pid));
                    assert_eq!(read(&seen), line);
                    let sent = seen.iter().find(|one| one.is_sent()).unwrap();
                    assert_eq!((sent.pid, sent.text.as_str()), (sender, line));
                    let TextPlace::Sent { record_len, .. } = sent.place else { panic!("{sent:?}") };
                    // Header, text, its type, tag; or a nonce in place of the type.
                    assert_eq!(record_len, 5 + len + overhead);
                    assert!(seen.iter().all(|one| one.text_start >= before), "{seen:?}");
                }
                before += len;
            }
        }
    });
}

/// The folder with this machine's libraries of OpenSSL, copied: other files, which no other program uses.
fn own_libraries(folder: &Path) -> std::path::PathBuf {
    let listed =
        Command::new("ldconfig").arg("-p").env("PATH", "/usr/sbin:/sbin").output().unwrap();
    let copies = folder.join("lib");
    fs::create_dir(&copies).unwrap();
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        let Some((name, path)) = line.split_once(" => ") else { continue };
        let name = name.split_whitespace().next().unwrap_or_default();
        if name.starts_with("libssl.so") || name.starts_with("libcrypto.so") {
            let _ = fs::copy(path, copies.join(name));
        }
    }
    copies
}

#[test]
fn a_program_with_a_library_of_its_own_that_starts_later_is_read() {
    in_own_netns(|_| {
        let (folder, _server) = server(BACKWARDS);
        let libraries = own_libraries(folder.path());
        let mut capture = capture();
        let mut client = openssl(folder.path(), CLIENT, Some(&libraries));
        let pid = Pid(client.0.id());
        // Its library is found when its socket comes into view; what it writes meanwhile may be missed.
        let deadline = Instant::now() + PATIENCE;
        while !matches!(capture.tls_access(pid), Some(TlsAccess::Attached(_))) {
            assert!(Instant::now() < deadline, "{:?}", capture.tls_access(pid));
            let _ = capture.poll(Duration::from_millis(10), &mut |_| {});
        }
        let Some(TlsAccess::Attached(file)) = capture.tls_access(pid) else { panic!() };
        assert!(file.starts_with(&*libraries.to_string_lossy()), "{file}");
        client.write("wirelap reads a line\n");
        texts(&mut capture, "the client's texts", |seen| {
            let of = |is_sent| seen.iter().any(|one| one.pid == pid && one.is_sent() == is_sent);
            of(true) && of(false)
        });
    });
}

#[test]
fn a_library_that_is_replaced_under_a_program_is_read() {
    in_own_netns(|_| {
        let (folder, _server) = server(BACKWARDS);
        let libraries = own_libraries(folder.path());
        let mut client = openssl(folder.path(), CLIENT, Some(&libraries));
        let maps = format!("/proc/{}/maps", client.0.id());
        let deadline = Instant::now() + PATIENCE;
        while !fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("libssl")) {
            assert!(Instant::now() < deadline, "the client has its library");
        }
        fs::remove_dir_all(&libraries).unwrap();
        let mut capture = capture();
        client.write("wirelap reads a line\n");
        let pid = Pid(client.0.id());
        texts(&mut capture, "its text", |seen| {
            seen.iter().any(|one| one.pid == pid && one.is_sent())
        });
    });
}

/// Nothing that a process leaves behind harms the next ones: it ends in the middle of a read.
#[test]
fn a_program_that_ends_while_it_reads_harms_nobody() {
    in_own_netns(|_| {
        let (folder, _server) = server(BACKWARDS);
        let mut capture = capture();
        for n in 0..5 {
            let mut client = openssl(folder.path(), CLIENT, None);
            let line = format!("wirelap reads line {n}\n");
            client.write(&line);
            let answer = backwards(&line);
            let pid = Pid(client.0.id());
            let is_it = |one: &Seen| one.pid == pid && !one.is_sent() && one.text == answer;
            texts(&mut capture, &line, |seen| seen.iter().any(is_it));
            client.0.kill().unwrap();
        }
    });
}
