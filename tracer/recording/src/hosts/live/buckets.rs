//! The samples of each part of the last seconds or minutes that say the most.

use crate::hosts::clocks::Sample;
use wirelap_events::Nanos;

/// The samples of a part of the time by the first clock that say the most, one for each direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    number: u64,
    /// From the first host: the least difference.
    pub there: Option<Sample>,
    /// From the second: the largest.
    pub back: Option<Sample>,
}

impl Bucket {
    /// The round trip that the two samples make, if a drift between two limits, in nanoseconds a second, makes no difference to
    /// it.
    pub fn measure(&self, [slow, fast]: [f64; 2]) -> Option<f64> {
        let (there, back) = (self.there?, self.back?);
        let apart = (back.at - there.at).as_secs_f64() - (there.at - back.at).as_secs_f64();
        let later = there.later.saturating_sub(back.later) as f64;
        let round_trip = later + f64::midpoint(slow, fast) * apart;
        ((fast - slow) * apart.abs() < round_trip / 8.0).then_some(round_trip)
    }
}

/// Buckets of one length.
#[derive(Debug)]
pub struct Buckets {
    length: u64,
    /// By number, modulo how many they are.
    ring: Vec<Bucket>,
    newest: u64,
}

impl Buckets {
    /// So many buckets of a length.
    pub fn new(count: usize, length: Nanos) -> Buckets {
        Buckets { length: length.0.max(1), ring: vec![Bucket::default(); count], newest: 0 }
    }

    fn number(&self, at: Nanos) -> u64 {
        at.0.checked_div(self.length).unwrap_or(0)
    }

    fn index(&self, number: u64) -> usize {
        let index = number.checked_rem(self.ring.len() as u64).unwrap_or(0);
        usize::try_from(index).unwrap_or(0)
    }

    /// Takes a sample into its bucket, unless that is over.
    pub fn add(&mut self, sample: Sample) -> Option<&mut Bucket> {
        let (number, index) = (self.number(sample.at), self.index(self.number(sample.at)));
        let bucket = self.ring.get_mut(index)?;
        if number < bucket.number {
            return None;
        }
        if number > bucket.number {
            *bucket = Bucket { number, ..Bucket::default() };
        }
        self.newest = self.newest.max(number);
        let best = if sample.from_first { &mut bucket.there } else { &mut bucket.back };
        let is_better = |best: Sample| {
            if sample.from_first { sample.later < best.later } else { sample.later > best.later }
        };
        if best.is_none_or(is_better) {
            *best = Some(sample);
        }
        Some(bucket)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ring.fill(Bucket::default());
        self.newest = 0;
    }

    /// The time at which the first bucket begins.
    pub fn start(&self) -> Nanos {
        let before = (self.ring.len() as u64).saturating_sub(1);
        Nanos(self.newest.saturating_sub(before).saturating_mul(self.length))
    }

    /// The buckets in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = &Bucket> {
        let before = (self.ring.len() as u64).saturating_sub(1);
        let numbers = self.newest.saturating_sub(before)..=self.newest;
        numbers.filter_map(|number| {
            let bucket = self.ring.get(self.index(number))?;
            (bucket.number == number).then_some(bucket)
        })
    }
}
