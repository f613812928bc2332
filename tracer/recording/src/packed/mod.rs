//! Records for a connection: the next ones are told by what is new in them.
//!
//! ```text
//! number of events | number of the block (4 bytes each, little endian) | number of records | number of literals (both unsigned) | literals | coded bits
//! ```
//! Both ends learn the same of the records that have passed: which record comes after which on a CPU, and which values a record about a flow,
//! a socket or a thread had in each place. Each value is told as one of those that are likely, which takes a small part of a bit if it is the
//! most likely one. So what is packed is read only by who has read everything before it, from a block of number 0 on.
//!
//! | file | what |
//! |---|---|
//! | [`pack`] | [`RecordPacker`] and [`RecordUnpacker`]: entries ↔ bytes |
//! | `values` | the values of one record |
//! | `model` | what was learnt, and the begin of a record |
//! | `number` | a number by those that stood in the same place |
//! | `history` | a text by those before it |
//! | `coder` | bits ↔ bytes |

mod coder;
mod history;
mod model;
mod number;
mod pack;
mod values;

pub use pack::{RecordPacker, RecordUnpacker, Unpacked};
