//! Cuts a TCP stream into payloads.

use std::io::{self, Read};

const HEADER: usize = 4;
const CHUNK: usize = 256 << 10;

/// Bytes that were read and not yet handed over.
pub struct ReadFrames {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    max: usize,
}

impl ReadFrames {
    /// Accepts payloads of up to `max` bytes.
    pub fn new(max: usize) -> ReadFrames {
        ReadFrames { buffer: vec![0; CHUNK], start: 0, end: 0, max }
    }

    /// Reads once. False at the end of the stream.
    pub fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let read = from.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read > 0)
    }

    /// Hands over the payloads that are complete. The error is the length that was too long.
    pub fn drain(&mut self, mut handle: impl FnMut(&[u8])) -> Result<(), usize> {
        loop {
            let pending = &self.buffer[self.start..self.end];
            let Some((header, rest)) = pending.split_first_chunk::<HEADER>() else {
                self.make_room(HEADER);
                return Ok(());
            };
            let length = u32::from_be_bytes(*header) as usize;
            if length > self.max {
                return Err(length);
            }
            let Some(payload) = rest.get(..length) else {
                self.make_room(HEADER + length);
                return Ok(());
            };
            handle(payload);
            self.start += HEADER + length;
        }
    }

    /// Moves what is left to the front, so that a frame of `bytes` fits and there is something to read into.
    fn make_room(&mut self, bytes: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + bytes > self.buffer.len() || self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its bytes in pieces of a fixed size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(into.len()).min(self.0.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn cut(stream: &[u8], piece: usize) -> Vec<Vec<u8>> {
        let mut frames = ReadFrames::new(1 << 20);
        let mut from = Pieces(stream, piece);
        let mut got = Vec::new();
        while frames.read(&mut from).unwrap() {
            frames.drain(|payload| got.push(payload.to_vec())).unwrap();
        }
        got
    }

    #[test]
    fn pieces_of_any_size_make_the_same_frames() {
        let payloads: Vec<Vec<u8>> = [0_usize, 1, 8, 300_000, 64, 600_000, 3]
            .iter()
            .map(|&n| vec![n.to_le_bytes()[0]; n])
            .collect();
        let stream: Vec<u8> = payloads
            .iter()
            .flat_map(|p| [&u32::try_from(p.len()).unwrap().to_be_bytes()[..], p].concat())
            .collect();
        for piece in [1, 2, 3, 5, 1000, CHUNK - 1, CHUNK, usize::MAX] {
            assert!(cut(&stream, piece) == payloads, "pieces of {piece}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        let mut frames = ReadFrames::new(64);
        frames.read(&mut &b"GET / HTTP/1.1\r\n"[..]).unwrap();
        assert_eq!(frames.drain(|_| panic!("no frame")), Err(0x4745_5420));
    }
}
