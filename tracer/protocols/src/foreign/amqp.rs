//! AMQP before 0-9-1, and 1.0 (part 2, §2.2, §2.3). 0-9-1 is decoded.
//!
//! ```text
//! opening    "AMQP" | id | major | minor | revision
//! 1.0        | size u32 | 2 | type u8 | channel u16 | 0x00 0x53 performative | …
//! ```

use super::name::ForeignName;

const NAME: &str = "AMQP";

/// The header that a client sends first, and a 1.0 server too.
pub(super) fn header(head: &[u8]) -> Option<ForeignName> {
    let version = match head.get(..8)?.strip_prefix(b"AMQP")? {
        [0, 0, 9, 1] => return None,
        [1, 1, 0, 9] | [0, 0, 9, _] => "0-9",
        [0 | 2 | 3, 1, 0, 0] => "1.0",
        _ => return None,
    };
    Some(ForeignName::of(NAME, Some(version)))
}

/// A packet that begins with a frame of 1.0.
pub(super) fn frames(bytes: &[u8]) -> Option<ForeignName> {
    let is_frame = matches!(bytes, [0, _, _, _, 2, 0, 0, _, 0, 0x53, 0x10..=0x18, ..])
        || matches!(bytes, [0, 0, _, _, 2, 1, _, _, 0, 0x53, 0x40..=0x44, ..]);
    is_frame.then(|| ForeignName::of(NAME, Some("1.0")))
}
