//! Messages of NATS (its client protocol's PUB and MSG).

/// First line of a client with this name.
pub fn connect(name: &str) -> Vec<u8> {
    format!("CONNECT {{\"verbose\":false,\"name\":\"{name}\",\"lang\":\"go\"}}\r\n").into()
}

/// A subscription: its subject, its queue group if it has one, its number.
pub fn subscribe(arguments: &str) -> Vec<u8> {
    format!("SUB {arguments}\r\n").into()
}

/// A message: `PUB subject` or `MSG subject sid`, its length, its payload.
pub fn message(line: &str, payload: &[u8]) -> Vec<u8> {
    [format!("{line} {}\r\n", payload.len()).as_bytes(), payload, b"\r\n"].concat()
}
