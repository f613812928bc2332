//! The windows of a sampled observation, as far as their length does not depend on what was seen in them.

use std::collections::VecDeque;
use wirelap_events::Nanos;

/// The most windows that are remembered one by one.
const MOST: usize = 4_096;

/// A time in which everything was observed, whatever came, and the time before it that was not.
///
/// ```text
///      window            pause            window
/// ####|#######|~~~~|                  |#######|~~~~|
///             ^                       ^       ^
///             since                 start    end       ~ waits for its messages: as long as these take
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedWindow {
    /// The end of the window before. What was not observed since then is like what was.
    pub since: Nanos,
    /// The start, which tells the window from all others.
    pub start: Nanos,
    /// Time at which the window ended, or began to wait for its messages.
    pub end: Nanos,
}

/// The windows that are over, and the present one.
#[derive(Clone, Debug, Default)]
pub struct TracedWindows {
    over: VecDeque<TracedWindow>,
    start: Nanos,
    waits: Option<Nanos>,
    last_end: Option<Nanos>,
}

impl TracedWindows {
    /// The present window waits for its messages from a time on.
    pub fn wait(&mut self, since: Nanos) {
        self.waits.get_or_insert(since.max(self.start));
    }

    /// The present window ends.
    pub fn close(&mut self, at: Nanos) {
        let (start, end) = (self.start, self.waits.take().map_or(at, |waits| waits.min(at)));
        if end > start {
            let since = self.last_end.unwrap_or(start);
            self.over.push_back(TracedWindow { since, start, end });
            self.last_end = Some(end);
            if self.over.len() > MOST {
                self.over.pop_front();
            }
        }
        self.start = Nanos(u64::MAX);
    }

    /// The next window begins.
    pub fn open(&mut self, at: Nanos) {
        self.start = at;
    }

    /// The next window does not stand for the time before `at`.
    pub fn leave_out(&mut self, at: Nanos) {
        self.last_end = Some(at);
    }

    /// The windows that are over and began at `from` or later, the oldest first.
    pub fn over(&self, from: Nanos) -> impl Iterator<Item = &TracedWindow> {
        let at = self.over.partition_point(|window| window.start < from);
        self.over.range(at..)
    }

    /// The present window until `now`, if there is one.
    pub fn present(&self, now: Nanos) -> Option<TracedWindow> {
        let start = self.start;
        let end = self.waits.map_or(now, |waits| waits.min(now));
        let since = self.last_end.unwrap_or(start);
        (end > start).then_some(TracedWindow { since, start, end })
    }

    /// The start of the window in which a time is. `None` if it is in a pause, or in a time in which a window waited for its messages.
    pub fn at(&self, time: Nanos) -> Option<Nanos> {
        if time >= self.start {
            return self.waits.is_none_or(|waits| time < waits).then_some(self.start);
        }
        let mut found = self.over.iter().rev().skip_while(|window| window.start > time);
        found.next().filter(|window| time < window.end).map(|window| window.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_which_window() {
        let mut windows = TracedWindows::default();
        assert_eq!(windows.at(Nanos(5)), Some(Nanos(0)));
        windows.close(Nanos(100));
        windows.open(Nanos(300));
        windows.wait(Nanos(340));
        assert_eq!([339, 340].map(|at| windows.at(Nanos(at))), [Some(Nanos(300)), None]);
        windows.close(Nanos(380));
        // Closed twice without a window in between.
        windows.close(Nanos(390));
        windows.open(Nanos(600));
        let at = [0, 99, 100, 299, 300, 339, 340, 379, 599, 600, 1_000];
        let found = at.map(|at| windows.at(Nanos(at)));
        let [none, first, second, third] = [None, Some(0), Some(300), Some(600)];
        let expected = [first, first, none, none, second, second, none, none, none, third, third];
        assert_eq!(found, expected.map(|start| start.map(Nanos)));
        let second = TracedWindow { since: Nanos(100), start: Nanos(300), end: Nanos(340) };
        assert_eq!(windows.over(Nanos(1)).copied().collect::<Vec<_>>(), [second]);
        let present = windows.present(Nanos(650)).unwrap();
        assert_eq!(
            (present.since, present.start, present.end),
            (Nanos(340), Nanos(600), Nanos(650))
        );
    }

    #[test]
    fn a_window_need_not_stand_for_the_time_before_it() {
        let mut windows = TracedWindows::default();
        windows.close(Nanos(100));
        windows.leave_out(Nanos(800));
        windows.open(Nanos(900));
        let window = TracedWindow { since: Nanos(800), start: Nanos(900), end: Nanos(950) };
        assert_eq!(windows.present(Nanos(950)), Some(window));
        windows.close(Nanos(950));
        assert_eq!(windows.over(Nanos(900)).copied().collect::<Vec<_>>(), [window]);
        windows.open(Nanos(2_000));
        assert_eq!(windows.present(Nanos(2_001)).map(|window| window.since), Some(Nanos(950)));
    }
}
