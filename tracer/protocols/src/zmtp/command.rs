//! Commands, and the properties in `READY` (RFC 23, "Commands"; RFC 37 for SUBSCRIBE, CANCEL, PING,
//! PONG; RFC 24 for PLAIN, RFC 26 for CURVE).
//!
//! ```text
//! +-------------+------+------------------+
//! | name length | name | command data     |
//! +-------------+------+------------------+
//! READY: ( name length u8 · name · value length u32 BE · value )*
//! ```

use crate::Reader;
use wirelap_events::FrameClass;

/// Commands and their classes.
const COMMANDS: [(&str, FrameClass); 12] = [
    ("READY", FrameClass::Session),
    ("ERROR", FrameClass::Session),
    ("HELLO", FrameClass::Session),
    ("WELCOME", FrameClass::Session),
    ("INITIATE", FrameClass::Session),
    ("SUBSCRIBE", FrameClass::Subscribe),
    ("CANCEL", FrameClass::Subscribe),
    ("JOIN", FrameClass::Subscribe),
    ("LEAVE", FrameClass::Subscribe),
    ("PING", FrameClass::KeepAlive),
    ("PONG", FrameClass::KeepAlive),
    // MESSAGE is an encrypted message.
    ("MESSAGE", FrameClass::Opaque),
];

/// The name and class of the command in a frame's body, and the bytes after its name. An unknown command has the name
/// `command`.
pub(super) fn read(body: &[u8]) -> (&'static str, FrameClass, &[u8]) {
    let known = || {
        let mut reader = Reader::new(body);
        let len = reader.u8()?;
        let name = reader.take(usize::from(len))?;
        let (name, class) = COMMANDS.iter().find(|(known, _)| known.as_bytes() == name)?;
        Some((*name, *class, reader.rest()))
    };
    known().unwrap_or(("command", FrameClass::Other, &[]))
}

/// True if a body of `len` bytes, of which `body` was captured, is a known command.
pub(super) fn is_known(body: &[u8], len: u64) -> bool {
    let (name, _, _) = read(body);
    name != "command" && (name.len() as u64) < len
}

/// True if a message is encrypted by CURVE.
pub(super) fn is_encrypted(body: &[u8]) -> bool {
    body.starts_with(b"\x07MESSAGE")
}

/// Socket types, grouped by the layout of their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketType {
    /// PUB, XPUB, and RADIO, whose groups are topics.
    Publisher,
    /// SUB and XSUB.
    Subscriber,
    /// REQ: one request, then its reply.
    Requester,
    /// REP: one reply to each request, in their order.
    Replier,
    /// DEALER and ROUTER.
    Router,
    /// PUSH, PULL, PAIR and later types.
    Other,
}

impl SocketType {
    /// The type with this number in a greeting of version 2 (RFC 15; 9 and 10 are defined by libzmq).
    pub fn from_number(number: u8) -> Option<SocketType> {
        Some(match number {
            1 | 9 => SocketType::Publisher,
            2 | 10 => SocketType::Subscriber,
            3 => SocketType::Requester,
            4 => SocketType::Replier,
            5 | 6 => SocketType::Router,
            0 | 7 | 8 => SocketType::Other,
            _ => return None,
        })
    }

    fn from_name(name: &[u8]) -> SocketType {
        match name {
            b"PUB" | b"XPUB" | b"RADIO" => SocketType::Publisher,
            b"SUB" | b"XSUB" => SocketType::Subscriber,
            b"REQ" => SocketType::Requester,
            b"REP" => SocketType::Replier,
            b"DEALER" | b"ROUTER" => SocketType::Router,
            _ => SocketType::Other,
        }
    }

    /// The type in the properties of a `READY`.
    pub fn from_properties(properties: &[u8]) -> Option<SocketType> {
        property(properties, b"Socket-Type").map(SocketType::from_name)
    }
}

/// The identity that a socket gives itself in the properties of a `READY`; empty without one.
pub(super) fn identity(properties: &[u8]) -> &[u8] {
    property(properties, b"Identity").unwrap_or_default()
}

/// The value of a property of a `READY`. Names of properties are case-insensitive.
fn property<'a>(properties: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut reader = Reader::new(properties);
    loop {
        let len = reader.u8()?;
        let name = reader.take(usize::from(len))?;
        let len = reader.u32_be()?;
        let value = reader.take(usize::try_from(len).ok()?)?;
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_type_is_found_among_other_properties() {
        let properties = b"\x08Identity\0\0\0\x02me\x0bsocket-TYPE\0\0\0\x04XPUB";
        assert_eq!(SocketType::from_properties(properties), Some(SocketType::Publisher));
        assert_eq!((identity(properties), identity(b"\x01x\0\0\0\0")), (&b"me"[..], &b""[..]));
        for cut in 0..properties.len() {
            assert_eq!(SocketType::from_properties(&properties[..cut]), None);
        }
        let more = b"\x0bSocket-Type\0\0\0\x06ROUTER\x01x\0\0\0\0";
        assert_eq!(SocketType::from_properties(more), Some(SocketType::Router));
    }

    #[test]
    fn commands_by_name() {
        assert_eq!(read(b"\x04PING\0\x0actx"), ("PING", FrameClass::KeepAlive, &b"\0\x0actx"[..]));
        assert_eq!(read(b"\x04PONX"), ("command", FrameClass::Other, &b""[..]));
        assert!(
            is_known(b"\x05READY", 6) && !is_known(b"\x05READY", 5) && !is_known(b"\x05REA", 6)
        );
    }
}
