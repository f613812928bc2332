//! Bytes and numbers of variable length, read from the front and appended.

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `len` bytes; `None` if they are not there.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// The next unsigned number; `None` also for one of more than 64 bits.
    #[inline]
    pub fn unsigned(&mut self) -> Option<u64> {
        // Most are of one byte.
        if let &[byte @ 0..0x80, ref rest @ ..] = self.0 {
            self.0 = rest;
            return Some(u64::from(byte));
        }
        self.long_unsigned()
    }

    fn long_unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        let mut bytes = self.0.iter();
        for shift in (0..64).step_by(7) {
            let byte = *bytes.next()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                self.0 = bytes.as_slice();
                return Some(value);
            }
        }
        None
    }

    /// The next signed number.
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1 ^ (value & 1).wrapping_neg()).cast_signed())
    }
}

/// Appends an unsigned number.
pub fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends a signed number.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, (value << 1 ^ value >> 63).cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_no_more_bytes_than_they_need() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
            let mut out = Vec::new();
            put_unsigned(&mut out, value);
            assert_eq!(out.len(), bytes, "{value}");
            assert_eq!(Bytes(&out).unsigned(), Some(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX, -1_000_000] {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            assert_eq!(Bytes(&out).signed(), Some(value));
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_none() {
        assert_eq!(Bytes(&[0xFF; 20]).unsigned(), None);
        let mut most = [0xFF; 10];
        most[9] = 1;
        assert_eq!(Bytes(&most).unsigned(), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(Bytes(&most).unsigned(), None);
    }
}
