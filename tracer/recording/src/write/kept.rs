//! The newest events, kept in memory as the bytes of files that can be read: for what is written once it matters.

use super::encoder::Encoder;
use crate::pcapng::block;
use crate::record::Note;
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_events::{Body, Count, Event, Nanos, Size};

/// Number of parts of the memory. The oldest one goes as a whole.
const PARTS: usize = 16;

/// The time over which events are counted to decide whether they are kept.
const RATE_INTERVAL: Nanos = Nanos::from_millis(250);

/// Limits of the events that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepLimits {
    /// Events of this time are kept.
    pub time: Nanos,
    /// The most bytes.
    pub bytes: usize,
    /// The most events a second. While more come, none is kept, so that keeping them costs no time when there is none. `u64::MAX` for no
    /// limit.
    pub rate: u64,
}

/// A part of a recording that was kept.
#[derive(Clone, Debug)]
pub struct KeptPart {
    /// The bytes of a pcapng file.
    pub bytes: Arc<[u8]>,
    /// Offset of the part's events: before them are the notes and the sockets that were open.
    events: usize,
}

impl KeptPart {
    /// The section header, which is the first block, and the interface that may come before notes: interfaces are numbered by their
    /// order.
    fn header(&self) -> &[u8] {
        let word = |at: usize| {
            let word = self.bytes.get(at..)?.first_chunk();
            word.map(|word| u32::from_le_bytes(*word))
        };
        let end = |start: usize| {
            start.saturating_add(word(start.saturating_add(4)).unwrap_or(0) as usize)
        };
        let section = end(0);
        let has_interface = section < self.events && word(section) == Some(block::INTERFACE);
        let length = if has_interface { end(section) } else { section };
        self.bytes.get(..length).unwrap_or_default()
    }
}

/// A whole file as one part.
impl From<Vec<u8>> for KeptPart {
    fn from(bytes: Vec<u8>) -> KeptPart {
        KeptPart { bytes: bytes.into(), events: 0 }
    }
}

/// The parts of one recording that were kept, each of which can be read alone, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct KeptParts {
    /// The parts.
    pub parts: Vec<KeptPart>,
    /// The time of the first event that is kept; `None` if none is.
    pub since: Option<Nanos>,
    /// Events come too fast to be kept.
    pub is_paused: bool,
}

impl KeptParts {
    /// The bytes of one file of all parts. Its sections follow each other without a gap, so only the first has notes and the sockets that
    /// were open.
    pub fn joined(&self) -> impl Iterator<Item = &[u8]> {
        let first = self.parts.first().map(|part| &part.bytes[..]);
        let later = self.parts.iter().skip(1);
        let later = later
            .flat_map(|part| [part.header(), part.bytes.get(part.events..).unwrap_or_default()]);
        first.into_iter().chain(later)
    }
}

/// A part of the memory that is full.
#[derive(Debug)]
struct FullPart {
    kept: KeptPart,
    first: Nanos,
    last: Nanos,
}

/// Keeps the newest events.
#[derive(Debug)]
pub struct KeptEvents {
    limits: KeepLimits,
    encoder: Encoder,
    full: VecDeque<FullPart>,
    /// Bytes of all full parts.
    bytes: Size,
    /// Bytes that the part that is being filled began with: notes and the open sockets.
    base: usize,
    /// The first and the last time in the part that is being filled.
    span: Option<(Nanos, Nanos)>,
    /// Start of the interval in which events are counted, and their number.
    interval: (Nanos, Count),
    is_paused: bool,
}

impl KeptEvents {
    /// Keeps nothing yet. The encoder is a new one, with its notes.
    pub fn new(mut encoder: Encoder, limits: KeepLimits) -> KeptEvents {
        encoder.complete();
        KeptEvents {
            base: encoder.bytes().len(),
            limits,
            encoder,
            full: VecDeque::new(),
            bytes: Size(0),
            span: None,
            interval: (Nanos(0), Count(0)),
            is_paused: false,
        }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        self.count(event.at);
        let is_socket = matches!(event.body, Body::Socket(_) | Body::Closed(_));
        if self.is_paused && !is_socket {
            return;
        }
        self.encoder.event(event);
        if !self.is_paused {
            let (first, last) = self.span.unwrap_or((event.at, event.at));
            self.span = Some((first, last.max(event.at)));
        }
        if self.is_full() {
            self.end_part();
        }
    }

