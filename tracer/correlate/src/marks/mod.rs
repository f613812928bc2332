//! What the hooks saw of a flow's bytes, searchable by byte.

mod layers;
mod loss;
mod tcp;
mod udp;

pub use layers::{Layers, Spanned};
pub use loss::overlap;
pub use tcp::TcpMarks;
pub use udp::{Arrival, Datagram, Sending, UdpMarks, Use};
use wirelap_events::{Circumstances, Hop, Nanos, SocketId, TaskId};

/// Who read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    pub task: TaskId,
    /// Which socket, where a flow has several.
    pub socket: Option<SocketId>,
}

/// Everything that was seen of a message on one flow, as the hooks told it.
#[derive(Clone, Debug, Default)]
pub struct Path<'m> {
    /// When the sender's library was given it, where it is known to have kept it.
    pub publish: Option<Nanos>,
    pub send: Option<Nanos>,
    pub sent: Option<Nanos>,
    /// When the last byte left for the first time, if that copy did not arrive.
    pub lost: Option<Nanos>,
    pub queue: Option<Nanos>,
    pub xmit: Option<Nanos>,
    pub rx: Option<Nanos>,
    pub ready: Option<Nanos>,
    pub read: Option<Nanos>,
    pub sender: Option<TaskId>,
    pub reader: Option<Who>,
    /// How the reader came to read.
    pub reading: &'m [Hop],
    /// How the sender came to send.
    pub sending: &'m [Hop],
    pub circumstances: Circumstances,
}
