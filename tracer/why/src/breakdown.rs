//! Sums of the time by leg, segment and cause, in classes of messages by latency.
//!
//! Messages are sorted into classes by latency (sixteen an octave, so 4.4 % wide at most), and each class
//! keeps its sum by leg, segment and cause. From that, what messages near the median or in the tail
//! spent is known at any moment, for any number of messages, in bounded memory, and adds up exactly.

use super::explanation::Cause;
use super::kind::VerdictKind;
use super::sums::{Excess, Hits, LatencyClass, Sums};
use wirelap_events::{MAX_LEGS, Nanos, Saturate, Segment};
use wirelap_limits::rules::{MIDDLE, SLOW_PART};

/// Classes an octave: as many as four bits tell apart.
const BITS: u32 = 4;

/// Ordinary, distance, and one for each kind of verdict.
const CAUSES: usize = VerdictKind::ALL.len() + 2;

const SEGMENTS: usize = Segment::ALL.len();

/// Cells that there can be.
const CELLS: usize = MAX_LEGS * SEGMENTS * CAUSES;

/// The key of a part of a message's time: its leg, segment and cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// 0 for the first leg.
    pub leg: usize,
    pub segment: Segment,
    pub cause: Cause,
}

impl Cell {
    fn index(self) -> usize {
        let cause = match self.cause {
            Cause::Ordinary => 0,
            Cause::Distance => 1,
            Cause::Of(kind) => (kind as usize).saturating_add(2),
        };
        self.leg
            .min(MAX_LEGS - 1)
            .saturating_mul(SEGMENTS)
            .saturating_add(self.segment as usize)
            .saturating_mul(CAUSES)
            .saturating_add(cause)
    }
}

/// Sums of the time by leg, segment and cause, in classes of messages by latency.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    classes: Vec<Option<Box<LatencyClass>>>,
    /// The slot of each cell that was ever used, plus one; 0: none. Empty before the first message.
    slots: Vec<u16>,
    /// The cell of each slot.
    cells: Vec<Cell>,
    messages: u64,
}

/// The class of a latency.
fn class_of(latency: Nanos) -> usize {
    let octave = latency.0.max(1).ilog2();
    let (octave, fraction) = if octave < BITS {
        (0, latency.0)
    } else {
        (
            octave.saturating_sub(BITS).saturating_add(1),
            (latency.0 >> octave.saturating_sub(BITS)) & ((1 << BITS) - 1),
        )
    };
    ((octave as usize) << BITS) | usize::try_from(fraction).unwrap_or(0)
}

