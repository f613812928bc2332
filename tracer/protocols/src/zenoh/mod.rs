//! Zenoh 1.x over TCP and UDP.
//!
//! | module | contents |
//! |---|---|
//! | `wire` | primitives |
//! | `transport`, `scouting` | transport and scouting messages |
//! | `network`, `message`, `body` | network messages and their bodies |
//! | `session`, `keys`, `fragments`, `queries` | the state of a conversation: negotiated options, key expressions, incomplete messages, open queries |
//! | `batch`, `compressed` | decodes a batch into frames, and decompresses it before |
//! | `connection` | the decoder of one conversation |
//! | `survey`, `datagram` | whether bytes of a stream, or a datagram, are Zenoh |
//!
//! The header of a FRAME is a frame of its own, which includes the batch's length if it is the first, and has the class of
//! the message after it. Each network message is a frame. Each FRAGMENT is a frame, including its header, and the last one
//! has the message. A compressed batch (LZ4) is a frame, and its messages are frames without bytes of their own.

mod attachment;
mod batch;
mod body;
mod compressed;
mod connection;
mod datagram;
mod fragments;
mod keys;
mod message;
mod network;
mod queries;
mod remedies;
mod scouting;
mod session;
mod survey;
mod transport;
mod wire;

use crate::remedies::Remedies;
use crate::{Connection, Protocol, Recognition, SignatureMatch};
use session::ZenohSession;
use survey::ZenohEvidence;
use wirelap_events::Transport;

/// The registry's entry.
pub static PROTOCOL: Zenoh = Zenoh;

/// Zenoh 1.x over TCP and UDP.
#[derive(Debug)]
pub struct Zenoh;

/// The port of sessions.
const SESSION_PORT: u16 = 7447;

/// The port of scouting, which is multicast.
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

    fn numbers_topics(&self) -> bool {
        true
    }

    /// zenoh-link-ws, whose links are not streamed.
    fn omits_length_over_websocket(&self) -> bool {
        true
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, transport: Transport, head: &[u8], at_start: bool) -> Recognition {
        match transport {
            Transport::Udp => recognition(datagram::examine(head)),
            Transport::Tcp if at_start => starts(head),
            Transport::Tcp => recognition(survey::stream(head)),
        }
    }

    fn match_signature(&self, transport: Transport, head: &[u8]) -> SignatureMatch {
        match transport {
            Transport::Udp => datagram::match_signature(head),
            Transport::Tcp => survey::match_signature(head),
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        survey::stands_out(head)
    }

    fn has_magic(&self) -> bool {
        false
    }

    fn announces_close(&self) -> bool {
        true
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        Box::new(ZenohSession::new(transport == Transport::Tcp))
    }
}

/// Tells whether `head` can be the first bytes of a TCP flow: each end starts with an INIT.
fn starts(head: &[u8]) -> Recognition {
    let (header, version) = (head.get(2), head.get(3));
    let contradicted = header.is_some_and(|header| wire::id(*header) != 1)
        || version.is_some_and(|version| *version != transport::VERSION);
    match survey::stream(head) {
        _ if contradicted => Recognition::No,
        ZenohEvidence::None => Recognition::No,
        _ if version.is_none() => Recognition::NeedMore,
        _ => Recognition::Yes,
    }
}

fn recognition(evidence: ZenohEvidence) -> Recognition {
    match evidence {
        ZenohEvidence::None => Recognition::No,
        ZenohEvidence::Short => Recognition::NeedMore,
        ZenohEvidence::Weak | ZenohEvidence::Fragment(_) => Recognition::Maybe,
        ZenohEvidence::Strong => Recognition::Yes,
    }
}
