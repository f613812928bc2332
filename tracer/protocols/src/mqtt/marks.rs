//! Meaning of the flag RETAIN in what a server sends.
//!
//! The server sets it in a message that it had stored, which it sends once when a client subscribes (MQTT 3.1.1 §3.3.1.3). A client of
//! version 5 may ask for the publisher's flag instead (Retain As Published, MQTT 5.0 §3.8.3.1), and servers leave it as it is for
//! bridges of earlier versions, too (Mosquitto's `handle__subscribe`): then it says nothing of a message that is sent for the first time.
//! Where the client was not seen to ask, a second message of a topic with the flag and another content tells.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use wirelap_events::Size;

/// The most topics that are compared.
const MAX_TOPICS: usize = 1024;

/// Bytes of a payload that are compared.
const COMPARED_BYTES: usize = 64;

/// The flags of what one server sends.
#[derive(Debug, Default)]
pub(super) struct RetainMarks {
    /// True if the server was seen to leave publishers' flags as they are.
    keeps: bool,
    /// Hashes of the topics of messages with the flag since the client subscribed, and of their contents.
    topics: FxHashMap<u64, u64>,
}

impl RetainMarks {
    /// Stored messages may be sent again: the client subscribes, or may have.
    pub fn subscribes(&mut self) {
        self.topics.clear();
    }

    /// Takes in a message with the flag. Returns whether the server leaves publishers' flags as they are, as far as it shows.
    pub fn keeps(&mut self, topic: &[u8], payload: &[u8], payload_len: usize) -> bool {
        if self.keeps || topic.is_empty() {
            return self.keeps;
        }
        let compared = payload_len.min(COMPARED_BYTES);
        // What was not captured may differ.
        let Some(start) = payload.get(..compared) else { return false };
        let (topic, content) = (hash(topic), hash((start, payload_len)));
        if self.topics.len() < MAX_TOPICS || self.topics.contains_key(&topic) {
            // With overlapping filters, the same message comes several times.
            self.keeps = self.topics.insert(topic, content).is_some_and(|other| other != content);
        }
        if self.keeps {
            self.topics = FxHashMap::default();
        }
        self.keeps
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(u64, u64)>() + 1;
        Size(ENTRY) * self.topics.capacity()
    }
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_of_a_topic_tells_until_the_client_subscribes() {
        let mut marks = RetainMarks::default();
        let mut keeps = |topic: &[u8], payload: &[u8]| marks.keeps(topic, payload, payload.len());
        assert!(!keeps(b"a", b"1") && !keeps(b"b", b"2") && !keeps(b"a", b"1"));
        assert!(!keeps(b"", b"1") && !keeps(b"", b"2"), "topics that are not known");
        marks.subscribes();
        assert!(!marks.keeps(b"a", b"3", 1) && marks.keeps(b"a", b"4", 1));
        marks.subscribes();
        assert!(marks.keeps(b"c", b"1", 1));
    }

    #[test]
    fn memory_is_bounded() {
        let mut marks = RetainMarks::default();
        for n in 0..100_000_u32 {
            assert!(!marks.keeps(&n.to_be_bytes(), b"x", 1));
        }
        assert!(marks.topics.len() == MAX_TOPICS && marks.held_bytes() < Size(64 * MAX_TOPICS));
    }
}
