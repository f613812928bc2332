//! Values that stand one behind the other in memory.

use super::bytes::{Bytes, put_signed, put_unsigned};
use super::layout::{WireReader, WireWriter};
use super::value::WireValue;
use wirelap_events::{Comm, Tid};

/// One value behind the other.
impl WireWriter for Vec<u8> {
    #[inline]
    fn unsigned(&mut self, value: u64) {
        put_unsigned(self, value);
    }

    #[inline]
    fn signed(&mut self, value: i64) {
        put_signed(self, value);
    }

    #[inline]
    fn variant(&mut self, number: u8) {
        self.push(number);
    }

    #[inline]
    fn time(&mut self, value: u64) {
        put_unsigned(self, value);
    }

    #[inline]
    fn sequence(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn address(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &[u8]) {
        put_unsigned(self, text.len() as u64);
        self.extend_from_slice(text);
    }

    #[inline]
    fn name(&mut self, _: Tid, name: &Comm) {
        name.put(self);
    }

    /// The length of a record says where it ends.
    #[inline]
    fn end(&mut self, _: bool) {}
}

impl WireReader for Bytes<'_> {
    #[inline]
    fn unsigned(&mut self) -> Option<u64> {
        Bytes::unsigned(self)
    }

    #[inline]
    fn signed(&mut self) -> Option<i64> {
        Bytes::signed(self)
    }

    #[inline]
    fn variant(&mut self) -> Option<u8> {
        let [number] = Bytes::array(self)?;
        Some(number)
    }

    #[inline]
    fn time(&mut self) -> Option<u64> {
        Bytes::unsigned(self)
    }

    #[inline]
    fn sequence(&mut self) -> Option<u32> {
        Bytes::array(self).map(u32::from_le_bytes)
    }

    #[inline]
    fn address(&mut self) -> Option<u64> {
        Bytes::array(self).map(u64::from_le_bytes)
    }

    #[inline]
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        bytes.copy_from_slice(self.take(bytes.len())?);
        Some(())
    }

    #[inline]
    fn name(&mut self, _: Tid) -> Option<Comm> {
        Comm::take(self)
    }

    #[inline]
    fn is_end(&mut self) -> Option<bool> {
        Some(self.0.is_empty())
    }
}
