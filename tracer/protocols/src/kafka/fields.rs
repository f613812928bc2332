//! Reads Kafka's primitive types (protocol guide, "Protocol Primitive Types"). They are bounded by the PDU's length;
//! possibly only a prefix of the PDU was captured.
//!
//! ```text
//! INT8 … INT64        big-endian
//! UNSIGNED_VARINT     7 bits in each byte, the lowest first; the top bit says that more follow
//! VARINT, VARLONG     UNSIGNED_VARINT of the zigzag code: 0, -1, 1, -2, …
//! STRING              INT16 length,                -1: null
//! COMPACT_STRING      UNSIGNED_VARINT length + 1,   0: null
//! ARRAY, BYTES        INT32 length,                -1: null
//! COMPACT_ARRAY …     UNSIGNED_VARINT length + 1,   0: null
//! TAG_BUFFER          UNSIGNED_VARINT count, then tag, length (UNSIGNED_VARINT both) and bytes each
//! ```
//!
//! A version that is *flexible* (KIP-482) has compact strings and arrays, and a tag buffer at the end
//! of every structure.

use crate::Reader;

/// The longest string that a 16-bit length allows; compact strings are limited to it as well.
const LONGEST_STRING: u64 = 0x7FFF;

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KafkaFieldError {
    /// At least this many more bytes are needed.
    Short(usize),
    /// No valid PDU has these bytes here.
    Malformed,
}

/// The result of reading a field.
pub(super) type KafkaResult<T> = Result<T, KafkaFieldError>;

/// The fields of a PDU or of a structure in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KafkaFields<'a> {
    reader: Reader<'a>,
    /// Remaining bytes according to the PDU's length.
    left: u64,
    /// True if strings and arrays are compact and structures end with a tag buffer.
    flexible: bool,
}

impl<'a> KafkaFields<'a> {
    /// `len` bytes of fields, of which `captured` were captured.
    pub fn new(captured: &'a [u8], len: u64) -> KafkaFields<'a> {
        let here = usize::try_from(len).unwrap_or(usize::MAX);
        KafkaFields { reader: Reader::new(captured).sub_up_to(here), left: len, flexible: false }
    }

    /// These fields in a flexible or in the older encoding.
    pub fn flexible(self, flexible: bool) -> KafkaFields<'a> {
        KafkaFields { flexible, ..self }
    }

    /// These fields, limited to `len` bytes.
    pub fn at_most(self, len: u64) -> KafkaFields<'a> {
        KafkaFields { left: self.left.min(len), ..self }
    }

    /// Remaining bytes, captured or not.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Bytes that were read since there were `left` of them.
    pub fn read_since(&self, left: u64) -> u64 {
        left.saturating_sub(self.left)
    }

    /// The captured part of the next `len` bytes, without moving.
    pub fn peek_up_to(&self, len: u64) -> &'a [u8] {
        let mut reader = self.reader;
        reader.take_up_to(usize::try_from(len.min(self.left)).unwrap_or(usize::MAX))
    }

    pub fn take(&mut self, len: u64) -> KafkaResult<&'a [u8]> {
        let left = self.left.checked_sub(len).ok_or(KafkaFieldError::Malformed)?;
        let n = usize::try_from(len).map_err(|_| KafkaFieldError::Malformed)?;
        let missing = n.saturating_sub(self.reader.remaining());
        let bytes = self.reader.take(n).ok_or(KafkaFieldError::Short(missing))?;
        self.left = left;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> KafkaResult<[u8; N]> {
        let left = self.left.checked_sub(N as u64).ok_or(KafkaFieldError::Malformed)?;
        let missing = N.saturating_sub(self.reader.remaining());
        let bytes = self.reader.array().ok_or(KafkaFieldError::Short(missing))?;
        self.left = left;
        Ok(bytes)
    }

    pub fn u8(&mut self) -> KafkaResult<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn i16(&mut self) -> KafkaResult<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i32(&mut self) -> KafkaResult<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn i64(&mut self) -> KafkaResult<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub fn uuid(&mut self) -> KafkaResult<[u8; 16]> {
        self.array()
    }

    /// `UNSIGNED_VARINT`, at most 32 bits in 5 bytes.
    pub fn unsigned(&mut self) -> KafkaResult<u32> {
        u32::try_from(self.base_128(5)?).map_err(|_| KafkaFieldError::Malformed)
    }

    /// `VARINT`.
    pub fn varint(&mut self) -> KafkaResult<i32> {
        let zigzag = self.unsigned()?;
        Ok((zigzag >> 1 ^ (zigzag & 1).wrapping_neg()).cast_signed())
    }

    /// `VARLONG`.
    pub fn varlong(&mut self) -> KafkaResult<i64> {
        let zigzag = self.base_128(10)?;
        Ok((zigzag >> 1 ^ (zigzag & 1).wrapping_neg()).cast_signed())
    }

    fn base_128(&mut self, most_bytes: u32) -> KafkaResult<u64> {
        let mut value = 0;
        for index in 0..most_bytes {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << index.saturating_mul(7);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(KafkaFieldError::Malformed)
    }

    /// A 32-bit length or its compact form; `None` is null.
    pub fn length(&mut self) -> KafkaResult<Option<u32>> {
        if self.flexible {
            return self.unsigned().map(|length| length.checked_sub(1));
        }
        match self.i32()? {
            -1 => Ok(None),
            length => u32::try_from(length).map(Some).map_err(|_| KafkaFieldError::Malformed),
        }
    }

    /// A 32-bit length of bytes whatever the version, 0 for null.
    pub fn plain_bytes_len(&mut self) -> KafkaResult<u64> {
        match self.i32()? {
            -1 => Ok(0),
            length => u64::try_from(length).map_err(|_| KafkaFieldError::Malformed),
        }
    }

    /// The number of entries of an array, 0 for null.
    pub fn count(&mut self) -> KafkaResult<u32> {
        let count = self.length()?.unwrap_or(0);
        // Each entry has at least one byte.
        if u64::from(count) > self.left { Err(KafkaFieldError::Malformed) } else { Ok(count) }
    }

    /// A string; `None` is null.
    pub fn string(&mut self) -> KafkaResult<Option<&'a [u8]>> {
        let length = if self.flexible { self.length()? } else { self.short_length()? };
        match length.map(u64::from) {
            None => Ok(None),
            Some(length) if length > LONGEST_STRING => Err(KafkaFieldError::Malformed),
            Some(length) => self.take(length).map(Some),
        }
    }

    /// A string that is not compact, whatever the version.
    pub fn plain_string(&mut self) -> KafkaResult<Option<&'a [u8]>> {
        let mut plain = self.flexible(false);
        let string = plain.string();
        *self = plain.flexible(self.flexible);
        string
    }

    fn short_length(&mut self) -> KafkaResult<Option<u32>> {
        match self.i16()? {
            -1 => Ok(None),
            length => u32::try_from(length).map(Some).map_err(|_| KafkaFieldError::Malformed),
        }
    }

    /// Skips the tag buffer that ends a structure of a flexible version.
    pub fn tags(&mut self) -> KafkaResult<()> {
        self.each_tag(|_, _| ())
    }

    /// Skips the tag buffer, and calls `each` with each tag and its value.
    pub fn each_tag(&mut self, mut each: impl FnMut(u32, &mut KafkaFields<'a>)) -> KafkaResult<()> {
        if !self.flexible {
            return Ok(());
        }
        for _ in 0..self.unsigned()? {
            let tag = self.unsigned()?;
            let length = u64::from(self.unsigned()?);
            let mut value = KafkaFields::new(self.take(length)?, length).flexible(true);
            each(tag, &mut value);
        }
        Ok(())
    }
}

