//! Reads a packet's fields. They are bounded by the packet's length; possibly only a prefix of them was captured.

use super::header::{VarintError, varint};
use crate::Reader;
pub(super) use crate::reader::FieldError;

/// The fields of a packet, or of its properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct MqttFields<'a> {
    reader: Reader<'a>,
    /// Remaining bytes according to the packet's length.
    left: usize,
}

impl<'a> MqttFields<'a> {
    /// `len` bytes of fields, of which `captured` were captured.
    pub fn new(captured: &'a [u8], len: usize) -> MqttFields<'a> {
        MqttFields { reader: Reader::new(captured).sub_up_to(len), left: len }
    }

    /// Remaining bytes, captured or not.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Checks that no bytes remain.
    pub fn end(&self) -> Result<(), FieldError> {
        ensure(self.left == 0)
    }

    /// The captured part of the remaining bytes.
    pub fn captured_rest(&self) -> &'a [u8] {
        self.reader.peek_rest()
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], FieldError> {
        self.left = self.left.checked_sub(n).ok_or(FieldError::Malformed)?;
        self.reader.take(n).ok_or(FieldError::Short)
    }

    pub fn sub(&mut self, n: usize) -> Result<MqttFields<'a>, FieldError> {
        self.left = self.left.checked_sub(n).ok_or(FieldError::Malformed)?;
        Ok(MqttFields { reader: self.reader.sub_up_to(n), left: n })
    }

    pub fn u8(&mut self) -> Result<u8, FieldError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, FieldError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, FieldError> {
        self.array().map(u32::from_be_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FieldError> {
        self.left = self.left.checked_sub(N).ok_or(FieldError::Malformed)?;
        self.reader.array().ok_or(FieldError::Short)
    }

    /// A packet identifier, which is never 0 (MQTT 5.0 §2.2.1).
    pub fn packet_id(&mut self) -> Result<u16, FieldError> {
        let id = self.u16()?;
        ensure(id != 0)?;
        Ok(id)
    }

    pub fn varint(&mut self) -> Result<u32, FieldError> {
        let before = self.reader;
        let value = varint(&mut self.reader);
        let used = self.reader.read_since(&before);
        self.left = self.left.checked_sub(used).ok_or(FieldError::Malformed)?;
        match value {
            Ok(value) => Ok(value),
            Err(VarintError::Short) if self.left > 0 => Err(FieldError::Short),
            Err(_) => Err(FieldError::Malformed),
        }
    }

    /// Binary data (MQTT 5.0 §1.5.6).
    pub fn binary(&mut self) -> Result<&'a [u8], FieldError> {
        let len = self.u16()?;
        self.take(usize::from(len))
    }

    /// A UTF-8 string without U+0000 (MQTT 5.0 §1.5.4).
    pub fn string(&mut self) -> Result<&'a str, FieldError> {
        let text = std::str::from_utf8(self.binary()?).map_err(|_| FieldError::Malformed)?;
        ensure(!text.contains('\0'))?;
        Ok(text)
    }
}

/// `Malformed` unless `condition`.
pub(super) fn ensure(condition: bool) -> Result<(), FieldError> {
    if condition { Ok(()) } else { Err(FieldError::Malformed) }
}
