//! Headers of a message that tell of its way through servers, found in one walk. Those of an application are passed over by their first letters.
//!
//! An exchange that delays keeps a message for as long as its header `x-delay` says, and passes it on with that number negative (`RabbitMQ`'s plugin
//! `rabbitmq_delayed_message_exchange`) or without it (`LavinMQ`). Any other exchange leaves it as it is. Who publishes a message again may leave all
//! of these headers as they are, and so does the server: then they tell of earlier.

use super::table::{self, value};
use crate::Reader;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// The letters that the names of all of them begin with.
const PREFIX: &[u8] = b"x-";

/// The headers of one message that tell of its way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayHeaders<'a> {
    /// The tables of `x-death`.
    pub deaths: Option<&'a [u8]>,
    /// The queue of `x-first-death-queue`, and the reason of `x-first-death-reason`.
    pub first_death: (Option<&'a [u8]>, Option<&'a [u8]>),
    /// The milliseconds of `x-delay`.
    pub delay: Option<i64>,
}

impl<'a> WayHeaders<'a> {
    /// Reads the properties of a message behind its size.
    pub fn read(properties: Reader<'a>) -> WayHeaders<'a> {
        let mut found = WayHeaders::default();
        let Some(mut table) = table::headers(properties) else { return found };
        while let Some((name, kind, value)) = table::field(&mut table) {
            let Some(name) = name.strip_prefix(PREFIX) else { continue };
            match (name, kind) {
                (b"death", b'A') => _ = found.deaths.get_or_insert(value),
                (b"first-death-queue", b'S') => _ = found.first_death.0.get_or_insert(value),
                (b"first-death-reason", b'S') => _ = found.first_death.1.get_or_insert(value),
                (b"delay", _) => found.delay = found.delay.or_else(|| milliseconds(kind, value)),
                _ => {}
            }
        }
        found
    }

    /// True if an exchange is to keep the message for a time, before any queue has it.
    pub fn is_delayed(&self) -> bool {
        self.delay.is_some_and(|delay| delay > 0)
    }

    /// True if an exchange has kept the message for a time.
    pub fn was_delayed(&self) -> bool {
        self.delay.is_some_and(|delay| delay < 0)
    }

    /// A number for what they tell of queues and exchanges that the message was in, or is to be in; 0 for nothing.
    pub fn past(&self) -> u32 {
        if self.delay.is_none() && self.deaths.is_none() {
            return 0;
        }
        let mut hasher = FxHasher::default();
        (self.delay, self.deaths).hash(&mut hasher);
        let folded = hasher.finish() >> u32::BITS;
        u32::try_from(folded).unwrap_or(u32::MAX).max(1)
    }
}

/// The value of `x-delay`, which the exchange takes as a number or as text.
fn milliseconds(kind: u8, bytes: &[u8]) -> Option<i64> {
    if kind == b'S' {
        return str::from_utf8(bytes).ok()?.parse().ok();
    }
    table::integer(kind, bytes)
}

/// The values of an array, with their types.
pub(super) fn values(array: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut reader = Reader::new(array);
    std::iter::from_fn(move || value(&mut reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), value].concat()
    }

    fn told(fields: &[u8]) -> (bool, bool, u32) {
        let len = u32::try_from(fields.len()).unwrap().to_be_bytes();
        let all = [&b"\x20\0"[..], &len, fields].concat();
        let headers = WayHeaders::read(Reader::new(&all));
        (headers.is_delayed(), headers.was_delayed(), headers.past())
    }

    #[test]
    fn a_delay_is_asked_for_and_negative_once_it_is_over() {
        let delay = |value: &[u8]| told(&field("x-delay", value));
        for asked in [&b"I\0\0\x27\x10"[..], b"S\0\0\0\x0510000", b"l\0\0\0\0\0\0\x27\x10"] {
            let (is_delayed, was_delayed, past) = delay(asked);
            assert!(is_delayed && !was_delayed && past == delay(b"u\x27\x10").2, "{asked:?}");
        }
        let over = delay(b"I\xff\xff\xd8\xf0");
        assert!(!over.0 && over.1 && over.2 != delay(b"u\x27\x10").2);
        assert_eq!(delay(b"l\xff\xff\xff\xff\xff\xff\xd8\xf0"), over);
        for none in [&b"S\0\0\0\x01x"[..], b"I\0", b"t\x01"] {
            assert_eq!(delay(none), (false, false, 0), "{none:?}");
        }
        assert!(matches!(delay(b"I\0\0\0\0"), (false, false, _)));
        assert_eq!(told(b""), (false, false, 0));
    }

    #[test]
    fn they_are_found_among_those_of_the_application() {
        let own = [field("x", b"t\x01"), field("x-delays", b"I\0\0\0\x09"), field("trace", b"V")];
        let delay = field("x-delay", b"I\0\0\0\x09");
        let own = own.concat();
        assert_eq!(told(&own), (false, false, 0));
        assert!(told(&[&own[..], &delay].concat()).0);
        let unknown = field("trace", b"?\x01");
        assert!(!told(&[unknown, delay].concat()).0, "behind a type that is not known");
        let deaths = field("x-death", b"A\0\0\0\x02V\0");
        assert_ne!(told(&deaths).2, 0);
    }
}
