//! Records as frames, and their keys.
//!
//! A broker stores the records of a producer's batch unchanged. So a record has the same key at producer and consumer: the
//! producer's sequence number (KIP-98), which is unique; or, if the producer does not number records, a hash of topic,
//! partition, position in the batch, time, key and value, which is not unique. Such a record's offset tells it from equal ones.

use super::batch::{self, KafkaRecord};
use super::fields::KafkaFields;
use super::status::RecordStatus;
use super::stored::UnplacedRecords;
use super::topic_name::hash;
use super::topics::{KafkaTopics, TopicPartition};
use crate::connection::frame_without_data;
use crate::{FrameNote, FrameSink, LogPlace};
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, GlobalKey};

/// Bytes of keys and values that are hashed.
const COMPARED: usize = 64;

/// The position of a record in the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPosition {
    pub frame: ByteRange,
    /// The bytes that a reader needs to decode the record.
    pub extent: ByteRange,
    pub is_fetched: bool,
}

/// The records that wait for their offsets, and the correlation ID of the request that the record is in; `None` unless it is in a
/// Produce request that is answered.
pub(super) type AwaitedOffsets<'a> = Option<(i32, &'a mut UnplacedRecords)>;

/// Passes a record of the open batch to `out`; `fields` are its bytes, including its length field.
pub(super) fn report_record(
    position: RecordPosition,
    mut fields: KafkaFields<'_>,
    (at, topics): (&mut TopicPartition, &KafkaTopics),
    awaited: &mut AwaitedOffsets<'_>,
    meaning: impl FnOnce(&TopicPartition, i32) -> RecordStatus,
    out: &mut dyn FrameSink,
) {
    let range = position.frame;
    let record = if at.header.is_message {
        batch::message(fields)
    } else {
        batch::record_bytes(&mut fields).and_then(|_| batch::record(fields))
    };
    let Ok(record) = record else {
        return out.frame(&frame_without_data(range, "Record", FrameClass::Opaque));
    };
    let content = content(at, &record);
    if std::mem::take(&mut at.is_first) && !at.internal {
        at.learn(content, position.is_fetched, topics);
    }
    let meaning = meaning(at, record.offset);
    if meaning == RecordStatus::Skipped {
        return out.frame(&frame_without_data(range, "Record", FrameClass::Other));
    }
    if let RecordStatus::TakenOver { requests_ago } = meaning {
        out.note(FrameNote::TakenOver { requests_ago });
    }
    let key = key(at, content, &record);
    if let Some(time) = at.header.time_of(&record).filter(|_| !position.is_fetched) {
        out.note(FrameNote::MadeAt(time));
    }
    match awaited {
        _ if key.unique => {}
        _ if position.is_fetched => {
            let offset = at.header.base_offset.saturating_add(record.offset.into());
            if let Ok(offset) = u64::try_from(offset) {
                out.note(FrameNote::HasPlace(LogPlace { log: at.log(), offset }));
            }
        }
        Some((request, records)) => out.note(FrameNote::AwaitsPlace(records.number(*request, at))),
        None => {}
    }
    out.trace_context(|| record.trace_context());
    out.frame(&Frame {
        range,
        name: "Record",
        class: FrameClass::Data,
        payload_bytes: record.len.min(range.len()),
        data: Some(DecodedMessage {
            extent: position.extent,
            topic: at.text(),
            payload_len: record.len,
            payload: record.value,
            key: Some(key),
            duplicate: meaning == RecordStatus::Again,
            retained: false,
        }),
    });
}

/// A hash of a record's content, without its topic.
fn content(at: &TopicPartition, record: &KafkaRecord<'_>) -> u64 {
    let batch = &at.header;
    let time = batch.base_timestamp.wrapping_add(record.timestamp);
    let start = |bytes: &'_ [u8]| hash(bytes.get(..COMPARED).unwrap_or(bytes));
    let (_, partition) = at.key();
    hash((
        (partition, record.offset, time, record.len),
        (batch.producer, batch.epoch, batch.sequence),
        (start(record.key), start(record.value)),
    ))
}

fn key(at: &TopicPartition, content: u64, record: &KafkaRecord<'_>) -> GlobalKey {
    let batch = &at.header;
    let unique = batch.producer >= 0 && batch.sequence >= 0;
    if !unique {
        let origin = u128::from(hash((at.log(), content))).to_be_bytes();
        return GlobalKey { origin, seq: 0, unique };
    }
    let producer = batch.producer.cast_unsigned();
    let origin = u128::from(at.log()) << 64 | u128::from(producer);
    // Sequence numbers wrap around to 0.
    let number = batch.sequence.wrapping_add(record.offset) & i32::MAX;
    let seq = u64::from(batch.epoch.cast_unsigned()) << 32 | u64::from(number.cast_unsigned());
    GlobalKey { origin: origin.to_be_bytes(), seq, unique }
}
