//! The topic aliases of one direction (MQTT 5.0 §3.3.2.3.4).

use std::collections::HashMap;
use wirelap_events::Saturate;

/// Bytes of topics that a direction may keep; what is declared beyond is not remembered.
const MOST_BYTES: usize = 1 << 20;

/// What an entry costs besides its topic.
const ENTRY_BYTES: usize = 64;

/// Topic names by alias, as one side declared them.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// The highest alias that the receiver allowed; `None` if it was not seen to say.
    limit: Option<u16>,
    topics: HashMap<u16, Box<[u8]>>,
    bytes: usize,
}

impl Aliases {
    /// The receiver allows aliases up to `limit`; a new connection has none yet.
    pub fn allow(&mut self, limit: u16) {
        *self = Aliases { limit: Some(limit), ..Aliases::default() };
    }

    /// Forgets what was declared: a declaration may have been missed.
    pub fn forget(&mut self) {
        self.topics.clear();
        self.bytes = 0;
    }

    /// `alias` stands for `topic` from now on.
    pub fn declare(&mut self, alias: u16, topic: &[u8]) {
        if self.topic(alias) == topic {
            return;
        }
        if let Some(old) = self.topics.remove(&alias) {
            self.bytes.shrink(old.len().saturating_add(ENTRY_BYTES));
        }
        let bytes = self.bytes.saturating_add(topic.len()).saturating_add(ENTRY_BYTES);
        if alias <= self.limit.unwrap_or(u16::MAX) && bytes <= MOST_BYTES {
            self.topics.insert(alias, topic.into());
            self.bytes = bytes;
        }
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// What `alias` stands for; empty if that is not known.
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
        assert_eq!((aliases.topic(7), aliases.bytes), (&b"another"[..], 7 + ENTRY_BYTES));
        aliases.forget();
        assert_eq!((aliases.topic(7), aliases.bytes), (&b""[..], 0));
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