    /// Takes a note, which each part repeats if `is_repeated`.
    pub fn note(&mut self, note: Note<'_>, is_repeated: bool) {
        if is_repeated {
            self.encoder.standing_note(note);
        } else if !self.is_paused {
            self.encoder.note(note);
        }
    }

    /// All events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        if self.span.is_some() {
            self.encoder.tick(at);
        }
    }

    /// True if the part that is being filled has its share of the bytes; or of the time, unless the open sockets were most of it.
    fn is_full(&self) -> bool {
        let news = self.encoder.bytes().len().saturating_sub(self.base);
        let time = self.span.map_or(Nanos(0), |(first, last)| last - first);
        news >= self.part_bytes() || (news >= self.base && time * PARTS as u64 >= self.limits.time)
    }

    /// Ends the part that is being filled, and returns all parts that are kept now.
    pub fn parts(&mut self) -> KeptParts {
        if !self.is_paused {
            self.end_part();
        }
        KeptParts {
            parts: self.full.iter().map(|part| part.kept.clone()).collect(),
            since: self.full.front().map(|part| part.first),
            is_paused: self.is_paused,
        }
    }

    fn part_bytes(&self) -> usize {
        self.limits.bytes / PARTS
    }

    /// Counts an event, and decides at the end of an interval whether events are kept in the next one.
    fn count(&mut self, at: Nanos) {
        self.interval.1 += 1;
        let (began, events) = self.interval;
        let most = self.limits.rate.saturating_mul(RATE_INTERVAL.0) / 1_000_000_000;
        if events > most && !self.is_paused {
            self.is_paused = true;
            self.forget();
        }
        if at - began < RATE_INTERVAL {
            return;
        }
        // Half of the rate begins it again, so that it does not begin and end all the time.
        let is_slow = events <= most / 2;
        self.interval = (at, Count(0));
        if self.is_paused && is_slow {
            self.is_paused = false;
            self.forget();
        }
    }

    /// Forgets everything but the open sockets.
    fn forget(&mut self) {
        self.full.clear();
        self.bytes = Size(0);
        self.restart();
    }

    /// Begins a part with the open sockets.
    fn restart(&mut self) {
        self.encoder.complete();
        self.encoder.clear();
        self.encoder.restart();
        self.encoder.complete();
        self.base = self.encoder.bytes().len();
        self.span = None;
    }

    /// Ends the part that is being filled, and forgets the oldest ones.
    fn end_part(&mut self) {
        if let Some((first, last)) = self.span {
            self.encoder.complete();
            let kept = KeptPart { bytes: self.encoder.bytes().into(), events: self.base };
            self.bytes += kept.bytes.len();
            self.full.push_back(FullPart { kept, first, last });
            self.forget_old(last);
        }
        self.restart();
    }

    fn forget_old(&mut self, now: Nanos) {
        let most = self.limits.bytes.saturating_sub(self.part_bytes());
        while let Some(oldest) = self.full.front()
            && (self.bytes > most || oldest.last + self.limits.time < now)
        {
            self.bytes -= oldest.kept.bytes.len();
            self.full.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EncoderSettings, Entry, Note, Problems, Recording, SectionHeader};
    use wirelap_test_support::world::{World, process};

    const LIMITS: KeepLimits =
        KeepLimits { time: Nanos::from_millis(60_000), bytes: 1 << 20, rate: 1_000_000 };

    fn kept(limits: KeepLimits) -> KeptEvents {
        let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
        let encoder = Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None));
        KeptEvents::new(encoder, limits)
    }

    /// Messages on one connection, some time apart.
    fn messages(count: u32, apart: Nanos) -> World {
        let mut world = World::new();
        let mut pair =
            world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
        for _ in 0..count {
            world.message(&mut pair.up, &[b'x'; 64]);
            world.now += apart.0;
        }
        world
    }

    /// The events in the parts, and those of sockets that were known before.
    fn read(parts: &KeptParts) -> (Vec<Nanos>, usize) {
        let (mut events, mut known) = (Vec::new(), 0);
        for part in &parts.parts {
            let mut recording = Recording::new(&part.bytes[..]).unwrap();
            while let Some(entry) = recording.next() {
                match entry {
                    Entry::Event(event) => events.push(event.at),
                    Entry::Known(_) => known += 1,
                    _ => {}
                }
            }
            assert!(recording.problems().is_empty());
        }
        (events, known)
    }

    #[test]
    fn everything_is_kept_while_there_is_room() {
        let world = messages(100, Nanos(1_000));
        let mut kept = kept(LIMITS);
        world.events.iter().for_each(|event| kept.event(&event.event()));
        let expected: Vec<_> = world.events.iter().map(|event| event.event.at).collect();
        // Asking for it changes nothing of it.
        for _ in 0..2 {
            let parts = kept.parts();
            assert_eq!(parts.since, Some(expected[0]));
            assert_eq!(read(&parts).0, expected);
        }
    }

    #[test]
    fn bytes_are_limited_and_each_part_knows_the_open_sockets() {
        let world = messages(20_000, Nanos(1_000));
        let mut kept = kept(KeepLimits { bytes: 256 << 10, ..LIMITS });
        world.events.iter().for_each(|event| kept.event(&event.event()));
        let parts = kept.parts();
        let bytes: usize = parts.parts.iter().map(|part| part.bytes.len()).sum();
        assert!((200 << 10..=256 << 10).contains(&bytes), "{bytes}");
        let (events, known) = read(&parts);
        assert_eq!(known, 2 * parts.parts.len());
        let last = world.events.iter().rev().take(events.len()).rev().map(|event| event.event.at);
        assert!(last.eq(events), "the newest events, in order");
    }

    #[test]
    fn what_is_older_than_the_time_goes() {
        let world = messages(20_000, Nanos::from_millis(1));
        let time = Nanos::from_millis(2_000);
        let mut kept = kept(KeepLimits { time, bytes: 4 << 20, ..LIMITS });
        world.events.iter().for_each(|event| kept.event(&event.event()));
        let (events, last) = (read(&kept.parts()).0, world.events.last().unwrap().event.at);
        assert!(last - events[0] >= time);
        assert!(last - events[0] < Nanos::from_millis(10_000), "{}", last - events[0]);
    }

    #[test]
    fn parts_end_in_time_and_joined_they_are_one_recording() {
        let world = messages(2_000, Nanos::from_millis(5));
        let time = Nanos::from_millis(2_000);
        let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
        let mut encoder = Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None));
        encoder.standing_note(Note { subject: "payload", text: "kept" });
        let mut kept = KeptEvents::new(encoder, KeepLimits { time, ..LIMITS });
        for event in &world.events {
            kept.event(&event.event());
            kept.tick(event.event.at);
        }
        let parts = kept.parts();
        let last = world.events.last().unwrap().event.at;
        let covered = last - parts.since.unwrap();
        assert!((time..Nanos(time.0 + time.0 / 4)).contains(&covered), "{covered}");
        let file: Vec<u8> = parts.joined().flatten().copied().collect();
        let mut recording = Recording::new(&file[..]).unwrap();
        let (mut events, mut known, mut notes, mut ticks) = (Vec::new(), 0, 0, 0);
        while let Some(entry) = recording.next() {
            match entry {
                Entry::Event(event) => events.push(event.at),
                Entry::Known(_) => known += 1,
                Entry::Note(_) => notes += 1,
                Entry::Tick(_) => ticks += 1,
                Entry::TlsKeys(_) => panic!("{entry:?}"),
            }
        }
        assert_eq!(*recording.problems(), Problems::default());
        assert_eq!(events, read(&parts).0);
        assert_eq!((known, notes), (2, 1));
        // The event that ends a part takes the tick after it along.
        assert!(ticks + parts.parts.len() >= events.len(), "{ticks}");
    }

    #[test]
    fn what_comes_too_fast_is_not_kept_and_later_it_is_again() {
        let mut world = World::new();
        let mut pair =
            world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
        let mut kept = kept(KeepLimits { rate: 10_000, ..LIMITS });
        let mut played = 0;
        let mut play = |messages, apart: Nanos| {
            for _ in 0..messages {
                world.message(&mut pair.up, &[b'x'; 64]);
                world.now += apart.0;
            }
            world.events[played..].iter().for_each(|event| kept.event(&event.event()));
            played = world.events.len();
            kept.parts()
        };
        assert!(!play(100, Nanos::from_millis(10)).is_paused);
        let paused = play(5_000, Nanos(1_000));
        assert!(paused.is_paused && paused.parts.is_empty());
        let again = play(100, Nanos::from_millis(10));
        assert!(!again.is_paused);
        let (events, known) = read(&again);
        assert!(!events.is_empty());
        assert_eq!(known, 2);
    }
}
