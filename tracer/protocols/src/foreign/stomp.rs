//! STOMP 1.0 to 1.2 (<https://stomp.github.io/stomp-specification-1.2.html>, "STOMP Frames").
//!
//! ```text
//! COMMAND LF | name:value LF … | LF | body | NUL        a line may end with CR LF
//! ```

use super::name::ForeignName;

/// Commands of clients and servers, with a header that each frame has.
const COMMANDS: [(&[u8], &[u8]); 13] = [
    (b"CONNECT", b""),
    (b"STOMP", b"accept-version"),
    (b"CONNECTED", b""),
    (b"SEND", b"destination"),
    (b"SUBSCRIBE", b"destination"),
    (b"UNSUBSCRIBE", b""),
    (b"MESSAGE", b"destination"),
    (b"ACK", b"id"),
    (b"NACK", b"id"),
    (b"BEGIN", b"transaction"),
    (b"COMMIT", b"transaction"),
    (b"ABORT", b"transaction"),
    (b"RECEIPT", b"receipt-id"),
];

/// The longest head that is looked through.
const HEAD_BYTES: usize = 1024;

/// A frame, of which the first lines are there: a command and its headers.
pub(super) fn frame(bytes: &[u8]) -> Option<ForeignName> {
    // Lines between frames keep the connection alive.
    let start = bytes.iter().position(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let head = bytes.get(start..)?;
    let mut lines = head.get(..HEAD_BYTES).unwrap_or(head).split(|byte| *byte == b'\n');
    let command = lines.next().map(without_return)?;
    let (_, needed) = COMMANDS.iter().find(|(known, _)| *known == command)?;
    let (mut version, mut headers, mut has_needed) = (None, 0_u32, needed.is_empty());
    for line in lines.map(without_return).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_at_checked(line.iter().position(|byte| *byte == b':')?)?;
        if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        headers = headers.saturating_add(1);
        has_needed |= name == *needed;
        version = version.or((command == b"CONNECTED" && name == b"version").then_some(value));
    }
    let version = match version {
        Some(b":1.0") => Some("1.0"),
        Some(b":1.1") => Some("1.1"),
        Some(b":1.2") => Some("1.2"),
        _ => None,
    };
    (has_needed && headers > 0).then(|| ForeignName::of("STOMP", version))
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
