//! Kinds of marks: the data kept of each observation of a flow's bytes.

use super::super::layers::{Layers, Spanned};
use crate::threads::Chain;
use wirelap_events::{AckRoundTrip, ByteRange, DroppedPacket, Nanos, Offset, TaskId, TxState};

/// A call that sent bytes.
#[derive(Clone, Copy, Debug)]
pub struct SendMark {
    /// The bytes.
    pub range: ByteRange,
    /// Time of the call.
    pub at: Nanos,
    /// The thread.
    pub task: TaskId,
    /// The state of the socket then, if it was read.
    pub state: Option<TxState>,
    /// A loss had made the congestion window smaller.
    pub shrunk: bool,
    /// The last round trip before the send.
    pub trip: Option<AckRoundTrip>,
    /// Since when its bytes had been tried to be written, if the socket had taken nothing of them before.
    pub refused: Option<Nanos>,
    /// Time for which bytes that had been refused waited for room in the socket, of this send and all before it.
    pub awaited: Nanos,
    /// The receiver had no room for them, because it had not read what had come in.
    pub is_unread: bool,
}

/// The reader had come to some byte.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Everything before was read.
    pub upto: Offset,
    /// Time of the read.
    pub at: Nanos,
    /// Time at which the first byte that it read then was in its socket, as far as that was seen.
    pub came: Option<Nanos>,
}

/// The wakeups that led a thread to send.
#[derive(Clone, Debug)]
pub struct ChainMark {
    /// The bytes that it sent.
    pub range: ByteRange,
    /// The wakeups.
    pub led: Chain,
}

/// A packet that was handed to its device.
#[derive(Clone, Copy, Debug)]
pub struct XmitMark {
    /// The bytes in it.
    pub range: ByteRange,
    /// Time at which it came to the qdisc, if that was seen.
    pub queued: Option<Nanos>,
    /// Time at which the device got it.
    pub at: Nanos,
    /// Time at which the last acknowledgement of something new had come before.
    pub acked: Option<Nanos>,
}

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub struct RxMark {
    /// The bytes in it.
    pub range: ByteRange,
    /// Time at which it came in.
    pub at: Nanos,
    /// Since when `ksoftirqd`, to which the packet was left, had been woken; 0 if that is not known.
    pub deferred: Option<Nanos>,
}

/// A report of bytes that are ready.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// The bytes.
    pub range: ByteRange,
    /// Time of the report.
    pub at: Nanos,
}

/// An acknowledgement of something new.
#[derive(Clone, Copy, Debug)]
pub struct AckMark {
    /// The acknowledged bytes.
    pub range: ByteRange,
    /// Time at which it came.
    pub at: Nanos,
    /// True if it carried no data.
    pub is_bare: bool,
}

/// The acknowledgements of one direction.
#[derive(Debug)]
pub struct HeardAcks {
    /// Acknowledgements, and when they came.
    pub marks: Layers<AckMark>,
    /// The least time from a packet's departure to its acknowledgement.
    pub soonest: Option<Nanos>,
}

impl HeardAcks {
    /// Forgets those of bytes before `floor`.
    pub fn prune(&mut self, floor: Offset) {
        self.marks.prune(floor, floor);
    }

    /// Frees memory that no mark uses.
    pub fn shrink(&mut self) {
        self.marks.shrink();
    }
}

/// A call that read bytes.
#[derive(Clone, Debug)]
pub struct ReadMark {
    /// The bytes.
    pub range: ByteRange,
    /// Time of the read.
    pub at: Nanos,
    /// The thread.
    pub task: TaskId,
    /// The wakeups that led to the read.
    pub led: Chain,
}

macro_rules! spanned {
    ($($mark:ty),*) => {
        $(impl Spanned for $mark {
            fn range(&self) -> ByteRange {
                self.range
            }
        })*
    };
}
spanned!(SendMark, ChainMark, XmitMark, RxMark, Mark, ReadMark, AckMark);

/// Bytes that are stuck, as far as they are known to be.
#[derive(Clone, Copy, Debug)]
pub struct StuckMark {
    /// The first byte that was sent again and not acknowledged.
    pub start: Offset,
    /// Time at which that byte had left first.
    pub from: Nanos,
    /// Number of times that it was sent again.
    pub resent: u32,
    /// A packet with it that this host threw away, the last one, and how many.
    pub dropped: Option<DroppedPacket>,
    /// Number of such packets.
    pub drops: u32,
}

/// Bytes that do not arrive.
#[derive(Clone, Copy, Debug)]
pub struct Stuck {
    /// Time at which the first of them had left first.
    pub from: Nanos,
    /// Number of times that TCP sent it again.
    pub resent: u32,
    /// Bytes that were written from there on.
    pub bytes: u64,
    /// Packets with it that this host threw away: their number, and the last one.
    pub drops: u32,
    /// The last of these packets.
    pub dropped: Option<DroppedPacket>,
}
