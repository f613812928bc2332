//! Recordings and captures, from their first entry to their last, through the same pipeline as what happens now.
//!
//! | module | what |
//! |---|---|
//! | [`Replay`] | what was read so far |
//! | [`Follower`] | who is told of events and deliveries on the way |
//! | `several`, `hosts` | what several hosts saw, read as one |
//! | `copy` | what is read is written again, with what became of its messages |
//! | `observed` | what the events of a file tell of, and what they do not |
//! | `report` | what is said about it all |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// They panic where stdout or stderr cannot be written, and wait for whoever reads there: `output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod copy;
mod follower;
mod hosts;
mod observed;
mod open;
mod replay;
mod report;
mod several;

pub use follower::{Follower, Nobody};
pub use open::shown;
pub use replay::{Replay, Replayed};
