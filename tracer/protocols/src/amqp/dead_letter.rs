//! The way of a dead letter: a message that a queue gave up, because it expired, was rejected or had no room, and that its broker
//! published again, at another exchange and with another key (`RabbitMQ`, "Dead Letter Exchanges", the header `x-death`).
//!
//! ```text
//! x-death     ( 'F' · u32 length · table )*      a table for each queue that gave it up for a reason, the last of them first
//! table       queue · reason · count · time · exchange 'S' · routing-keys 'A' of 'S'
//! ```

use super::method::Envelope;
use super::table::{find, headers, value};
use crate::Reader;

/// The reason of a queue that had kept a message for as long as it keeps any.
const EXPIRED: &[u8] = b"expired";

/// The way of a dead letter, as it tells it itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeadLetter<'a> {
    /// The exchange and key with which it was published first.
    pub first_published: Envelope<'a>,
    /// True if it lay in a queue until its time there was over.
    pub has_expired: bool,
}

impl DeadLetter<'_> {
    /// Reads the properties of a message behind its size; `None` if it is no dead letter.
    pub fn read(properties: Reader<'_>) -> Option<DeadLetter<'_>> {
        let deaths = find(headers(properties)?, b"x-death", b'A')?;
        let (mut deaths, mut first, mut has_expired) = (Reader::new(deaths), None, false);
        while let Some((kind, death)) = value(&mut deaths) {
            first = (kind == b'F').then_some(death);
            let reason = first.and_then(|death| find(Reader::new(death), b"reason", b'S'));
            has_expired |= reason == Some(EXPIRED);
        }
        let first = Reader::new(first?);
        let exchange = find(first, b"exchange", b'S')?;
        let mut keys = Reader::new(find(first, b"routing-keys", b'A')?);
        let (_, routing_key) = value(&mut keys).filter(|(kind, _)| *kind == b'S')?;
        let first_published = Envelope { exchange, routing_key, ..Envelope::default() };
        Some(DeadLetter { first_published, has_expired })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[kind][..], &len, bytes].concat()
    }

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), value].concat()
    }

    fn death(exchange: &str, key: &str, reason: &str) -> Vec<u8> {
        let fields = [
            field("count", b"l\0\0\0\0\0\0\0\x01"),
            field("reason", &long(b'S', reason.as_bytes())),
            field("queue", &long(b'S', b"delay")),
            field("time", b"T\0\0\0\0\0\0\0\x01"),
            field("exchange", &long(b'S', exchange.as_bytes())),
            field("routing-keys", &long(b'A', &long(b'S', key.as_bytes()))),
        ];
        long(b'F', &fields.concat())
    }

    fn properties(flags: u16, before: &[u8], headers: &[u8]) -> Vec<u8> {
        let len = u32::try_from(headers.len()).unwrap().to_be_bytes();
        [&flags.to_be_bytes()[..], before, &len, headers, &[2]].concat()
    }

    #[test]
    fn the_first_death_names_where_a_message_was_published() {
        for reasons in [["expired", "rejected"], ["rejected", "expired"], ["maxlen", "rejected"]] {
            let [last, first] = reasons;
            let deaths = [death("dlx", "second", last), death("", "first", first)].concat();
            let headers = [field("x", b"t\x01"), field("x-death", &long(b'A', &deaths))].concat();
            let all = properties(0xF000, b"\x04text\x03utf", &headers);
            let letter = DeadLetter::read(Reader::new(&all)).unwrap();
            let origin = letter.first_published;
            assert_eq!((origin.exchange, origin.routing_key), (&b""[..], &b"first"[..]));
            assert_eq!(letter.has_expired, reasons.contains(&"expired"));
            for cut in 0..all.len() - 1 {
                assert!(DeadLetter::read(Reader::new(&all[..cut])).is_none(), "{cut}");
            }
        }
        assert!(DeadLetter::read(Reader::new(b"\0\0")).is_none(), "no headers");
        let none = properties(1 << 13, b"", &field("x-death", b"t\x01"));
        assert!(DeadLetter::read(Reader::new(&none)).is_none(), "of another type");
    }
}
