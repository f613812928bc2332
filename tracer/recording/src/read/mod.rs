//! A file → entries, one after the other.
//!
//! ```text
//!        bytes               blocks                 entries
//!  file ────────▶ BlockReader ──┬────▶ EntryReader ──────────▶ Recording
//!                               │           ▲ clock, interfaces
//!                               └────▶ CurrentSection
//! ```
//! Whatever the bytes are, reading ends and keeps at most one block in memory. What cannot be read is reported with its
//! place, and reading goes on behind it where that can be found.
//!
//! | file | what |
//! |---|---|
//! | `input` | a file's bytes, a window at a time |
//! | `blocks` | bytes → blocks, behind damage, too |
//! | `section` | what section headers and interfaces say of the blocks behind them |
//! | `entries` | a block → its entries |
//! | `packets` | one captured packet → an event |
//! | `stated` | losses that the file states |
//! | `subflows` | connections of Multipath TCP, whose subflows are put together |
//! | `recording` | [`Recording`]: the three readers put together |
//! | `block` | blocks as they stand in the file, for copying |
//! | `peek` | a recording whose next entry can be looked at |
//! | `batch` | entries that are read ahead, and their bytes |
//! | `ahead` | reading on a thread of its own |
//! | `order` | packets in the order of their times |
//! | `heads` | the heads of packets, for a first look |
//! | `open` | files, compressed ones too |
//! | [`problem`] | what could not be read, and what was |

mod ahead;
mod batch;
mod block;
mod blocks;
mod entries;
mod heads;
mod input;
mod open;
mod order;
mod packets;
mod peek;
pub mod problem;
mod recording;
mod section;
mod stated;
mod subflows;

pub use block::{Block, BlockOrEntry};
pub use blocks::NotACapture;
pub use open::{open, open_heads, open_through, uncompressed};
pub use packets::{LivePacket, PacketPlace};
pub use peek::{Peek, WantedEntries};
pub use problem::{Disorder, FileCounts, Problem, Problems};
pub use recording::Recording;
