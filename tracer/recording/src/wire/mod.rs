//! Layout of values in a record: one byte after the other, independent of any byte order.
//!
//! ```text
//! unsigned   LEB128: seven bits a byte, the lowest first, the top bit set if more follow
//! signed     zigzag (0, -1, 1, -2 …), then as unsigned
//! Option     0 or 1, then the value
//! enum       its number, one byte, then its fields
//! struct     its fields in order
//! Seq        4 bytes; PacketId 8 bytes; the lowest first
//! Comm       its length, then so many bytes
//! address    4 or 6, then 4 or 16 bytes, then the port
//! ```
//!
//! The same list of fields writes and reads, so the two cannot differ; a field that is added to an
//! event does not compile until it is added here.
//!
//! | file | what |
//! |---|---|
//! | `bytes` | bytes that are read from the front, numbers of variable length |
//! | `layout` | writers and readers of such values |
//! | `plain` | values one behind the other |
//! | `value` | [`WireValue`]: a value ↔ its bytes; numbers, options, names, addresses; the lists of fields and variants |
//! | `events` | the structs and enums of events |
//! | `sched` | waits of threads and CPU quotas |

mod bytes;
mod events;
mod layout;
mod plain;
mod sched;
mod value;

pub use bytes::{Bytes, put_signed, put_unsigned};
pub use layout::{WireReader, WireWriter};
pub(crate) use value::fields;
pub use value::{Signed, WireValue};
