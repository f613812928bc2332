//! The packets of one direction that carry text: their keys, and the lengths of the ids that they are sent to.
//!
//! ```text
//!  traffic secret ─▶ key of headers ─▶ number, key phase ─▶ key of this phase, of the next or of the one before ─▶ frames
//! ```
//!
//! A packet says neither how long its receiver's id is, nor its whole number, nor how often keys were updated. That it
//! authenticates proves all three; so the most likely ones are tried first.

use super::keys::{BareHeader, HeaderKey, PayloadKey, updated};
use super::numbers::PacketNumbers;
use super::packet::{MAX_ID_LEN, QuicVersion};
use crate::key_log::Secret;
use crate::suite::Suite;
use arrayvec::ArrayVec;
use std::ops::Range;
use wirelap_events::Count;

/// Lengths of ids that are tried.
const MAX_LENGTHS: usize = 4;

/// Numbers that are tried, a window apart: packets are missing from a capture that their receiver got.
const MAX_NUMBERS: u64 = 4;

/// Distance up to which numbers are tried where nothing else opens a packet.
const FARTHEST_NUMBER: u64 = 1 << 20;

/// Bytes of the longest packets before anything is known of the path (RFC 9000 §14).
const MIN_LONGEST: usize = 1200;

/// Lengths of packets that are remembered, and places of an id at which a packet may begin.
const MAX_SEGMENT_LENS: usize = 4;

/// The effort to open a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The keys and numbers that are likely.
    Usual,
    /// Those after a long time without packets, too.
    Thorough,
}

/// Bytes that may be decrypted in vain, and for each byte that was decrypted.
const BUDGET: u64 = 4 << 20;
const BUDGET_PER_BYTE: u64 = 16;

/// The packets of one direction that carry text.
#[derive(Debug)]
pub struct ApplicationPackets {
    /// Lengths of the ids that its packets may be sent to, the last one that was right first.
    id_lens: ArrayVec<u8, MAX_LENGTHS>,
    keys: Option<Box<PhaseKeys>>,
    largest: Option<u64>,
    /// The largest number that the other direction has acknowledged.
    acknowledged: Option<u64>,
    /// The id that the last packet that was opened was sent to.
    id: ArrayVec<u8, MAX_ID_LEN>,
    /// Lengths of the last packets that were opened, each once, the newest first.
    lens: ArrayVec<usize, MAX_SEGMENT_LENS>,
    /// Bytes that may yet be decrypted in vain.
    budget: Count,
    /// Datagrams with packets that were not.
    pub failed: Count,
    /// The numbers that came, and those that did not.
    pub numbers: PacketNumbers,
}

impl Default for ApplicationPackets {
    fn default() -> ApplicationPackets {
        ApplicationPackets {
            id_lens: ArrayVec::new(),
            keys: None,
            largest: None,
            acknowledged: None,
            id: ArrayVec::new(),
            lens: ArrayVec::new(),
            budget: Count(BUDGET),
            failed: Count(0),
            numbers: PacketNumbers::default(),
        }
    }
}

/// The keys of one direction, in their phases.
#[derive(Debug)]
struct PhaseKeys {
    suite: Suite,
    version: QuicVersion,
    header: HeaderKey,
    /// The bit that packets of the present phase have.
    phase: bool,
    previous: Option<PayloadKey>,
    present: PayloadKey,
    next: PayloadKey,
    /// The secret of the next phase.
    next_secret: Secret,
}

impl PhaseKeys {
    fn new(suite: Suite, version: QuicVersion, secret: &Secret) -> Option<PhaseKeys> {
        let next_secret = updated(suite, version, secret)?;
        Some(PhaseKeys {
            suite,
            version,
            header: HeaderKey::new(suite, version, secret)?,
            phase: false,
            previous: None,
            present: PayloadKey::new(suite, version, secret)?,
            next: PayloadKey::new(suite, version, &next_secret)?,
            next_secret,
        })
    }

    /// The key of the phase after the next one.
    fn second_next(&self) -> Option<PayloadKey> {
        let secret = updated(self.suite, self.version, &self.next_secret)?;
        PayloadKey::new(self.suite, self.version, &secret)
    }

    /// The next phase has begun.
    fn advance(&mut self) -> Option<()> {
        let secret = updated(self.suite, self.version, &self.next_secret)?;
        let key = PayloadKey::new(self.suite, self.version, &secret)?;
        self.previous =
            Some(std::mem::replace(&mut self.present, std::mem::replace(&mut self.next, key)));
        self.next_secret = secret;
        self.phase = !self.phase;
        Some(())
    }
}

impl ApplicationPackets {
    /// Sets the traffic secret with which the direction begins.
    pub fn begin(&mut self, suite: Suite, version: QuicVersion, secret: &Secret) {
        self.keys = PhaseKeys::new(suite, version, secret).map(Box::new);
    }

