//! Events and frames → messages: flows, stages, legs, the overhead ledger, statistics, [`Snapshot`].

pub mod snapshot;

pub use snapshot::{
    Counts, Group, HistoryPoint, Overhead, ProbeLoss, Process, Rate, SegmentStat, Snapshot,
    Summary, TracerCost, Trust,
};
