//! One record ↔ what it says.
//!
//! ```text
//! length (unsigned) | kind (1 byte) | by kind:
//!    0 tick     time
//!    1 note     length of its subject (unsigned) | subject | text
//!   16… event   time | cpu | body; the kind is the body's
//!   80  known   as 16 (a socket), of an earlier file
//! ```
//! Times are signed differences from the time of the record before; that of the first record is from the time before the
//! records. A reader leaves out kinds that it does not know, and what follows the last field that it knows.
//!
//! | file | what |
//! |---|---|
//! | `entry` | [`Entry`]: what a recording holds |
//! | `located` | an entry that was read, its bytes still where they are |
//! | `writer` | entries → records |
//! | `block` | records that were written together → entries, one after the other |
//! | `cursor` | records → entries |
//! | `kind` | the numbers of the kinds |
//! | `body` | an event's body ↔ its bytes |
//! | `packet` | a packet ↔ its bytes, and what its headers do not say |

mod block;
pub(crate) mod body;
mod cursor;
mod entry;
pub(crate) mod kind;
mod located;
mod packet;
mod writer;

pub use block::{BlockSurvey, RecordBlock};
pub(crate) use cursor::{RecordCursor, UnreadableRecord};
pub use entry::{Entry, Note};
pub(crate) use located::LocatedEntry;
pub(crate) use packet::{PacketHeaders, PacketMetadata};
pub use writer::RecordBuffer;
