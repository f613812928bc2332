//! Programs of this host: a broker, a capture, another decoder. Loopback only; whatever is started
//! is ended when its guard is dropped.

pub mod broker;
pub mod capture;
pub mod tshark;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// Asks again and again until there is an answer.
pub fn poll<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wirelap_test_support::poll(what, PATIENCE, ask)
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
