//! The identity of a message, which is the same on every flow.

use super::found::{Content, Found, FoundTopic, Identity, TopicHash};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{DecodedMessage, GlobalKey, Stamp};
use wirelap_limits::deliveries::MIN_TELLING_BYTES;
use wirelap_protocols::{Side, topic_number};

/// Bytes of a payload that tell it from others.
const DIGESTED: usize = 64;

/// The identity of a message that its protocol names.
pub fn identity_of(key: GlobalKey) -> Identity {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    Identity { hash: hasher.finish(), exact: true }
}

/// The message of a frame with its identity: our workloads' stamp, the protocol's own key, or a digest of its content.
pub fn found_message(side: Side, data: &DecodedMessage<'_>) -> Found {
    let stamp = Stamp::decode(data.payload);
    let topic = FoundTopic {
        subject: topic_number(data.topic),
        hash: stamp.map_or_else(TopicHash::default, |_| TopicHash::new(data.topic)),
        ..FoundTopic::default()
    };
    let identity = match (stamp, data.key) {
        (Some(stamp), _) => topic.hash.identity(stamp),
        (None, Some(key)) => Identity { exact: key.unique, ..identity_of(key) },
        (None, None) => {
            let mut hasher = FxHasher::default();
            let head = data.payload.get(..DIGESTED).unwrap_or(data.payload);
            (data.topic, data.payload_len, head).hash(&mut hasher);
            Identity { hash: hasher.finish(), exact: false }
        }
    };
    Found {
        stamp,
        duplicate: data.duplicate,
        retained: data.retained,
        topic,
        ..Found::new(side, data.extent, identity, data.payload_len)
    }
}

/// The digest of a message whose topic, or the start of whose payload, may not be known everywhere; `None` if the protocol gives
/// it a key. `topic` is what remains of its own where it is handed on in another protocol.
pub fn content(
    stamp: Option<Stamp>,
    data: &DecodedMessage<'_>,
    topic: &[u8],
    is_unsure: bool,
) -> Option<Content> {
    if data.key.is_some() {
        return None;
    }
    let zeros = data.payload.iter().take(DIGESTED).take_while(|byte| **byte == 0).count();
    let len = data.payload_len.saturating_sub(zeros as u64);
    let mut hasher = FxHasher::default();
    let payload = data.payload.get(zeros..).unwrap_or_default();
    match stamp {
        Some(stamp) => stamp.hash(&mut hasher),
        None => (len, payload.get(..DIGESTED).unwrap_or(payload)).hash(&mut hasher),
    }
    let subject = (!topic.is_empty()).then(|| folded(topic));
    let is_telling = len >= MIN_TELLING_BYTES;
    Some(Content { hash: hasher.finish(), subject, is_telling, is_unsure })
}

/// A number for a topic, in which `.` and `/` are the same.
fn folded(topic: &[u8]) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut hasher = FxHasher::default();
    hasher.write_usize(topic.len());
    for chunk in topic.chunks(8) {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(chunk).for_each(|(place, byte)| *place = *byte);
        let word = u64::from_le_bytes(bytes);
        // They differ in the lowest bit: 0 where a byte is one of both.
        let differs = (word & !EACH) ^ (EACH << 1).wrapping_mul(0x17);
        let is_other = (differs & LOW).wrapping_add(LOW) | differs | LOW;
        hasher.write_u64(word & !(!is_other >> 7));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn dots_and_slashes_of_a_topic_are_the_same_and_nothing_else_is() {
        assert_eq!(folded(b"plant/line.4/temperature"), folded(b"plant.line/4.temperature"));
        for (a, b) in [(b"a/0", b"a/1"), (b"a/b", b"a-b"), (b"a/b", b"a\xAEb"), (b"a/b", b"b/b")] {
            assert_ne!(folded(a), folded(b));
        }
        assert_ne!(folded(b"a"), folded(b"a\0"));
    }
}
