//! Problems in reading a file.

use std::fmt;
use wirelap_events::{Count, Nanos, Saturate};

/// The most problems that are kept with their texts; further ones are counted.
const MAX_KEPT: usize = 16;

/// Something in a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset at which the problem begins, in bytes from the start of the file; of a compressed file after it was uncompressed.
    pub offset: u64,
    /// The problem, and what was done about it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.what)
    }
}

/// Problems in reading a file: the first ones with their texts, and a count of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first problems.
    pub first: Vec<Problem>,
    /// Number of further problems.
    pub more: u64,
}

impl Problems {
    /// True if everything could be read.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    pub(crate) fn add(&mut self, offset: u64, what: impl Into<String>) {
        if self.first.len() < MAX_KEPT {
            self.first.push(Problem { offset, what: what.into() });
        } else {
            self.more.grow(1);
        }
    }
}

/// Counts of packets and records in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// TCP and UDP packets that were handed out, from packet blocks.
    pub packets: Count,
    /// Entries that were handed out from wirelap's own records.
    pub records: Count,
    /// Packets that are not in the file, by its own account.
    pub stated_losses: Count,
    /// Directions of Multipath TCP's subflows of which it is not known where in their connection their bytes belong.
    pub split_subflows: Count,
    /// Packets that are neither TCP nor UDP.
    pub other: Count,
    /// Datagrams in IP fragments of which a part is missing, or parts overlap.
    pub fragments: Count,
    /// Packets whose headers were not captured as a whole.
    pub cut: Count,
    /// Packets of a link type that wirelap does not read.
    pub unknown_link: Count,
    /// Records of a later version.
    pub unknown_records: Count,
    /// Packets that have wirelap's own option: they carry everything that was seen.
    pub own: Count,
}

/// Departures of a file's packets from the order of their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disorder {
    /// Packets that were earlier than one before them, and were sorted.
    pub sorted: Count,
    /// Those of them that came too late in the file to get to their place.
    pub too_late: Count,
    /// Times that the clock was set back. Later times were moved, to go on where they were.
    pub steps: Count,
    /// Longest time by which the clock was set back.
    pub longest_step: Nanos,
}
