//! Limits beyond which a queue gives messages up: a message's own (`expiration`, AMQP 0-9-1 §1.8.1), and those that the queue is declared
//! with (`RabbitMQ`, "Time-To-Live and Expiration", "Queue Length Limit"). Those of policies are in no client's bytes.
//!
//! ```text
//! properties     flags u16 · [content type] · [encoding] · [u32 length · headers] · [mode u8] · [priority u8] · [correlation id] · [reply to] · [expiration]
//! queue.declare  reserved u16 · queue · flags · u32 length · arguments
//! ```

use super::method::short_string;
use super::table::{arguments, find, find_number};
use crate::{QueueLimits, Reader};
use wirelap_events::Nanos;

/// The flag of the property `expiration`, and the flags of the strings before it by their place.
const EXPIRATION: u16 = 1 << 8;
const HEADERS: u16 = 1 << 13;
const BYTES: [u16; 2] = [1 << 12, 1 << 11];
const STRINGS_BEFORE: [u16; 2] = [1 << 15, 1 << 14];
const STRINGS_BEHIND: [u16; 2] = [1 << 10, 1 << 9];

/// The time for which a message waits at most, by its properties behind the size.
pub(super) fn expiration(mut properties: Reader<'_>) -> Option<Nanos> {
    let flags = properties.u16_be().filter(|flags| flags & EXPIRATION != 0)?;
    let has = |flag: &&u16| flags & **flag != 0;
    for _ in STRINGS_BEFORE.iter().filter(has) {
        short_string(&mut properties)?;
    }
    if flags & HEADERS != 0 {
        let len = properties.u32_be()?;
        properties.skip(usize::try_from(len).ok()?)?;
    }
    properties.skip(BYTES.iter().filter(has).count())?;
    for _ in STRINGS_BEHIND.iter().filter(has) {
        short_string(&mut properties)?;
    }
    let text = std::str::from_utf8(short_string(&mut properties)?).ok()?;
    Some(milliseconds(text.parse().ok()?))
}

/// True if `queue.declare` with these arguments is of a stream: a log, of whose length the server's answer tells nothing.
pub(super) fn is_stream(table: Reader<'_>) -> bool {
    find(table, b"x-queue-type", b'S') == Some(b"stream")
}

/// The limits that `queue.declare` with these arguments sets.
pub(super) fn limits(method: &[u8]) -> QueueLimits {
    let mut reader = Reader::new(method);
    let mut table = || {
        reader.skip(2)?;
        short_string(&mut reader)?;
        reader.skip(1)?;
        Some(arguments(&mut reader))
    };
    let table = table().unwrap_or(Reader::new(&[]));
    let number = |name: &[u8]| find_number(table, name);
    QueueLimits {
        longest: number(b"x-message-ttl").map(milliseconds),
        most: number(b"x-max-length"),
        most_bytes: number(b"x-max-length-bytes"),
    }
}

fn milliseconds(time: u64) -> Nanos {
    Nanos(time.saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiration_stands_behind_what_the_flags_name() {
        let whole = [
            &0xFF80_u16.to_be_bytes()[..],
            b"\x04text\x03utf",
            b"\0\0\0\x04\x01xt\x01",
            b"\x02\x09",
            b"\x01c\x02rr",
            b"\x045000\x01m",
        ];
        let whole = whole.concat();
        assert_eq!(expiration(Reader::new(&whole)), Some(Nanos(5_000_000_000)));
        let end = whole.len() - 2;
        for cut in 0..end {
            assert_eq!(expiration(Reader::new(&whole[..cut])), None, "{cut}");
        }
        assert_eq!(expiration(Reader::new(b"\x01\0\x0270")), Some(Nanos(70_000_000)));
        assert_eq!(expiration(Reader::new(b"\x01\0\x03-1x")), None);
        assert_eq!(expiration(Reader::new(b"\x10\0\x02")), None, "it has none");
    }

    #[test]
    fn limits_are_numbers_of_any_size() {
        let fields =
            b"\x0dx-message-ttlI\0\0\x01\x2c\x0cx-max-lengthl\0\0\0\0\0\0\0\x0a\x01ns\xff\xff";
        let len = u32::try_from(fields.len()).unwrap().to_be_bytes();
        let arguments = [&b"\0\0\x01q\x02"[..], &len, fields].concat();
        let expected =
            QueueLimits { longest: Some(Nanos(300_000_000)), most: Some(10), most_bytes: None };
        assert_eq!(limits(&arguments), expected);
        for cut in 0..arguments.len() {
            limits(&arguments[..cut]);
        }
        assert_eq!(limits(b"\0\0\x01q\x02\0\0\0\0"), QueueLimits::default());
    }
}
