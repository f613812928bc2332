//! Decompresses batches (`CompressionType` in `org.apache.kafka.common.record`).
//!
//! ```text
//! 1 gzip    RFC 1952
//! 2 snappy  raw, or in the frames of snappy-java: | 82 'SNAPPY' 00 | i32 version | i32 compatible | (i32 length, raw) … |
//! 3 lz4     LZ4 frame format 1.6; in message sets of version 0, with another header checksum (KIP-57)
//! 4 zstd    RFC 8878
//! ```
//!
//! Memory and time are bounded: no batch may decompress to more than [`LARGEST`] bytes, and the batches of a connection together
//! to no more than an [`Allowance`] that grows with what they are compressed to. zstd writes a run of equal bytes in 4 bytes for
//! each 128 KiB (RFC 8878 §3.1.1.2), so that a real batch may be tens of thousands of times as long as what is sent.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Every batch earns this many bytes, even a small one: what producers put into one at most by default (`max.request.size`,
/// and `message.max.bytes` in librdkafka, which both count before compression).
const PER_BATCH: u64 = 1 << 20;

/// A batch earns [`PER_BATCH`] bytes and this many more for each of its bytes. gzip reaches about this ratio with
/// repetitive text.
const PER_BYTE: u64 = 1024;

/// No batch may decompress to more bytes.
const LARGEST: usize = 32 << 20;

/// The most bytes that are saved for later batches: about a tenth of a second's work.
const SAVED: u64 = 256 << 20;

/// The buffer's capacity between batches.
const KEPT: usize = 64 << 10;

/// Number of bytes that the batches of a connection may still decompress to.
#[derive(Debug)]
struct Allowance(u64);

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance(SAVED)
    }
}

impl Allowance {
    /// Adds what a batch of `bytes` compressed bytes earns. Returns how many bytes it may decompress to.
    fn earn(&mut self, bytes: usize) -> usize {
        let earned = (bytes as u64).saturating_mul(PER_BYTE).saturating_add(PER_BATCH);
        self.0 = self.0.saturating_add(earned).min(SAVED);
        usize::try_from(self.0).unwrap_or(usize::MAX).min(LARGEST)
    }

    fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes as u64);
    }
}

/// The buffer that the batches of a connection are decompressed into.
#[derive(Debug, Default)]
pub(super) struct DecompressBuffer {
    bytes: Vec<u8>,
    allowance: Allowance,
}

impl DecompressBuffer {
    /// Decompresses a batch's records; `None` if they are invalid or would become too large.
    pub fn open(&mut self, codec: i16, packed: &[u8]) -> Option<&[u8]> {
        self.bytes.clear();
        let most = self.allowance.earn(packed.len());
        let out = &mut self.bytes;
        let opened = match codec {
            1 => read(flate2::read::MultiGzDecoder::new(packed), most, out),
            2 => snappy(packed, most, out),
            3 => lz4(packed, most, out),
            4 => zstd(packed, most, out),
            _ => None,
        };
        // A batch that is invalid or too large took up to `most` bytes of work.
        self.allowance.spend(if opened.is_some() { out.len() } else { most });
        opened.map(|()| &self.bytes[..])
    }

    /// Frees the memory of a large batch.
    pub fn trim(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
    }
}

fn read(from: impl Read, most: usize, out: &mut Vec<u8>) -> Option<()> {
    from.take((most as u64).saturating_add(1)).read_to_end(out).ok()?;
    (out.len() <= most).then_some(())
}

/// The magic number of an LZ4 frame.
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];

/// The most bytes of a frame's header: magic number, flags, block size, content size, dictionary, checksum.
const LZ4_LONGEST_HEADER: usize = 19;

/// Decompresses an LZ4 frame. Producers of message sets of version 0 compute the header checksum over the magic number as well, and
/// brokers do so for old consumers (KIP-57): it is not checked, but put right.
fn lz4(packed: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let (magic, rest) =
        packed.split_first_chunk::<4>().filter(|(magic, _)| **magic == LZ4_MAGIC)?;
    let flags = *rest.first()?;
    let len = match (flags & 0x08 != 0, flags & 0x01 != 0) {
        (false, false) => 2,
        (false, true) => 6,
        (true, false) => 10,
        (true, true) => 14,
    };
    let (descriptor, rest) = rest.split_at_checked(len)?;
    let (_, blocks) = rest.split_first()?;
    let [_, checksum, ..] = xxh32_of_few(descriptor).to_le_bytes();
    let mut header = [0; LZ4_LONGEST_HEADER];
    let whole = magic.iter().chain(descriptor).chain([&checksum]);
    header.iter_mut().zip(whole).for_each(|(to, from)| *to = *from);
    let header = header.get(..LZ4_MAGIC.len().saturating_add(len).saturating_add(1))?;
    read(lz4_flex::frame::FrameDecoder::new(header.chain(blocks)), most, out)
}

