//! Subscribers that are behind: how far each is on each topic.
//!
//! | module | what |
//! |---|---|
//! | `table` | how many messages a topic has had, and which of them was sent to each subscriber last |
//! | `ages` | when a topic had so many messages, in few entries |
//! | `seen` | who has been behind so far, and by how much at most |
//! | `view` | what a snapshot has of them |

mod ages;
mod seen;
mod table;
mod view;

pub use seen::{Behind, SeenBehind};
pub use table::{LagTable, Pair, PairKey, TopicKey};
pub use view::{Lag, LagHolder, SlowSubscriber, SlowSubscribers};
