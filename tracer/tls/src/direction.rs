//! One direction: its keys, and the numbers of its records.
//!
//! Nothing says which key a record is encrypted with, and which number it has; that it authenticates proves both. So a record
//! that the present key does not open is tried with the next one (the handshake is over, or the key was updated), and after a
//! loss with the numbers that it may have.

use crate::deframer::{Deframer, HEADER_LEN, MIN_SEALED, RecordHeader, Unit, kind};
use crate::hello::{Hello, HelloReader};
use crate::key::{Epoch, KeyMaterial, RecordKey, Text};
use crate::key_log::Secret;
use crate::schedule;
use crate::suite::Suite;
use wirelap_events::{ByteRange, Count, Offset, Size};

/// The most numbers that are tried after a loss.
const MAX_TRIES: u64 = 4096;

/// Bytes that may be decrypted in vain, and for each byte that was decrypted.
const BUDGET: u64 = 16 << 20;
const BUDGET_PER_BYTE: u64 = 64;

/// The fewest bytes of a record in which something may be lost: a header, and what [`MIN_SEALED`] says.
const MIN_RECORD: u64 = HEADER_LEN as u64 + MIN_SEALED as u64;

/// Keys that come after the present one.
#[derive(Debug, Default)]
pub enum Coming {
    /// None is known.
    #[default]
    Nothing,
    /// TLS 1.2: the one that the handshake has agreed on.
    Agreed(KeyMaterial),
    /// TLS 1.3.
    Tls13 {
        suite: Suite,
        /// Secret with which the rest of the handshake is encrypted.
        handshake: Option<Secret>,
        /// Secret with which the next application data is encrypted.
        traffic: Option<Secret>,
    },
}

/// Hello, text or gap that is found in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundContent<'a> {
    /// A hello message.
    Hello(Hello),
    /// Text of the application.
    Text { record: ByteRange, text: &'a [u8] },
    /// Bytes that may have so much text, which cannot be read.
    Unread { range: ByteRange, at_most: u64, is_record: bool },
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct TlsDirection {
    deframer: Deframer,
    pub records: DirectionRecords,
}

impl TlsDirection {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        self.deframer.held_bytes() + self.records.hellos.held_bytes()
    }

    /// The next bytes, of which the first is at `at`.
    pub fn feed(
        &mut self,
        at: Offset,
        bytes: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        let records = &mut self.records;
        self.deframer.feed(at, bytes, &mut |unit| records.unit(unit, scratch, out));
    }

    /// Bytes that will never come.
    pub fn gap(
        &mut self,
        at: Offset,
        len: u64,
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        let records = &mut self.records;
        self.deframer.gap(at, len, &mut |unit| records.unit(unit, scratch, out));
        records.hellos.reset();
    }
}

/// The records of one direction.
#[derive(Debug)]
pub struct DirectionRecords {
    hellos: HelloReader,
    /// The present key; `None` before the first record that is encrypted.
    epoch: Option<Epoch>,
    pub coming: Coming,
    /// Records that may have passed since the last one whose number was certain.
    missed: Count,
    /// Bytes that may yet be decrypted in vain.
    budget: Count,
    /// Records that were opened.
    pub opened: Count,
    /// Encrypted records that were not.
    pub failed: Count,
}

impl Default for DirectionRecords {
    fn default() -> DirectionRecords {
        DirectionRecords {
            hellos: HelloReader::default(),
            epoch: None,
            coming: Coming::Nothing,
            missed: Count(0),
            budget: Count(BUDGET),
            opened: Count(0),
            failed: Count(0),
        }
    }
}

/// A record that may be encrypted.
#[derive(Clone, Copy)]
struct Sealed<'a> {
    header: RecordHeader,
    body: &'a [u8],
}

impl Sealed<'_> {
    /// Bytes of the budget that decrypting the record in vain takes.
    fn cost(&self) -> u64 {
        (self.body.len() as u64).saturating_add(HEADER_LEN as u64)
    }
}

impl DirectionRecords {
    fn unit(
        &mut self,
        unit: Unit<'_>,
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        match unit {
            Unit::Record { at, header, body } => {
                self.record(at, Sealed { header, body }, scratch, out);
            }
            Unit::Damaged { at, header } => {
                self.hellos.reset();
                self.not_read(at, header, out);
            }
            Unit::Lost(range) => {
                self.hellos.reset();
                self.missed += range.len() / MIN_RECORD;
                self.missed += 1;
                let at_most = range.len();
                out(self, FoundContent::Unread { range, at_most, is_record: false });
            }
        }
    }

