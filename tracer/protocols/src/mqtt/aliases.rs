//! The topic aliases of one direction (MQTT 5.0 §3.3.2.3.4).

use std::collections::HashMap;
use wirelap_events::Size;

/// The most bytes of topics that are stored for a direction; aliases beyond that are not stored.
const MOST_BYTES: usize = 1 << 20;

/// An estimate of an entry's memory without its topic.
const ENTRY_BYTES: usize = 64;

/// The topic names that one side has assigned to aliases.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// The Topic Alias Maximum of the receiver; `None` if its CONNECT or CONNACK was not captured.
    limit: Option<u16>,
    topics: HashMap<u16, Box<[u8]>>,
    bytes: Size,
}

impl Aliases {
    /// Starts a new connection, in which the receiver allows aliases up to `limit`.
    pub fn allow(&mut self, limit: u16) {
        *self = Aliases { limit: Some(limit), ..Aliases::default() };
    }

    /// Forgets all aliases, because bytes are missing that may have changed them.
    pub fn forget(&mut self) {
        self.topics.clear();
        self.bytes = Size(0);
    }

    /// Assigns `topic` to `alias`.
    pub fn declare(&mut self, alias: u16, topic: &[u8]) {
        if self.topic(alias) == topic {
            return;
        }
        if let Some(old) = self.topics.remove(&alias) {
            self.bytes = self.bytes - old.len() - ENTRY_BYTES;
        }
        let bytes = self.bytes + topic.len() + ENTRY_BYTES;
        if alias <= self.limit.unwrap_or(u16::MAX) && bytes <= MOST_BYTES {
            self.topics.insert(alias, topic.into());
            self.bytes = bytes;
        }
    }

    /// Bytes of memory that the aliases use.
    pub fn held_bytes(&self) -> Size {
        self.bytes
    }

    /// The topic of `alias`; empty if it is not known.
    pub fn topic(&self, alias: u16) -> &[u8] {
        self.topics.get(&alias).map(|topic| &**topic).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_can_be_declared_again() {
        let mut aliases = Aliases::default();
        aliases.declare(7, b"one");
        assert_eq!((aliases.topic(7), aliases.topic(8)), (&b"one"[..], &b""[..]));
        aliases.declare(7, b"another");
        assert_eq!((aliases.topic(7), aliases.bytes.0), (&b"another"[..], 7 + ENTRY_BYTES));
        aliases.forget();
        assert_eq!((aliases.topic(7), aliases.bytes.0), (&b""[..], 0));
    }

    #[test]
    fn the_receiver_bounds_their_number() {
        let mut aliases = Aliases::default();
        aliases.allow(2);
        aliases.declare(2, b"two");
        aliases.declare(3, b"three");
        assert_eq!((aliases.topic(2), aliases.topic(3)), (&b"two"[..], &b""[..]));
    }

    #[test]
    fn their_memory_is_bounded() {
        let mut aliases = Aliases::default();
        let topic = vec![b'x'; usize::from(u16::MAX)];
        for alias in 1..=u16::MAX {
            aliases.declare(alias, &topic);
        }
        assert_eq!(aliases.topics.len(), MOST_BYTES / (topic.len() + ENTRY_BYTES));
        assert_eq!(aliases.topic(1), &*topic);
        assert_eq!(aliases.topic(u16::MAX), b"");
    }
}
