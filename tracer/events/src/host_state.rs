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
    Stepped {
        /// When.
        at: Nanos,
        /// By how much, in nanoseconds.
        by: i64,
    },
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
                HostClock::Stepped { by, .. } => format!(
                    "connected, its clock has stepped by {}",
                    human::time_ns(Some(by.unsigned_abs()))
                ),
            },
            HostStatus::SameKernel { observed_by } => {
                format!("the same kernel as {observed_by}, whose agent sees everything")
            }
            HostStatus::Behind(by) => format!("behind by {:.1} s", by.as_secs_f64()),
            HostStatus::Lost { why, .. } => format!("lost: {why}"),
        }
    }
}
