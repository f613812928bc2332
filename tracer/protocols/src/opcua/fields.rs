//! Reads fields in UA Binary (OPC 10000-6 §5.2), which is little-endian. Fields are bounded by the message's length; possibly
//! only a prefix of the message was captured.

use crate::Reader;
pub(super) use crate::reader::FieldError;
use wirelap_events::{Count, Saturate};

/// The fields of a message's body.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpcuaFields<'a> {
    reader: Reader<'a>,
    /// Remaining bytes according to the message's length.
    left: u64,
    /// The next byte's position in the body.
    at: Count,
}

impl<'a> OpcuaFields<'a> {
    /// The fields from position `at` of a body of `total` bytes. `bytes` are the captured bytes from position `base` on.
    pub fn new(
        bytes: &'a [u8],
        base: u64,
        total: u64,
        at: u64,
    ) -> Result<OpcuaFields<'a>, FieldError> {
        let left = total.saturating_sub(base);
        let mut fields = OpcuaFields { reader: Reader::new(bytes), left, at: Count(base) };
        fields.skip(at.checked_sub(base).ok_or(FieldError::Short)?)?;
        Ok(fields)
    }

    /// The next byte's position in the body.
    pub fn position(&self) -> u64 {
        self.at.0
    }

    /// The captured part of the next `n` bytes, without moving.
    pub fn peek(&self, n: u64) -> &'a [u8] {
        { self.reader }.take_up_to(usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// Fails if fewer bytes remain according to the message's length.
    pub fn ensure(&self, n: u64) -> Result<(), FieldError> {
        if n <= self.left { Ok(()) } else { Err(FieldError::Malformed) }
    }

    pub fn take(&mut self, n: u64) -> Result<&'a [u8], FieldError> {
        self.ensure(n)?;
        let n_here = usize::try_from(n).map_err(|_| FieldError::Short)?;
        let bytes = self.reader.take(n_here).ok_or(FieldError::Short)?;
        self.left.shrink(n);
        self.at += n;
        Ok(bytes)
    }

    pub fn skip(&mut self, n: u64) -> Result<(), FieldError> {
        self.take(n).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FieldError> {
        self.ensure(N as u64)?;
        let array = self.reader.array().ok_or(FieldError::Short)?;
        self.left.shrink(N as u64);
        self.at += N as u64;
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, FieldError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, FieldError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, FieldError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn guid(&mut self) -> Result<[u8; 16], FieldError> {
        self.array()
    }

    /// The length of a string or an array. A null one has a negative length and counts as empty (§5.2.5).
    pub fn len(&mut self) -> Result<u32, FieldError> {
        let len = self.u32()?;
        Ok(if len > i32::MAX.unsigned_abs() { 0 } else { len })
    }

    /// A String, `ByteString` or `XmlElement` (§5.2.2.4, §5.2.2.7, §5.2.2.8).
    pub fn text(&mut self) -> Result<&'a [u8], FieldError> {
        let len = self.len()?;
        self.take(len.into())
    }
}
