//! Names of topics (KIP-516). Newer versions of Produce and Fetch refer to a topic by an ID; Metadata responses have the
//! names of IDs.
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

use super::apis::ApiCall;
use super::batch::BatchHeader;
use super::fields::{KafkaFields, KafkaResult};
use super::handover::Handovers;
use super::share::AcquiredRecords;
use super::topic_name::{KafkaTopic, hash, is_name};
use crate::memory::{CachedName, NameTable, SharedStore};
use crate::topic_number;
use std::sync::{Mutex, PoisonError};

/// Kafka's internal topics, whose records are no application messages.
const INTERNAL: [&[u8]; 4] =
    [b"__cluster_metadata", b"__consumer_offsets", b"__transaction_state", b"__share_group_state"];

/// The fixed ID of the cluster's metadata topic, which has no name in Metadata responses.
const METADATA_ID: Id = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// A topic's ID.
pub(super) type Id = [u8; 16];

/// Names that connections share: a client that produces or fetches may have requested the names on another connection, or before
/// the observation began.
#[derive(Debug, Default)]
pub(super) struct KafkaTopics {
    names: NameTable<Id>,
    produced: Mutex<ProducedBatches>,
    pub handovers: Handovers,
}

impl KafkaTopics {
    fn learn(&self, id: Id, name: &[u8]) {
        self.names.learn(id, name);
    }

    /// A hash of the topic's name, also if the topic is given by an ID with a known name.
    pub fn number(&self, topic: KafkaTopic<'_>) -> u64 {
        match topic {
            KafkaTopic::Name(name) => hash(name),
            KafkaTopic::Id(id) => self.names.get(&id).map_or_else(|| hash(id), hash),
        }
    }

    /// Stores that a batch was produced to a topic of this name.
    pub fn produced(&self, content: u64, name: &[u8]) {
        self.produced.lock().unwrap_or_else(PoisonError::into_inner).add(content, name);
    }

    /// Learns the name of an ID from a batch that was fetched from it: it is the topic that a batch with the same content
    /// was produced to. Returns whether there is one.
    pub fn fetched(&self, content: u64, id: Id) -> bool {
        let produced = self.produced.lock().unwrap_or_else(PoisonError::into_inner);
        let name = produced.name(content);
        if let Some(name) = name {
            self.names.learn(id, name);
        }
        name.is_some()
    }
}

impl SharedStore for KafkaTopics {
    fn forgotten(&self) -> u64 {
        self.names.forgotten()
    }
}

/// The most produced batches that are remembered.
const REMEMBERED: usize = 1024;

/// The last batches that were produced to topics by name, by their content. The names' memory is reused.
#[derive(Debug, Default)]
struct ProducedBatches {
    contents: Vec<u64>,
    names: Vec<Vec<u8>>,
    next: usize,
}

impl ProducedBatches {
    fn add(&mut self, content: u64, name: &[u8]) {
        if self.contents.len() < REMEMBERED {
            self.contents.push(content);
            self.names.push(name.to_vec());
            return;
        }
        let at = self.next % REMEMBERED;
        self.next = at.saturating_add(1);
        if let (Some(old), Some(room)) = (self.contents.get_mut(at), self.names.get_mut(at)) {
            *old = content;
            room.clear();
            room.extend_from_slice(name);
        }
    }

    /// The topic that a batch with this content was produced to, if there is exactly one.
    fn name(&self, content: u64) -> Option<&[u8]> {
        let all = self.contents.iter().zip(&self.names);
        let mut found = all.filter(|(known, _)| **known == content).map(|(_, name)| name);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }
}

/// Learns the names of topics from the body of a Metadata response.
pub(super) fn learn(topics: &KafkaTopics, call: ApiCall, mut fields: KafkaFields<'_>) {
    if (10..=13).contains(&call.version) {
        // The names before a truncated end are kept.
        let _ = metadata(topics, &mut fields);
    }
}

