//! Everything that was seen of a message on one flow.

use wirelap_events::{Circumstances, Hop, Nanos, SocketId, TaskId};

/// The thread that read, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBy {
    /// The thread.
    pub task: TaskId,
    /// The socket, where a flow has several.
    pub socket: Option<SocketId>,
}

/// Everything that was seen of a message on one flow, as the hooks told it.
#[derive(Clone, Debug, Default)]
pub struct Path<'m> {
    /// Time at which the sender's library was given it, where it is known to have kept it.
    pub publish: Option<Nanos>,
    /// Time of the call that sent the first byte.
    pub send: Option<Nanos>,
    /// Time of the call that sent the last byte.
    pub sent: Option<Nanos>,
    /// Time at which the last byte left for the first time, if that copy did not arrive.
    pub lost: Option<Nanos>,
    /// Time at which the last byte came to the qdisc.
    pub queue: Option<Nanos>,
    /// Time at which the last byte was handed to the device.
    pub xmit: Option<Nanos>,
    /// Time at which the last byte came in.
    pub rx: Option<Nanos>,
    /// Time at which the last byte was reported ready.
    pub ready: Option<Nanos>,
    /// Time at which the last byte was read.
    pub read: Option<Nanos>,
    /// The thread that sent the first byte.
    pub sender: Option<TaskId>,
    /// The reader of the last byte.
    pub reader: Option<ReadBy>,
    /// Wakeups that led the reader to read.
    pub reading: &'m [Hop],
    /// Wakeups that led the sender to send.
    pub sending: &'m [Hop],
    /// Further facts that the marks tell of the leg.
    pub circumstances: Circumstances,
}
