//! Marks: observations of a flow's bytes by the hooks, searchable by byte.

mod alone;
mod either;
mod layers;
mod loss;
mod path;
mod shrunk_window;
mod tcp;
mod udp;

pub use alone::{PacketTimes, begin_and_end};
pub use either::Marks;
pub use loss::LossGap;
pub use path::{Path, ReadBy};
pub use tcp::Stuck;

pub use udp::{Arrival, Datagram, MemoryUse, Sending, UdpMarks};
