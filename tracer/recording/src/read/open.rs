//! Opens files, compressed or not, and stdin.

use super::heads::PacketHeads;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// The first bytes of a file that is compressed with gzip.
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// The first bytes of a file that is compressed with zstd.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The most memory for what zstd refers back to: `zstd --long=27` and everything below.
const MAX_WINDOW: u64 = 128 << 20;

/// A file's bytes, uncompressed. `-` is stdin.
///
/// # Errors
/// The file cannot be opened, or not be read.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    open_through(path, |source| source)
}

/// As [`open`], but the bytes of the file, still compressed, are read through what `through` makes of them: a reader that counts them,
/// for instance.
///
/// # Errors
/// The path cannot be opened, is a folder, or cannot be read.
pub fn open_through(
    path: &Path,
    through: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return uncompressed(through(Box::new(io::stdin())));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    uncompressed(through(Box::new(file)))
}

/// The bytes of a file as [`open`] gives them, but of a classic capture that is not compressed only the beginning of each packet, as of
/// one with a short snap length.
///
/// # Errors
/// The file cannot be opened, or not be read.
pub fn open_heads(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    uncompressed(Box::new(PacketHeads::new(File::open(path)?)))
}

/// Bytes that may be compressed with gzip or zstd, uncompressed.
///
/// # Errors
/// The bytes cannot be read.
pub fn uncompressed(mut source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    source.by_ref().take(4).read_to_end(&mut start)?;
    let is_gzip = start.starts_with(&GZIP);
    let is_zstd = start.starts_with(&ZSTD);
    let source = Box::new(Cursor::new(start).chain(source));
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(source))
    } else if is_zstd {
        Box::new(ZstdFrames::Between(Peeked {
            byte: None,
            source: Box::new(BufReader::new(source)),
        }))
    } else {
        source
    })
}

/// A source of which one byte was looked at.
struct Peeked {
    byte: Option<u8>,
    source: Box<dyn Read + Send>,
}

impl Peeked {
    /// True if there are no more bytes.
    fn is_at_end(&mut self) -> io::Result<bool> {
        if self.byte.is_none() {
            let mut byte = [0];
            self.byte = (self.source.read(&mut byte)? > 0).then_some(byte[0]);
        }
        Ok(self.byte.is_none())
    }
}

impl Read for Peeked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (buffer.first_mut(), self.byte) {
            (Some(first), Some(byte)) => {
                *first = byte;
                self.byte = None;
                Ok(1)
            }
            _ => self.source.read(buffer),
        }
    }
}

type Decoder = StreamingDecoder<Peeked, FrameDecoder>;

/// zstd's frames, one behind the other (RFC 8878 §3.1).
enum ZstdFrames {
    Inside(Box<Decoder>),
    Between(Peeked),
    Ended,
}

impl ZstdFrames {
    /// Begins the next frame, if there is one.
    fn next(&mut self) -> io::Result<bool> {
        let mut source = match std::mem::replace(self, ZstdFrames::Ended) {
            ZstdFrames::Inside(decoder) => decoder.into_inner(),
            ZstdFrames::Between(source) => source,
            ZstdFrames::Ended => return Ok(false),
        };
        if source.is_at_end()? {
            return Ok(false);
        }
        let decoder = Decoder::new_with_max_window_size(source, MAX_WINDOW)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        *self = ZstdFrames::Inside(Box::new(decoder));
        Ok(true)
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let ZstdFrames::Inside(decoder) = self {
                let read = decoder.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            if !self.next()? {
                return Ok(0);
            }
        }
    }
}
