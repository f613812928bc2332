//! Captures of several hosts: the packets that two of them have, what their times say about the two clocks, and all
//! packets of all in one order.
//!
//! ```text
//!   clock of host 1   ──t₁────────────────────────────t₁'──▶
//!                        ╲ request              reply ╱
//!   clock of host 2   ─────t₂──────────────────────t₂'─────▶
//!
//!   t₂ − t₁  = offset + delay there       never below offset + the shortest delay there
//!   t₂' − t₁' = offset − delay back       never above offset − the shortest delay back
//! ```
//!
//! The offset lies between the two; in the middle if the shortest delays of both directions are the same, which packets do not
//! show. Only the shortest count, so that queues, however uneven, do no harm while some packet finds
//! them empty. The two clocks' rates differ, too: the offset is taken as a line over time.
//!
//! | module | what |
//! |---|---|
//! | `token` | what makes a packet the same in both files |
//! | [`survey`] | the packets of a file, in bounded memory |
//! | `common` | the packets that two files have in common |
//! | [`clocks`] | [`Clocks`]: the line |
//! | `hull` | the points that a line from below can touch |
//! | [`tree`] | every clock against the first one's, over the captures in between |
//! | [`places`] | which addresses are on which host |
//! | `first` | what the first packets of a file tell: the two below |
//! | `own` | the addresses of the host that made a capture, where its packets have a direction |
//! | [`merge`] | all files as one |
//! | `retime` | another host's times by the first one's clock |
//! | `renumber` | another host's numbers as none of the first one's are |
//! | `twice` | one file that has the captures of both ends |
//! | [`live`] | clocks of several hosts while packets pass between them |

pub mod clocks;
mod common;
mod first;
mod hull;
pub mod live;
pub mod merge;
mod own;
pub mod places;
mod renumber;
mod retime;
pub mod survey;
mod token;
pub mod tree;
mod twice;

pub use clocks::Clocks;
pub use common::{Common, Sides, common};
pub use first::FirstPackets;
pub use merge::merge;
pub use places::HostAddresses;
pub use renumber::{Renumbering, namespace_on, netns_on};
pub use retime::retime;
pub use survey::{AddressNumbers, Survey};
pub use tree::{ClockChain, ClockLink, tree};
pub use twice::DuplicateCapture;
