//! Records as frames, and what makes each of them itself.
//!
//! A broker stores what a producer's batch holds and changes only its place. So a record is the same at both sides by
//! the number that its producer gave it (KIP-98), which no other has; or, where producers number nothing, by its
//! topic, partition, place in its batch, time, key and value, which another may share.

use super::batch::{self, Record};
use super::fetch::Meaning;
use super::fields::Fields;
use super::open::plain;
use super::topics::{TopicPartition, Topics, hash};
use crate::FrameSink;
use wirelap_events::{ByteRange, Class, Data, Frame, GlobalKey};

/// Bytes of keys and values that are looked at.
const COMPARED: usize = 64;

/// Where a record is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub frame: ByteRange,
    /// What must be there to read it.
    pub extent: ByteRange,
    pub is_fetched: bool,
}

/// Hands out a record of the batch that is open; `fields` are its bytes, its length included.
pub(super) fn hand_out(
    place: Place,
    mut fields: Fields<'_>,
    (at, topics): (&mut TopicPartition, &Topics),
    meaning: impl FnOnce(&TopicPartition, i32) -> Meaning,
    out: &mut dyn FrameSink,
) {
    let range = place.frame;
    let record = batch::record_bytes(&mut fields).and_then(|_| batch::record(fields));
    let Ok(record) = record else { return out.frame(&plain(range, "Record", Class::Opaque)) };
    let content = content(at, &record);
    if std::mem::take(&mut at.is_first) && !at.internal {
        at.learn(content, place.is_fetched, topics);
    }
    let meaning = meaning(at, record.offset);
    if meaning == Meaning::Skipped {
        return out.frame(&plain(range, "Record", Class::Other));
    }
    out.frame(&Frame {
        range,
        name: "Record",
        class: Class::Data,
        payload_bytes: record.len.min(range.len()),
        data: Some(Data {
            extent: place.extent,
            topic: at.text(),
            payload_len: record.len,
            payload: record.value,
            key: Some(key(at, content, &record)),
            duplicate: meaning == Meaning::Again,
            retained: false,
        }),
    });
}

/// A number for what a record of this batch is, its topic left out.
fn content(at: &TopicPartition, record: &Record<'_>) -> u64 {
    let batch = &at.header;
    let time = batch.base_timestamp.wrapping_add(record.timestamp);
    let start = |bytes: &'_ [u8]| hash(bytes.get(..COMPARED).unwrap_or(bytes));
    let (_, partition) = at.place();
    hash((
        (partition, record.offset, time, record.len),
        (batch.producer, batch.epoch, batch.sequence),
        (start(record.key), start(record.value)),
    ))
}

fn key(at: &TopicPartition, content: u64, record: &Record<'_>) -> GlobalKey {
    let batch = &at.header;
    let unique = batch.producer >= 0 && batch.sequence >= 0;
    if !unique {
        let origin = u128::from(hash((at.text(), content))).to_be_bytes();
        return GlobalKey { origin, seq: 0, unique };
    }
    let producer = batch.producer.cast_unsigned();
    let origin = u128::from(hash(at.text())) << 64 | u128::from(producer);
    // The numbers begin again at 0 after the largest.
    let number = batch.sequence.wrapping_add(record.offset) & i32::MAX;
    let seq = u64::from(batch.epoch.cast_unsigned()) << 32 | u64::from(number.cast_unsigned());
    GlobalKey { origin: origin.to_be_bytes(), seq, unique }
}
