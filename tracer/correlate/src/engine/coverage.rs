//! What was reported of the time that is looked at: since when, and what is missing of it.

use crate::stats::{HISTORY_SECONDS, TracedPeriod, TracedSeconds};
use std::collections::VecDeque;
use wirelap_events::{LossCause, LostEvents, Nanos, Probe, Saturate, Total};

/// A message that is read later than this after a pause has hardly begun in it.
const ON_ITS_WAY: Nanos = Nanos::from_millis(1_000);

/// Pauses that ended longer ago are only added up.
const REMEMBERED: Nanos = Nanos::from_millis((HISTORY_SECONDS as u64 + 2) * 1_000);

/// The most pauses that are remembered one by one.
const MOST_PAUSES: usize = 4_096;

/// Since when events are reported, and what of them is missing: lost, or left out on purpose.
#[derive(Debug, Default)]
pub struct Coverage {
    now: Nanos,
    since: Option<Nanos>,
    /// Events lost, by probe.
    lost: [u64; Probe::ALL.len()],
    /// Those of them that are runs of probes that the kernel skipped.
    skipped: u64,
    /// Messages found before were interrupted by a pause.
    cut: Nanos,
    closed_since: Option<Nanos>,
    /// When the last pause ended.
    opened: Option<Nanos>,
    closed_for: Nanos,
    /// The latest pauses that are over, the oldest first.
    pauses: VecDeque<(Nanos, Nanos)>,
    /// Nothing is known to have been missed since then: the window was opened, or events were lost.
    certain: Nanos,
}

/// What is known to have been reported of what sockets receive and read: no event was lost, and no window closed, as long
/// as it stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    lost: u64,
    closed_for: Nanos,
}

impl Coverage {
    /// It is at least so late.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    /// The time up to which events were taken in.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Observation has begun at `at`, unless it had before.
    pub fn begin(&mut self, at: Nanos) {
        self.since.get_or_insert(at);
    }

    /// When observation began.
    pub fn since(&self) -> Option<Nanos> {
        self.since
    }

    /// A probe has lost events.
    pub fn lose(&mut self, at: Nanos, lost: &LostEvents) {
        self.lost[lost.probe as usize].grow(lost.count);
        if lost.cause == LossCause::RunSkipped {
            self.skipped.grow(lost.count);
        }
        self.certain = at;
    }

    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.lost.iter().total()
    }

    /// Runs of probes that the kernel skipped, which are among the lost events.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Events that one probe lost.
    pub fn lost_by(&self, probe: Probe) -> u64 {
        self.lost[probe as usize]
    }

    /// Observation pauses on purpose.
    pub fn close(&mut self, at: Nanos) {
        self.closed_since.get_or_insert(at);
        self.cut = at;
    }

    /// Observation goes on after a pause. Whether there was one.
    pub fn open(&mut self, at: Nanos) -> bool {
        let Some(closed) = self.closed_since.take() else {
            return false;
        };
        self.closed_for += at - closed;
        self.pauses.push_back((closed, at));
        let is_old = |&(_, to): &(Nanos, Nanos)| at - to > REMEMBERED;
        while self.pauses.len() > MOST_PAUSES || self.pauses.front().is_some_and(is_old) {
            self.pauses.pop_front();
        }
        (self.certain, self.opened) = (at, Some(at));
        true
    }

    /// Messages that were found before this moment were interrupted by a pause.
    pub fn cut(&self) -> Nanos {
        self.cut
    }

    /// Nothing is known to have been missed since this moment.
    pub fn certain(&self) -> Nanos {
        self.certain
    }

    /// How long observation has paused until `now`.
    pub fn paused(&self, now: Nanos) -> Nanos {
        self.closed_for + self.closed_since.map_or(Nanos(0), |closed| now - closed)
    }

    /// How long observation was not paused between two times, of which the first is at most [`HISTORY_SECONDS`] ago.
    pub fn traced(&self, from: Nanos, to: Nanos) -> Nanos {
        let open = self.closed_since.map(|closed| (closed, to.max(closed)));
        let pauses = self.pauses.iter().copied().chain(open).rev();
        let overlap = pauses
            .take_while(|&(_, until)| until > from)
            .map(|(since, until)| (until.min(to) - since.max(from)).0);
        (to - from) - Nanos(overlap.total())
    }

    /// How long observation was not paused in each of the last whole seconds.
    pub fn traced_seconds(&self, now: Nanos) -> TracedSeconds {
        let open = self.closed_since.map(|closed| (closed, now.max(closed)));
        TracedSeconds::new(now, self.pauses.iter().copied().chain(open))
    }

    /// The time since the last pause ended, with the pause that followed.
    pub fn period(&self, now: Nanos) -> TracedPeriod {
        TracedPeriod {
            start: self.opened.or(self.since).unwrap_or(now),
            paused: self.closed_since.unwrap_or(now),
            end: now,
        }
    }

    /// Whether a message that was read at `read` may have begun in a pause: the last one had ended shortly before, or after that.
    pub fn may_be_cut(&self, read: Nanos) -> bool {
        self.opened.is_some_and(|opened| read < opened + ON_ITS_WAY)
    }

    /// Whether observation has ever paused.
    pub fn has_paused(&self) -> bool {
        self.closed_for > Nanos(0) || self.closed_since.is_some()
    }

    /// What is reported now of what sockets receive and read.
    pub fn reported(&self) -> Reported {
        let probes = [Probe::Socket, Probe::Read, Probe::Xmit, Probe::Rx];
        let lost = probes.iter().map(|&probe| self.lost_by(probe)).total();
        Reported { lost, closed_for: self.closed_for }
    }
}
