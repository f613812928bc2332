//! The account of who has not got which messages, from which everything is answered that is said of them.
//!
//! ```text
//! each message        a broker gets it        it has a number among those of its topic
//!                     a subscriber gets it    its progress on the topic                    `table`
//!
//! each look           messages one by one, where they are       engine/deliveries/outstanding
//!                       └─▶ by subscriber, who holds them up    engine/deliveries/under_way
//!                     subscribers side by side                  `compared`
//!
//!                     ┌──────────── one entry for each subscriber and topic ────────────┐
//! the account         │ who     its connection, client, group, process                  │
//! `shortfalls`        │ behind  by how much, since when, held up by whom; now, at most  │ slow subscribers: screen, JSON, table
//!                     │ missed  messages that were dropped on the way to it             │ verdict `never_delivered`
//!                     │ left    what it had not got when its connection was closed      │ verdict `never_delivered`
//!                     └─────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Messages that are open at a moment (verdicts as `broker_stalled`) are summed up by place and process in
//! `engine/deliveries/overdue`. The progress also tells for how long messages are kept (`awaited`).
//!
//! | module | what |
//! |---|---|
//! | `table` | how many messages a topic has had, and which of them was sent to each subscriber last |
//! | `ages` | when a topic had so many messages, in few entries |
//! | `awaited` | which messages some subscriber may still get |
//! | `away` | which messages came while a subscriber with a session was away, and were not kept for it |
//! | `gaps` | what a subscriber did not get, while it got later messages |
//! | `compared` | what is known of a subscriber by comparison with others of its topic |
//! | `shortfalls` | the account: who is or was behind, has missed something, or left before it had everything |
//! | `view` | what a snapshot has of it |

mod ages;
mod awaited;
mod away;
mod compared;
mod gaps;
mod shortfalls;
mod table;
#[cfg(test)]
mod tests;
mod view;

pub use away::{AwayCount, AwayLoss, ResumedTopic};
pub use gaps::GapCount;
pub use shortfalls::{SeenNow, Shortfall, Shortfalls, Subscriber};
pub use table::{LagTable, Pair, PairKey, TakesAll, TopicKey};
pub use view::{Lag, LagHolder, SlowSubscriber, SlowSubscribers};
