//! A classic capture file as if it had been made with a short snap length, for whoever looks only at the packets' headers: the rest of
//! large packets is not even read.

use crate::pcapng::classic::{
    ClassicHeader, HEADER_LEN, MAX_PACKET, Magic, PACKET_HEADER_LEN, PacketHeader,
};
use std::io::{self, BufReader, Read, Seek};

/// Bytes of a packet that are read: all headers and the beginning of the payload.
const HEAD: usize = 512;

/// Bytes that are read at once.
const CHUNK: usize = 2048;

/// The bytes of a file, of each packet only its head if it is a classic capture.
#[derive(Debug)]
pub struct PacketHeads<R> {
    source: BufReader<R>,
    /// The file's header; `None` before it was read, and of other files.
    header: Option<ClassicHeader>,
    /// Bytes of the file to pass over behind the packet in `ready`.
    skip: i64,
    /// Bytes to be handed out.
    ready: Vec<u8>,
    /// Bytes of `ready` that were handed out.
    taken: usize,
    /// The rest of the file is handed out as it is.
    is_plain: bool,
}

impl<R: Read + Seek> PacketHeads<R> {
    /// The heads of the packets in a file.
    pub fn new(source: R) -> PacketHeads<R> {
        PacketHeads {
            source: BufReader::with_capacity(CHUNK, source),
            header: None,
            skip: 0,
            ready: Vec::with_capacity(HEAD.saturating_add(PACKET_HEADER_LEN)),
            taken: 0,
            is_plain: false,
        }
    }

    /// Reads the next bytes that are to be handed out; none at the end.
    fn advance(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.taken = 0;
        self.source.seek_relative(std::mem::take(&mut self.skip))?;
        let Some(header) = self.header else { return self.begin() };
        if !self.take(PACKET_HEADER_LEN)? {
            self.is_plain = true;
            return Ok(());
        }
        match PacketHeader::read(&self.ready, &header) {
            Some(packet) if packet.captured <= MAX_PACKET => self.head(&header, &packet),
            _ => {
                self.is_plain = true;
                Ok(())
            }
        }
    }

    /// Reads the file's header.
    fn begin(&mut self) -> io::Result<()> {
        let is_whole = self.take(HEADER_LEN)?;
        let magic = self.ready.first_chunk().and_then(|&start| Magic::read(start));
        self.header =
            magic.filter(|_| is_whole).and_then(|magic| ClassicHeader::read(&self.ready, magic));
        self.is_plain = self.header.is_none();
        Ok(())
    }

    /// Reads the head of a packet, behind its header.
    fn head(&mut self, file: &ClassicHeader, packet: &PacketHeader) -> io::Result<()> {
        let captured = packet.captured as usize;
        let head = captured.min(HEAD);
        if head < captured {
            file.put_captured(&mut self.ready, u32::try_from(head).unwrap_or(u32::MAX));
            self.skip = i64::try_from(captured.saturating_sub(head)).unwrap_or(0);
        }
        self.take(head).map(|_| ())
    }

    /// Appends the next bytes to those that are to be handed out. Whether there were so many.
    fn take(&mut self, len: usize) -> io::Result<bool> {
        let taken = self.source.by_ref().take(len as u64).read_to_end(&mut self.ready)?;
        Ok(taken == len)
    }
}

impl<R: Read + Seek> Read for PacketHeads<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() && !self.is_plain {
            self.advance()?;
        }
        let ready = self.ready.get(self.taken..).unwrap_or_default();
        if ready.is_empty() && self.is_plain {
            return self.source.read(buffer);
        }
        let len = ready.len().min(buffer.len());
        buffer[..len].copy_from_slice(&ready[..len]);
        self.taken = self.taken.saturating_add(len);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A classic file with packets of these lengths, or as if they had been captured with a snap length.
    fn file(lengths: &[usize], snap: usize) -> Vec<u8> {
        let mut bytes = 0xA1B2_3C4D_u32.to_le_bytes().to_vec();
        bytes.extend([0; 12]);
        bytes.extend([1 << 20, 1].map(u32::to_le_bytes).as_flattened());
        for (number, &len) in lengths.iter().enumerate() {
            let [captured, original] =
                [len.min(snap), len].map(|len| u32::try_from(len).unwrap().to_le_bytes());
            bytes.extend([0; 8]);
            bytes.extend([captured, original].as_flattened());
            bytes.extend((0..len.min(snap)).map(|at| (at + number).to_le_bytes()[0]));
        }
        bytes
    }

    fn heads(file: Vec<u8>) -> Vec<u8> {
        let mut all = Vec::new();
        PacketHeads::new(Cursor::new(file)).read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn large_packets_are_cut_and_small_ones_are_whole() {
        let lengths = [60, 70_000, HEAD, HEAD + 1, 0, 9_000, 1];
        assert_eq!(heads(file(&lengths, usize::MAX)), file(&lengths, HEAD));
    }

    #[test]
    fn what_is_no_classic_capture_stays_as_it_is() {
        for len in [0, 3, 24, 5_000] {
            let other: Vec<u8> =
                std::iter::repeat_n(b"\x0A\x0D\x0D\x0Axyz", len).flatten().copied().collect();
            assert_eq!(heads(other.clone()), other);
        }
        let mut damaged = file(&[60, 70_000], usize::MAX);
        damaged.extend([0xFF; 40]);
        let end = heads(damaged.clone());
        assert!(end.ends_with(&[0xFF; 40]));
        damaged.truncate(30);
        assert_eq!(heads(damaged.clone()), damaged);
    }
}
