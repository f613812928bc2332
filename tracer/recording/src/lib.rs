//! Events in a file: pcapng that Wireshark opens and that gives every event back, bit for bit. And captures
//! of others as events, as far as packets alone can tell.
//!
//! The layout is in docs/recording.md. No clock here: time is that of the events. Only `open` and `files` know
//! files.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | [`Entry`] ↔ one record of a custom block |
//! | `wire` | values ↔ bytes of a record |
//! | [`headers`] | IP, TCP and UDP headers: built for what was seen, read from what was captured |
//! | `link` | link headers of others' captures |
//! | [`block`] | blocks and options of pcapng |
//! | [`encode`] | entries → the bytes of a file |
//! | [`read`] | a file → entries, on a thread of its own if that is wanted |
//! | [`hosts`] | captures of two hosts: how their clocks differ, and both as one |
//! | `captured` | one captured packet → an event |
//! | `comment` | a packet's comment in plain words |
//! | [`message`] | what became of a message, beside the packets that carried it |
//! | `hold` | packets that wait for that |
//! | `open` | files, compressed ones too |
//! | `verbatim` | a capture of others, written again block by block |
//! | `recorder` | what is being recorded, and when files change |
//! | `files` | the files: full disks, rings |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod block;
mod captured;
mod comment;
pub mod encode;
mod files;
pub mod headers;
mod hold;
pub mod hosts;
mod input;
mod link;
pub mod message;
mod open;
pub mod problem;
pub mod read;
pub mod record;
mod recorder;
mod verbatim;
mod wire;

pub use encode::{DeviceName, Encoder, Section, Settings, Shown};
pub use files::{Rotation, Store, WriteFailed, numbered};
pub use hold::Limits;
pub use message::{Passage, Passages};
pub use open::{open, uncompressed};
pub use problem::{Counts, Problem, Problems};
pub use read::{NotACapture, Piece, Recording};
pub use record::{Entry, Note};
pub use recorder::{Recorder, Written};
pub use verbatim::Verbatim;

/// Stands for the private enterprise number that wirelap does not have: one that IANA gives to nobody (RFC 9371
/// §3.1).
pub const ENTERPRISE: u32 = u32::MAX;

/// Behind [`ENTERPRISE`] in blocks and options of wirelap's: that they are, and the version of what follows.
/// Readers leave out other versions.
pub const TAG: [u8; 3] = *b"WL\x01";

/// Likewise, in the options that say what became of a message.
pub const MESSAGE_TAG: [u8; 3] = *b"WM\x02";