/// `Malformed` unless `condition`.
pub(super) fn ensure(condition: bool) -> KafkaResult<()> {
    if condition { Ok(()) } else { Err(KafkaFieldError::Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> KafkaFields<'_> {
        KafkaFields::new(bytes, bytes.len() as u64)
    }

    #[test]
    fn varints_are_zigzag() {
        let cases: [(&[u8], i32); 6] = [
            (&[0], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x80, 0x01], 64),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], i32::MIN),
            (&[0xfe, 0xff, 0xff, 0xff, 0x0f], i32::MAX),
        ];
        for (bytes, value) in cases {
            assert_eq!(of(bytes).varint(), Ok(value), "{bytes:02x?}");
        }
        assert_eq!(of(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint(), Err(KafkaFieldError::Malformed));
        assert_eq!(of(&[0x80; 5]).unsigned(), Err(KafkaFieldError::Malformed));
        assert_eq!(KafkaFields::new(&[0x80], 3).unsigned(), Err(KafkaFieldError::Short(1)));
        assert_eq!(of(&[0x80]).unsigned(), Err(KafkaFieldError::Malformed));
    }

    #[test]
    fn strings_are_null_empty_or_there() {
        assert_eq!(of(&[0xff, 0xff]).string(), Ok(None));
        assert_eq!(of(&[0, 0]).string(), Ok(Some(&b""[..])));
        assert_eq!(of(&[0, 2, b'a', b'b']).string(), Ok(Some(&b"ab"[..])));
        assert_eq!(of(&[0]).flexible(true).string(), Ok(None));
        assert_eq!(of(&[3, b'a', b'b']).flexible(true).string(), Ok(Some(&b"ab"[..])));
        assert_eq!(of(&[0xff, 0xfe]).string(), Err(KafkaFieldError::Malformed));
        assert_eq!(KafkaFields::new(&[0, 2, b'a'], 9).string(), Err(KafkaFieldError::Short(1)));
        assert_eq!(of(&[0, 2, b'a']).string(), Err(KafkaFieldError::Malformed));
        let mut fields = of(&[0, 1, b'x', 2, b'y']).flexible(true);
        assert_eq!(fields.plain_string(), Ok(Some(&b"x"[..])));
        assert_eq!(fields.string(), Ok(Some(&b"y"[..])));
    }

    #[test]
    fn tags_are_skipped_where_there_are_some() {
        let mut fields = of(&[2, 0, 1, 9, 5, 2, 8, 8, 7]);
        assert_eq!(fields.tags(), Ok(()));
        assert_eq!(fields.left(), 9);
        let mut fields = fields.flexible(true);
        assert_eq!((fields.tags(), fields.left()), (Ok(()), 1));
    }

    #[test]
    fn an_array_cannot_have_more_entries_than_bytes() {
        assert_eq!(of(&[0, 0, 0, 2, 1, 1]).count(), Ok(2));
        assert_eq!(of(&[0, 0, 0, 3, 1, 1]).count(), Err(KafkaFieldError::Malformed));
        assert_eq!(of(&[0xff, 0xff, 0xff, 0xff]).count(), Ok(0));
    }
}
