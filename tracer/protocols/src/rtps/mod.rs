//! RTPS 2.x, the wire protocol of DDS (OMG DDSI-RTPS 2.5, formal/2022-04-01).
//!
//! A UDP datagram is one RTPS message: a header of 20 bytes, and submessages. Each submessage is a frame, and so is the
//! header, named `RTPS`. The writer determines the class of a submessage: built-in writers (entity kind `0xC_`) do
//! discovery, the others send the application's data.
//!
//! The payload of a `DATA`, and of the sample in several `DATA_FRAG`s, is all bytes after the 4-byte encapsulation header,
//! without the padding that the header declares. If the body is a single octet sequence, the payload is its octets without
//! their length (see [`payload`]).
//!
//! | module | contents |
//! |---|---|
//! | `message` | the header, and dividing a datagram into submessages |
//! | `submessage_kind`, `submessage` | the kinds of submessages, and what they contain |
//! | `byte_order` | integers in the byte order of a submessage |
//! | `entity` | GUIDs and entity IDs |
//! | `data` | `DATA` and `DATA_FRAG` |
//! | [`payload`] | encapsulation: where the application's bytes start |
//! | `parameters` | parameter lists: inline `QoS`, names in discovery |
//! | `shared_host` | addresses in shared memory |
//! | `shared_memory` | participants between which no packet shows samples |
//! | `tcp` | RTPS messages in a TCP connection, as Fast DDS sends them |
//! | `participants` | which participant is at each end of a conversation |
//! | `fragments` | samples that are sent in fragments |
//! | `vendor` | which implementation sends a message |
//! | `writers` | which samples of a writer were captured |
//! | [`topics`] | the topic of each writer, shared by conversations |
//! | [`connection`] | the decoder of one conversation |

mod byte_order;
pub mod connection;
mod data;
mod entity;
mod fragments;
mod message;
mod parameters;
mod participants;
pub mod payload;
mod remedies;
mod shared_host;
mod shared_memory;
mod submessage;
mod submessage_kind;
mod tcp;
pub mod topics;
mod vendor;
mod writers;

use crate::remedies::Remedies;
use crate::{Connection, Memory, MessageRouting, Protocol, Recognition, SignatureMatch};
use std::sync::Arc;
use wirelap_events::Transport;

pub use connection::RtpsConnection;
pub use topics::WriterTopics;

/// RTPS 2.x, the wire protocol of DDS.
#[derive(Debug)]
pub struct Rtps;

/// The registry's entry.
pub static PROTOCOL: Rtps = Rtps;

/// The ports of domain 0: multicast 7400 and 7401, then two ports for each participant (DDSI-RTPS 2.5 §9.6.2.3).
static PORTS: [u16; 101] = domain_0();

/// The first port of domain 0.
const PORT_BASE: u16 = 7400;
/// The number of ports of each domain.
const DOMAIN_GAIN: u16 = 250;

/// The first ephemeral port of Linux; from here on, ports do not show a domain.
const EPHEMERAL: u16 = 32_768;

const fn domain_0() -> [u16; 101] {
    let mut ports = [0; 101];
    let mut index = 0;
    while index <= 100 {
        ports[index as usize] = PORT_BASE.saturating_add(index);
        index = index.saturating_add(1);
    }
    ports
}

impl Protocol for Rtps {
    fn name(&self) -> &'static str {
        "dds"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Udp, Transport::Tcp]
    }

    fn ports(&self, transport: Transport) -> &'static [u16] {
        match transport {
            Transport::Udp => &PORTS,
            Transport::Tcp => &[],
        }
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, transport: Transport, head: &[u8], _at_start: bool) -> Recognition {
        match transport {
            Transport::Tcp => tcp::recognise(head),
            Transport::Udp => message::recognise(head),
        }
    }

    fn match_signature(&self, transport: Transport, head: &[u8]) -> SignatureMatch {
        match transport {
            Transport::Tcp => tcp::match_signature(head),
            Transport::Udp => SignatureMatch::No,
        }
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::PeerToPeer
    }

    fn domain(&self, port: u16) -> Option<u32> {
        let above = port.checked_sub(PORT_BASE).filter(|_| port < EPHEMERAL)?;
        Some(u32::from(above / DOMAIN_GAIN))
    }

    fn memory(&self) -> Memory {
        Memory::of(WriterTopics::default())
    }

    fn connection(&self, transport: Transport) -> Box<dyn Connection> {
        decoder(transport, Arc::default())
    }

    /// Discovery and user data use different ports, so conversations know topics only by shared memory.
    fn connection_with(&self, transport: Transport, memory: &Memory) -> Box<dyn Connection> {
        decoder(transport, memory.get::<WriterTopics>().unwrap_or_default())
    }
}

fn decoder(transport: Transport, topics: Arc<WriterTopics>) -> Box<dyn Connection> {
    let messages = RtpsConnection::new(topics);
    match transport {
        Transport::Tcp => Box::new(tcp::TcpRtpsConnection::new(messages)),
        Transport::Udp => Box::new(messages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_magic_and_the_major_version_tell() {
        let udp = |head: &[u8]| PROTOCOL.recognise(Transport::Udp, head, true);
        assert_eq!(udp(b"RTPS\x02\x01\x01\x10"), Recognition::Yes);
        assert_eq!(udp(b"RTPS\x01\x00"), Recognition::No);
        assert_eq!(udp(b"RTPS"), Recognition::NeedMore);
        assert_eq!(udp(b""), Recognition::NeedMore);
        assert_eq!(udp(b"RTPX\x02"), Recognition::No);
        assert_eq!(PROTOCOL.recognise(Transport::Tcp, b"RTPS\x02", true), Recognition::No);
    }

    #[test]
    fn the_ports_of_domain_0_hint() {
        let ports = PROTOCOL.ports(Transport::Udp);
        for port in [7400, 7401, 7410, 7411, 7412, 7500] {
            assert!(ports.contains(&port));
        }
        assert!(PROTOCOL.ports(Transport::Tcp).is_empty());
    }

    #[test]
    fn a_port_tells_the_domain() {
        let domain = |port| PROTOCOL.domain(port);
        assert_eq!([domain(7399), domain(7400), domain(7649)], [None, Some(0), Some(0)]);
        assert_eq!([domain(7650), domain(32_767), domain(32_768)], [Some(1), Some(101), None]);
    }
}
