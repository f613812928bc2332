//! Compressed batches.
//!
//! ```text
//! batch  | 1 | LZ4 block, without its size |    header 0: the messages as they are
//!
//! block  | token: literals (7..4), match length - 4 (3..0) | [length, while 255] | literals | u16 distance | [length] | …
//! ```
//!
//! Source: zenoh-transport 1.10, `src/common/batch.rs`; LZ4 block format, <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.

use crate::Reader;
use wirelap_events::Size;

/// A batch has no more bytes, compressed or not: its length has two bytes.
const LARGEST: usize = 1 << 16;

/// So many first bytes of a text are enough to see what it is.
const PEEKED: usize = 256;

/// The shortest match.
const MATCH_BYTES: usize = 4;

/// The buffer that batches are decompressed into. It has no memory before the first one.
#[derive(Debug, Default)]
pub struct UnpackBuffer(Vec<u8>);

impl UnpackBuffer {
    /// The text of a whole block; `None` if it is invalid.
    pub fn open(&mut self, packed: &[u8]) -> Option<&[u8]> {
        self.0.resize(LARGEST, 0);
        let len = lz4_flex::block::decompress_into(packed, &mut self.0).ok()?;
        self.0.get(..len)
    }

    /// Bytes of memory that the buffer uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.0.capacity())
    }
}

/// The first bytes of the text of a block, of which the end may be missing.
#[derive(Debug)]
pub struct PeekedText {
    bytes: [u8; PEEKED],
    len: usize,
}

impl PeekedText {
    /// Reads the start of a block; `None` if it is invalid.
    pub fn read(packed: &[u8]) -> Option<PeekedText> {
        let mut text = PeekedText { bytes: [0; PEEKED], len: 0 };
        let mut reader = Reader::new(packed);
        while let Some(token) = reader.u8() {
            let Some(count) = length(token >> 4, &mut reader) else { break };
            let literals = reader.take_up_to(count);
            let is_cut = literals.len() < count;
            literals.iter().try_for_each(|byte| text.push(*byte));
            if is_cut || text.is_full() {
                break;
            }
            // The last sequence has no match.
            let Some(distance) = reader.u16_le() else { break };
            let Some(count) = length(token & 0x0F, &mut reader) else { break };
            text.repeat(distance.into(), count.saturating_add(MATCH_BYTES))?;
        }
        Some(text)
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn is_full(&self) -> bool {
        self.len >= PEEKED
    }

    /// Adds a byte; `None` if there is no room for it.
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.len)? = byte;
        self.len = self.len.saturating_add(1);
        Some(())
    }

    /// Adds `count` bytes that start `distance` bytes before the end; `None` if that is before the start.
    fn repeat(&mut self, distance: usize, count: usize) -> Option<()> {
        let start = self.len.checked_sub(distance).filter(|_| distance > 0)?;
        let end = start.saturating_add(count.min(PEEKED));
        for at in start..end {
            let byte = *self.bytes.get(at).unwrap_or(&0);
            if self.push(byte).is_none() {
                break;
            }
        }
        Some(())
    }
}

/// A length of which the token has four bits.
fn length(bits: u8, reader: &mut Reader<'_>) -> Option<usize> {
    const MORE: u8 = 15;
    let mut len = usize::from(bits);
    let mut is_last = bits < MORE;
    while !is_last {
        let more = reader.u8()?;
        len = len.saturating_add(more.into());
        is_last = more < u8::MAX;
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_text_is_what_lz4_makes_of_it() {
        for text in [
            b"".to_vec(),
            b"demo/a".to_vec(),
            vec![b'x'; 5_000],
            (0..3_000_u32).flat_map(|n| (n % 700).to_le_bytes()).collect(),
        ] {
            let packed = lz4_flex::block::compress(&text);
            let mut buffer = UnpackBuffer::default();
            assert_eq!(buffer.open(&packed), Some(&text[..]));
            let peeked = PeekedText::read(&packed).unwrap();
            assert_eq!(peeked.bytes(), &text[..text.len().min(PEEKED)]);
            for cut in 0..packed.len() {
                let start = PeekedText::read(&packed[..cut]).unwrap();
                assert!(text.starts_with(start.bytes()), "{cut} bytes");
            }
        }
    }

    #[test]
    fn what_is_no_block_is_not_read() {
        let mut buffer = UnpackBuffer::default();
        // A match before the start, one of distance 0, and a text that is too long.
        for bad in [&b"\x10ab\xff\0\0"[..], b"\x10a\0\0\x10"] {
            assert!(PeekedText::read(bad).is_none(), "{bad:x?}");
            assert_eq!(buffer.open(bad), None, "{bad:x?}");
        }
        let bomb = lz4_flex::block::compress(&vec![7; LARGEST + 1]);
        assert_eq!(buffer.open(&bomb), None);
        assert!(buffer.held_bytes() <= 2 * LARGEST);
    }
}
