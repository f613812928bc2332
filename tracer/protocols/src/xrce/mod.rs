//! DDS-XRCE 1.0 (OMG formal/20-02-01), the protocol of Micro XRCE-DDS, over UDP and TCP.
//!
//! | module | contents |
//! |---|---|
//! | `message` | headers, and dividing a message into submessages |
//! | `payload` | `WRITE_DATA` and `DATA`: the object and the position of the sample |
//! | `objects` | the topics of writers and readers |
//! | `streams` | retransmissions, and submessages in fragments |
//! | `survey` | whether bytes are XRCE |
//! | `connection` | the decoder of one conversation |
//!
//! A client's `WRITE_DATA` to its agent and the agent's `DATA` to other clients are two legs of a message. Each submessage is
//! a frame, and so is a message's header, named `XRCE`. The topic is that of the writer or reader if its creation was
//! captured, otherwise the object ID in hex, which is not the same at the other end.
//!
//! An agent that forwards samples through DDS sends them with RTPS, which `rtps` decodes; the two are not joined to one
//! message. Sequences of samples, which no known program sends, and serial lines are not decoded.

mod connection;
mod message;
mod objects;
mod payload;
mod streams;
mod survey;

use crate::{Connection, MessageRouting, Protocol, Recognition, SignatureMatch};
use wirelap_events::Transport;

/// The protocol DDS-XRCE.
#[derive(Debug)]
pub struct Xrce;

/// The registry's entry.
pub static PROTOCOL: Xrce = Xrce;

impl Protocol for Xrce {
    fn name(&self) -> &'static str {
        "xrce"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Udp, Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[2019, 2018, 8888]
    }

    fn recognise(&self, transport: Transport, head: &[u8], _at_start: bool) -> Recognition {
        match transport {
            Transport::Tcp => survey::stream(head).recognition(),
            Transport::Udp => match survey::message(head, head.len() as u64).recognition() {
                // No further bytes belong to a datagram.
                Recognition::NeedMore => Recognition::No,
                found => found,
            },
        }
    }

    fn match_signature(&self, transport: Transport, head: &[u8]) -> SignatureMatch {
        survey::match_signature(head, transport == Transport::Tcp)
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Brokered
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        Box::new(connection::XrceConnection::new(transport == Transport::Tcp))
    }
}