fn metadata(topics: &KafkaTopics, fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
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
        // A topic that does not exist has the ID 0.
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

fn partition(fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    fields.take(14)?;
    for _ in 0..3 {
        let replicas = fields.count()?;
        fields.take(4 * u64::from(replicas))?;
    }
    fields.tags()
}

/// The topic and partition that records belong to, `<topic>-<partition>` as Kafka itself writes it.
#[derive(Debug, Default)]
pub(super) struct TopicPartition {
    text: Vec<u8>,
    /// The length of the topic in `text`.
    topic: usize,
    /// True if the topic is one of Kafka's internal topics.
    pub internal: bool,
    /// The last ID and its name.
    named: Option<(Id, CachedName)>,
    /// The topic's ID, if its name is not known.
    unnamed: Option<Id>,
    partition: i32,
    /// The number of `text`.
    log: u64,
    /// A hash of the topic's name or ID, as it was given.
    request_hash: u64,
    /// The aborted transactions of this partition: producer ID and first offset.
    aborted: Vec<(i64, i64)>,
    /// The records of the partition that are the reader's, in a share group.
    pub acquired: AcquiredRecords,
    /// The header of the open batch.
    pub header: BatchHeader,
    /// True if no record of the open batch was decoded yet.
    pub is_first: bool,
}

/// The most aborted transactions of a partition that are stored.
const ABORTED: usize = 1024;

impl TopicPartition {
    /// Changes to another topic or partition, if they are given.
    pub fn follow(
        &mut self,
        topic: Option<KafkaTopic<'_>>,
        partition: Option<i32>,
        topics: &KafkaTopics,
    ) {
        if let Some(topic) = topic {
            self.set_topic(topic, topics);
        }
        if let Some(index) = partition {
            self.set_partition(index);
        }
    }

    /// Begins the next batch.
    pub fn begin(&mut self, header: BatchHeader) {
        (self.header, self.is_first) = (header, true);
    }

    /// Stores the aborted transactions of a fetched partition.
    pub fn set_aborted(&mut self, mut array: KafkaFields<'_>) {
        self.aborted.clear();
        let Ok(count) = array.count() else { return };
        for _ in 0..count {
            let (Ok(producer), Ok(first), Ok(())) = (array.i64(), array.i64(), array.tags()) else {
                return;
            };
            if self.aborted.len() < ABORTED {
                self.aborted.push((producer, first));
            }
        }
    }

    fn is_its(&self, (producer, first): (i64, i64)) -> bool {
        producer == self.header.producer && first <= self.header.base_offset
    }

    /// True if the open batch belongs to an aborted transaction, so that the consumer discards it.
    pub fn is_aborted(&self) -> bool {
        self.header.is_transactional() && self.aborted.iter().any(|&entry| self.is_its(entry))
    }

    /// Forgets the transaction that the open batch ends.
    pub fn end_transaction(&mut self) {
        let mut aborted = std::mem::take(&mut self.aborted);
        aborted.retain(|&entry| !self.is_its(entry));
        self.aborted = aborted;
    }

    /// Learns from a batch whose first record has this content, and that was produced to or fetched from this partition.
    pub fn learn(&mut self, content: u64, is_fetched: bool, topics: &KafkaTopics) {
        match (self.unnamed, is_fetched) {
            (None, false) => {
                topics.produced(content, self.text.get(..self.topic).unwrap_or_default());
            }
            (Some(id), true) if topics.fetched(content, id) => {
                let partition = self.partition;
                self.set_topic(KafkaTopic::Id(id), topics);
                self.set_partition(partition);
            }
            _ => {}
        }
    }

    /// Changes to another topic. An ID without a known name is written in hex.
    fn set_topic(&mut self, topic: KafkaTopic<'_>, topics: &KafkaTopics) {
        self.text.clear();
        self.unnamed = None;
        match topic {
            KafkaTopic::Name(name) => self.text.extend_from_slice(name),
            KafkaTopic::Id(id) => self.set_id(id, topics),
        }
        self.topic = self.text.len();
        self.request_hash = hash(topic);
        self.internal =
            topic == KafkaTopic::Id(METADATA_ID) || INTERNAL.contains(&self.text.as_slice());
    }

    fn set_id(&mut self, id: Id, topics: &KafkaTopics) {
        let is_last = self.named.as_ref().is_some_and(|(last, _)| *last == id);
        if !is_last {
            self.named = Some((id, CachedName::default()));
        }
        match self.named.as_mut().map(|(id, name)| name.of(id, &topics.names)) {
            None | Some([]) => {
                self.unnamed = Some(id);
                push_hex(&mut self.text, id);
            }
            Some(name) => self.text.extend_from_slice(name),
        }
    }

    /// Changes to another partition of the same topic.
    fn set_partition(&mut self, index: i32) {
        self.partition = index;
        self.text.truncate(self.topic);
        self.text.push(b'-');
        push_decimal(&mut self.text, index.unsigned_abs());
        self.log = topic_number(&self.text);
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The number of the topic, by its name if that is known, and partition.
    pub fn log(&self) -> u64 {
        self.log
    }

    /// A hash of the topic as it was given, and the partition: the same in a request and its response.
    pub fn key(&self) -> (u64, i32) {
        (self.request_hash, self.partition)
    }
}

fn push_decimal(text: &mut Vec<u8>, number: u32) {
    if number > 9 {
        push_decimal(text, number / 10);
    }
    text.push(b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0)));
}

