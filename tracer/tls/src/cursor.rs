//! Reader of bytes, one field after the other.

/// Bytes that are read one after the other.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(*self.take(1)?.first()?)
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(*self.take(2)?.first_chunk()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(*self.take(4)?.first_chunk()?))
    }

    /// An integer of QUIC (RFC 9000 §16): the first two bits say how many bytes it has.
    pub fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let mut value = u64::from(first & 0x3F);
        let more = match first >> 6 {
            0 => 0,
            1 => 1,
            2 => 3,
            _ => 7,
        };
        for byte in self.take(more)? {
            value = (value << 8) | u64::from(*byte);
        }
        Some(value)
    }

    /// Bytes behind their length, which is an integer of QUIC.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.take(usize::try_from(len).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 §A.1.
    #[test]
    fn integers_of_quic_have_one_to_eight_bytes() {
        let bytes = [
            &[0xC2, 0x19, 0x7C, 0x5E, 0xFF, 0x14, 0xE8, 0x8C][..],
            &[0x9D, 0x7F, 0x3E, 0x7D],
            &[0x7B, 0xBD],
            &[0x25],
            &[0x40, 0x25],
        ];
        let bytes = bytes.concat();
        let mut cursor = Cursor(&bytes);
        let all: Vec<_> = std::iter::from_fn(|| cursor.varint()).collect();
        assert_eq!(all, [151_288_809_941_952_652, 494_878_333, 15_293, 37, 37]);
        assert_eq!(Cursor(&[0x80, 1, 2]).varint(), None);
    }
}
