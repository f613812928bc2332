//! The primitives of Zenoh messages.
//!
//! ```text
//! z64        7 bits in each byte, least significant first, bit 7 set while more follow; a ninth byte has 8
//! timestamp  z64 time (NTP64) | z64 id length, at most 16 | id
//! encoding   z32 (id << 1 | has schema) | schema: z8 length, bytes
//! wire expr  z16 scope | suffix: z16 length, bytes, if the message's N flag is set
//! ```

use crate::Reader;
use std::fmt;
use wirelap_events::Count;

/// The flag in every header byte that says that extensions follow.
pub const FLAG_Z: u8 = 0x80;

/// The message ID in a header byte, below the three flags.
pub const fn id(header: u8) -> u8 {
    header & 0x1F
}

/// The ID of a client, peer or router: at most 16 bytes, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZenohId(pub [u8; 16]);

impl fmt::Display for ZenohId {
    /// As Zenoh itself writes it: the little-endian number in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", u128::from_le_bytes(self.0))
    }
}

/// Why bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorError {
    /// The next byte was not captured.
    Cut,
    /// The bytes are not valid.
    Malformed,
}

/// The result of a read.
pub type ZenohResult<T> = Result<T, CursorError>;

/// Reads bytes of which possibly only the first were captured. Bytes that were not captured can be skipped; reading them is
/// [`CursorError::Cut`], and moving past the end is [`CursorError::Malformed`].
#[derive(Clone, Copy, Debug)]
pub struct ZenohCursor<'a> {
    captured: Reader<'a>,
    /// Number of skipped bytes that were not captured.
    beyond: Count,
    end: u64,
}

impl<'a> ZenohCursor<'a> {
    /// A cursor at the front of `len` bytes, of which `captured` were captured.
    pub fn new(captured: &'a [u8], len: u64) -> ZenohCursor<'a> {
        ZenohCursor {
            captured: Reader::new(captured),
            beyond: Count(0),
            end: len.max(captured.len() as u64),
        }
    }

    /// The position, counted from the front of the outermost cursor.
    pub fn position(&self) -> u64 {
        (self.beyond + self.captured.position() as u64).0
    }

    /// Number of remaining bytes, captured or not.
    pub fn remaining(&self) -> u64 {
        (Count(self.end) - self.position()).0
    }

    /// True if no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The captured remaining bytes, without moving.
    pub fn captured(&self) -> &'a [u8] {
        self.captured.peek_rest()
    }

