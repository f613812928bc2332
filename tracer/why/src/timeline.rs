//! Times at which a cause took effect: sums by window, as fine as a bounded memory allows.
//!
//! Windows are a second long at first. When there are too many of them, every two become one of twice the length.

use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};
use wirelap_limits::rules::SHORTEST_WINDOW;

/// Windows that are kept.
const WINDOWS: usize = 64;

/// Sums of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Window {
    /// Times that the cause took effect.
    hits: u64,
    /// Time that the cause took, in nanoseconds.
    time: u64,
    /// The beginning of the first of them, and the end of the last.
    from: Nanos,
    to: Nanos,
}

impl Window {
    fn add(&mut self, other: Window) {
        if other.hits == 0 {
            return;
        }
        self.from = if self.hits == 0 { other.from } else { self.from.min(other.from) };
        self.to = self.to.max(other.to);
        self.hits.grow(other.hits);
        self.time = self.time.saturating_add(other.time);
    }
}

/// Windows of equal length, the oldest first.
#[derive(Clone, Debug)]
pub struct Timeline {
    length: Nanos,
    /// The number of the first window: its begin over the length.
    first: u64,
    windows: VecDeque<Window>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { length: SHORTEST_WINDOW, first: 0, windows: VecDeque::new() }
    }
}

/// A period in which something was so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// Time at which it was so first.
    pub began: Nanos,
    /// Time at which it was so last; `None` if it still is.
    pub ended: Option<Nanos>,
    /// In how many stretches of time, between which it was not.
    pub times: u32,
}

impl Timeline {
    /// Adds `time` that the cause took of a message, until `to`.
    pub fn add(&mut self, to: Nanos, time: Nanos) {
        let window = Window { hits: 1, time: time.0, from: to - time, to };
        self.put(to, window);
    }

    fn put(&mut self, at: Nanos, window: Window) {
        if self.windows.is_empty() {
            self.first = at.0.checked_div(self.length.0).unwrap_or(0);
            self.windows.push_back(Window::default());
        }
        // What is older than the oldest window belongs to it.
        let mut place = at.0.checked_div(self.length.0).unwrap_or(0).saturating_sub(self.first);
        while place >= WINDOWS as u64 {
            self.halve();
            place = at.0.checked_div(self.length.0).unwrap_or(0).saturating_sub(self.first);
        }
        let place = usize::try_from(place).unwrap_or(0);
        while self.windows.len() <= place {
            self.windows.push_back(Window::default());
        }
        self.windows[place].add(window);
    }

    /// Makes the windows twice as long.
    fn halve(&mut self) {
        let first = self.first / 2;
        let mut halved: VecDeque<Window> = VecDeque::with_capacity(WINDOWS / 2 + 1);
        for (number, window) in (self.first..).zip(self.windows.drain(..)) {
            let place = usize::try_from((number / 2).saturating_sub(first)).unwrap_or(0);
            while halved.len() <= place {
                halved.push_back(Window::default());
            }
            halved[place].add(window);
        }
        self.length = Nanos(self.length.0.saturating_mul(2));
        self.first = first;
        self.windows = halved;
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Timeline) {
        for window in other.windows.iter().filter(|window| window.hits > 0) {
            self.put(window.to, *window);
        }
    }

    /// The period in which the cause took at least `least` of each message that it took time of, beside `all`, the
    /// messages that there were. `None` if it never did.
    pub fn period(&self, least: Nanos, all: &Timeline) -> Option<Period> {
        let is_on = |window: &&Window| {
            window.hits > 0 && window.time.checked_div(window.hits).unwrap_or(0) >= least.0
        };
        let mut period: Option<Period> = None;
        let mut last = Nanos(0);
        for window in self.windows.iter().filter(is_on) {
            let known = period.get_or_insert(Period { began: window.from, ended: None, times: 0 });
            known.began = known.began.min(window.from);
            // It was not so in between if messages passed there.
            if known.times == 0 || all.has_between(last, window.from) {
                known.times.grow(1);
            }
            last = last.max(window.to);
        }
        let mut period = period?;
        let grace = Nanos(self.length.0.max(2 * SHORTEST_WINDOW.0));
        period.ended = (last + grace < all.last()).then_some(last);
        Some(period)
    }

    /// The latest time at which there was something; 0 if there never was.
    pub fn last(&self) -> Nanos {
        self.windows.back().map_or(Nanos(0), |window| window.to)
    }

    /// True if a whole window that had something lies between two moments.
    fn has_between(&self, from: Nanos, to: Nanos) -> bool {
        let inside = |window: &&Window| window.hits > 0 && window.from > from && window.to < to;
        self.windows.iter().any(|window| inside(&window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(ms: u64) -> Nanos {
        Nanos(ms * MS)
    }

    /// A message each 100 ms for so many seconds, and what took time of each.
    fn timelines(seconds: u64, time_at: impl Fn(u64) -> u64) -> (Timeline, Timeline) {
        let (mut all, mut cause) = (Timeline::default(), Timeline::default());
        for at in (0..seconds * 1_000).step_by(100) {
            all.add(ms(at + 5_000), ms(1));
            let time = time_at(at);
            if time > 0 {
                cause.add(ms(at + 5_000), ms(time));
            }
        }
        (all, cause)
    }

    #[test]
    fn what_is_over_has_an_end_and_what_is_not_has_none() {
        let (all, cause) = timelines(30, |at| u64::from((14_000..17_000).contains(&at)) * 20);
        let period = cause.period(ms(5), &all).unwrap();
        assert_eq!((period.began, period.ended), (ms(18_980), Some(ms(21_900))));
        assert_eq!(period.times, 1);
        let (all, cause) = timelines(30, |at| u64::from(at >= 14_000) * 20);
        let period = cause.period(ms(5), &all).unwrap();
        assert_eq!((period.began, period.ended, period.times), (ms(18_980), None, 1));
    }

    #[test]
    fn what_comes_and_goes_is_counted() {
        let (all, cause) = timelines(50, |at| u64::from(at % 10_000 < 1_000) * 20);
        assert_eq!(cause.period(ms(5), &all).unwrap().times, 5);
        // A little of it all the time is not what is looked for.
        let (all, cause) = timelines(50, |at| if at % 10_000 < 1_000 { 20 } else { 1 });
        assert_eq!(cause.period(ms(5), &all).unwrap().times, 5);
        assert_eq!(cause.period(ms(30), &all), None);
    }

    #[test]
    fn hours_take_no_more_room_than_a_minute() {
        let (all, cause) = timelines(40_000, |at| u64::from(at >= 20_000_000) * 20);
        assert!(all.windows.len() <= WINDOWS && all.length == Nanos(1_024 * SHORTEST_WINDOW.0));
        let period = cause.period(ms(5), &all).unwrap();
        assert_eq!((period.began, period.ended), (ms(20_004_980), None));
    }

    #[test]
    fn merging_keeps_what_there_was() {
        let (mut all, mut cause) = timelines(5, |at| u64::from(at < 1_000) * 20);
        let (more, late) = timelines(30, |at| u64::from(at > 28_000) * 20);
        all.merge(&more);
        cause.merge(&late);
        assert_eq!(cause.period(ms(5), &all).unwrap().times, 2);
    }
}
