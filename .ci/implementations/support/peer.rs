//! What clients in Rust share; see peer.py. A program that uses one part leaves the others alone.
#![allow(dead_code)]

use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static RECEIVED: AtomicUsize = AtomicUsize::new(0);

pub const TOPIC: &str = "truth";

pub fn number(name: &str, other: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(other)
}

pub fn address() -> String {
    format!("127.0.0.1:{}", number("PORT", 0))
}

pub fn publishes() -> bool {
    std::env::args().nth(1).as_deref() == Some("pub")
}

pub fn take() {
    if RECEIVED.fetch_add(1, Ordering::SeqCst) + 1 == number("MESSAGES", 300) {
        println!("all");
    }
}

fn payload(count: usize) -> Vec<u8> {
    let head = if number("EQUAL", 0) == 1 { String::new() } else { format!("{count:08}") };
    let mut payload = head.into_bytes();
    payload.resize(number("PAYLOAD", 64), b'.');
    payload
}

/// Runs in a thread that may wait. `publish` gets each payload, and `flush` waits until all is sent.
pub fn run(mut publish: impl FnMut(Vec<u8>), flush: impl FnOnce()) {
    let mut lines = std::io::stdin().lock().lines();
    println!("ready");
    lines.next();
    if !publishes() {
        println!("done {{\"received\": {}}}", RECEIVED.load(Ordering::SeqCst));
        std::process::exit(0);
    }
    let messages = number("MESSAGES", 300);
    let gap = Duration::from_secs(1) / number("RATE", 200) as u32;
    let begun = Instant::now();
    for count in 0..messages {
        std::thread::sleep((gap * count as u32).saturating_sub(begun.elapsed()));
        publish(payload(count));
    }
    flush();
    println!("done {{\"sent\": {messages}}}");
    lines.next();
    std::process::exit(0);
}
