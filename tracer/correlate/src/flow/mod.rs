//! Flows: from packets to bytes in order, from bytes to messages found.

mod carried;
mod conversation;
mod devices;
mod direction;
mod known;
mod pieces;
mod reassembly;
mod recognition;
mod table;
mod topics;
mod unwrap;

pub use conversation::{Conversation, State};
pub use direction::{Flow, Marks};
pub use reassembly::{Limits, Piece, Reassembly};
pub use table::{FlowTable, Node, Way};
pub use topics::Topics;
pub use unwrap::Unwrap;

use wirelap_events::{ByteRange, Stamp, TopicId};
use wirelap_protocols::Side;

/// A message that a decoder found in a flow.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The sending end.
    pub side: Side,
    pub extent: ByteRange,
    pub identity: Identity,
    pub stamp: Option<Stamp>,
    pub payload_len: u64,
    /// The protocol says that it may be sent again.
    pub duplicate: bool,
    /// The protocol says that it is to be stored, or was.
    pub retained: bool,
    /// Its payload is in shared memory.
    pub shared: bool,
    /// Its topic, if topics are kept.
    pub topic: Option<TopicId>,
}

/// What decoders found and nobody has looked at yet.
#[derive(Debug, Default)]
pub struct Finds {
    pub all: Vec<Found>,
    pub topics: Topics,
}

/// What makes a message the same on every flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub hash: u64,
    /// Whether two messages with this identity are one: not so for a digest of the content.
    pub exact: bool,
}
