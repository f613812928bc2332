//! Distributions, rates and the last seconds.

mod crossings;
mod distribution;
mod figures;
mod history;
mod partial;
mod pauses;
mod requests;
mod ring;
mod row;
mod sampled;
mod seconds;
mod time_range;
mod uncertain;
mod windows;

pub use distribution::Distribution;
pub use figures::{HISTORY_SECONDS, HistoryPoint, Rate, SegmentStat, Summary};
pub use partial::{Partial, PartialFigures, PartialView};
pub use pauses::Pauses;
pub use requests::{LocalRequestFigures, LocalRequestTimes, LocalRequests, RequestFigures};
pub use ring::Ring;
pub use row::{RowStats, ended_at, read_at, sampled_at};
pub use sampled::RateSums;
pub use seconds::TracedSeconds;
pub use uncertain::UncertainCounts;
