//! The rate of a row that is observed in windows.

mod by_second;
mod sums;

#[cfg(test)]
mod tests;

pub use by_second::RatesBySecond;
pub use sums::{RateSums, WindowCount};
use wirelap_limits::rates::{
    LONG_WINDOW, LONGEST_PRESENT, MIN_WINDOWS, MISSED_BEYOND_CHANCE, PRESENT_RATE_ERROR,
    WINDOW_GIVEN_UP, WINDOW_SETTLED,
};

use super::figures::Rate;
use super::pauses::Pauses;
use super::windows::TracedWindow;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};

/// The most windows that are remembered one by one.
const MOST: usize = 512;

/// Reads that were counted in windows, and the sums of the windows that are complete.
#[derive(Debug, Default)]
pub struct SampledRate {
    /// Counts of windows that are not in the sums yet, by their starts.
    counts: VecDeque<(Nanos, WindowCount)>,
    /// The last read, and how many messages it brought.
    last: (Nanos, u64),
    /// Windows that began before are in the sums, the last of which ended at `until`.
    next: Nanos,
    until: Nanos,
    /// All windows, and those up to the last delivery.
    all: RateSums,
    active: RateSums,
    /// The latest windows.
    latest: VecDeque<RateSums>,
    by_second: RatesBySecond,
    /// Messages that were counted when they were given up, and all.
    late: u64,
    counted: u64,
    missing: u64,
}

impl SampledRate {
    /// Adds a message that was read in the window with this start.
    pub fn add(&mut self, window: Nanos, read: Nanos, payload: u64) {
        let brought = if self.last.0 == read { self.last.1.saturating_add(1) } else { 1 };
        self.last = (read, brought);
        let Some(count) = self.count(window) else { return };
        count.messages.grow(1);
        count.bytes.grow(payload);
        count.reads.grow(u64::from(brought == 1));
        // The difference between two squares.
        count.squares.grow(brought.saturating_mul(2).saturating_sub(1));
        self.counted.grow(1);
    }

    /// Adds messages that were read in the window with this start, as is known later.
    pub fn add_late(&mut self, window: Nanos, read: Nanos, messages: u64, payload: u64) {
        for _ in 0..messages {
            self.add(window, read, payload);
        }
        self.late.grow(messages);
    }

    fn count(&mut self, window: Nanos) -> Option<&mut WindowCount> {
        if window < self.next {
            return None;
        }
        let at = self.counts.partition_point(|(start, _)| *start < window);
        if self.counts.get(at).is_none_or(|(start, _)| *start != window) {
            self.counts.insert(at, (window, WindowCount::default()));
        }
        self.counts.get_mut(at).map(|(_, count)| count)
    }

    fn counted_in(&self, window: Nanos) -> WindowCount {
        let found = self.counts.binary_search_by_key(&window, |(start, _)| *start);
        found.ok().and_then(|at| self.counts.get(at)).map_or(WindowCount::default(), |one| one.1)
    }

    /// Adds the windows that are complete to the sums. `first`: the row's first delivery, `None` if there is none.
    /// `missing`: messages that were sent in windows, and not seen to be delivered.
    pub fn fold(&mut self, pauses: &Pauses, now: Nanos, first: Option<Nanos>, missing: u64) {
        let Some(first) = first else { return };
        self.missing = missing;
        // What was not followed comes late, if there is any: that is known once some has been given up.
        let has_late = self.late.saturating_mul(100) > self.counted
            || pauses
                .windows()
                .over(Nanos(0))
                .next()
                .is_none_or(|one| one.end + WINDOW_GIVEN_UP > now);
        let wait = if has_late { WINDOW_GIVEN_UP } else { WINDOW_SETTLED };
        for window in pauses.windows().over(self.next) {
            if window.end + wait > now {
                break;
            }
            let sums = RateSums::of(window, self.counted_in(window.start), first);
            self.next = window.start + Nanos(1);
            self.until = window.end;
            self.all.add(&sums);
            if !sums.is_empty() {
                self.active = self.all;
            }
            sums.add_to(&mut self.by_second, window.end);
            self.latest.push_back(sums);
            if self.latest.len() > MOST {
                self.latest.pop_front();
            }
        }
        while self.counts.front().is_some_and(|(start, _)| *start < self.next) {
            self.counts.pop_front();
        }
    }

