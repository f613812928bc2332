//! The times in which nothing is observed on purpose.

use super::figures::HISTORY_SECONDS;
use super::seconds::TracedSeconds;
use super::windows::TracedWindows;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Total};
use wirelap_limits::rates::LONGEST_WAY_OVER_PAUSE;

/// Pauses that ended longer ago are only added up.
const REMEMBERED: Nanos = Nanos::from_millis((HISTORY_SECONDS as u64 + 2) * 1_000);

/// The most pauses that are remembered one by one.
const MOST_PAUSES: usize = 4_096;

/// The times in which nothing is observed on purpose: of all rows, or of one that the user has muted.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Messages found before were interrupted by a pause.
    cut: Nanos,
    closed_since: Option<Nanos>,
    /// The end of the last pause.
    opened: Option<Nanos>,
    closed_for: Nanos,
    /// The latest pauses that are over, the oldest first.
    latest: VecDeque<(Nanos, Nanos)>,
    windows: TracedWindows,
}

impl Pauses {
    /// A pause begins, unless there is one.
    pub fn close(&mut self, at: Nanos) {
        if self.closed_since.is_none() {
            self.closed_since = Some(at);
            self.windows.close(at);
        }
        self.cut = at;
    }

    /// From a time on, the present window is open only for the messages that were found in it.
    pub fn wait(&mut self, since: Nanos) {
        if self.closed_since.is_none() {
            self.windows.wait(since);
        }
    }

    /// The time before `at` was left out: no window stands for it.
    pub fn leave_out(&mut self, at: Nanos) {
        self.windows.leave_out(at);
    }

    /// The times in which everything was observed, whatever came.
    pub fn windows(&self) -> &TracedWindows {
        &self.windows
    }

    /// Ends a pause; false if there is none.
    pub fn open(&mut self, at: Nanos) -> bool {
        let Some(closed) = self.closed_since.take() else {
            return false;
        };
        self.closed_for += at - closed;
        self.latest.push_back((closed, at));
        let is_old = |&(_, to): &(Nanos, Nanos)| at - to > REMEMBERED;
        while self.latest.len() > MOST_PAUSES || self.latest.front().is_some_and(is_old) {
            self.latest.pop_front();
        }
        self.opened = Some(at);
        self.windows.open(at);
        true
    }

    /// True during a pause.
    pub fn is_closed(&self) -> bool {
        self.closed_since.is_some()
    }

    /// Total length of the pauses that are over.
    pub fn closed_for(&self) -> Nanos {
        self.closed_for
    }

    /// Messages that were found before this moment were interrupted by a pause.
    pub fn cut(&self) -> Nanos {
        self.cut
    }

    /// True if a pause came, or has begun, after something was found at `found`: what has become of it since is not known.
    pub fn has_cut(&self, found: Nanos) -> bool {
        found < self.cut
    }

    /// True if a pause began between two moments, of which the first was in no pause.
    pub fn is_between(&self, from: Nanos, to: Nanos) -> bool {
        self.opened.is_some_and(|opened| opened > from)
            || self.closed_since.is_some_and(|closed| to >= closed)
    }

    /// Total length of all pauses until `now`.
    pub fn paused(&self, now: Nanos) -> Nanos {
        self.closed_for + self.closed_since.map_or(Nanos(0), |closed| now - closed)
    }

    /// Time without a pause between two times, of which the first is at most [`HISTORY_SECONDS`] ago.
    pub fn traced(&self, from: Nanos, to: Nanos) -> Nanos {
        let open = self.closed_since.map(|closed| (closed, to.max(closed)));
        let pauses = self.latest.iter().copied().chain(open).rev();
        let overlap = pauses
            .take_while(|&(_, until)| until > from)
            .map(|(since, until)| (until.min(to) - since.max(from)).0);
        (to - from) - Nanos(overlap.total())
    }

    /// Time without a pause in each of the last whole seconds.
    pub fn traced_seconds(&self, now: Nanos) -> TracedSeconds {
        let open = self.closed_since.map(|closed| (closed, now.max(closed)));
        TracedSeconds::new(now, self.latest.iter().copied().chain(open))
    }

    /// True if a message that was read at `read` may have begun in a pause: the last one had ended shortly before, or after that.
    pub fn may_be_cut(&self, read: Nanos) -> bool {
        self.opened.is_some_and(|opened| read < opened + LONGEST_WAY_OVER_PAUSE)
    }

    /// True if there ever was a pause.
    pub fn has_paused(&self) -> bool {
        self.closed_for > Nanos(0) || self.closed_since.is_some()
    }
}
