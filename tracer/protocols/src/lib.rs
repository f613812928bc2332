//! Decoders without I/O: they turn the bytes of a flow into frames.
//!
//! Each protocol is a folder here and one line in [`registry`]. It says how long a PDU is
//! ([`Connection::pdu_len`]) and which frames are in it ([`Connection::pdu`]). [`stream`] does what is the same for all
//! protocols: it cuts a flow into PDUs, skips bytes that were not captured and resynchronises after a gap.
//!
//! No input makes a decoder panic, and all memory is bounded.

// Numbers from a file or a packet may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod amqp;
pub mod connection;
pub mod foreign;
mod in_flight;
pub mod kafka;
mod memories;
pub mod memory;
pub mod mqtt;
pub mod nats;
pub mod note;
pub mod opcua;
pub mod plain;
mod queues;
pub mod reader;
pub mod recognise;
pub mod registry;
pub mod remedies;
pub mod ros2;
pub mod rtps;
pub mod search;
mod side;
pub mod signature;
pub mod sink;
pub mod stream;
pub mod tls;
mod tls_record;
pub mod websocket;
pub mod xrce;
pub mod zenoh;
pub mod zmtp;

pub use connection::{
    Connection, Encryption, LeftMessages, MessageRouting, Party, Pdu, PduLen, Protocol, Recognition,
};
pub use memories::Memories;
pub use memory::Memory;
pub use note::{
    Fragments, FrameNote, KeptFor, LogPlace, ReadIn, RequestContent, Throttle, UnseenParties,
};
pub use queues::{Discard, DiscardedMessages, PutBack, QueueLimits, Withheld};
pub use reader::Reader;
pub use registry::{broker, by_name, named, registry};
pub use remedies::{BrokerRemedies, Remedies};
pub use search::ProtocolSearch;
pub use side::Side;
pub use signature::{PduSignature, SignatureMatch};
pub use sink::{FrameSink, MAX_CLIENT_NAME, topic_number};
