//! The rows of a breakdown as a snapshot has them.

use super::dimension::Dimension;
use super::query::{RowFigure, has_text};
use crate::stats::Summary;
use wirelap_events::Nanos;

/// Rows by what the user asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakdown {
    /// Dimensions by which the rows are told apart, the outermost first.
    pub by: Vec<Dimension>,
    /// Since when messages are counted in them.
    pub since: Nanos,
    /// The figure by which the rows are ordered.
    pub order: RowFigure,
    /// The text that the listed rows have in a name; empty if all are listed. The rest is all others.
    pub text: String,
    /// The rows, those with the most first.
    pub rows: Vec<BreakdownRow>,
    /// All other rows together; without names.
    pub rest: BreakdownRow,
    /// The number of rows that are not listed but added up in the rest, those that had to make room counted each time.
    pub rest_rows: u64,
    /// True if rows had to make room for others, so that listed rows may lack messages, which are then in the rest.
    pub is_crowded: bool,
}

/// The part of a row by name that is of rows that the user has muted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MutedExtent {
    /// Nothing.
    #[default]
    None,
    /// Some of it: messages of those rows are not counted any more, others are.
    Part,
    /// All of it: its figures are those of the moment at which they were muted.
    Whole,
}

/// One row of a breakdown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BreakdownRow {
    /// A name for each dimension; `None` where it is not known, empty for messages without a group.
    pub names: Vec<Option<String>>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were read.
    pub delivered: u64,
    /// Messages that were read and had been followed from end to end.
    pub matched: u64,
    /// Payload bytes of what was read.
    pub payload_bytes: u64,
    /// The one-way latency of what was read.
    pub one_way: Summary,
    /// The largest error of such a latency, because it begins and ends on two hosts; 0 on one.
    pub clock_error: Nanos,
    /// The part of the row that the user has muted.
    pub muted: MutedExtent,
}

impl BreakdownRow {
    /// One of its figures: a number, bytes or nanoseconds; 0 where it has none.
    pub fn figure(&self, figure: RowFigure) -> u64 {
        match figure {
            RowFigure::Messages => self.sent.saturating_add(self.delivered),
            RowFigure::Sent => self.sent,
            RowFigure::Delivered => self.delivered,
            RowFigure::Bytes => self.payload_bytes,
            RowFigure::P50 => self.one_way.p50.0,
            RowFigure::P99 => self.one_way.p99.0,
            RowFigure::Max => self.one_way.max.0,
        }
    }

    /// True if one of the row's names contains a text, which is in lower case. A name that is not
    /// known has none.
    pub fn has_text(&self, text: &str) -> bool {
        has_text(&self.names, text)
    }
}
