//! Messages of NATS (its client protocol's PUB and MSG).

/// A message: `PUB subject` or `MSG subject sid`, its length, its payload.
pub fn message(line: &str, payload: &[u8]) -> Vec<u8> {
    [format!("{line} {}\r\n", payload.len()).as_bytes(), payload, b"\r\n"].concat()
}
