//! Decodes compressed batches, and old messages that contain others.

use super::batch::{self, BatchHeader};
use super::fields::{KafkaFields, KafkaResult, ensure};
use super::meaning::{ConnectionState, is_discarded, means};
use super::record::{self, RecordPosition};
use super::topics::TopicPartition;
use super::walk::UnwalkedBytes;
use crate::connection::frame_without_data;
use crate::{FrameNote, FrameSink};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Frame, FrameClass};

/// The records of a decompressed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BatchContents {
    records: u32,
    /// Bytes of all values.
    values: u64,
    /// The offset of old messages within the compressed one that has the number 0.
    base_offset: i64,
}

/// Passes a compressed batch to `out`: a frame with its bytes, then its records as frames without bytes.
pub(super) fn compressed(
    (range, packed): (ByteRange, Option<&[u8]>),
    answers: Option<i32>,
    state: &mut ConnectionState<'_>,
    out: &mut dyn FrameSink,
) {
    let is_fetched = answers.is_some();
    let is_internal = state.is_internal(is_fetched);
    let ConnectionState { at, positions, topics, unpacked, awaited } = state;
    let header = at.header;
    let opened = packed.and_then(|packed| unpacked.open(header.codec(), packed));
    let opened = opened.and_then(|bytes| Some((bytes, survey(bytes, &header).ok()?)));
    let Some((bytes, contents)) = opened else {
        let (name, class) = UnwalkedBytes::Compressed.frame();
        out.frame(&frame_without_data(
            range,
            name,
            if at.internal { FrameClass::Other } else { class },
        ));
        if !is_internal {
            out.note(FrameNote::UnreadMessages(header.records.into()));
        }
        return unpacked.trim();
    };
    let class = if at.internal { FrameClass::Other } else { FrameClass::Data };
    let is_aborted = is_discarded(at, is_fetched, positions);
    let all = bytes.len() as u64;
    // The share of payload in the compressed bytes is taken to be that in the decompressed bytes.
    let payload = u128::from(range.len())
        .saturating_mul(u128::from(contents.values))
        .checked_div(u128::from(all.max(1)))
        .unwrap_or(0);
    let payload_bytes = if at.internal { 0 } else { u64::try_from(payload).unwrap_or(0) };
    out.frame(&Frame { payload_bytes, ..frame_without_data(range, "CompressedRecords", class) });
    out.note(FrameNote::Unpacked { bytes: range.len(), decompressed: all });
    let position =
        RecordPosition { frame: ByteRange::new(range.end, 0), extent: range, is_fetched };
    let mut rest = KafkaFields::new(bytes, all);
    while rest.left() > 0 {
        let Ok(one) = next(&mut rest, contents.base_offset, at) else { break };
        let meaning = |at: &TopicPartition, offset| means(at, positions, answers, offset);
        record::report_record(position, one, (at, topics), awaited, meaning, out);
    }
    if is_aborted {
        out.note(FrameNote::Discarded(contents.records.into()));
    }
    unpacked.trim();
}

/// The bytes of the next record. An old message has a header of its own, which becomes that of the open batch.
fn next<'a>(
    rest: &mut KafkaFields<'a>,
    base_offset: i64,
    at: &mut TopicPartition,
) -> KafkaResult<KafkaFields<'a>> {
    if at.header.is_message {
        let (header, body) = batch::inner_message(rest)?;
        at.header = header.moved_by(base_offset);
        return Ok(body);
    }
    let one = rest.at_most(batch::record_bytes(&mut { *rest })?);
    rest.take(one.left())?;
    Ok(one)
}

/// Counts the records of a batch, all of which `bytes` must be.
fn survey(bytes: &[u8], header: &BatchHeader) -> KafkaResult<BatchContents> {
    let mut rest = KafkaFields::new(bytes, bytes.len() as u64);
    if header.is_message {
        return survey_messages(rest, header.base_offset);
    }
    let mut values = 0;
    for _ in 0..header.records {
        let mut one = rest.at_most(batch::record_bytes(&mut { rest })?);
        rest.take(one.left())?;
        batch::record_bytes(&mut one)?;
        values.grow(batch::record(one)?.len);
    }
    ensure(rest.left() == 0)?;
    Ok(BatchContents { records: header.records, values, base_offset: 0 })
}

/// Counts old messages. The compressed message has the `offset` of the last of them: offsets within it start at 0 in version 1
/// (KIP-31), and are the same as outside in version 0.
fn survey_messages(mut rest: KafkaFields<'_>, offset: i64) -> KafkaResult<BatchContents> {
    let mut found = BatchContents { records: 0, values: 0, base_offset: offset };
    while rest.left() > 0 {
        let (header, body) = batch::inner_message(&mut rest)?;
        found.records.grow(1);
        found.values.grow(batch::message(body)?.len);
        found.base_offset = offset.saturating_sub(header.base_offset);
    }
    ensure(found.records > 0)?;
    Ok(found)
}
