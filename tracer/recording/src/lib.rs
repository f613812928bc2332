//! Events in a file: pcapng that Wireshark opens and that gives every event back, bit for bit. And captures
//! of others as events, as far as packets alone show them.
//!
//! The layout is in docs/recording.md. Nothing reads a clock: time is that of the events. Only `read/open.rs` and `write/files.rs`
//! open files.
//!
//! A folder imports only from those in the rows below its own:
//!
//! ```text
//!  hosts     write
//! ───────────────────────────
//!  read      message   packed
//! ───────────────────────────
//!  record    packet    pcapng
//! ───────────────────────────
//!  wire
//! ```
//!
//! | folder | what |
//! |---|---|
//! | [`hosts`] | captures of several hosts: how their clocks differ, and all as one |
//! | [`read`] | a file → entries, on a thread of its own if that is wanted |
//! | `write` | entries → files; captures of others, written again block by block |
//! | [`message`] | what became of a message, beside the packets that carried it |
//! | `packet` | link, IP, TCP and UDP headers: made for what was seen, read from what was captured |
//! | [`record`] | [`Entry`] ↔ one record in a block of wirelap's own |
//! | `packed` | entries for a connection, told by what is new in them |
//! | `pcapng` | blocks and options of pcapng; classic pcap |
//! | `wire` | values ↔ bytes of a record |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod hosts;
pub mod message;
mod packed;
mod packet;
mod pcapng;
pub mod read;
pub mod record;
mod wire;
mod write;

pub use message::{MessageLeg, MessageSink};
pub use packed::{RecordPacker, RecordUnpacker, Unpacked};
pub use packet::UnreadablePacket;
pub use packet::fragments::{FragmentTable, IncompleteDatagrams};
pub use pcapng::SectionHeader;
pub use pcapng::custom::{ENTERPRISE, MESSAGE_TAG, TAG};
pub use read::{
    BlockOrEntry, Disorder, FileCounts, LivePacket, NotACapture, Problem, Problems, Recording,
    open, open_heads, open_through, uncompressed,
};
pub use record::{Entry, Note, RecordBlock, RecordBuffer};
pub use write::{
    DeviceName, Encoder, EncoderSettings, EventChoice, Excerpt, FileRecorder, KeepLimits,
    KeptEvents, KeptPart, KeptParts, PendingLimits, Rotation, ShownSightings, Store, TooLarge,
    Verbatim, WriteFailed, Written, numbered,
};
