//! Clocks of several hosts against that of host 0, while packets pass between them.

mod state;

pub use state::{ClockSource, HostClockState};

use wirelap_events::{Nanos, Packet};

/// Clocks of several hosts against that of host 0, from what passes between them while it happens.
#[derive(Debug)]
pub struct LiveClocks {
    hosts: usize,
}

impl LiveClocks {
    /// Host 0 is the reference (the collector's host, `CLOCK_MONOTONIC`); hosts are 0..hosts.
    pub fn new(hosts: usize) -> LiveClocks {
        LiveClocks { hosts }
    }

    /// A packet that a host saw, at a time of its own monotonic clock. Called for every packet of every host.
    pub fn packet(&mut self, host: usize, at: Nanos, packet: &Packet<'_>) {
        let _ = (host, at, packet);
    }

    /// A question to a host over its control stream: sent and answered by the reference clock, and what its clock said in
    /// between.
    pub fn ping(&mut self, host: usize, sent: Nanos, there: Nanos, back: Nanos) {
        let _ = (host, sent, there, back);
    }

    /// A host's kernel says at a time of its monotonic clock: by how much its wall clock is ahead of that, in nanoseconds, and
    /// the largest error of the wall clock (`adjtimex`'s `maxerror`), `None` if it is not synchronized.
    pub fn stated(&mut self, host: usize, at: Nanos, wall: i64, max_error: Option<Nanos>) {
        let _ = (host, at, wall, max_error);
    }

    /// The host's clock began anew (it was rebooted, or another one took its place): nothing that was learned of it holds.
    pub fn forget(&mut self, host: usize) {
        let _ = host;
    }

    /// Estimates all clocks again from the last minutes. `now` is by the reference clock. Called about once a second.
    pub fn refresh(&mut self, now: Nanos) {
        let _ = now;
    }

    /// A time of a host's clock by the reference clock; `None` while nothing is known of it.
    pub fn to_reference(&self, host: usize, at: Nanos) -> Option<Nanos> {
        (host == 0 && self.hosts > 0).then_some(at)
    }

    /// Knowledge about a host's clock, as of the last refresh.
    pub fn state(&self, host: usize) -> HostClockState {
        let _ = host;
        HostClockState::Unknown
    }

    /// Largest error of a time difference between two hosts, each time converted by [`LiveClocks::to_reference`]; 0 for the same
    /// host, `None` if it is not known.
    pub fn bound(&self, a: usize, b: usize) -> Option<Nanos> {
        (a == b).then_some(Nanos(0))
    }

    /// Pairs of hosts whose kernels' statements contradict what passes between them: the statements of one of both are wrong,
    /// and neither is used.
    pub fn wrongly_stated(&self) -> &[[usize; 2]] {
        &[]
    }
}
