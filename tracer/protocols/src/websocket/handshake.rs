//! The opening handshake: an HTTP request and its response (RFC 6455 §4).

use crate::PduLen;

/// The longest head that is waited for; cookies can make it long.
const LONGEST_HEAD: usize = 16 << 10;

/// One of the two heads of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandshakeHead<'a> {
    /// True for the client's request, false for the server's response.
    pub is_request: bool,
    /// The subprotocols that are offered, or the one that was chosen.
    pub subprotocols: &'a [u8],
    /// Compression of messages: the one that the client offers first, or the one that the server chose.
    pub deflate: Option<Deflate>,
}

/// Parameters of `permessage-deflate` (RFC 7692 §7.1): who refers to no earlier message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deflate {
    pub client_forgets: bool,
    pub server_forgets: bool,
}

/// The first use of `permessage-deflate` in a list of extensions, if there is one.
fn deflate(extensions: &[u8]) -> Option<Deflate> {
    extensions.split(|byte| *byte == b',').find_map(|extension| {
        let mut words = extension.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        if !words.next()?.eq_ignore_ascii_case(b"permessage-deflate") {
            return None;
        }
        let mut found = Deflate::default();
        for word in words {
            found.client_forgets |= word.eq_ignore_ascii_case(b"client_no_context_takeover");
            found.server_forgets |= word.eq_ignore_ascii_case(b"server_no_context_takeover");
        }
        Some(found)
    })
}

/// True if `head` may be the start of a head of the handshake. No frame starts with these bytes.
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
pub(super) fn read(head: &[u8]) -> Option<HandshakeHead<'_>> {
    let is_request = head.starts_with(b"GET ");
    let mut found = HandshakeHead { is_request, subprotocols: &[], deflate: None };
    let mut upgrades = false;
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (field, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if field.eq_ignore_ascii_case(b"upgrade") {
            upgrades = value.eq_ignore_ascii_case(b"websocket");
        } else if field.eq_ignore_ascii_case(b"sec-websocket-protocol") {
            found.subprotocols = value;
        } else if field.eq_ignore_ascii_case(b"sec-websocket-extensions") {
            // The field may be there more than once (RFC 6455 §9.1).
            found.deflate = found.deflate.or_else(|| deflate(value));
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
        assert_eq!(read(response).unwrap().deflate, None);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), None);
        assert_eq!(len(b"\x82\x05"), PduLen::Invalid);
    }

    #[test]
    fn the_chosen_compression_is_read() {
        let chosen = |value: &str| {
            let head = format!(
                "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: x-foo; a=1\r\n\
                 Sec-WebSocket-Extensions: {value}\r\n\r\n"
            );
            read(head.as_bytes()).unwrap().deflate.map(|d| (d.client_forgets, d.server_forgets))
        };
        assert_eq!(chosen("permessage-deflate"), Some((false, false)));
        assert_eq!(
            chosen("permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
            Some((true, true))
        );
        let both = "x, Permessage-Deflate;server_max_window_bits=10;server_no_context_takeover, y";
        assert_eq!(chosen(both), Some((false, true)));
        assert_eq!(chosen("x-webkit-deflate-frame"), None);
    }
}
