//! Why a row's messages took as long as they did.
//!
//! ```text
//! Delivery ──blame──▶ parts: (leg, segment, cause, time, who had the CPU)
//!                       ├─▶ breakdown: sums by latency, so that median and tail can be told apart
//!                       └─▶ findings: how often, how long, an example
//! counts of losses ─────────▶ evidence ──rules──▶ verdicts, tails, the worst messages
//! ```

mod against;
mod blame;
mod breakdown;
mod culprits;
mod evidence;
mod explain;
mod explanation;
mod finding;
mod gathered;
mod judge;
mod limits;
mod losses;
mod numbers;
mod overdue;
mod quotas;
mod remedy;
mod rules;
mod sentences;
mod setting;
mod start_up;
mod tails;
mod timeline;
mod waits;
mod weigh;

pub use blame::{Parts as BlameSink, blame};
pub(crate) use breakdown::Upkeep;
pub use evidence::{Evidence, Losses, WorkloadCounts};
pub use explanation::{
    Cause, Culprit, ENOUGH, HolderShare, Overdue, Period, Severity, Tail, TailRow, TypicalRow,
    Verdict, VerdictKind, Whereabouts, Why, WorstMessage,
};
pub use judge::DelayCause;
pub use numbers::Missing;
pub(crate) use numbers::Numbers;
pub(crate) use quotas::Quotas;
pub use setting::{QuotaSeen, Setting, Throttled};
