//! DDS-XRCE 1.0 (OMG formal/20-02-01), which Micro XRCE-DDS speaks, over UDP and TCP.
//!
//! | module | what it knows |
//! |---|---|
//! | `message` | headers, and cutting a message into submessages |
//! | `payload` | `WRITE_DATA` and `DATA`: whose sample, and where it is |
//! | `objects` | the topics of writers and readers |
//! | `streams` | what was sent again, and submessages in parts |
//! | `survey` | whether bytes are XRCE |
//! | `connection` | all of it together |
//!
//! A client's `WRITE_DATA` goes to its agent, and the agent's `DATA` to other clients: two legs of a
//! message. Every submessage is a frame, and so is a message's header, named `XRCE`. The topic is that
//! of the writer or reader if its creation was seen; its number in hex otherwise, which is another one
//! at the other end.
//!
//! An agent that passes samples on through DDS sends them with RTPS, which `rtps` reads; that the two
//! are one message is not recognised. Not read: sequences of samples, of which there is no sender, and
//! serial lines.

mod connection;
mod message;
mod objects;
mod payload;
mod streams;
mod survey;

use crate::{Connection, Look, Protocol, Recognition, Topology};
use wirelap_events::Transport;

/// DDS-XRCE, as the registry lists it.
#[derive(Debug)]
pub struct Xrce;

/// The registry's entry.
pub static PROTOCOL: Xrce = Xrce;

/// Bytes of the length before a message in a TCP stream.
const LENGTH_BYTES: u64 = 2;

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
                // A datagram has no more to come.
                Recognition::NeedMore => Recognition::No,
                found => found,
            },
        }
    }

    fn sight(&self, transport: Transport, head: &[u8]) -> Look {
        survey::sight(head, transport == Transport::Tcp)
    }

    fn topology(&self) -> Topology {
        Topology::Brokered
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        Box::new(connection::Xrce::new(transport == Transport::Tcp))
    }
}
