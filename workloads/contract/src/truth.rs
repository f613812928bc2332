//! The truth file: the times at which a workload sent and received each message, of its own clock.
//!
//! ```text
//! "WLTRUTH1"                                              8 bytes
//! then records of 24 bytes, little-endian:
//! +------+--------+----------------+------------------------------+
//! | kind | stream | flags (16 bit) |       sequence (32 bit)      |
//! +------+--------+----------------+------------------------------+
//! |              at: CLOCK_MONOTONIC, ns (64 bit)                  |
//! +----------------------------------------------------------------+
//! |              aux: see TruthKind (64 bit)                       |
//! +----------------------------------------------------------------+
//! ```
//! Flags: bit 0 reply, bit 1 warm-up.

use std::io::{self, Read, Write};
use wirelap_events::{Nanos, Stamp};

const MAGIC: &[u8; 8] = b"WLTRUTH1";
const RECORD_BYTES: usize = 24;
const REPLY: u16 = 1;
const WARMUP: u16 = 2;

/// Event in a message's life that a workload records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthKind {
    /// The application passed the message to the library. `aux` is the intended time of sending (equal to `at` when sent back to
    /// back).
    Publish,
    /// The callback of the application got the message. `aux` is the number of the subscriber in its process.
    Deliver,
    /// A ping got its reply. `aux` is the round-trip time in nanoseconds.
    RoundTrip,
}

/// One record of a truth file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruthRecord {
    /// Event in the message's life.
    pub kind: TruthKind,
    /// The stamp of the message.
    pub stamp: Stamp,
    /// Time of the event (`CLOCK_MONOTONIC`).
    pub at: Nanos,
    /// A further number, which [`TruthKind`] explains.
    pub aux: u64,
}

/// Why a truth file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// The file is not a truth file.
    #[error("not a wirelap truth file (it does not start with WLTRUTH1)")]
    NotTruth,
    /// A record has an unknown kind.
    #[error("record {index} of the truth file has the unknown kind {kind}")]
    UnknownKind {
        /// The number of the record, from 0.
        index: u64,
        /// The unknown kind.
        kind: u8,
    },
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a truth file.
pub struct TruthWriter<W: Write> {
    out: W,
}

impl<W: Write> TruthWriter<W> {
    /// Writes the beginning of the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(TruthWriter { out })
    }

    /// Goes on behind the records of a file that was begun before.
    pub fn go_on(out: W) -> Self {
        TruthWriter { out }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, truth: &TruthRecord) -> io::Result<()> {
        self.out.write_all(&encode(truth))
    }

    /// Flushes the file and returns it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Reads a truth file. An incomplete last record is ignored.
pub struct TruthReader<R: Read> {
    input: R,
    index: u64,
}

impl<R: Read> TruthReader<R> {
    /// Checks the beginning of the file.
    ///
    /// # Errors
    /// The file is not a truth file, or cannot be read.
    pub fn new(mut input: R) -> Result<Self, TruthError> {
        let mut magic = [0; 8];
        if read_full(&mut input, &mut magic)? < magic.len() || magic != *MAGIC {
            return Err(TruthError::NotTruth);
        }
        Ok(TruthReader { input, index: 0 })
    }
}

impl<R: Read> Iterator for TruthReader<R> {
    type Item = Result<TruthRecord, TruthError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = [0; RECORD_BYTES];
        match read_full(&mut self.input, &mut record) {
            Err(error) => return Some(Err(error.into())),
            Ok(got) if got < RECORD_BYTES => return None,
            Ok(_) => {}
        }
        let index = self.index;
        self.index += 1;
        Some(decode(&record).map_err(|kind| TruthError::UnknownKind { index, kind }))
    }
}

fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn encode(truth: &TruthRecord) -> [u8; RECORD_BYTES] {
    let kind = match truth.kind {
        TruthKind::Publish => 0,
        TruthKind::Deliver => 1,
        TruthKind::RoundTrip => 2,
    };
    let mut flags = 0;
    if truth.stamp.reply {
        flags |= REPLY;
    }
    if truth.stamp.warmup {
        flags |= WARMUP;
    }
    let mut record = [0; RECORD_BYTES];
    record[0] = kind;
    record[1] = truth.stamp.stream;
    record[2..4].copy_from_slice(&flags.to_le_bytes());
    record[4..8].copy_from_slice(&truth.stamp.seq.to_le_bytes());
    record[8..16].copy_from_slice(&truth.at.0.to_le_bytes());
    record[16..24].copy_from_slice(&truth.aux.to_le_bytes());
    record
}

/// Reads a record; the error is the unknown kind.
fn decode(record: &[u8; RECORD_BYTES]) -> Result<TruthRecord, u8> {
    let kind = match record[0] {
        0 => TruthKind::Publish,
        1 => TruthKind::Deliver,
        2 => TruthKind::RoundTrip,
        other => return Err(other),
    };
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&record[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let flags = u16::from_le_bytes([record[2], record[3]]);
    let seq = u32::from_le_bytes([record[4], record[5], record[6], record[7]]);
    let stamp =
        Stamp { stream: record[1], seq, reply: flags & REPLY != 0, warmup: flags & WARMUP != 0 };
    Ok(TruthRecord { kind, stamp, at: Nanos(word(8)), aux: word(16) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<TruthRecord> {
        let stamp = Stamp { stream: 5, seq: 0x0102_0304, reply: true, warmup: false };
        [TruthKind::Publish, TruthKind::Deliver, TruthKind::RoundTrip]
            .into_iter()
            .map(|kind| TruthRecord { kind, stamp, at: Nanos(u64::MAX - 1), aux: 9 })
            .collect()
    }

    fn written() -> Vec<u8> {
        let mut writer = TruthWriter::new(Vec::new()).unwrap();
        for truth in &sample() {
            writer.write(truth).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let read: Result<Vec<_>, _> = TruthReader::new(&bytes[..]).unwrap().collect();
        assert_eq!(read.unwrap(), sample());
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_records() {
        let bytes = written();
        for cut in MAGIC.len()..bytes.len() {
            let read: Result<Vec<_>, _> = TruthReader::new(&bytes[..cut]).unwrap().collect();
            assert_eq!(read.unwrap().len(), (cut - MAGIC.len()) / RECORD_BYTES);
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(TruthReader::new(&b"WLTR"[..]), Err(TruthError::NotTruth)));
        let mut bytes = written();
        bytes[MAGIC.len()] = 77;
        let first = TruthReader::new(&bytes[..]).unwrap().next();
        assert!(matches!(first, Some(Err(TruthError::UnknownKind { index: 0, kind: 77 }))));
    }
}
