//! Figures of messages: distributions, rates, the last seconds, and rows by topic, client and so on.
//!
//! ```text
//!  breakdown  rows by topic, client and so on, if the user asks for them
//!      │
//!      ▼
//!  stats      distributions, rates, sums of sampled traffic, the last seconds
//! ```
//!
//! Nothing here knows of flows, packets or threads: times and numbers of messages come in, sums come out.

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod breakdown;
mod stats;

pub use breakdown::{
    Breakdown, BreakdownQuery, BreakdownRow, BreakdownTable, ClientNames, Dimension,
    DimensionNumbers, Introduction, LinkEnd, MAX_NESTED, MessageEnd, MutedExtent, NONE, Owner,
    ReaderGroup, RowFigure, RowFigures, UNKNOWN, has_text,
};
pub use stats::{
    Distribution, HISTORY_SECONDS, HistoryPoint, LocalRequestFigures, LocalRequestTimes,
    LocalRequests, Partial, PartialFigures, PartialView, Pauses, Rate, RateSums, RequestFigures,
    Ring, RowStats, SegmentStat, Summary, TracedSeconds, UncertainCounts, ended_at, read_at,
    sampled_at,
};
