//! Zenoh 1.x over TCP and UDP.
//!
//! [`wire`] reads the primitives, [`transport`], [`network`] and [`body`] the three layers of
//! messages, none of which remembers anything. [`session`] walks batches with what it remembers:
//! [`keys`] for key expressions, [`fragments`] for messages in parts. [`survey`] says whether bytes
//! are Zenoh.
//!
//! Frames: a FRAME's header is a frame of its own, with the batch's length if it comes first, and of
//! the class of the message after it; each network message is a frame; each FRAGMENT, header
//! included, is one, and the last one has the message. Where compression is used the whole batch is
//! one opaque frame.

mod body;
mod fragments;
mod keys;
mod network;
mod session;
mod survey;
mod transport;
mod wire;

use crate::{Connection, Protocol, Recognition};
use session::Session;
use survey::Evidence;
use wirelap_events::Transport;

/// Zenoh, as the registry lists it.
pub static PROTOCOL: Zenoh = Zenoh;

/// Zenoh 1.x over TCP and UDP.
#[derive(Debug)]
pub struct Zenoh;

/// Sessions.
const SESSION_PORT: u16 = 7447;

/// Scouting, by multicast.
const SCOUTING_PORT: u16 = 7446;

impl Protocol for Zenoh {
    fn name(&self) -> &'static str {
        "zenoh"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp, Transport::Udp]
    }

    fn ports(&self, transport: Transport) -> &'static [u16] {
        match transport {
            Transport::Tcp => &[SESSION_PORT],
            Transport::Udp => &[SESSION_PORT, SCOUTING_PORT],
        }
    }

    fn recognise(&self, transport: Transport, head: &[u8], at_start: bool) -> Recognition {
        match (transport, head) {
            (Transport::Udp, _) => recognition(survey::datagram(head)),
            (Transport::Tcp, _) if !at_start => recognition(survey::stream(head)),
            // Both ends start with an INIT.
            (Transport::Tcp, &[_, _, header, version, ..]) => {
                let starts = wire::id(header) == 1 && version == transport::VERSION;
                match survey::stream(head) {
                    found if starts && found != Evidence::None => Recognition::Yes,
                    _ => Recognition::No,
                }
            }
            (Transport::Tcp, _) => Recognition::NeedMore,
        }
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        Box::new(Session::new(transport == Transport::Tcp))
    }
}

fn recognition(evidence: Evidence) -> Recognition {
    match evidence {
        Evidence::None => Recognition::No,
        Evidence::Short => Recognition::NeedMore,
        Evidence::Weak | Evidence::Fragment(_) => Recognition::Maybe,
        Evidence::Strong => Recognition::Yes,
    }
}