    /// The windows that are not in the sums, with what has been counted of them.
    fn rest<'a>(
        &'a self,
        pauses: &'a Pauses,
        now: Nanos,
        first: Nanos,
    ) -> impl Iterator<Item = (TracedWindow, RateSums)> + 'a {
        let is_long =
            move |window: &TracedWindow| window.end - window.start.max(first) > LONG_WINDOW;
        let over = pauses.windows().over(self.next).copied();
        let over = over.filter(move |window| window.end + WINDOW_SETTLED <= now || is_long(window));
        let present = pauses.windows().present(now);
        over.chain(present.filter(is_long)).map(move |window| {
            (window, RateSums::of(&window, self.counted_in(window.start), first))
        })
    }

    /// The sums of all windows until now, and of those up to the last delivery.
    pub fn sums(&self, pauses: &Pauses, now: Nanos, first: Nanos) -> [RateSums; 2] {
        let (mut all, mut active) = (self.all, self.active);
        for (_, sums) in self.rest(pauses, now, first) {
            all.add(&sums);
            if !sums.is_empty() {
                active = all;
            }
        }
        [all, active].map(|sums| sums.with_missing(self.missing))
    }

    /// The end of the last window that is counted. What came since is not known.
    pub fn counted_until(&self, pauses: &Pauses, now: Nanos, first: Nanos) -> Nanos {
        self.rest(pauses, now, first).map(|(window, _)| window.end).last().unwrap_or(self.until)
    }

    /// The rate of the latest complete windows. `None` if there are none since the first pause.
    pub fn now(&self) -> Option<Rate> {
        let latest = self.latest.iter().rev().copied();
        // Before the first pause all was observed, for as long as that may have been.
        let mut latest = latest.take_while(RateSums::is_sampled).peekable();
        let (mut silent, mut empty) = (RateSums::default(), 0_usize);
        while let Some(sums) = latest.next_if(RateSums::is_empty) {
            silent.add(&sums);
            empty.grow(1);
        }
        let is_unusual = empty >= MIN_WINDOWS && empty > self.longest_silence().saturating_mul(2);
        if is_unusual && self.active.expected_reads(&silent) >= MISSED_BEYOND_CHANCE {
            return Some(Rate::default());
        }
        let (mut sums, mut windows) = (silent, 0_usize);
        for window in latest {
            if windows > 0 && sums.seconds() + window.seconds() > LONGEST_PRESENT {
                break;
            }
            sums.add(&window);
            windows.grow(1);
            if windows >= MIN_WINDOWS && sums.rate().error <= PRESENT_RATE_ERROR {
                break;
            }
        }
        (windows > 0 || sums.seconds() > 0.0).then(|| {
            let mut rate = sums.rate();
            rate.error += self.all.with_missing(self.missing).missing_share();
            rate
        })
    }

    /// The most windows in a row in which nothing was read, before those at the end.
    fn longest_silence(&self) -> usize {
        let (mut longest, mut present) = (0_usize, 0_usize);
        for sums in &self.latest {
            if sums.is_empty() {
                present.grow(1);
            } else {
                (longest, present) = (longest.max(present), 0);
            }
        }
        longest
    }

    /// Deliveries of the last seconds, by the windows that stand for them.
    pub fn by_second(&self, pauses: &Pauses, now: Nanos, first: Nanos) -> RatesBySecond {
        let mut rates = self.by_second.clone();
        for (window, sums) in self.rest(pauses, now, first) {
            sums.add_to(&mut rates, window.end);
        }
        rates
    }

    /// Adds what another row has, which has turned out to be the same.
    pub fn merge(&mut self, other: SampledRate) {
        if other.counted > self.counted {
            (self.last, self.latest) = (other.last, other.latest);
            self.by_second = other.by_second;
        }
        self.next = self.next.max(other.next);
        self.until = self.until.max(other.until);
        self.all.join(&other.all);
        self.active.join(&other.active);
        for (window, theirs) in other.counts {
            if let Some(count) = self.count(window) {
                count.messages.grow(theirs.messages);
                count.bytes.grow(theirs.bytes);
                count.reads.grow(theirs.reads);
                count.squares.grow(theirs.squares);
            }
        }
        self.late.grow(other.late);
        self.counted.grow(other.counted);
        self.missing.grow(other.missing);
    }
}
