//! The coverage of the time that is looked at: since when there are reports, and which are missing.

use wirelap_events::{LossCause, LostEvents, Nanos, Probe, Saturate, Total};
use wirelap_figures::Pauses;
use wirelap_limits::rates::LONGEST_WAY_OVER_PAUSE;

/// Since when events are reported, and what of them is missing: lost, or left out on purpose.
#[derive(Debug, Default)]
pub struct Coverage {
    now: Nanos,
    since: Option<Nanos>,
    /// Events lost, by probe.
    lost: [u64; Probe::ALL.len()],
    /// Lost events that are runs of probes that the kernel skipped.
    skipped: u64,
    /// Lost events that a file itself counts as missing.
    stated: u64,
    /// Lost events that are datagrams of which a fragment is missing.
    fragmented: u64,
    late: u64,
    /// Time at which a probe told that it had lost events, the last time; 0 if none did.
    last_loss: Nanos,
    pauses: Pauses,
    /// Nothing is known to have been missed since then: the window was opened, or events were lost.
    certain: Nanos,
}

/// Losses and pauses so far in the reports of what sockets receive and read: as long as they stay the same, no event was
/// lost and no window closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    lost: u64,
    closed_for: Nanos,
}

impl Coverage {
    /// Advances the time to `now`, if it is not later already.
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

    /// Time at which observation began; `None` before the first event.
    pub fn since(&self) -> Option<Nanos> {
        self.since
    }

    /// Until when a message that is read may have been sent before observation began; `None` if `at` is later.
    pub fn beginning(&self, at: Nanos) -> Option<Nanos> {
        let until = self.since? + LONGEST_WAY_OVER_PAUSE;
        (at < until).then_some(until)
    }

    /// A probe has lost events.
    pub fn lose(&mut self, at: Nanos, lost: &LostEvents) {
        self.lost[lost.probe as usize].grow(lost.count);
        match lost.cause {
            LossCause::RingFull => {}
            LossCause::RunSkipped => self.skipped.grow(lost.count),
            LossCause::StatedByFile => self.stated.grow(lost.count),
            LossCause::FragmentMissing => self.fragmented.grow(lost.count),
            LossCause::TooLate => self.late.grow(lost.count),
        }
        self.certain = at;
        self.last_loss = at;
    }

    /// Time at which a probe told that it had lost events, the last time; 0 if none did.
    pub fn last_loss(&self) -> Nanos {
        self.last_loss
    }

    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.lost.iter().total()
    }

    /// Runs of probes that the kernel skipped, which are among the lost events.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Packets that a file itself counts as missing, which are among the lost events.
    pub fn stated(&self) -> u64 {
        self.stated
    }

    /// Datagrams of which a fragment is missing, which are among the lost events.
    pub fn fragmented(&self) -> u64 {
        self.fragmented
    }

    /// Events that came too late from other hosts, which are among the lost events.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Events that one probe lost.
    pub fn lost_by(&self, probe: Probe) -> u64 {
        self.lost[probe as usize]
    }

    /// Observation pauses on purpose.
    pub fn close(&mut self, at: Nanos) {
        self.pauses.close(at);
    }

    /// Goes on with the observation after a pause; false if there is none.
    pub fn open(&mut self, at: Nanos) -> bool {
        let was_closed = self.pauses.open(at);
        if was_closed {
            self.certain = at;
        }
        was_closed
    }

    /// From a time on, the present window is open only for the messages that were found in it.
    pub fn wait(&mut self, since: Nanos) {
        self.pauses.wait(since);
    }

    /// The pauses of the observation. A row that the user has muted has others.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Nothing is known to have been missed since this moment.
    pub fn certain(&self) -> Nanos {
        self.certain
    }

    /// Losses and pauses so far in the reports of what sockets receive and read.
    pub fn reported(&self) -> Reported {
        let probes = [Probe::Socket, Probe::Read, Probe::Xmit, Probe::Rx];
        let lost = probes.iter().map(|&probe| self.lost_by(probe)).total();
        Reported { lost, closed_for: self.pauses.closed_for() }
    }
}
