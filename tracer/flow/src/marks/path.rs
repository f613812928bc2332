//! Everything that was seen of a message on one flow.

use wirelap_events::{Circumstances, Hop, Nanos, SocketId, TaskId};

/// The thread that read, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBy {
    pub task: TaskId,
    /// The socket, where a flow has several.
    pub socket: Option<SocketId>,
}

/// Everything that was seen of a message on one flow, as the hooks told it.
#[derive(Clone, Debug, Default)]
pub struct Path<'m> {
    /// Time at which the sender's library was given it, where it is known to have kept it.
    pub publish: Option<Nanos>,
    pub send: Option<Nanos>,
    pub sent: Option<Nanos>,
    /// Time at which the last byte left for the first time, if that copy did not arrive.
    pub lost: Option<Nanos>,
    pub queue: Option<Nanos>,
    pub xmit: Option<Nanos>,
    pub rx: Option<Nanos>,
    pub ready: Option<Nanos>,
    pub read: Option<Nanos>,
    pub sender: Option<TaskId>,
    pub reader: Option<ReadBy>,
    /// Wakeups that led the reader to read.
    pub reading: &'m [Hop],
    /// Wakeups that led the sender to send.
    pub sending: &'m [Hop],
    pub circumstances: Circumstances,
}
