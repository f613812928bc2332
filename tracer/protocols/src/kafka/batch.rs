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
//! A batch's length counts from byte 12, a record's length from the byte after it.
//!
//! Before version 2, records are messages one after another (protocol guide, "Old Message Format"; KIP-31 and KIP-32 for
//! version 1), with the magic at the same offset:
//!
//! ```text
//!  0       8        12        16      17           18
//! | i64    | i32    | u32 CRC | i8    | i8         | i64 timestamp | i32 length, -1: null | key
//! | offset | length |         | magic | attributes | [version 1]   | i32 length, -1: null | value
//! ```
//!
//! Compressed messages are together the value of another message, whose offset is that of the last of them.

use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use wirelap_events::{Count, TraceContext};

/// Number of bytes up to and including the length.
const PREFIX_BYTES: u64 = 12;

/// Number of bytes up to and including the magic.
pub(super) const MAGIC_END: u64 = 17;

/// Bytes of a batch's header.
pub(super) const HEADER_BYTES: u64 = 61;

/// Number of bytes of an old message up to its attributes, and those of its timestamp.
const MESSAGE_HEAD: u64 = 18;
const TIMESTAMP_BYTES: u64 = 8;

const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// A batch's header, or that of an old message, which is taken for a batch of one record. The broker changes only the base offset and, if it is configured to write its own time
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
    /// Number of records; 1 also of an old message that contains others.
    pub records: u32,
    /// True if it is of an old message, of version 0 or 1.
    pub is_message: bool,
}

impl BatchHeader {
    /// Reads the rest of an old message's header, after its magic.
    fn read_message(
        fields: &mut KafkaFields<'_>,
        base_offset: i64,
        magic: u8,
    ) -> KafkaResult<BatchHeader> {
        // Bit 3 is the timestamp's type, as in newer batches.
        let attributes = i16::from(fields.u8()? & 0xF);
        let base_timestamp = if magic == 0 { -1 } else { fields.i64()? };
        Ok(BatchHeader {
            base_offset,
            attributes,
            base_timestamp,
            producer: -1,
            epoch: -1,
            sequence: -1,
            records: 1,
            is_message: true,
        })
    }

    fn read(fields: &mut KafkaFields<'_>, base_offset: i64) -> KafkaResult<BatchHeader> {
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
            is_message: false,
        })
    }

    /// The same with an offset that is so much greater.
    pub fn moved_by(self, offset: i64) -> BatchHeader {
        BatchHeader { base_offset: self.base_offset.saturating_add(offset), ..self }
    }

    /// The compression codec; 0 is none.
    pub fn codec(&self) -> i16 {
        self.attributes & 7
    }

    /// True if the records belong to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    /// The time that a record has from its producer, in nanoseconds since 1970.
    pub fn time_of(&self, record: &KafkaRecord<'_>) -> Option<u64> {
        let by_producer = self.attributes & 8 == 0;
        let time = self.base_timestamp.checked_add(record.timestamp)?;
        let time = u64::try_from(time).ok().filter(|&time| by_producer && time > 0)?;
        time.checked_mul(NANOS_PER_MILLISECOND)
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
    /// The key and value of an old message.
    Message { bytes: u64 },
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
    /// Old messages that cannot be read.
    MessageSet,
}

