//! Record batches and records (protocol guide, "Record Batch"; version 2 of KIP-98).
//!
//! ```text
//!  0       8        12              16      17    21           23
//! | i64    | i32    | i32           | i8    | u32 | i16        | i32               |
//! | base   | length | partition     | magic | CRC | attributes | last offset delta |
//! | offset |        | leader epoch  | 2     |     |            |                   |
//!  27               35              43            51           53       57      61
//! | i64             | i64           | i64         | i16        | i32    | i32     |
//! | base timestamp  | max timestamp | producer id | epoch      | base   | records |
//! |                 |               |             |            | seq    |         |
//!
//! attributes: 0-2 compression, 3 timestamp type, 4 transactional, 5 control
//!
//! record: | varint length | i8 attributes | varlong timestamp delta | varint offset delta
//!         | varint key length, -1: null | key | varint value length, -1: null | value
//!         | varint headers | (varint length, key, varint length, value) each |
//! ```
//!
//! A batch's length counts from byte 12, a record's length from the byte after it. Versions 0 and 1 (message sets) have
//! their magic at the same offset.

use super::fields::{Fields, KafkaFieldError, Parsed, ensure};

/// Number of bytes up to and including the length.
const PREFIX_BYTES: u64 = 12;

/// Number of bytes up to and including the magic.
pub(super) const MAGIC_END: u64 = 17;

/// Bytes of a batch's header.
pub(super) const HEADER_BYTES: u64 = 61;

/// A batch's header. The broker changes only the base offset and, if it is configured to write its own time
/// (`LogAppendTime`), the maximum timestamp and the attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// The offset of the first record; not known in a batch from a producer.
    pub base_offset: i64,
    attributes: i16,
    /// The time of the first record, in milliseconds since 1970.
    pub base_timestamp: i64,
    /// The producer ID; -1 if the producer has none and does not number its records.
    pub producer: i64,
    pub epoch: i16,
    /// The producer's sequence number of the first record.
    pub sequence: i32,
    /// Number of records.
    pub records: u32,
}

impl BatchHeader {
    fn read(fields: &mut Fields<'_>, base_offset: i64) -> Parsed<BatchHeader> {
        let attributes = fields.i16()?;
        fields.take(4)?;
        let base_timestamp = fields.i64()?;
        fields.take(8)?;
        let (producer, epoch, sequence) = (fields.i64()?, fields.i16()?, fields.i32()?);
        let records = u32::try_from(fields.i32()?).map_err(|_| KafkaFieldError::Malformed)?;
        Ok(BatchHeader {
            base_offset,
            attributes,
            base_timestamp,
            producer,
            epoch,
            sequence,
            records,
        })
    }

    /// The compression codec; 0 is none.
    pub fn codec(&self) -> i16 {
        self.attributes & 7
    }

    /// Whether the records belong to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    fn is_control(&self) -> bool {
        self.attributes & 0x20 != 0
    }
}

/// The bytes after a batch's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchBody {
    /// Records that are not compressed.
    Records { records: u32, bytes: u64 },
    /// Compressed records.
    Compressed { bytes: u64 },
    /// A transaction's marker (KIP-98), or another of the broker's own records.
    Control { bytes: u64 },
}

/// The start of a partition's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordsStart {
    /// A batch.
    Batch(BatchHeader, BatchBody),
    /// A batch whose end the broker cut off to keep the requested maximum size. The consumer drops it and requests it again.
    Partial,
    /// Messages of version 0 or 1.
    MessageSet,
}

impl RecordsStart {
    /// Reads the start of a partition's records; `fields` are all their remaining bytes.
    pub fn read(fields: &mut Fields<'_>) -> Parsed<RecordsStart> {
        let partition_bytes = fields.left();
        if partition_bytes < MAGIC_END {
            return Ok(RecordsStart::Partial);
        }
        let base_offset = fields.i64()?;
        let length = u64::try_from(fields.i32()?).map_err(|_| KafkaFieldError::Malformed)?;
        fields.take(4)?;
        match fields.u8()? {
            0 | 1 => return Ok(RecordsStart::MessageSet),
            2 => {}
            _ => return Err(KafkaFieldError::Malformed),
        }
        let whole = PREFIX_BYTES.saturating_add(length);
        let bytes = whole.checked_sub(HEADER_BYTES).ok_or(KafkaFieldError::Malformed)?;
        if whole > partition_bytes {
            return Ok(RecordsStart::Partial);
        }
        fields.take(4)?;
        let header = BatchHeader::read(fields, base_offset)?;
        let records = header.records;
        ensure(header.codec() <= 4 && (records == 0) == (bytes == 0))?;
        let batch = match header {
            _ if header.is_control() => BatchBody::Control { bytes },
            _ if header.codec() != 0 => BatchBody::Compressed { bytes },
            _ => BatchBody::Records { records, bytes },
        };
        Ok(RecordsStart::Batch(header, batch))
    }
}

/// A record, as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Milliseconds after the batch's first record.
    pub timestamp: i64,
    /// The record's offset minus that of the batch's first record.
    pub offset: i32,
    pub key: &'a [u8],
    /// Bytes of the value; 0 for null.
    pub len: u64,
    /// The captured bytes of the value.
    pub value: &'a [u8],
}

/// Number of bytes of the record that starts with `fields`, including its length field.
pub(super) fn record_bytes(fields: &mut Fields<'_>) -> Parsed<u64> {
    let before = fields.left();
    let length = u64::try_from(fields.varint()?).map_err(|_| KafkaFieldError::Malformed)?;
    ensure(length >= 6)?;
    Ok(length.saturating_add(before.saturating_sub(fields.left())))
}

/// Reads the record whose bytes after the length field are `fields`.
pub(super) fn record(mut fields: Fields<'_>) -> Parsed<Record<'_>> {
    fields.u8()?;
    let timestamp = fields.varlong()?;
    let offset = fields.varint()?;
    let key = nullable(&mut fields)?;
    let key = fields.take(key)?;
    let len = nullable(&mut fields)?;
    // The value is followed by the number of headers, so it cannot be all that remains.
    ensure(len < fields.left())?;
    Ok(Record { timestamp, offset, key, len, value: fields.peek_up_to(len) })
}

/// A length, 0 for null.
fn nullable(fields: &mut Fields<'_>) -> Parsed<u64> {
    match fields.varint()? {
        -1 => Ok(0),
        length => u64::try_from(length).map_err(|_| KafkaFieldError::Malformed),
    }
}
