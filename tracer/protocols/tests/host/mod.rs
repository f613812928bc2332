//! Programs of this host: a broker, a capture, another decoder. Loopback only; whatever is started
//! is ended when its guard is dropped.

pub mod broker;
pub mod capture;
pub mod tshark;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time that anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends with its guard.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until the answer is there.
pub fn poll<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what} did not happen in {PATIENCE:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Runs one of mosquitto's clients to its end.
pub fn run(program: &str, port: u16, args: &[&str], input: &[u8]) {
    let mut child = Command::new(program)
        .args(["-h", "127.0.0.1", "-p", &port.to_string()])
        .args(args)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success(), "{program} {args:?}");
}
