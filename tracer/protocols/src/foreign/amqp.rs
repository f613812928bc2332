//! AMQP 0-9-1 (§4.2.3 of its specification) and 1.0 (part 2, §2.2, §2.3).
//!
//! ```text
//! opening    "AMQP" | id | major | minor | revision
//! 0-9-1      | type u8 | channel u16 | size u32 | payload | 0xCE |
//! 1.0        | size u32 | 2 | type u8 | channel u16 | 0x00 0x53 performative | …
//! ```

use super::name::ForeignName;
use crate::Reader;

const NAME: &str = "AMQP";
const FRAME_END: u8 = 0xCE;

/// The header that a client sends first, and a 1.0 server too.
pub(super) fn header(head: &[u8]) -> Option<ForeignName> {
    let version = match head.get(..8)?.strip_prefix(b"AMQP")? {
        [0, 0, 9, 1] => "0-9-1",
        [1, 1, 0, 9] | [0, 0, 9, _] => "0-9",
        [0 | 2 | 3, 1, 0, 0] => "1.0",
        _ => return None,
    };
    Some(ForeignName::of(NAME, Some(version)))
}

/// A packet that begins with a whole frame.
pub(super) fn frames(bytes: &[u8]) -> Option<ForeignName> {
    let version = if is_frame_0(bytes) {
        "0-9-1"
    } else if is_frame_1(bytes) {
        "1.0"
    } else {
        return None;
    };
    Some(ForeignName::of(NAME, Some(version)))
}

/// A frame of 0-9-1: its last byte stands where its size says. A method has a class of the specification.
fn is_frame_0(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let (Some(kind), Some(channel), Some(size)) = (reader.u8(), reader.u16_be(), reader.u32_be())
    else {
        return false;
    };
    let class = Reader::new(reader.peek_rest()).u16_be();
    let fits = match kind {
        // Connection, channel, exchange, queue, basic, confirm, tx.
        1 => size >= 4 && matches!(class, Some(10 | 20 | 40 | 50 | 60 | 85 | 90)),
        2 => size >= 14 && class == Some(60) && channel != 0,
        8 => size == 0 && channel == 0,
        _ => false,
    };
    let end = usize::try_from(size).ok().and_then(|size| reader.peek_rest().get(size));
    fits && end == Some(&FRAME_END)
}

fn is_frame_1(bytes: &[u8]) -> bool {
    matches!(bytes, [0, _, _, _, 2, 0, 0, _, 0, 0x53, 0x10..=0x18, ..])
        || matches!(bytes, [0, 0, _, _, 2, 1, _, _, 0, 0x53, 0x40..=0x44, ..])
}
