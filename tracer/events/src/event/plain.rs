//! The text of a TLS record, outside the encryption.

use super::TaskId;
use crate::{Seq, SocketId};

/// The text of TLS, from the memory of the program that encrypts or decrypts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainText<'a> {
    /// The socket of that program.
    pub socket: SocketId,
    /// The sending or reading thread.
    pub task: TaskId,
    /// Place of the text's record in the stream.
    pub place: TextPlace,
    /// Bytes of the socket's text in this direction before this one since the probes were attached, modulo 2³².
    pub text_start: u32,
    /// Bytes of the text.
    pub len: u32,
    /// The first bytes of the text, as many as were captured.
    pub text: &'a [u8],
}

/// Place of a text's record in the socket's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlace {
    /// A thread is about to send the record. The event's `at` is the entry of the send; it precedes the send and the packets of
    /// the record.
    Sent {
        /// Start of the record, with its header.
        start: Seq,
        /// Bytes of the record, with its header.
        record_len: u32,
    },
    /// A thread has got this text from its library. The event's `at` is that moment; it follows the reads of the record.
    Read {
        /// One past the last byte that was read from the socket.
        end: Seq,
        /// Bytes that were read from the socket for this text.
        taken: u32,
        /// The library reads as much as there is. Others read record by record: `end` ends a record, and if nothing was taken, the
        /// text goes on in the record of the one before.
        ahead: bool,
    },
}