    fn record(
        &mut self,
        at: Offset,
        sealed: Sealed<'_>,
        scratch: &mut Vec<u8>,
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        let header = sealed.header;
        if !self.is_sealed(header) {
            return match header.kind {
                kind::HANDSHAKE => self.handshake(sealed.body, out),
                kind::CHANGE_CIPHER_SPEC => self.change(),
                _ => {}
            };
        }
        let Some(Text { kind, len }) = self.open(sealed, scratch) else {
            return self.not_read(at, header, out);
        };
        self.opened += 1;
        let earned = Count(BUDGET_PER_BYTE) * len as u64;
        self.budget = (self.budget + earned).min(Count(BUDGET));
        let text = scratch.get(..len).unwrap_or_default();
        match kind {
            kind::APPLICATION_DATA => {
                let record = ByteRange::new(at, header.record_len());
                out(self, FoundContent::Text { record, text });
            }
            // Of TLS 1.3, all that is needed of the handshake is in the clear.
            kind::HANDSHAKE if matches!(self.coming, Coming::Tls13 { .. }) => {}
            kind::HANDSHAKE => self.handshake(text, out),
            kind::CHANGE_CIPHER_SPEC => self.change(),
            _ => {}
        }
    }

    /// True if a record is encrypted.
    fn is_sealed(&self, header: RecordHeader) -> bool {
        match self.coming {
            // The other types are there for old middleboxes, or are alerts before there is a key (RFC 8446 §5).
            Coming::Tls13 { .. } => header.kind == kind::APPLICATION_DATA,
            Coming::Nothing | Coming::Agreed(_) => {
                self.epoch.is_some() || header.kind == kind::APPLICATION_DATA
            }
        }
    }

    fn handshake(
        &mut self,
        bytes: &[u8],
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        let mut hellos = std::mem::take(&mut self.hellos);
        hellos.feed(bytes, &mut |hello| out(self, FoundContent::Hello(hello)));
        self.hellos = hellos;
    }

    /// TLS 1.2: what follows is encrypted with the key that was agreed on.
    fn change(&mut self) {
        if let Coming::Agreed(material) = self.coming
            && let Some(key) = material.key()
        {
            self.epoch = Some(Epoch::new(key));
            self.coming = Coming::Nothing;
            self.missed = Count(0);
        }
    }

    /// A record is not read, or not all of it is there.
    fn not_read(
        &mut self,
        at: Offset,
        header: RecordHeader,
        out: &mut dyn FnMut(&mut DirectionRecords, FoundContent<'_>),
    ) {
        self.missed += 1;
        if header.kind != kind::APPLICATION_DATA {
            return;
        }
        self.failed += 1;
        // Before the first key, it is a part of the handshake.
        let Some(epoch) = &self.epoch else { return };
        let overhead = epoch.key.overhead() as u64;
        let at_most = u64::from(header.len).saturating_sub(overhead);
        let range = ByteRange::new(at, header.record_len());
        out(self, FoundContent::Unread { range, at_most, is_record: true });
    }

    /// Opens a record into `scratch`.
    fn open(&mut self, sealed: Sealed<'_>, scratch: &mut Vec<u8>) -> Option<Text> {
        let tries = self.tries(sealed);
        if let Some(epoch) = &mut self.epoch
            && let Some((number, text)) =
                find(&epoch.key, sealed, (epoch.next, tries), scratch, &mut self.budget)
        {
            epoch.passed(number);
            self.missed = Count(0);
            return Some(text);
        }
        for (index, material) in self.following().into_iter().enumerate() {
            let Some(key) = material.and_then(|material| material.key()) else { continue };
            let found = find(&key, sealed, (0, tries), scratch, &mut self.budget);
            if let Some((number, text)) = found {
                let mut epoch = Epoch::new(key);
                epoch.passed(number);
                self.epoch = Some(epoch);
                self.adopted(index);
                self.missed = Count(0);
                return Some(text);
            }
        }
        None
    }

    /// Number of record numbers that are tried for a record.
    fn tries(&self, sealed: Sealed<'_>) -> u64 {
        let affordable = self.budget.0.checked_div(sealed.cost()).unwrap_or_default();
        (Count(self.missed.0.min(MAX_TRIES).min(affordable)) + 1).0
    }

    /// The keys that may come next.
    fn following(&self) -> [Option<KeyMaterial>; 2] {
        match &self.coming {
            Coming::Nothing => [None, None],
            Coming::Agreed(material) => [Some(*material), None],
            Coming::Tls13 { suite, handshake, traffic } => {
                [handshake, traffic].map(|secret| schedule::tls13_key(*suite, secret.as_ref()?))
            }
        }
    }

    /// The key with this index has come.
    fn adopted(&mut self, index: usize) {
        match &mut self.coming {
            Coming::Nothing => {}
            Coming::Agreed(_) => self.coming = Coming::Nothing,
            Coming::Tls13 { suite, handshake, traffic } => {
                *handshake = None;
                if index > 0 {
                    *traffic = traffic.and_then(|secret| schedule::updated(*suite, &secret));
                }
            }
        }
    }
}

/// The number that a record has, of so many from `first` on, and its text.
fn find(
    key: &RecordKey,
    sealed: Sealed<'_>,
    (first, tries): (u64, u64),
    scratch: &mut Vec<u8>,
    budget: &mut Count,
) -> Option<(u64, Text)> {
    for number in first..first.saturating_add(tries) {
        if let Some(text) = key.open(number, sealed.header, sealed.body, scratch) {
            return Some((number, text));
        }
        *budget -= sealed.cost();
    }
    None
}