impl Breakdown {
    /// Messages so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The cells that were ever used, by slot.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn slot(&mut self, cell: Cell) -> usize {
        if self.slots.is_empty() {
            self.slots = vec![0; CELLS];
        }
        let slot = &mut self.slots[cell.index()];
        if *slot == 0 {
            self.cells.push(cell);
            *slot = u16::try_from(self.cells.len()).unwrap_or(u16::MAX);
        }
        usize::from(*slot).saturating_sub(1)
    }

    /// One more message. Its parts follow with [`Breakdown::part`].
    pub fn message(&mut self, latency: Nanos) {
        self.messages.grow(1);
        let class = self.class(latency);
        class.messages.grow(1);
        class.least = if class.least == Nanos(0) { latency } else { class.least.min(latency) };
    }

    /// A part of the time of a message that took `latency`.
    pub fn part(&mut self, latency: Nanos, cell: Cell, time: Nanos) {
        let slot = self.slot(cell);
        let class = self.class(latency);
        if class.sums.len() <= slot {
            class.sums.resize(slot.saturating_add(1), 0);
        }
        class.sums[slot].grow(time.0);
    }

    /// A message that took `latency` spent `time`, which is much, on what `cell` stands for.
    pub fn hit(&mut self, latency: Nanos, cell: Cell, time: Nanos) {
        let slot = self.slot(cell);
        let class = self.class(latency);
        if class.hits.len() <= slot {
            class.hits.resize(slot.saturating_add(1), Hits::default());
        }
        let hits = &mut class.hits[slot];
        hits.messages.grow(1);
        hits.time.grow(time.0);
        hits.latency.grow(latency.0);
    }

    /// Time that messages lost to the cause of `cell` beyond the `typical` time that one spends on it, as far as
    /// [`Self::hit`] was told of them. Only messages that lost `least` or more count; `median` is what a typical message
    /// takes in all.
    pub fn excess(&self, cell: Cell, typical: f64, median: f64, least: f64) -> Excess {
        let mut excess = Excess::default();
        let slot = self.slots.get(cell.index()).map_or(0, |&slot| usize::from(slot));
        let Some(slot) = slot.checked_sub(1) else { return excess };
        for class in self.classes() {
            let Some(hits) = class.hits.get(slot).filter(|hits| hits.messages > 0) else {
                continue;
            };
            let messages = hits.messages as f64;
            let time = hits.time as f64 - messages * typical;
            if time >= messages * least {
                excess.messages += messages;
                excess.time += time;
                excess.latency += (hits.latency as f64 - messages * median).max(time);
            }
        }
        excess
    }

    /// Time by which all messages slower than three quarters of them exceed one that takes `median` nanoseconds.
    pub fn slow(&self, median: f64) -> Excess {
        let slow = self.slowest(self.messages / SLOW_PART);
        let latency = (slow.mean_latency() - median).max(0.0) * slow.messages;
        Excess { messages: slow.messages, time: latency, latency }
    }

    fn class(&mut self, latency: Nanos) -> &mut LatencyClass {
        let index = class_of(latency);
        if self.classes.len() <= index {
            self.classes.resize(index.saturating_add(1), None);
        }
        self.classes[index].get_or_insert_default()
    }

    /// Adds another's messages.
    pub fn merge(&mut self, other: &Breakdown) {
        let slots: Vec<usize> = other.cells.iter().map(|&cell| self.slot(cell)).collect();
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), None);
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            let Some(theirs) = theirs else { continue };
            let mine = mine.get_or_insert_default();
            mine.least =
                if mine.messages == 0 { theirs.least } else { mine.least.min(theirs.least) };
            mine.messages.grow(theirs.messages);
            for (&slot, sum) in slots.iter().zip(&theirs.sums) {
                if mine.sums.len() <= slot {
                    mine.sums.resize(slot.saturating_add(1), 0);
                }
                mine.sums[slot].grow(*sum);
            }
            for (&slot, hits) in slots.iter().zip(&theirs.hits) {
                if mine.hits.len() <= slot {
                    mine.hits.resize(slot.saturating_add(1), Hits::default());
                }
                let sum = &mut mine.hits[slot];
                sum.messages.grow(hits.messages);
                sum.time.grow(hits.time);
                sum.latency.grow(hits.latency);
            }
        }
        self.messages.grow(other.messages);
    }

    fn classes(&self) -> impl DoubleEndedIterator<Item = &LatencyClass> {
        self.classes.iter().flatten().map(|class| &**class)
    }

    /// All messages.
    pub fn all(&self) -> Sums {
        let mut sums = Sums::default();
        self.classes().for_each(|class| sums.add(class, 1.0));
        sums
    }

    /// Messages near the median: the middle fifth.
    pub fn middle(&self) -> Sums {
        let from = self.messages as f64 * MIDDLE.0;
        let to = (self.messages as f64 * MIDDLE.1).max(from + 1.0);
        let mut sums = Sums::default();
        let mut before = 0.0;
        for class in self.classes() {
            let count = class.messages as f64;
            let inside = (to.min(before + count) - from.max(before)).max(0.0);
            if inside > 0.0 {
                sums.add(class, inside / count);
            }
            before += count;
        }
        sums
    }

    /// The `count` slowest messages. Of the class at the edge, the mean counts.
    pub fn slowest(&self, count: u64) -> Sums {
        let mut sums = Sums::default();
        let mut wanted = count as f64;
        for class in self.classes().rev() {
            if wanted <= 0.0 {
                break;
            }
            let taken = wanted.min(class.messages as f64);
            sums.add(class, taken / class.messages as f64);
            wanted -= taken;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(segment: Segment, cause: Cause) -> Cell {
        Cell { leg: 1, segment, cause }
    }

    #[test]
    fn every_cell_has_a_place_of_its_own() {
        let kinds = VerdictKind::ALL.into_iter().map(Cause::Of);
        let causes: Vec<Cause> =
            [Cause::Ordinary, Cause::Distance].into_iter().chain(kinds).collect();
        let mut next = 0;
        for leg in 0..MAX_LEGS {
            for segment in Segment::ALL {
                for &cause in &causes {
                    assert_eq!(Cell { leg, segment, cause }.index(), next);
                    next += 1;
                }
            }
        }
        assert_eq!(next, CELLS);
    }

    #[test]
    fn classes_rise_with_the_latency_and_are_narrow() {
        let mut last = 0;
        for latency in 1..100_000 {
            let class = class_of(Nanos(latency));
            assert!(class == last || class == last + 1, "{latency}");
            last = class;
        }
        assert_eq!(class_of(Nanos(64_000)), class_of(Nanos(65_000)));
        assert_ne!(class_of(Nanos(60_000)), class_of(Nanos(64_000)));
        assert!(class_of(Nanos(u64::MAX)) < 1024);
    }

    #[test]
    fn the_middle_and_the_tail_are_told_apart() {
        let mut breakdown = Breakdown::default();
        let quiet = cell(Segment::Wire, Cause::Ordinary);
        let loud = cell(Segment::RunQueue, Cause::Of(VerdictKind::RunQueueContention));
        for index in 0..1000 {
            let slow = index >= 990;
            let latency = Nanos(if slow { 1_000_000 } else { 10_000 });
            breakdown.message(latency);
            breakdown.part(latency, quiet, Nanos(10_000));
            if slow {
                breakdown.part(latency, loud, Nanos(990_000));
            }
        }
        let (middle, tail) = (breakdown.middle(), breakdown.slowest(10));
        assert!((middle.mean_latency() - 10_000.0).abs() < 1e-6);
        assert!((tail.mean_latency() - 1_000_000.0).abs() < 1e-6);
        assert!((tail.mean(1) - 990_000.0).abs() < 1e-6);
        assert!((breakdown.slowest(20).mean(1) - 495_000.0).abs() < 1e-6);
        assert_eq!(tail.least, Nanos(1_000_000));
    }

    #[test]
    fn merging_is_adding() {
        let (mut a, mut b, mut both) =
            (Breakdown::default(), Breakdown::default(), Breakdown::default());
        for index in 1..200_u64 {
            let latency = Nanos(index * 777);
            let cause = if index % 3 == 0 {
                Cause::Ordinary
            } else {
                Cause::Of(VerdictKind::ALL[usize::try_from(index % 20).unwrap()])
            };
            let one = if index % 2 == 0 { &mut a } else { &mut b };
            for breakdown in [one, &mut both] {
                breakdown.message(latency);
                breakdown.part(latency, cell(Segment::Busy, cause), latency);
            }
        }
        a.merge(&b);
        assert_eq!(a.messages(), both.messages());
        let (mine, all) = (a.all(), both.all());
        assert!((mine.mean_latency() - all.mean_latency()).abs() < 1e-6);
        for (slot, cell) in a.cells().iter().enumerate() {
            let other = both.cells().iter().position(|c| c == cell).unwrap();
            assert!((mine.mean(slot) - all.mean(other)).abs() < 1e-6);
        }
    }
}