/// XXH32 with seed 0 of fewer than 16 bytes (xxHash's `xxhash_spec.md`).
fn xxh32_of_few(bytes: &[u8]) -> u32 {
    const PRIMES: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];
    let [one, two, three, four, five] = PRIMES;
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut sum = five.wrapping_add(len);
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        sum = sum.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(three));
        sum = sum.rotate_left(17).wrapping_mul(four);
    }
    for &byte in rest {
        sum = sum.wrapping_add(u32::from(byte).wrapping_mul(five));
        sum = sum.rotate_left(11).wrapping_mul(one);
    }
    sum = (sum ^ (sum >> 15)).wrapping_mul(two);
    sum = (sum ^ (sum >> 13)).wrapping_mul(three);
    sum ^ (sum >> 16)
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

    /// kafka-python's `lz4_encode_old_kafka` and librdkafka up to version 0.9.1 write such a checksum.
    #[test]
    fn an_old_header_checksum_of_lz4_is_not_checked() {
        assert_eq!(xxh32_of_few(b""), 0x02CC_5D05);
        assert_eq!(xxh32_of_few(b"abc"), 0x32D1_53FF);
        let bytes = b"temperature 21.5 ".repeat(50);
        let mut packed = lz4(&bytes);
        assert!(packed[4] & 0x09 == 0, "neither a content size nor a dictionary");
        let [_, right, ..] = xxh32_of_few(&packed[4..6]).to_le_bytes();
        assert_eq!(packed[6], right);
        let [_, old, ..] = xxh32_of_few(&packed[..6]).to_le_bytes();
        packed[6] = old;
        assert_eq!(DecompressBuffer::default().open(3, &packed), Some(&bytes[..]));
        // A frame of nothing but its header is empty.
        for cut in (0..7).chain([packed.len() / 2]) {
            assert_eq!(DecompressBuffer::default().open(3, &packed[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn what_swells_beyond_measure_stays_closed() {
        let bytes = vec![b'x'; LARGEST + 1];
        let mut unpacked = DecompressBuffer::default();
        for (codec, packed) in all(&bytes) {
            assert_eq!(unpacked.open(codec, &packed), None, "{codec}");
            assert!(unpacked.bytes.capacity() <= 2 * LARGEST, "{codec}");
        }
        unpacked.trim();
        let some = vec![b'x'; 900_000];
        for (codec, packed) in all(&some) {
            assert_eq!(unpacked.open(codec, &packed).map(<[u8]>::len), Some(900_000), "{codec}");
        }
        unpacked.trim();
        assert!(unpacked.bytes.capacity() <= KEPT);
    }

    /// `blocks` times 128 KiB of zeros, 4 bytes each, in a zstd frame without content size (RFC 8878 §3.1.1).
    fn runs(blocks: u32) -> Vec<u8> {
        // A window of 1 MiB; blocks of type 1, of which the last has bit 0 set.
        let mut frame = b"\x28\xb5\x2f\xfd\x00\x50".to_vec();
        for block in 1..=blocks {
            let head = (128 << 10) << 3 | 1 << 1 | u32::from(block == blocks);
            frame.extend_from_slice(&head.to_le_bytes()[..3]);
            frame.push(0);
        }
        frame
    }

    #[test]
    fn runs_are_opened_whatever_their_ratio() {
        let mut unpacked = DecompressBuffer::default();
        for blocks in [7, 80, 255] {
            let packed = runs(blocks);
            let len = unpacked.open(4, &packed).map(<[u8]>::len);
            assert_eq!(len, Some(blocks as usize * (128 << 10)), "{blocks}");
            assert!(len > Some(packed.len() * 25_000));
        }
        // Batches of the default size are opened for ever.
        for _ in 0..400 {
            assert!(unpacked.open(4, &runs(8)).is_some());
        }
    }

    #[test]
    fn what_a_connection_takes_is_bounded() {
        let mut unpacked = DecompressBuffer::default();
        let bomb = runs(255);
        let opened = (0..100).filter(|_| unpacked.open(4, &bomb).is_some()).count();
        assert!((4..20).contains(&opened), "{opened}");
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
                        assert!(opened.len() <= LARGEST);
                    }
                }
            }
        }
    }
}
