//! A bounded reader over bytes. Decoders index bytes only through it, so that no input can make them panic.

use wirelap_events::Size;

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// The field's bytes were not captured, or have not arrived yet.
    Short,
    /// No valid PDU has these bytes here.
    Malformed,
}

/// Reads a slice from front to back. A read past the end returns `None` and does not move, so that bytes cut by a snap
/// length are treated like bytes with a wrong length field.
///
/// Positions count from the start of the outermost reader, also in a [`Reader::sub`].
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    position: Size,
}

macro_rules! integers {
    ($($be:ident $le:ident $int:ident $bytes:literal $bits:literal;)*) => {$(
        #[doc = concat!("The next ", $bits, " bits, big-endian.")]
        #[inline]
        pub fn $be(&mut self) -> Option<$int> {
            Some($int::from_be_bytes(self.array::<$bytes>()?))
        }

        #[doc = concat!("The next ", $bits, " bits, little-endian.")]
        #[inline]
        pub fn $le(&mut self) -> Option<$int> {
            Some($int::from_le_bytes(self.array::<$bytes>()?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A reader at the front of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, position: Size(0) }
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        self.position += n;
        Some(head)
    }

    /// The next `n` bytes, or as many of them as there are.
    #[inline]
    pub fn take_up_to(&mut self, n: usize) -> &'a [u8] {
        self.take(n).unwrap_or_else(|| self.rest())
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        self.position += N;
        Some(*head)
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next byte, without moving.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    integers! {
        u16_be u16_le u16 2 "16";
        u32_be u32_le u32 4 "32";
        u64_be u64_le u64 8 "64";
    }

    /// Skips `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Option<()> {
        self.take(n).map(drop)
    }

    /// A reader over the next `len` bytes, which this reader skips.
    #[inline]
    pub fn sub(&mut self, len: usize) -> Option<Reader<'a>> {
        let position = self.position;
        self.take(len).map(|rest| Reader { rest, position })
    }

    /// A reader over the next `len` bytes, or as many of them as there are.
    #[inline]
    #[must_use]
    pub fn sub_up_to(&mut self, len: usize) -> Reader<'a> {
        let position = self.position;
        Reader { rest: self.take_up_to(len), position }
    }

    /// All remaining bytes.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = std::mem::take(&mut self.rest);
        self.position += rest.len();
        rest
    }

    /// All remaining bytes, without moving.
    #[inline]
    pub fn peek_rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes read so far, counted from the start of the outermost reader.
    #[inline]
    pub fn position(&self) -> usize {
        self.position.0
    }

    /// Bytes that were read since the reader was at the position of `start`.
    #[inline]
    pub fn read_since(&self, start: &Reader<'_>) -> usize {
        (self.position - start.position).0
    }

    /// Number of remaining bytes.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// True if no bytes remain.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Adds bytes to a buffer until it has `limit` of them. Returns those that were added.
pub(crate) fn extend_up_to<'a>(buffer: &mut Vec<u8>, bytes: &'a [u8], limit: usize) -> &'a [u8] {
    let space = limit.saturating_sub(buffer.len());
    let added = bytes.get(..space).unwrap_or(bytes);
    buffer.extend_from_slice(added);
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_both_byte_orders() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u16_be(), Some(0x0102));
        assert_eq!(reader.u16_le(), Some(0x0403));
        let mut other = reader;
        assert_eq!(reader.u32_be(), Some(0x0506_0708));
        assert_eq!(other.u32_le(), Some(0x0807_0605));
        assert_eq!((reader.position(), reader.remaining()), (8, 6));
        assert_eq!(reader.u64_be(), None);
        assert_eq!(reader.rest(), [9, 10, 11, 12, 13, 14]);
        assert_eq!(Reader::new(&bytes).u64_le(), Some(0x0807_0605_0403_0201));
    }

    #[test]
    fn a_failed_read_moves_nothing() {
        let mut reader = Reader::new(&[7, 8, 9]);
        assert!(reader.take(4).is_none() && reader.u32_le().is_none() && reader.sub(4).is_none());
        assert!(reader.skip(usize::MAX).is_none());
        assert_eq!(
            (reader.position(), reader.peek(), reader.peek_rest()),
            (0, Some(7), &[7, 8, 9][..])
        );
        assert_eq!(reader.take_up_to(9), [7, 8, 9]);
        assert_eq!((reader.position(), reader.u8(), reader.peek()), (3, None, None));
    }

    #[test]
    fn a_sub_reader_is_bounded_and_goes_on_counting() {
        let mut reader = Reader::new(&[1, 2, 3, 4]);
        reader.skip(1).unwrap();
        let mut sub = reader.sub(2).unwrap();
        assert_eq!(sub.u8(), Some(2));
        assert_eq!((sub.position(), sub.u8(), sub.u8()), (2, Some(3), None));
        assert_eq!((reader.position(), reader.remaining()), (3, 1));
        let mut cut = reader.sub_up_to(10);
        assert_eq!((cut.remaining(), cut.u8(), cut.is_empty()), (1, Some(4), true));
    }
}
