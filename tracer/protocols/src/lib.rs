//! Sans-I/O decoders: bytes in a flow → frames.
//!
//! A protocol is a folder here and one line in [`registry`]. It says how long a PDU is
//! ([`Connection::pdu_len`]) and what is in it ([`Connection::pdu`]); cutting a flow into PDUs,
//! skipping what was not captured and finding the way back after a gap is [`stream`]'s work, the same
//! for all of them.
//!
//! Nothing here panics on any input, and nothing grows without bound.

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

pub mod connection;
pub mod foreign;
pub mod kafka;
pub mod memory;
pub mod mqtt;
pub mod nats;
pub mod opcua;
pub mod plain;
pub mod reader;
pub mod recognise;
pub mod registry;
pub mod remedies;
pub mod rtps;
pub mod search;
pub mod sight;
pub mod stream;
pub mod xrce;
pub mod zenoh;
pub mod zmtp;

pub use connection::{
    Connection, Fragments, FrameSink, Pdu, PduLen, Protocol, Recognition, Side, Topology,
};
pub use memory::{Memories, Memory};
pub use reader::Reader;
pub use registry::{broker, by_name, registry};
pub use remedies::{BrokerRemedies, Remedies};
pub use search::Search;
pub use sight::{Look, Sight};
