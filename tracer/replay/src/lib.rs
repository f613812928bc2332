//! Reads recordings and captures from beginning to end, through the same pipeline as live events.
//!
//! | module | what |
//! |---|---|
//! | [`Replay`] | reads files and makes the report |
//! | [`Follower`] | gets events and deliveries while files are read |
//! | `pipeline` | the correlator, and who gets what it finds |
//! | `figures` | adds deliveries to the figures of their rows, on a thread of its own |
//! | [`playback`] | what was read in steps of time, for a screen that shows it |
//! | `several`, `hosts` | captures of several hosts, read together |
//! | `copy` | writes a copy in which the packets tell what became of their messages |
//! | [`message`] | what the files have of one message, as a file of its own |
//! | `keys` | keys that TLS connections are read with |
//! | `piece` | sockets of a recording whose beginning was cut off |
//! | `observed` | which observations the files contain |
//! | `report` | the report of what was read |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// `print!` panics when stdout cannot be written and blocks when nobody reads; `wirelap_process::output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod copy;
mod figures;
mod follower;
mod hosts;
mod keys;
pub mod message;
mod observed;
mod open;
mod piece;
mod pipeline;
pub mod playback;
mod replay;
mod report;
mod several;

pub use follower::{Follower, NoFollower};
pub use open::shown;
pub use replay::{Replay, Replayed};
