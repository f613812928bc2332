//! Requests and permissions between the ends of a conversation.

use crate::marks::Path;
use wirelap_events::{Nagle, Nanos, Offset, Receipt, Release, RequestLimits, TaskId};
use wirelap_protocols::Side;

/// A sender lets its receiver pass a message on.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    /// The sender's end.
    pub side: Side,
    /// The first byte of the first message.
    pub first: Offset,
    /// The first byte of the last message.
    pub message: Offset,
    /// One past the last byte of the permission.
    pub end: Offset,
    /// One past the last byte of what its sender had to have before, in the other direction.
    pub receipt: Option<Offset>,
}

/// Requests for messages that are remembered: the messages of their answers wait for a moment before they are judged.
pub const REQUESTS: usize = 64;

/// Consumers that share a connection of which it is known how long they awaited answers.
pub const CONSUMERS: usize = 16;

/// A request for messages.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Request {
    /// Time at which it was seen.
    pub at: Nanos,
    /// The thread that wrote it, if that was seen.
    pub by: Option<TaskId>,
    /// One past its last byte.
    pub end: Offset,
    /// The consumer that it is for, where a connection has several.
    pub line: u64,
    /// Time at which it was read, and whether TCP had to send it, or what came before it, again.
    pub read: Option<(Nanos, bool)>,
    /// Time at which it was there for who read it.
    pub there: Option<Nanos>,
    /// Time at which all that came before was there for who asks.
    pub free_since: Option<Nanos>,
    /// One past the last byte of its answer, as far as that is known, or of the messages in it.
    pub answer: Option<Offset>,
    /// Observation was interrupted after it, so that the next answer may be another's.
    pub is_interrupted: bool,
    /// TCP had to send the answer before it again.
    pub after_loss: bool,
    /// Limits of how long it may be kept waiting, if it says.
    pub ask: Option<RequestLimits>,
    /// True if it was answered, perhaps with no message.
    pub is_answered: bool,
    /// True if its answer has messages of a transaction, which are handed out when that is
    /// committed.
    pub awaits_commit: bool,
    /// Time at which who answers it had read the last of the messages that it answers with.
    pub filled: Option<Nanos>,
}

/// Permissions to pass messages on that are remembered until the messages are seen to go on.
pub const RELEASES: usize = 128;

/// A permission to pass a message on.
#[derive(Clone, Copy, Debug)]
pub struct PendingRelease {
    /// The messages, and the bytes of the permission.
    pub of: Released,
    /// The confirmation that its sender had to have before.
    pub receipt: Option<Receipt>,
    /// Once it was read.
    pub read: Option<Release>,
}

impl PendingRelease {
    /// True if it is for the message that begins here.
    pub fn is_for(&self, message: Offset) -> bool {
        (self.of.first..=self.of.message).contains(&message)
    }

    /// The release as it was read at `read`, with its times by the way of its last byte.
    pub fn seen(&self, path: &Path<'_>, read: Nanos) -> Release {
        let arrived = path.ready.or(path.rx).unwrap_or(read).min(read);
        let seen = &path.circumstances;
        // Of a copy that was lost, only its first way out is the sender's matter.
        let first = first_left(path);
        let sent = path.send.or(first).unwrap_or(arrived).min(arrived);
        let left = first.unwrap_or(sent).clamp(sent, arrived);
        let waits = path.sending.iter().map(|hop| hop.running - hop.woken);
        Release {
            sent,
            left,
            arrived,
            read,
            waited: waits.fold(Nanos(0), |sum, wait| sum + wait),
            nagle: waits_for_acknowledgement(path),
            resent: seen.loss.resent || seen.loss.behind,
            recovery: seen.loss.recovery,
            receipt: self.receipt,
        }
    }
}

/// Time at which a byte left its socket for the first time.
pub fn first_left(path: &Path<'_>) -> Option<Nanos> {
    if path.circumstances.loss.resent { path.lost } else { path.queue.or(path.xmit) }
}

/// True if Nagle's algorithm kept a byte until earlier ones were acknowledged.
pub fn waits_for_acknowledgement(path: &Path<'_>) -> bool {
    let seen = &path.circumstances;
    let may_wait = seen.socket.tx.is_some_and(|tx| tx.nagle == Nagle::On && tx.in_flight > 0);
    may_wait && seen.socket.acked.is_some()
}