impl RecordsStart {
    /// Reads the start of a partition's records; `fields` are all their remaining bytes.
    pub fn read(fields: &mut KafkaFields<'_>) -> KafkaResult<RecordsStart> {
        let partition_bytes = fields.left();
        if partition_bytes < MAGIC_END {
            return Ok(RecordsStart::Partial);
        }
        let base_offset = fields.i64()?;
        let length = u64::try_from(fields.i32()?).map_err(|_| KafkaFieldError::Malformed)?;
        fields.take(4)?;
        let whole = PREFIX_BYTES.saturating_add(length);
        match fields.u8()? {
            0 | 1 if whole > partition_bytes => return Ok(RecordsStart::Partial),
            magic @ 0..=1 => return RecordsStart::message(fields, (base_offset, magic), whole),
            2 => {}
            _ => return Err(KafkaFieldError::Malformed),
        }
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

    /// Reads the start of an old message of `whole` bytes after its magic, up to its key, or to its value if that is compressed.
    fn message(
        fields: &mut KafkaFields<'_>,
        (offset, magic): (i64, u8),
        whole: u64,
    ) -> KafkaResult<RecordsStart> {
        let head = MESSAGE_HEAD.saturating_add(if magic == 0 { 0 } else { TIMESTAMP_BYTES });
        let bytes = whole.checked_sub(head).ok_or(KafkaFieldError::Malformed)?;
        let header = BatchHeader::read_message(fields, offset, magic)?;
        ensure(bytes >= 8)?;
        if header.codec() == 0 {
            return Ok(RecordsStart::Batch(header, BatchBody::Message { bytes }));
        }
        // Nobody gives a message that contains others a key.
        let (key, value) = (fields.i32()?, u64::try_from(fields.i32()?).ok());
        let is_whole = value.is_some_and(|value| value.checked_add(8) == Some(bytes));
        Ok(match value.filter(|_| key == -1 && is_whole) {
            Some(bytes) => RecordsStart::Batch(header, BatchBody::Compressed { bytes }),
            None => RecordsStart::MessageSet,
        })
    }
}

/// Reads the next of the messages in a compressed one: its header, with its offset as it stands there, its key and its value.
pub(super) fn inner_message<'a>(
    fields: &mut KafkaFields<'a>,
) -> KafkaResult<(BatchHeader, KafkaFields<'a>)> {
    let RecordsStart::Batch(header, BatchBody::Message { bytes }) = RecordsStart::read(fields)?
    else {
        return Err(KafkaFieldError::Malformed);
    };
    let body = fields.at_most(bytes);
    fields.take(bytes)?;
    Ok((header, body))
}

/// Reads an old message's key and value.
pub(super) fn message(mut fields: KafkaFields<'_>) -> KafkaResult<KafkaRecord<'_>> {
    let key = fields.plain_bytes_len()?;
    let key = fields.take(key)?;
    let len = fields.plain_bytes_len()?;
    ensure(len == fields.left())?;
    let value = fields.peek_up_to(len);
    Ok(KafkaRecord { timestamp: 0, offset: 0, key, len, value, headers: &[] })
}

/// A record, as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KafkaRecord<'a> {
    /// Milliseconds after the batch's first record.
    pub timestamp: i64,
    /// The record's offset minus that of the batch's first record.
    pub offset: i32,
    pub key: &'a [u8],
    /// Bytes of the value; 0 for null.
    pub len: u64,
    /// The captured bytes of the value.
    pub value: &'a [u8],
    /// The captured bytes behind the value: the headers; old messages have none.
    headers: &'a [u8],
}

impl KafkaRecord<'_> {
    /// The trace that the record names in the first header of that name that is well-formed. Headers behind what was captured are
    /// as if they were not there.
    pub fn trace_context(&self) -> Option<TraceContext> {
        let mut fields = KafkaFields::new(self.headers, self.headers.len() as u64);
        for _ in 0..fields.varint().ok()? {
            let name = nullable(&mut fields).ok()?;
            let name = fields.take(name).ok()?;
            let value = nullable(&mut fields).ok()?;
            if let Some(context) = TraceContext::of_header(name, fields.take(value).ok()?) {
                return Some(context);
            }
        }
        None
    }
}

/// Number of bytes of the record that starts with `fields`, including its length field.
pub(super) fn record_bytes(fields: &mut KafkaFields<'_>) -> KafkaResult<u64> {
    let before = fields.left();
    let length = u64::try_from(fields.varint()?).map_err(|_| KafkaFieldError::Malformed)?;
    ensure(length >= 6)?;
    Ok((Count(length) + fields.read_since(before)).0)
}

/// Reads the record whose bytes after the length field are `fields`.
pub(super) fn record(mut fields: KafkaFields<'_>) -> KafkaResult<KafkaRecord<'_>> {
    fields.u8()?;
    let timestamp = fields.varlong()?;
    let offset = fields.varint()?;
    let key = nullable(&mut fields)?;
    let key = fields.take(key)?;
    let len = nullable(&mut fields)?;
    // The value is followed by the number of headers, so it cannot be all that remains.
    ensure(len < fields.left())?;
    let (value, rest) = (fields.peek_up_to(len), fields.peek_up_to(fields.left()));
    let headers = rest.get(value.len()..).filter(|_| value.len() as u64 == len).unwrap_or_default();
    Ok(KafkaRecord { timestamp, offset, key, len, value, headers })
}

/// A length, 0 for null.
fn nullable(fields: &mut KafkaFields<'_>) -> KafkaResult<u64> {
    match fields.varint()? {
        -1 => Ok(0),
        length => u64::try_from(length).map_err(|_| KafkaFieldError::Malformed),
    }
}
