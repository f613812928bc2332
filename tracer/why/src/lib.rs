//! Why a row's messages took as long as they did.
//!
//! ```text
//! Delivery ──blame──▶ parts: (leg, segment, cause, time, who had the CPU)
//!                       ├─▶ breakdown: sums by latency, so that median and tail can be told apart
//!                       └─▶ findings: how often, how long, an example
//! counts of losses ─────────▶ evidence ──rules──▶ verdicts, tails, the worst messages
//! ```

mod absences;
mod against;
mod awaited;
mod blame;
mod breakdown;
mod case;
mod clause;
mod culprits;
mod definition;
mod evidence;
mod explain;
mod explanation;
mod finding;
mod gathered;
mod gone;
mod holders;
mod judge;
mod kind;
mod loss_counts;
mod not_got;
mod numbers;
mod overdue;
mod recorder;
mod rules;
mod setting;
mod stuck;
mod sums;
mod tails;
mod time_spent;
mod timeline;
mod verdicts;
mod waits;
mod weigh;
mod whereabouts;

pub use awaited::Awaited;
pub use blame::{BlameSink, BlamedPart, blame};
pub use clause::{Circumstance, Clause, CpuHolders, Named, Remedy};
pub use evidence::Evidence;
pub use explanation::{
    Cause, Culprit, HolderShare, Severity, Tail, TailRow, TimeSpent, TimeSpentRow, TypicalRow,
    Verdict, Why, WorstMessage,
};
pub use gone::ServerGone;
pub use judge::DelayCause;
pub use kind::VerdictKind;
pub use loss_counts::{Departure, Losses, WorkloadCounts};
pub use not_got::{MissedBy, MostLeft};
pub use numbers::{Missing, Numbers};
pub use setting::{Setting, Throttled};
pub use stuck::{DropPlace, StuckConnection};
pub use sums::Upkeep;
pub use timeline::Period;
pub use whereabouts::{Overdue, Whereabouts};
