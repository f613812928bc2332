//! Meaning of a record for its reader, by what is known of the connection.

use super::fetch::ConsumerPositions;
use super::record::AwaitedOffsets;
use super::status::RecordStatus;
use super::topics::{KafkaTopics, TopicPartition};
use super::unpack::DecompressBuffer;

/// The state of the connection that decoding a PDU needs and changes.
pub(super) struct ConnectionState<'a> {
    pub at: &'a mut TopicPartition,
    pub positions: &'a mut ConsumerPositions,
    pub topics: &'a KafkaTopics,
    pub unpacked: &'a mut DecompressBuffer,
    pub awaited: AwaitedOffsets<'a>,
}

impl ConnectionState<'_> {
    /// True if records are the brokers' own: in Kafka's internal topics, or sent to another broker.
    pub fn is_internal(&self, is_fetched: bool) -> bool {
        self.at.internal || is_fetched && self.positions.is_replica
    }
}

/// Returns the meaning for its reader of the record with this offset after the batch's first one. `answers` is the request
/// that the PDU answers, if it is a response.
pub(super) fn means(
    at: &TopicPartition,
    positions: &mut ConsumerPositions,
    answers: Option<i32>,
    offset: i32,
) -> RecordStatus {
    if at.internal {
        return RecordStatus::Skipped;
    }
    let Some(id) = answers else { return RecordStatus::Message };
    let offset = at.header.base_offset.saturating_add(offset.into());
    if let Some(status) = at.acquired.status(offset) {
        return status;
    }
    if positions.is_replica || at.is_aborted() {
        return RecordStatus::Skipped;
    }
    positions.sent(id, at.key(), offset)
}

/// True if the consumer discards the records of the open batch because their transaction was aborted.
pub(super) fn is_discarded(
    at: &TopicPartition,
    is_fetched: bool,
    positions: &ConsumerPositions,
) -> bool {
    is_fetched && at.is_aborted() && !at.internal && !positions.is_replica
}
