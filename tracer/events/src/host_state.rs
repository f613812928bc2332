//! A host whose agent is traced through, beside others: what is known of it, for the user.

use crate::{Nanos, Total, human};
use std::collections::BTreeMap;

/// State of the connection to a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostStatus {
    /// Its agent is being started.
    #[default]
    Connecting,
    /// The agent sends what it observes.
    Connected,
    /// Its agent runs on the same kernel as another one, which sees everything.
    SameKernel {
        /// Name of the host whose agent observes it.
        observed_by: String,
    },
    /// The agent sends, but its events are older than those of the others by this time: they do not wait for it.
    Behind(Nanos),
    /// The agent has ended, or was never there.
    Lost {
        /// Since when; the beginning if it was never there.
        since: Nanos,
        /// Why, with what helps.
        why: String,
    },
}

/// Everything that is known of a host and its agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostState {
    /// The host's number: 1 for this host, whether it is observed or not.
    pub number: u8,
    /// The name that it has for the user.
    pub name: String,
    /// State of the connection to it.
    pub status: HostStatus,
    /// Version of its wirelap, and its kernel; empty until it has told.
    pub version: String,
    /// The kernel's release.
    pub kernel: String,
    /// Observations that are not made there.
    pub lacks: Vec<String>,
    /// Events that came from it.
    pub events: u64,
    /// Events that came too late to be put in order with those of the other hosts, and were left out.
    pub late: u64,
    /// Records that could not be read.
    pub unreadable: u64,
    /// Events that its own probes lost, by probe.
    pub missing: BTreeMap<String, u64>,
    /// Runs of its probes that its kernel skipped.
    pub skipped: u64,
    /// Events that its filter left out, by probe.
    pub filtered: BTreeMap<String, u64>,
    /// Bytes that came from it, compressed.
    pub bytes: u64,
    /// The same before they were compressed.
    pub record_bytes: u64,
    /// CPU time of its agent.
    pub cpu_time: Nanos,
    /// CPU time of its agent divided by the time that has passed.
    pub cpu_share: f64,
    /// Memory of its agent in bytes.
    pub rss_bytes: u64,
    /// Number of times that its agent was started again.
    pub restarts: u64,
    /// Its clock against that of this host.
    pub clock: HostClock,
    /// The last steps of its clock, the oldest first.
    pub steps: Vec<ClockStep>,
    /// Number of all steps of its clock.
    pub step_count: u64,
}

/// A host's clock against that of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum HostClock {
    /// Nothing is known of it yet.
    #[default]
    Unknown,
    /// The clock is this host's own.
    Own,
    /// The difference is known within bounds.
    Known {
        /// Nanoseconds by which it is ahead. Clocks that count from the start of a host differ by days.
        offset_ns: i64,
        /// Parts per million by which it gains; 0 if that is not distinguishable from nothing.
        drift_ppm: f64,
        /// Largest error of the drift.
        drift_within_ppm: f64,
        /// Largest error of the offset if the shortest delays are the same in both directions.
        within: Nanos,
        /// Largest error of the offset in any case.
        at_most: Nanos,
        /// Packets and pings that it was found from.
        samples: u64,
    },
    /// The clock has made a step, and is not known since.
    Stepped(ClockStep),
}

/// A step of a host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When, by the clock of the first host.
    pub at: Nanos,
    /// Nanoseconds by which it went forward, at least and at most; the least or the largest number where that is not known.
    pub by: [i64; 2],
}

impl ClockStep {
    /// The step in a few words.
    pub fn words(&self) -> String {
        let time = |ns: i64| human::time_ns(Some(ns.unsigned_abs()));
        let [least, most] = self.by;
        if least <= 0 && most >= 0 {
            return "stepped".into();
        }
        let way = if most < 0 { "back" } else { "forward" };
        let (near, far) = if most < 0 { (most, least) } else { (least, most) };
        let width = most.saturating_sub(least).unsigned_abs();
        if far == i64::MIN || far == i64::MAX {
            format!("stepped {way} by {} or more", time(near))
        } else if width > near.unsigned_abs() / 4 {
            format!("stepped {way} by {} to {}", time(near), time(far))
        } else {
            let half = i64::try_from(width / 2).unwrap_or(i64::MAX);
            format!("stepped {way} by {} ± {}", time(least.midpoint(most)), time(half))
        }
    }
}

impl HostState {
    /// True if everything that it observes comes in time.
    pub fn is_well(&self) -> bool {
        matches!(self.status, HostStatus::Connected | HostStatus::SameKernel { .. })
    }

    /// Events that its own probes lost.
    pub fn lost(&self) -> u64 {
        self.missing.values().copied().total()
    }

    /// The state in a few words.
    pub fn words(&self) -> String {
        match &self.status {
            HostStatus::Connecting => "connecting".into(),
            HostStatus::Connected => match self.clock {
                HostClock::Unknown => "connected, its clock is not known yet".into(),
                HostClock::Own => "connected".into(),
                HostClock::Known { at_most, .. } => {
                    format!("connected, clock ± {}", human::time_ns(Some(at_most.0)))
                }
                HostClock::Stepped(step) => format!("connected, its clock has {}", step.words()),
            },
            HostStatus::SameKernel { observed_by } => {
                format!("the same kernel as {observed_by}, whose agent sees everything")
            }
            HostStatus::Behind(by) => format!("behind by {:.1} s", by.as_secs_f64()),
            HostStatus::Lost { why, .. } => format!("lost: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_as_exactly_as_it_is_known() {
        let words = |by| ClockStep { at: Nanos(0), by }.words();
        assert_eq!(words([-255_100_000, -254_900_000]), "stepped back by 255.0 ms ± 100.0 µs");
        assert_eq!(words([249_900_000, 250_100_000]), "stepped forward by 250.0 ms ± 100.0 µs");
        assert_eq!(words([-260_000_000, -59_000_000]), "stepped back by 59.0 ms to 260.0 ms");
        assert_eq!(words([i64::MIN, -59_000_000]), "stepped back by 59.0 ms or more");
        assert_eq!(words([i64::MIN, i64::MAX]), "stepped");
    }
}
