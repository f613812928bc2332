//! The numbers of the kinds of records; those of events are in [`super::body`].

pub const TICK: u8 = 0;
pub const NOTE: u8 = 1;
/// The first kind that is an event: a socket.
pub const FIRST_EVENT: u8 = 16;
/// A socket of an earlier file of the same recording.
pub const KNOWN: u8 = 80;
