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
//! The batch's length counts from byte 12, a record's from behind it. Versions 0 and 1 (message sets)
//! have their magic at the same place and are told by it.

use super::fields::{Fault, Fields, Parsed, ensure};

/// Bytes up to and including the length.
const PREFIX_BYTES: u64 = 12;

/// Bytes up to and including the magic.
pub(super) const MAGIC_END: u64 = 17;

/// Bytes of a batch's header.
pub(super) const HEADER_BYTES: u64 = 61;

/// What a batch's header says of the batch. The broker changes only the base offset, and, where it is set to write its
/// own time (`LogAppendTime`), the largest timestamp and the attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The offset of the first record; a producer does not know it.
    pub base_offset: i64,
    attributes: i16,
    /// Milliseconds since 1970, of the first record.
    pub base_timestamp: i64,
    /// -1: the producer has no number, and numbers no records.
    pub producer: i64,
    pub epoch: i16,
    /// The producer's number of the first record.
    pub sequence: i32,
    /// Records that it claims to have.
    pub records: u32,
}

impl Header {
    fn read(fields: &mut Fields<'_>, base_offset: i64) -> Parsed<Header> {
        let attributes = fields.i16()?;
        fields.take(4)?;
        let base_timestamp = fields.i64()?;
        fields.take(8)?;
        let (producer, epoch, sequence) = (fields.i64()?, fields.i16()?, fields.i32()?);
        let records = u32::try_from(fields.i32()?).map_err(|_| Fault::Malformed)?;
        Ok(Header { base_offset, attributes, base_timestamp, producer, epoch, sequence, records })
    }

    /// What its records are compressed with; 0 is nothing.
    pub fn codec(&self) -> i16 {
        self.attributes & 7
    }

    /// Its records are a transaction's.
    pub fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    fn is_control(&self) -> bool {
        self.attributes & 0x20 != 0
    }
}

/// What follows a batch's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// So many records in so many bytes.
    Records { records: u32, bytes: u64 },
    /// Compressed records.
    Compressed { bytes: u64 },
    /// A transaction's marker (KIP-98), or another of the broker's own records.
    Control { bytes: u64 },
}

/// What starts at the head of a partition's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// A batch, whose header was read.
    Batch(Header, Batch),
    /// A batch whose end the broker cut off, to keep to the size that was asked for. The consumer
    /// drops it and asks again.
    Partial,
    /// Messages of version 0 or 1.
    MessageSet,
}

impl Start {
    /// Reads the header of a batch, as far as that is needed to tell; `fields` are all bytes of the
    /// partition's records that are left.
    pub fn read(fields: &mut Fields<'_>) -> Parsed<Start> {
        let partition_bytes = fields.left();
        if partition_bytes < MAGIC_END {
            return Ok(Start::Partial);
        }
        let base_offset = fields.i64()?;
        let length = u64::try_from(fields.i32()?).map_err(|_| Fault::Malformed)?;
        fields.take(4)?;
        match fields.u8()? {
            0 | 1 => return Ok(Start::MessageSet),
            2 => {}
            _ => return Err(Fault::Malformed),
        }
        let whole = PREFIX_BYTES.saturating_add(length);
        let bytes = whole.checked_sub(HEADER_BYTES).ok_or(Fault::Malformed)?;
        if whole > partition_bytes {
            return Ok(Start::Partial);
        }
        fields.take(4)?;
        let header = Header::read(fields, base_offset)?;
        let records = header.records;
        ensure(header.codec() <= 4 && (records == 0) == (bytes == 0))?;
        let batch = match header {
            _ if header.is_control() => Batch::Control { bytes },
            _ if header.codec() != 0 => Batch::Compressed { bytes },
            _ => Batch::Records { records, bytes },
        };
        Ok(Start::Batch(header, batch))
    }
}

/// A record, as far as it is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Milliseconds after the batch's first record.
    pub timestamp: i64,
    /// How many offsets after the batch's first one.
    pub offset: i32,
    pub key: &'a [u8],
    /// Bytes of its value; 0 for null.
    pub len: u64,
    /// Those that are here.
    pub value: &'a [u8],
}

/// Bytes of the record that starts with `fields`, its length included.
pub(super) fn record_bytes(fields: &mut Fields<'_>) -> Parsed<u64> {
    let before = fields.left();
    let length = u64::try_from(fields.varint()?).map_err(|_| Fault::Malformed)?;
    ensure(length >= 6)?;
    Ok(length.saturating_add(before.saturating_sub(fields.left())))
}

/// The record whose bytes behind the length are `fields`.
pub(super) fn record(mut fields: Fields<'_>) -> Parsed<Record<'_>> {
    fields.u8()?;
    let timestamp = fields.varlong()?;
    let offset = fields.varint()?;
    let key = nullable(&mut fields)?;
    let key = fields.take(key)?;
    let len = nullable(&mut fields)?;
    // The number of headers follows.
    ensure(len < fields.left())?;
    Ok(Record { timestamp, offset, key, len, value: fields.peek_up_to(len) })
}

/// A length, 0 for null.
fn nullable(fields: &mut Fields<'_>) -> Parsed<u64> {
    match fields.varint()? {
        -1 => Ok(0),
        length => u64::try_from(length).map_err(|_| Fault::Malformed),
    }
}
