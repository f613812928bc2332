//! Zenoh 1.x over TCP and UDP.
//!
//! `wire` reads the primitives; `transport` (and `scouting`), `network` and `body` read the three
//! layers of messages and remember nothing. `session` is what a conversation remembers, with `keys`
//! for key expressions and `fragments` for messages in parts; `batch` walks a batch with it. `survey`
//! says whether bytes are Zenoh.
//!
//! Frames: a FRAME's header is a frame of its own, with the batch's length if it comes first, and of
//! the class of the message after it; each network message is a frame; each FRAGMENT, header
//! included, is one, and the last one has the message. Where compression is used the whole batch is
//! one opaque frame.

mod batch;
mod body;
mod fragments;
mod keys;
mod network;
mod remedies;
mod scouting;
mod session;
mod survey;
mod transport;
mod wire;

use crate::remedies::Remedies;
use crate::{Connection, Look, Protocol, Recognition};
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

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, transport: Transport, head: &[u8], at_start: bool) -> Recognition {
        match transport {
            Transport::Udp => recognition(survey::datagram(head)),
            Transport::Tcp if at_start => starts(head),
            Transport::Tcp => recognition(survey::stream(head)),
        }
    }

    fn sight(&self, transport: Transport, head: &[u8]) -> Look {
        survey::sight(head, transport == Transport::Tcp)
    }

    fn greets(&self) -> bool {
        false
    }

    fn says_goodbye(&self) -> bool {
        true
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        Box::new(Session::new(transport == Transport::Tcp))
    }
}

/// Whether a TCP flow starts with these bytes: both of its ends do with an INIT.
fn starts(head: &[u8]) -> Recognition {
    let (header, version) = (head.get(2), head.get(3));
    let contradicted = header.is_some_and(|header| wire::id(*header) != 1)
        || version.is_some_and(|version| *version != transport::VERSION);
    match survey::stream(head) {
        _ if contradicted => Recognition::No,
        Evidence::None => Recognition::No,
        _ if version.is_none() => Recognition::NeedMore,
        _ => Recognition::Yes,
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
