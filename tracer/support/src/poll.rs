//! Waiting for what other processes do.

use std::thread;
use std::time::{Duration, Instant};

/// Interval at which it is asked again.
const INTERVAL: Duration = Duration::from_millis(5);

/// Asks again and again until there is an answer.
///
/// # Panics
/// There is none within `longest`.
pub fn poll<T>(what: &str, longest: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < longest, "{what} did not happen within {longest:?}");
        thread::sleep(INTERVAL);
    }
}
