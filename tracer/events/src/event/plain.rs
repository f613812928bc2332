//! The text of a TLS record, before it was encrypted.

use super::TaskId;
use crate::{Seq, SocketId};

/// A thread is about to send a TLS record whose text its library was seen to encrypt. The event's `at` is the entry of the send.
///
/// The event precedes the send and the packets of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainText<'a> {
    /// The socket.
    pub socket: SocketId,
    /// The sending thread.
    pub task: TaskId,
    /// Where the record starts, with its header.
    pub start: Seq,
    /// Bytes of the record, with its header.
    pub record_len: u32,
    /// Bytes of the socket's text before this one since the probes were attached, modulo 2³².
    pub text_start: u32,
    /// Bytes of the text.
    pub len: u32,
    /// The first bytes of the text, as many as were captured.
    pub text: &'a [u8],
}
