//! The way of a dead letter: a message that a queue gave up, because it expired, was rejected or had no room, and that its broker
//! published again, at another exchange and with another key (`RabbitMQ`, "Dead Letter Exchanges", the header `x-death`).
//!
//! ```text
//! x-death     ( 'F' · u32 length · table )*      a table for each queue that gave it up for a reason, the last of them first
//! table       queue · reason · count · time · exchange 'S' · routing-keys 'A' of 'S'
//! ```
//!
//! A queue that gives a message up again has its table moved to the front. The headers `x-first-death-queue` and `x-first-death-reason`
//! tell which one was the first.

use super::headers::{WayHeaders, values};
use super::method::Envelope;
use super::table::{find, value};
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
    /// Reads the headers of a message; `None` if it is no dead letter.
    pub fn read<'a>(headers: &WayHeaders<'a>) -> Option<DeadLetter<'a>> {
        let (queue, reason) = headers.first_death;
        let named = queue.zip(reason);
        let (mut first, mut is_named, mut has_expired) = (None, false, false);
        for (kind, death) in values(headers.deaths?) {
            let of = |name: &[u8]| find(Reader::new(death), name, b'S').filter(|_| kind == b'F');
            let reason = of(b"reason");
            has_expired |= reason == Some(EXPIRED);
            if !is_named {
                first = (kind == b'F').then_some(death);
                is_named = named.is_some() && of(b"queue").zip(reason) == named;
            }
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

    fn letter(properties: &[u8]) -> Option<DeadLetter<'_>> {
        DeadLetter::read(&WayHeaders::read(Reader::new(properties)))
    }

    fn long(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[kind][..], &len, bytes].concat()
    }

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), value].concat()
    }

    fn death(exchange: &str, key: &str, reason: &str) -> Vec<u8> {
        death_in("delay", exchange, key, reason)
    }

    fn death_in(queue: &str, exchange: &str, key: &str, reason: &str) -> Vec<u8> {
        let fields = [
            field("count", b"l\0\0\0\0\0\0\0\x01"),
            field("reason", &long(b'S', reason.as_bytes())),
            field("queue", &long(b'S', queue.as_bytes())),
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
            let found = letter(&all).unwrap();
            let origin = found.first_published;
            assert_eq!((origin.exchange, origin.routing_key), (&b""[..], &b"first"[..]));
            assert_eq!(found.has_expired, reasons.contains(&"expired"));
            for cut in 0..all.len() - 1 {
                assert!(letter(&all[..cut]).is_none(), "{cut}");
            }
        }
        let loops =
            [death_in("work", "", "first", "rejected"), death_in("wait", "dlx", "", "expired")];
        let named = [
            field("x-first-death-queue", &long(b'S', b"work")),
            field("x-first-death-reason", &long(b'S', b"rejected")),
            field("x-death", &long(b'A', &loops.concat())),
        ];
        let again = properties(1 << 13, b"", &named.concat());
        let origin = letter(&again).unwrap().first_published;
        assert_eq!(origin.routing_key, b"first", "rejected again, and not for the first time");
        assert!(letter(b"\0\0").is_none(), "no headers");
        let none = properties(1 << 13, b"", &field("x-death", b"t\x01"));
        assert!(letter(&none).is_none(), "of another type");
    }
}