    /// The captured part of the next `n` bytes, without moving.
    pub fn head(&self, n: u64) -> &'a [u8] {
        let rest = self.captured.peek_rest();
        let n = usize::try_from(n).unwrap_or(usize::MAX).min(rest.len());
        rest.get(..n).unwrap_or(rest)
    }

    fn stop(&self) -> CursorError {
        if self.is_empty() { CursorError::Malformed } else { CursorError::Cut }
    }

    /// The next byte, without moving.
    #[inline]
    pub fn peek(&self) -> ZenohResult<u8> {
        self.captured.peek().ok_or_else(|| self.stop())
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> ZenohResult<u8> {
        self.captured.u8().ok_or_else(|| self.stop())
    }

    /// A variable-length integer.
    #[inline]
    pub fn z64(&mut self) -> ZenohResult<u64> {
        let mut value = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.u8()?) << 56)
    }

    /// A variable-length integer of at most 32 bits.
    #[inline]
    pub fn z32(&mut self) -> ZenohResult<u32> {
        u32::try_from(self.z64()?).map_err(|_| CursorError::Malformed)
    }

    /// A variable-length integer of at most 16 bits.
    #[inline]
    pub fn z16(&mut self) -> ZenohResult<u16> {
        u16::try_from(self.z64()?).map_err(|_| CursorError::Malformed)
    }

    /// Skips `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: u64) -> ZenohResult<()> {
        self.within(n).map(drop)
    }

    /// The next `n` bytes, which must all be captured.
    #[inline]
    pub fn bytes(&mut self, n: u64) -> ZenohResult<&'a [u8]> {
        if n > self.remaining() {
            return Err(CursorError::Malformed);
        }
        usize::try_from(n).ok().and_then(|n| self.captured.take(n)).ok_or(CursorError::Cut)
    }

    /// A cursor over the next `n` bytes, which this cursor skips.
    #[inline]
    pub fn within(&mut self, n: u64) -> ZenohResult<ZenohCursor<'a>> {
        if n > self.remaining() {
            return Err(CursorError::Malformed);
        }
        let (beyond, end) = (self.beyond, (Count(self.position()) + n).0);
        let captured = self.captured.sub_up_to(usize::try_from(n).unwrap_or(usize::MAX));
        self.beyond += Count(n) - captured.remaining() as u64;
        Ok(ZenohCursor { captured, beyond, end })
    }

    /// Reads a `ZenohId`, whose length minus one is in the upper half of `flags`.
    pub fn zid(&mut self, flags: u8) -> ZenohResult<ZenohId> {
        let bytes = self.bytes(1 + u64::from(flags >> 4))?;
        let mut zid = [0; 16];
        zid.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(ZenohId(zid))
    }

    /// Reads a timestamp. Returns its time, and whose clock it is of.
    pub fn timestamp(&mut self) -> ZenohResult<(u64, ZenohId)> {
        let time = self.z64()?;
        match self.z64()? {
            size @ 0..=16 => {
                let bytes = self.bytes(size)?;
                let mut id = [0; 16];
                id.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
                Ok((time, ZenohId(id)))
            }
            _ => Err(CursorError::Malformed),
        }
    }

    /// Skips an encoding.
    pub fn encoding(&mut self) -> ZenohResult<()> {
        if self.z32()? & 1 == 1 {
            match self.z64()? {
                size @ 0..=255 => self.skip(size)?,
                _ => return Err(CursorError::Malformed),
            }
        }
        Ok(())
    }

    /// Reads a key expression.
    #[inline]
    pub fn expr(&mut self, named: bool, by_sender: bool) -> ZenohResult<WireExpr<'a>> {
        let scope = self.z16()?;
        let len = if named { self.z16()? } else { 0 };
        let suffix = self.bytes(len.into())?;
        Ok(WireExpr { scope, suffix, by_sender })
    }

    /// Reads the extensions of a message with this header byte, and calls `visit` with each.
    #[inline]
    pub fn exts(
        &mut self,
        header: u8,
        mut visit: impl FnMut(Ext<'a>) -> ZenohResult<()>,
    ) -> ZenohResult<()> {
        let mut more = header & FLAG_Z != 0;
        while more {
            let header = self.u8()?;
            visit(self.ext(header)?)?;
            more = header & FLAG_Z != 0;
        }
        Ok(())
    }

    /// Reads the rest of an extension whose header byte was read.
    pub fn ext(&mut self, header: u8) -> ZenohResult<Ext<'a>> {
        let body = match header & 0x60 {
            0x00 => ExtBody::Unit,
            0x20 => ExtBody::Z64(self.z64()?),
            0x40 => {
                let len = self.z32()?;
                ExtBody::Buf(self.within(len.into())?)
            }
            _ => return Err(CursorError::Malformed),
        };
        Ok(Ext { id: header & 0x0F, body })
    }
}

/// One extension. Unknown extensions are skipped, even those that are mandatory (M) for peers.
///
/// ```text
///   7   6   5   4   3   2   1   0
/// +---+-------+---+---------------+
/// | Z |  enc  | M |      id       |  enc: 0 unit, 1 z64, 2 buffer; Z: another one follows
/// +---+-------+---+---------------+
/// |  z64 value, or z32 length and bytes, or nothing
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ext<'a> {
    /// The extension's ID, whose meaning depends on the message.
    pub id: u8,
    /// The extension's value.
    pub body: ExtBody<'a>,
}

/// An extension's value.
#[derive(Clone, Copy, Debug)]
pub enum ExtBody<'a> {
    /// No value.
    Unit,
    /// An integer.
    Z64(u64),
    /// Bytes.
    Buf(ZenohCursor<'a>),
}

/// A key expression as it is sent: the number of a declared prefix, and a suffix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireExpr<'a> {
    /// The prefix's number; 0 for no prefix.
    pub scope: u16,
    /// The suffix.
    pub suffix: &'a [u8],
    /// True if this message's sender declared the number, not its receiver.
    pub by_sender: bool,
}
