//! Subscribers that are behind: how far each is on each topic.
//!
//! | module | what |
//! |---|---|
//! | `table` | how many messages a topic has had, and which of them was sent to each subscriber last |
//! | `ages` | when a topic had so many messages, in few entries |
//! | `awaited` | which messages some subscriber may still get |
//! | `behind` | a subscriber that is or was behind |
//! | `handed_over` | topics that one member of a group has left to another |
//! | `left` | who was behind when its connection was closed |
//! | `missed` | what a subscriber did not get, while it got later messages |
//! | `missing` | who has missed what others got |
//! | `seen` | who has been behind so far, and by how much at most |
//! | `view` | what a snapshot has of them |

mod ages;
mod awaited;
mod behind;
mod handed_over;
mod left;
mod missed;
mod missing;
mod seen;
mod table;
mod view;

pub use behind::Behind;
pub use seen::SeenBehind;
pub use table::{LagTable, Pair, PairKey, TopicKey};
pub use view::{Lag, LagHolder, SlowSubscriber, SlowSubscribers};