/// Appends an ID as 8-4-4-4-12 hex digits (RFC 9562 §4).
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
        let topics = KafkaTopics::default();
        let mut at = TopicPartition::default();
        let id = *b"\x12\x34\x56\x78\x9a\xbc\xde\xf0\0\0\0\0\0\0\0\xff";
        at.set_topic(KafkaTopic::Id(id), &topics);
        at.set_partition(10);
        assert_eq!(at.text(), b"12345678-9abc-def0-0000-0000000000ff-10");
        topics.learn(id, b"orders");
        at.set_topic(KafkaTopic::Id(id), &topics);
        at.set_partition(0);
        assert_eq!(at.text(), b"orders-0");
        at.set_partition(i32::MAX);
        assert_eq!(at.text(), b"orders-2147483647");
    }

    #[test]
    fn a_batch_tells_the_name_of_the_topic_that_it_is_fetched_from() {
        let topics = KafkaTopics::default();
        let (mut to, mut from) = (TopicPartition::default(), TopicPartition::default());
        to.follow(Some(KafkaTopic::Name(b"orders")), Some(3), &topics);
        from.follow(Some(KafkaTopic::Id([7; 16])), Some(3), &topics);
        to.learn(55, false, &topics);
        from.learn(56, true, &topics);
        assert_ne!(from.text(), b"orders-3");
        from.learn(55, true, &topics);
        assert_eq!(from.text(), b"orders-3");
    }

    #[test]
    fn a_batch_in_two_topics_tells_nothing() {
        let mut produced = ProducedBatches::default();
        produced.add(1, b"a");
        produced.add(1, b"a");
        assert_eq!(produced.name(1), Some(&b"a"[..]));
        produced.add(1, b"b");
        assert_eq!(produced.name(1), None);
        for content in 2..3000 {
            produced.add(content, b"c");
        }
        assert_eq!((produced.name(1), produced.contents.len()), (None, REMEMBERED));
        assert_eq!(produced.name(2999), Some(&b"c"[..]));
    }

    #[test]
    fn the_topics_of_kafka_itself_are_told() {
        let mut at = TopicPartition::default();
        for (topic, internal) in [
            (KafkaTopic::Name(b"__consumer_offsets"), true),
            (KafkaTopic::Id(METADATA_ID), true),
            (KafkaTopic::Name(b"consumer_offsets"), false),
        ] {
            at.set_topic(topic, &KafkaTopics::default());
            assert_eq!(at.internal, internal);
        }
    }

    #[test]
    fn names_are_what_kafka_allows() {
        assert!(is_name(b"a.b_c-9") && is_name(&[b'x'; 249]));
        assert!(!is_name(b"") && !is_name(b"a/b") && !is_name(&[b'x'; 250]));
    }
}
