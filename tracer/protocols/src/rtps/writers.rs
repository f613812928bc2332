//! Samples of a writer that were captured. This distinguishes retransmissions from first transmissions.

use super::entity::Guid;
use super::payload::PayloadShape;
use super::topics::{CachedReaders, WriterTopics};
use crate::memory::CachedName;
use wirelap_events::Count;

/// The most writers of a conversation that are remembered; then the one silent for longest is forgotten.
const MAX_WRITERS: usize = 64;

/// Number of samples of each writer that are remembered, up to its newest.
const WINDOW: u64 = 2048;

const WORD_BITS: u64 = u64::BITS as u64;

/// A user writer.
#[derive(Debug)]
pub(super) struct RtpsWriter {
    guid: Guid,
    /// Shape of the writer's type, as its samples show it.
    pub shape: PayloadShape,
    /// Time of the writer's last sample, counted in samples of the conversation.
    used: u64,
    newest: u64,
    /// The newest sample of which at least a fragment was captured; 0 before the first.
    begun: u64,
    /// A bit for each of the last `WINDOW` numbers, at the number modulo `WINDOW`.
    seen: [u64; (WINDOW / WORD_BITS) as usize],
    topic: CachedName,
    readers: CachedReaders,
}

impl RtpsWriter {
    fn new(guid: Guid) -> RtpsWriter {
        RtpsWriter {
            guid,
            shape: PayloadShape::default(),
            used: 0,
            newest: 0,
            begun: 0,
            seen: [0; _],
            topic: CachedName::default(),
            readers: CachedReaders::default(),
        }
    }

    /// True if the sample was captured before. For a sample too old to be remembered the answer is yes.
    pub fn has_seen(&self, number: u64) -> bool {
        match self.newest.checked_sub(number) {
            None => false,
            Some(age) if age >= WINDOW => true,
            Some(_) => self.word(number) & bit(number) != 0,
        }
    }

    /// Notes that a part of the sample was captured. Returns whether the sample was certainly first sent after the first
    /// captured one, because numbers increase.
    pub fn begin(&mut self, number: u64) -> bool {
        let follows = self.begun > 0 && number >= self.begun;
        self.begun = self.begun.max(number);
        follows
    }

    /// True if a part of a later sample was captured, so that this is a retransmission.
    pub fn is_past(&self, number: u64) -> bool {
        number < self.begun
    }

    /// Notes that the sample was captured.
    pub fn see(&mut self, number: u64) {
        let news = number.saturating_sub(self.newest);
        if news >= WINDOW {
            self.seen.fill(0);
        } else {
            for between in self.newest.saturating_add(1)..number {
                *self.word_mut(between) &= !bit(between);
            }
        }
        self.newest = self.newest.max(number);
        if self.newest.saturating_sub(number) < WINDOW {
            *self.word_mut(number) |= bit(number);
        }
    }

    /// The writer's topic; empty if it is not known.
    pub fn topic(&mut self, topics: &WriterTopics) -> &[u8] {
        self.topic.of(&self.guid, &topics.writers)
    }

    /// Returns the number of other participants that are known to read the topic.
    pub fn readers(&mut self, topics: &WriterTopics) -> u16 {
        let topic = self.topic.of(&self.guid, &topics.writers);
        let participant = self.guid.first_chunk().copied().unwrap_or_default();
        if topic.is_empty() { 0 } else { self.readers.of(topic, participant, topics) }
    }

    fn word(&self, number: u64) -> u64 {
        self.seen[word_index(number)]
    }

    fn word_mut(&mut self, number: u64) -> &mut u64 {
        &mut self.seen[word_index(number)]
    }
}

/// The index of a number's word; always below `WINDOW / WORD_BITS`.
fn word_index(number: u64) -> usize {
    usize::try_from(number % WINDOW / WORD_BITS).unwrap_or_default()
}

fn bit(number: u64) -> u64 {
    1 << (number % WORD_BITS)
}

/// The user writers of a conversation.
#[derive(Debug, Default)]
pub(super) struct Writers {
    writers: Vec<RtpsWriter>,
    clock: Count,
}

impl Writers {
    /// The writer with this GUID, which is added if it is new.
    pub fn of(&mut self, guid: Guid) -> &mut RtpsWriter {
        self.clock += 1;
        let index = self.slot_for(guid);
        let writer = &mut self.writers[index];
        writer.used = self.clock.0;
        writer
    }

    /// The index of this writer: its own, a new one, or that of the writer silent for longest.
    fn slot_for(&mut self, guid: Guid) -> usize {
        if let Some(index) = self.writers.iter().position(|writer| writer.guid == guid) {
            return index;
        }
        if self.writers.len() < MAX_WRITERS {
            let index = self.writers.len();
            self.writers.push(RtpsWriter::new(guid));
            return index;
        }
        let silent = self.writers.iter().enumerate().min_by_key(|(_, writer)| writer.used);
        let index = silent.map_or(0, |(index, _)| index);
        self.writers[index] = RtpsWriter::new(guid);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_differs_from_a_late_first_transmission() {
        let mut writer = RtpsWriter::new([1; 16]);
        for number in [1, 2, 4, 70] {
            assert!(!writer.has_seen(number));
            writer.see(number);
        }
        assert!([1, 2, 4, 70].iter().all(|&number| writer.has_seen(number)));
        assert!([3, 5, 6, 69, 71].iter().all(|&number| !writer.has_seen(number)));
        writer.see(3);
        assert!(writer.has_seen(3) && !writer.has_seen(5));
    }

    #[test]
    fn the_window_moves_on() {
        let mut writer = RtpsWriter::new([1; 16]);
        writer.see(5);
        writer.see(WINDOW + 4);
        assert!(writer.has_seen(5), "just inside");
        assert!(!writer.has_seen(6));
        writer.see(WINDOW + 5);
        assert!(writer.has_seen(5), "too old to know");
        assert!(!writer.has_seen(6));
        // The slot of 5 now is that of WINDOW + 5, and the next round starts clean.
        assert!(writer.has_seen(WINDOW + 5) && !writer.has_seen(WINDOW + 6));
        writer.see(10 * WINDOW + 6);
        assert!(!writer.has_seen(10 * WINDOW + 5));
        writer.see(u64::MAX);
        writer.see(1);
        assert!(writer.has_seen(u64::MAX) && writer.has_seen(1) && !writer.has_seen(u64::MAX - 1));
    }

    #[test]
    fn it_agrees_with_a_set() {
        let mut writer = RtpsWriter::new([1; 16]);
        let mut set = std::collections::HashSet::new();
        let (mut state, mut newest) = (7u64, 0);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = newest + 40 - (state >> 33) % 200.min(newest + 40);
            let known = set.contains(&number) || newest.saturating_sub(number) >= WINDOW;
            assert_eq!(writer.has_seen(number), known, "{number} of {newest}");
            writer.see(number);
            set.insert(number);
            newest = newest.max(number);
        }
    }

    #[test]
    fn the_writer_silent_for_longest_goes() {
        let mut writers = Writers::default();
        let guid = |number: usize| (number as u128).to_be_bytes();
        for number in 0..MAX_WRITERS {
            writers.of(guid(number)).see(1);
        }
        assert!(writers.of(guid(0)).has_seen(1));
        writers.of(guid(MAX_WRITERS)).see(1);
        assert_eq!(writers.writers.len(), MAX_WRITERS);
        assert!(writers.of(guid(0)).has_seen(1));
        assert!(!writers.of(guid(1)).has_seen(1));
    }
}
