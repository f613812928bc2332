//! The opening handshake: an HTTP request and its response (RFC 6455 §4).

use crate::PduLen;

/// The longest head that is waited for; cookies can make it long.
const LONGEST_HEAD: usize = 16 << 10;

/// One of the two heads of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake<'a> {
    /// It is the client's request, not the server's response.
    pub is_request: bool,
    /// The subprotocols that are offered, or the one that was chosen.
    pub subprotocols: &'a [u8],
}

/// Whether `head` may be the start of a head of the handshake. No frame starts with these bytes.
pub(super) fn may_start(head: &[u8]) -> bool {
    [&b"GET "[..], b"HTTP/1.1 101"].iter().any(|start| {
        let shared = start.len().min(head.len());
        shared > 0 && start.get(..shared) == head.get(..shared)
    })
}

/// Bytes of the head that `head` starts with, including the empty line at its end.
pub(super) fn len(head: &[u8]) -> PduLen {
    if !may_start(head) {
        return PduLen::Invalid;
    }
    match head.windows(4).take(LONGEST_HEAD).position(|end| end == b"\r\n\r\n") {
        Some(at) => PduLen::Known((at as u64).saturating_add(4)),
        None if head.len() < LONGEST_HEAD => PduLen::Need(head.len().saturating_add(1)),
        None => PduLen::Invalid,
    }
}

/// Reads a whole head, if it opens a WebSocket.
pub(super) fn read(head: &[u8]) -> Option<Handshake<'_>> {
    let mut found = Handshake { is_request: head.starts_with(b"GET "), subprotocols: &[] };
    let mut upgrades = false;
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (field, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if field.eq_ignore_ascii_case(b"upgrade") {
            upgrades = value.eq_ignore_ascii_case(b"websocket");
        } else if field.eq_ignore_ascii_case(b"sec-websocket-protocol") {
            found.subprotocols = value;
        }
    }
    upgrades.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_heads_are_read() {
        let request = b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n\
                        Sec-WebSocket-Protocol: mqtt\r\n\r\n\x82";
        assert_eq!(len(request), PduLen::Known(request.len() as u64 - 1));
        assert_eq!(len(&request[..20]), PduLen::Need(21));
        let found = read(request).unwrap();
        assert_eq!((found.is_request, found.subprotocols), (true, &b"mqtt"[..]));
        let response = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";
        assert!(!read(response).unwrap().is_request);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), None);
        assert_eq!(len(b"\x82\x05"), PduLen::Invalid);
    }
}
