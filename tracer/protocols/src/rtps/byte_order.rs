//! The byte order of a submessage.

use crate::Reader;

/// The byte order of a submessage, which its E flag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmessageByteOrder {
    Big,
    Little,
}

impl SubmessageByteOrder {
    pub fn u16(self, reader: &mut Reader) -> Option<u16> {
        match self {
            SubmessageByteOrder::Big => reader.u16_be(),
            SubmessageByteOrder::Little => reader.u16_le(),
        }
    }

    pub fn u32(self, reader: &mut Reader) -> Option<u32> {
        match self {
            SubmessageByteOrder::Big => reader.u32_be(),
            SubmessageByteOrder::Little => reader.u32_le(),
        }
    }

    /// Reads a sequence number: a signed high half, then a low half (§9.3.2.10). Sequence numbers of samples start at 1.
    pub fn sequence_number(self, reader: &mut Reader) -> Option<u64> {
        let high = i32::try_from(self.u32(reader)?).ok()?;
        let low = self.u32(reader)?;
        let number = u64::from(high.unsigned_abs()) << 32 | u64::from(low);
        (number > 0).then_some(number)
    }
}
