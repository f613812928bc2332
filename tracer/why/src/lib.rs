//! Why a row's messages took as long as they did, and who has not got them.
//!
//! ```text
//! Delivery ──blame──▶ parts: (leg, segment, cause, time, who had the CPU)
//!                       ├─▶ breakdown: sums by latency, so that median and tail can be told apart
//!                       └─▶ findings: how often, how long, an example
//! counts of losses ─────────▶ evidence ──rules──▶ verdicts, tails, the worst messages
//! lag: who is behind, who missed something ──┘
//! ```
//!
//! A verdict is a module of its name in `verdicts`, with a line in the registry there ([`for_each_verdict`]). Every time and share that
//! decides is in `wirelap_limits`.

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

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
mod kept;
mod kind;
mod lag;
mod loss_counts;
mod not_got;
mod numbers;
mod overdue;
mod recorder;
mod requests;
mod rests;
mod rules;
mod setting;
mod shared_name;
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
pub use lag::{
    AwayCount, AwayLoss, GapCount, Lag, LagHolder, LagTable, Pair, PairKey, ResumedTopic, SeenNow,
    Shortfall, Shortfalls, SlowSubscriber, SlowSubscribers, Subscriber, TakesAll, TopicKey,
};
pub use loss_counts::{
    Departure, LoopedMessages, Losses, LostSegments, MissedAway, NotKeptMessages,
    PassedOverRecords, PutBackMessages, WorkloadCounts,
};
pub use not_got::{MissedBy, MostLeft};
pub use numbers::{Missing, Numbers};
pub use setting::{Setting, Throttled};
pub use shared_name::{NameUser, SharedName};
pub use stuck::{DropPlace, StuckConnection};
pub use timeline::Period;
pub use whereabouts::{Overdue, Whereabouts};
