//! The text of TLS: `openssl s_client` writes lines to `openssl s_server`.

use crate::support::{everything, in_own_netns};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, Config};
use wirelap_events::Body;

const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn openssl(folder: &Path, arguments: &str) -> Running {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

/// The texts that begin as `line` does, with their lengths in the record, until `count` of them have come.
fn texts(capture: &mut Capture, line: &str, count: usize) -> Vec<(Vec<u8>, u32, u32)> {
    let deadline = Instant::now() + PATIENCE;
    let mut all = Vec::new();
    while all.len() < count {
        assert!(Instant::now() < deadline, "{} of {count} texts came", all.len());
        let wait = Duration::from_millis(10);
        let _ = capture.poll(wait, &mut |event| {
            if let Body::Plain(plain) = &event.body
                && plain.text.starts_with(line.as_bytes())
            {
                all.push((plain.text.to_vec(), plain.record_len, plain.text_start));
            }
        });
    }
    all
}

#[test]
fn the_text_of_a_record_comes_with_its_place() {
    in_own_netns(|_| {
        let folder = tempfile::tempdir().unwrap();
        let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=test";
        let status = openssl(folder.path(), made).0.wait().unwrap();
        assert!(status.success());
        let server = "s_server -accept 127.0.0.1:8443 -cert cert.pem -key key.pem -quiet";
        let _server = openssl(folder.path(), server);
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect("127.0.0.1:8443").is_err() {
            assert!(Instant::now() < deadline, "openssl s_server listens");
            std::thread::yield_now();
        }
        let config = Config { tls: true, ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let chosen = capture.hooks().iter().find(|hook| hook.observation == "text of TLS");
        assert!(chosen.is_some_and(|hook| hook.hook.is_some()), "{chosen:?}");
        let mut client = openssl(folder.path(), "s_client -connect 127.0.0.1:8443 -quiet -tls1_3");
        let stdin = client.0.stdin.as_mut().unwrap();
        let mut start = 0;
        for line in ["wirelap reads one line\n", "wirelap reads another line\n"] {
            stdin.write_all(line.as_bytes()).unwrap();
            let len = u32::try_from(line.len()).unwrap();
            let seen = texts(&mut capture, "wirelap reads", 1);
            // Header, text, its type, tag.
            assert_eq!(seen, [(line.as_bytes().to_vec(), 5 + len + 1 + 16, start)]);
            start += len;
        }
    });
}
