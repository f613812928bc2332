//! Reads a packet's fields: bounded by the length that the packet claims, of which perhaps only a
//! prefix was captured.

use super::header::{VarintError, varint};
use crate::Reader;

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It was not captured.
    Short,
    /// No MQTT packet has these bytes here.
    Malformed,
}

/// The fields of a packet, or of its properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    reader: Reader<'a>,
    /// Bytes that are left by the packet's own account.
    left: usize,
}

impl<'a> Fields<'a> {
    /// `len` bytes of fields, of which `captured` are here.
    pub fn new(captured: &'a [u8], len: usize) -> Fields<'a> {
        Fields { reader: Reader::new(captured).sub_up_to(len), left: len }
    }

    /// Bytes left, captured or not.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The end is reached.
    pub fn end(&self) -> Result<(), Fault> {
        ensure(self.left == 0)
    }

    /// What was captured of all that is left.
    pub fn captured_rest(&self) -> &'a [u8] {
        self.reader.peek_rest()
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        self.left = self.left.checked_sub(n).ok_or(Fault::Malformed)?;
        self.reader.take(n).ok_or(Fault::Short)
    }

    pub fn sub(&mut self, n: usize) -> Result<Fields<'a>, Fault> {
        self.left = self.left.checked_sub(n).ok_or(Fault::Malformed)?;
        Ok(Fields { reader: self.reader.sub_up_to(n), left: n })
    }

    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_be_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.left = self.left.checked_sub(N).ok_or(Fault::Malformed)?;
        self.reader.array().ok_or(Fault::Short)
    }

    /// A packet identifier, which is never 0 (MQTT 5.0 §2.2.1).
    pub fn packet_id(&mut self) -> Result<u16, Fault> {
        let id = self.u16()?;
        ensure(id != 0)?;
        Ok(id)
    }

    pub fn varint(&mut self) -> Result<u32, Fault> {
        let before = self.reader.position();
        let value = varint(&mut self.reader);
        let used = self.reader.position().saturating_sub(before);
        self.left = self.left.checked_sub(used).ok_or(Fault::Malformed)?;
        match value {
            Ok(value) => Ok(value),
            Err(VarintError::Short) if self.left > 0 => Err(Fault::Short),
            Err(_) => Err(Fault::Malformed),
        }
    }

    /// Binary data (MQTT 5.0 §1.5.6).
    pub fn binary(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.u16()?;
        self.take(usize::from(len))
    }

    /// A UTF-8 string without U+0000 (MQTT 5.0 §1.5.4).
    pub fn string(&mut self) -> Result<&'a str, Fault> {
        let text = std::str::from_utf8(self.binary()?).map_err(|_| Fault::Malformed)?;
        ensure(!text.contains('\0'))?;
        Ok(text)
    }
}

/// `Malformed` unless `condition`.
pub(super) fn ensure(condition: bool) -> Result<(), Fault> {
    if condition { Ok(()) } else { Err(Fault::Malformed) }
}
