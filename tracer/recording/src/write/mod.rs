//! Entries → files; and captures of others, written again.
//!
//! ```text
//!                     ┌──────────┐           ┌─────────┐          ┌───────┐
//!  entries ──────────▶│ encoder  │──blocks──▶│         │──bytes──▶│       │
//!                     └──────────┘           │ pending │          │ files │
//!  others' blocks ──────────────────────────▶│         │─────────▶│       │
//!                                            └─────────┘          └───────┘
//!                  what became of messages ──────▲
//! ```
//! `recorder` is the upper way, `verbatim` the lower one.
//!
//! | file | what |
//! |---|---|
//! | `encoder` | entries → blocks; with `interfaces`, `sockets`, `comment` (a packet's comment in plain words) and `shown` (which sightings Wireshark sees) |
//! | `pending` | packets that wait until it is known what became of their messages; with `flow` (what waits of one flow) and `annotated` (a block that gets more options) |
//! | `files` | the files: full disks, rings |
//! | `recorder` | what is being recorded, and when files change |
//! | `kept` | the newest events, in memory |
//! | `excerpt` | a part of a recording or capture, as a file of its own |
//! | `verbatim` | a capture of others, written again block by block |

mod annotated;
mod comment;
mod encoder;
mod excerpt;
mod files;
mod flow;
mod interfaces;
mod kept;
mod pending;
mod recorder;
mod shown;
mod sockets;
mod verbatim;

pub use encoder::{Encoder, EncoderSettings};
pub use excerpt::{EventChoice, Excerpt, TooLarge};
pub use files::{Rotation, Store, WriteFailed, numbered};
pub use interfaces::DeviceName;
pub use kept::{KeepLimits, KeptEvents, KeptPart, KeptParts};
pub use pending::PendingLimits;
pub use recorder::{FileRecorder, Written};
pub use shown::ShownSightings;
pub use verbatim::Verbatim;
