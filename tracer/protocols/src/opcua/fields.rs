//! Reads what is encoded in UA Binary (OPC 10000-6 §5.2): little-endian, and bounded by the length
//! that the message claims, of which perhaps only a prefix was captured.

use crate::Reader;
use wirelap_events::Saturate;

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not here: not captured, or in a chunk that is still to come.
    Short,
    /// No message has these bytes here.
    Malformed,
}

/// The fields of a message's body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    reader: Reader<'a>,
    /// Bytes that are left by the message's own account.
    left: u64,
    /// The next byte's place in the body.
    at: u64,
}

impl<'a> Fields<'a> {
    /// The fields from place `at` of a body of `total` bytes. `bytes` are those from place `base` on,
    /// as many as are here.
    pub fn new(bytes: &'a [u8], base: u64, total: u64, at: u64) -> Result<Fields<'a>, Fault> {
        let left = total.saturating_sub(base);
        let mut fields = Fields { reader: Reader::new(bytes), left, at: base };
        fields.skip(at.checked_sub(base).ok_or(Fault::Short)?)?;
        Ok(fields)
    }

    /// The next byte's place in the body.
    pub fn place(&self) -> u64 {
        self.at
    }

    /// What is here of the next `n` bytes, which stay.
    pub fn peek(&self, n: u64) -> &'a [u8] {
        { self.reader }.take_up_to(usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// Fails if fewer bytes are left by the message's own account.
    pub fn ensure(&self, n: u64) -> Result<(), Fault> {
        if n <= self.left { Ok(()) } else { Err(Fault::Malformed) }
    }

    pub fn take(&mut self, n: u64) -> Result<&'a [u8], Fault> {
        self.ensure(n)?;
        let n_here = usize::try_from(n).map_err(|_| Fault::Short)?;
        let bytes = self.reader.take(n_here).ok_or(Fault::Short)?;
        self.left.shrink(n);
        self.at.grow(n);
        Ok(bytes)
    }

    pub fn skip(&mut self, n: u64) -> Result<(), Fault> {
        self.take(n).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.ensure(N as u64)?;
        let array = self.reader.array().ok_or(Fault::Short)?;
        self.left.shrink(N as u64);
        self.at.grow(N as u64);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn guid(&mut self) -> Result<[u8; 16], Fault> {
        self.array()
    }

    /// The length of a string or an array; a null one, which is negative, has none (§5.2.5).
    pub fn len(&mut self) -> Result<u32, Fault> {
        let len = self.u32()?;
        Ok(if len > i32::MAX.unsigned_abs() { 0 } else { len })
    }

    /// A String, `ByteString` or `XmlElement` (§5.2.2.4, §5.2.2.7, §5.2.2.8).
    pub fn text(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.len()?;
        self.take(len.into())
    }
}
