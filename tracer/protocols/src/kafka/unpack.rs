//! Decompresses batches (`CompressionType` in `org.apache.kafka.common.record`).
//!
//! ```text
//! 1 gzip    RFC 1952
//! 2 snappy  raw, or in the frames of snappy-java: | 82 'SNAPPY' 00 | i32 version | i32 compatible | (i32 length, raw) … |
//! 3 lz4     LZ4 frame format 1.6
//! 4 zstd    RFC 8878
//! ```
//!
//! Memory and time are bounded: a batch that decompresses to more than [`most`] bytes is not decompressed.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Every batch may decompress to this many bytes, even a small one.
const SMALL: usize = 256 << 10;

/// A batch may decompress to [`SMALL`] bytes and this many more for each of its bytes. gzip reaches about this ratio with
/// repetitive text.
const RATIO: usize = 1024;

/// No batch may decompress to more bytes.
const LARGEST: usize = 32 << 20;

/// The buffer's capacity between batches.
const KEPT: usize = 64 << 10;

/// How many bytes a batch of `bytes` compressed bytes may decompress to.
fn most(bytes: usize) -> usize {
    bytes.saturating_mul(RATIO).saturating_add(SMALL).min(LARGEST)
}

/// The buffer that batches are decompressed into.
#[derive(Debug, Default)]
pub(super) struct DecompressBuffer(Vec<u8>);

impl DecompressBuffer {
    /// Decompresses a batch's records; `None` if they are invalid or would become too large.
    pub fn open(&mut self, codec: i16, packed: &[u8]) -> Option<&[u8]> {
        self.0.clear();
        let most = most(packed.len());
        let out = &mut self.0;
        match codec {
            1 => read(flate2::read::MultiGzDecoder::new(packed), most, out),
            2 => snappy(packed, most, out),
            3 => read(lz4_flex::frame::FrameDecoder::new(packed), most, out),
            4 => zstd(packed, most, out),
            _ => None,
        }?;
        Some(&self.0)
    }

    /// Frees the memory of a large batch.
    pub fn trim(&mut self) {
        self.0.clear();
        self.0.shrink_to(KEPT);
    }
}

fn read(from: impl Read, most: usize, out: &mut Vec<u8>) -> Option<()> {
    from.take((most as u64).saturating_add(1)).read_to_end(out).ok()?;
    (out.len() <= most).then_some(())
}

/// Decompresses zstd block by block, so that the window cannot need more memory than the whole batch may take.
fn zstd(mut packed: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(LARGEST as u64);
    decoder.init(&mut packed).ok()?;
    let strategy = BlockDecodingStrategy::UptoBytes(most);
    let is_whole = decoder.decode_blocks(&mut packed, strategy).ok()?;
    if !is_whole {
        return None;
    }
    decoder.collect_to_writer(&mut *out).ok()?;
    (out.len() <= most).then_some(())
}

/// The magic number of snappy-java's framing.
const XERIAL: &[u8] = b"\x82SNAPPY\0";

/// Number of bytes of snappy-java's header.
const XERIAL_BYTES: usize = 16;

fn snappy(packed: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut decoder = snap::raw::Decoder::new();
    if !packed.starts_with(XERIAL) {
        return block(&mut decoder, packed, most, out);
    }
    let mut rest = packed.get(XERIAL_BYTES..)?;
    while !rest.is_empty() {
        let (len, tail) = rest.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        let (raw, tail) = tail.split_at_checked(len)?;
        block(&mut decoder, raw, most, out)?;
        rest = tail;
    }
    Some(())
}

/// Decompresses one raw block, which starts with its decompressed length.
fn block(
    decoder: &mut snap::raw::Decoder,
    raw: &[u8],
    most: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (before, len) = (out.len(), snap::raw::decompress_len(raw).ok()?);
    let end = before.checked_add(len).filter(|&end| end <= most)?;
    out.resize(end, 0);
    decoder.decompress(raw, out.get_mut(before..)?).ok().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn raw(bytes: &[u8]) -> Vec<u8> {
        snap::raw::Encoder::new().compress_vec(bytes).unwrap()
    }

    fn xerial(bytes: &[u8]) -> Vec<u8> {
        let mut out = [XERIAL, b"\0\0\0\x01\0\0\0\x01"].concat();
        for chunk in bytes.chunks(1000) {
            let raw = raw(chunk);
            out.extend(u32::try_from(raw.len()).unwrap().to_be_bytes());
            out.extend(raw);
        }
        out
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn all(bytes: &[u8]) -> [(i16, Vec<u8>); 5] {
        [(1, gzip(bytes)), (2, raw(bytes)), (2, xerial(bytes)), (3, lz4(bytes)), (4, zstd(bytes))]
    }

    #[test]
    fn every_codec_is_opened() {
        let bytes: Vec<u8> = (0..40_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut unpacked = DecompressBuffer::default();
        for (codec, packed) in all(&bytes) {
            assert_eq!(unpacked.open(codec, &packed), Some(&bytes[..]), "{codec}");
            assert_eq!(unpacked.open(codec, &packed[..packed.len() / 2]), None, "{codec}");
        }
        assert_eq!(unpacked.open(5, b"?"), None);
        assert_eq!(unpacked.open(0, b""), None);
    }

    #[test]
    fn what_swells_beyond_measure_stays_closed() {
        let bytes = vec![b'x'; LARGEST + 1];
        let mut unpacked = DecompressBuffer::default();
        for (codec, packed) in all(&bytes) {
            assert_eq!(unpacked.open(codec, &packed), None, "{codec}");
            assert!(unpacked.0.capacity() <= 2 * LARGEST, "{codec}");
        }
        unpacked.trim();
        let some = vec![b'x'; SMALL];
        for (codec, packed) in all(&some) {
            assert_eq!(unpacked.open(codec, &packed).map(<[u8]>::len), Some(SMALL), "{codec}");
        }
        unpacked.trim();
        assert!(unpacked.0.capacity() <= KEPT);
    }

    #[test]
    fn any_bytes_end_well() {
        let bytes: Vec<u8> = (0..6000_u32).flat_map(|n| (n % 77).to_le_bytes()).collect();
        let mut unpacked = DecompressBuffer::default();
        for (codec, packed) in all(&bytes) {
            for at in 0..packed.len().min(600) {
                for bit in [1, 0x80] {
                    let mut broken = packed.clone();
                    broken[at] ^= bit;
                    if let Some(opened) = unpacked.open(codec, &broken) {
                        assert!(opened.len() <= most(broken.len()));
                    }
                }
            }
        }
    }
}
