//! What was reported of the time that is looked at: since when, and what is missing of it.

use wirelap_events::{LostEvents, Nanos, Probe, Saturate, Total};

/// Since when events are reported, and what of them is missing: lost, or left out on purpose.
#[derive(Debug, Default)]
pub struct Coverage {
    now: Nanos,
    since: Option<Nanos>,
    /// Events that did not fit into the ring, by probe.
    lost: [u64; Probe::ALL.len()],
    /// Messages found before were interrupted by a pause.
    cut: Nanos,
    closed_since: Option<Nanos>,
    closed_for: Nanos,
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

    /// A probe had to throw events away.
    pub fn lose(&mut self, at: Nanos, lost: &LostEvents) {
        self.lost[lost.probe as usize].grow(lost.count);
        self.certain = at;
    }

    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.lost.iter().total()
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
        self.certain = at;
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