    /// True if there are keys.
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Packets may be sent to an id of this length.
    pub fn note_id_len(&mut self, len: u8) {
        if usize::from(len) <= MAX_ID_LEN && !self.id_lens.contains(&len) {
            if self.id_lens.is_full() {
                self.id_lens.pop();
            }
            self.id_lens.push(len);
        }
    }

    /// Notes that the other direction has acknowledged a packet: the next ones are near it.
    pub fn note_acknowledged(&mut self, number: u64) {
        self.acknowledged = self.acknowledged.max(Some(number));
    }

    /// Lengths that packets may have which lie one behind the other: several datagrams of one length, but for the last one, are handed
    /// to the device at once (`UDP_SEGMENT` of Linux). Each begins like the last one that was opened: with the id that it is sent to.
    pub fn segment_lens(&self, packets: &[u8]) -> ArrayVec<usize, { 2 * MAX_SEGMENT_LENS }> {
        let is_begin = |begin: &[u8]| {
            let Some((first, behind)) = begin.split_first() else { return false };
            first & 0xC0 == 0x40 && !self.id.is_empty() && behind.starts_with(&self.id)
        };
        let begins = (1..packets.len())
            .filter(|at| packets.get(*at..).is_some_and(is_begin))
            .take(MAX_SEGMENT_LENS);
        let mut lens: ArrayVec<usize, { 2 * MAX_SEGMENT_LENS }> = begins.collect();
        for len in self.lens.iter().copied().chain([MIN_LONGEST]) {
            if len < packets.len() && !lens.contains(&len) && !lens.is_full() {
                lens.push(len);
            }
        }
        lens
    }

    /// Opens a packet with a short header into `scratch`. Returns its number and where its payload lies; `None` if it is not read.
    pub fn open(
        &mut self,
        packet: &[u8],
        effort: Effort,
        scratch: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        for index in 0..self.id_lens.len() {
            let id_len = usize::from(*self.id_lens.get(index)?);
            let number_at = id_len.saturating_add(1);
            if let Some((number, payload)) = self.open_at(packet, number_at, effort, scratch) {
                if let Some(front) = self.id_lens.get_mut(..=index) {
                    front.rotate_right(1);
                }
                self.note_opened(packet, number_at);
                let earned = Count(BUDGET_PER_BYTE) * payload.len() as u64;
                self.budget = (self.budget + earned).min(Count(BUDGET));
                return Some((number, payload));
            }
        }
        None
    }

    fn note_opened(&mut self, packet: &[u8], number_at: usize) {
        self.id = packet.get(1..number_at).unwrap_or_default().iter().copied().collect();
        if self.lens.first() == Some(&packet.len()) {
            return;
        }
        self.lens.retain(|len| *len != packet.len());
        if self.lens.is_full() {
            self.lens.pop();
        }
        self.lens.insert(0, packet.len());
    }

    fn open_at(
        &mut self,
        packet: &[u8],
        number_at: usize,
        effort: Effort,
        scratch: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let keys = self.keys.as_deref_mut()?;
        let bare = keys.header.bare(packet, number_at)?;
        // A sender sends as much of a number as is needed beside what was acknowledged.
        let first = bare.number(self.largest.max(self.acknowledged));
        let is_thorough = effort == Effort::Thorough;
        let numbers = match effort {
            Effort::Usual => MAX_NUMBERS,
            Effort::Thorough => {
                MAX_NUMBERS.max(FARTHEST_NUMBER.checked_div(bare.window()).unwrap_or(0))
            }
        };
        let mut attempt = |key: &PayloadKey, numbers: u64| {
            open_with(key, packet, bare, (first, numbers), &mut self.budget, scratch)
        };
        let (number, payload) = if bare.phase() == keys.phase {
            if let Some(found) = attempt(&keys.present, numbers) {
                found
            } else {
                let later = keys.second_next().filter(|_| is_thorough)?;
                let found = attempt(&later, numbers)?;
                keys.advance()?;
                keys.advance()?;
                found
            }
        } else if let Some(late) = keys
            .previous
            .as_ref()
            .filter(|_| self.largest > Some(first))
            .and_then(|key| attempt(key, 1))
        {
            late
        } else {
            let found = attempt(&keys.next, numbers)?;
            keys.advance()?;
            found
        };
        self.largest = self.largest.max(Some(number));
        Some((number, payload))
    }
}

/// Opens a packet that has one of so many numbers from `first` on, a window apart.
fn open_with(
    key: &PayloadKey,
    packet: &[u8],
    bare: BareHeader,
    (first, numbers): (u64, u64),
    budget: &mut Count,
    scratch: &mut Vec<u8>,
) -> Option<(u64, Range<usize>)> {
    for step in 0..numbers {
        let number = first.saturating_add(bare.window().saturating_mul(step));
        if let Some(payload) = key.open(packet, bare, number, scratch) {
            return Some((number, payload));
        }
        let cost = packet.len() as u64;
        if budget.0 < cost {
            return None;
        }
        *budget -= cost;
    }
    None
}
