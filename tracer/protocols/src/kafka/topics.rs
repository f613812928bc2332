//! Names of topics (KIP-516): newer versions of Produce and Fetch tell a topic by an id, which
//! Metadata responses name.
//!
//! ```text
//! MetadataResponse 10-13, all of them flexible
//!   i32 throttle time
//!   brokers, array of (i32 id, host, i32 port, rack, tags)
//!   cluster id, i32 controller id
//!   topics, array of
//!     i16 error, name (12+: nullable), uuid, i8 is internal
//!     partitions, array of
//!       i16 error, i32 index, i32 leader, i32 leader epoch
//!       replicas, in sync, offline: arrays of i32 each, tags
//!     i32 authorized operations, tags
//! ```

use super::apis::Call;
use super::fields::{Fields, Read};
use super::walk::Topic;
use crate::memory::{Name, Names};

/// The longest name that Kafka allows.
const LONGEST_NAME: usize = 249;

/// Kafka's own topics: what is in them are no application messages.
const INTERNAL: [&[u8]; 4] =
    [b"__cluster_metadata", b"__consumer_offsets", b"__transaction_state", b"__share_group_state"];

/// The topic of the cluster's metadata has no name in Metadata responses: its id is fixed.
const METADATA_ID: Id = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// A topic's id.
pub(super) type Id = [u8; 16];

/// Names by id, shared by conversations: who produces or fetches asked for them on another connection.
pub(super) type Topics = Names<Id>;

/// Learns from the body of a Metadata response.
pub(super) fn learn(topics: &Topics, call: Call, mut fields: Fields<'_>) {
    if (10..=13).contains(&call.version) {
        // What was read before an end that is missing stays learned.
        let _ = metadata(topics, &mut fields);
    }
}

fn metadata(topics: &Topics, fields: &mut Fields<'_>) -> Read<()> {
    fields.take(4)?;
    for _ in 0..fields.count()? {
        fields.take(4)?;
        fields.string()?;
        fields.take(4)?;
        fields.string()?;
        fields.tags()?;
    }
    fields.string()?;
    fields.take(4)?;
    for _ in 0..fields.count()? {
        fields.take(2)?;
        let name = fields.string()?.unwrap_or_default();
        let id = fields.uuid()?;
        // A topic that does not exist has no id.
        if is_name(name) && id != [0; 16] {
            topics.learn(id, name);
        }
        fields.take(1)?;
        for _ in 0..fields.count()? {
            partition(fields)?;
        }
        fields.take(4)?;
        fields.tags()?;
    }
    Ok(())
}

fn partition(fields: &mut Fields<'_>) -> Read<()> {
    fields.take(14)?;
    for _ in 0..3 {
        let replicas = fields.count()?;
        fields.take(4 * u64::from(replicas))?;
    }
    fields.tags()
}

/// What Kafka allows in a name (`org.apache.kafka.common.internals.Topic`).
pub(super) fn is_name(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.iter().all(allowed)
}

/// The topic and partition that records belong to, `<topic>-<partition>` as Kafka itself writes it.
#[derive(Debug, Default)]
pub(super) struct TopicPartition {
    text: Vec<u8>,
    /// Bytes of the topic.
    topic: usize,
    /// It is one of Kafka's own.
    pub internal: bool,
    /// The last id and its name.
    named: Option<(Id, Name)>,
}

impl TopicPartition {
    /// Goes to the topic and the partition that were told, or stays.
    pub fn follow(&mut self, topic: Option<Topic<'_>>, partition: Option<i32>, topics: &Topics) {
        if let Some(topic) = topic {
            self.set_topic(topic, topics);
        }
        if let Some(index) = partition {
            self.set_partition(index);
        }
    }

    /// Another topic. An id that nobody has named stands for itself, in hex.
    fn set_topic(&mut self, topic: Topic<'_>, topics: &Topics) {
        self.text.clear();
        match topic {
            Topic::Name(name) => self.text.extend_from_slice(name),
            Topic::Id(id) => self.set_id(id, topics),
        }
        self.topic = self.text.len();
        self.internal = topic == Topic::Id(METADATA_ID) || INTERNAL.contains(&self.text.as_slice());
    }

    fn set_id(&mut self, id: Id, topics: &Topics) {
        let is_last = self.named.as_ref().is_some_and(|(last, _)| *last == id);
        if !is_last {
            self.named = Some((id, Name::default()));
        }
        match self.named.as_mut().map(|(id, name)| name.of(id, topics)) {
            None | Some([]) => push_hex(&mut self.text, id),
            Some(name) => self.text.extend_from_slice(name),
        }
    }

    /// Another partition of the same topic.
    fn set_partition(&mut self, index: i32) {
        self.text.truncate(self.topic);
        self.text.push(b'-');
        push_decimal(&mut self.text, index.unsigned_abs());
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

fn push_decimal(text: &mut Vec<u8>, number: u32) {
    if number > 9 {
        push_decimal(text, number / 10);
    }
    text.push(b'0' + u8::try_from(number % 10).unwrap_or(0));
}

/// 8-4-4-4-12 digits (RFC 9562 §4).
fn push_hex(text: &mut Vec<u8>, id: Id) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    for (index, byte) in id.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.extend(DIGITS.get(usize::from(digit)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_uuids_until_they_are_named() {
        let topics = Topics::default();
        let mut at = TopicPartition::default();
        let id = *b"\x12\x34\x56\x78\x9a\xbc\xde\xf0\0\0\0\0\0\0\0\xff";
        at.set_topic(Topic::Id(id), &topics);
        at.set_partition(10);
        assert_eq!(at.text(), b"12345678-9abc-def0-0000-0000000000ff-10");
        topics.learn(id, b"orders");
        at.set_topic(Topic::Id(id), &topics);
        at.set_partition(0);
        assert_eq!(at.text(), b"orders-0");
        at.set_partition(i32::MAX);
        assert_eq!(at.text(), b"orders-2147483647");
    }

    #[test]
    fn the_topics_of_kafka_itself_are_told() {
        let mut at = TopicPartition::default();
        for (topic, internal) in [
            (Topic::Name(b"__consumer_offsets"), true),
            (Topic::Id(METADATA_ID), true),
            (Topic::Name(b"consumer_offsets"), false),
        ] {
            at.set_topic(topic, &Topics::default());
            assert_eq!(at.internal, internal);
        }
    }

    #[test]
    fn names_are_what_kafka_allows() {
        assert!(is_name(b"a.b_c-9") && is_name(&[b'x'; 249]));
        assert!(!is_name(b"") && !is_name(b"a/b") && !is_name(&[b'x'; 250]));
    }
}
