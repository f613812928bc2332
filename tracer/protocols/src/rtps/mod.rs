//! RTPS 2.x, the wire protocol of DDS (OMG DDSI-RTPS 2.5, formal/2022-04-01).
//!
//! A UDP datagram is one RTPS message: a 20-byte header and submessages. Every submessage is a frame,
//! and the header is one too, named `RTPS`. Who writes tells what a submessage is for: the built-in
//! writers (entity kind `0xC_`) discover, the others carry the application's data.
//!
//! What counts as application payload of a `DATA`, and of the sample that `DATA_FRAG`s add up to:
//! everything after the 4-byte encapsulation header, without the trailing alignment bytes that the
//! header declares. A body that is one lone octet sequence loses its length prefix too (see
//! [`payload`]), so that the payload starts with the application's first octet.
//!
//! | module | what it knows |
//! |---|---|
//! | `message` | the header, and cutting a datagram into submessages |
//! | `submessage` | their kinds, and what each is for |
//! | `entity` | GUIDs, and which entity ids are built in |
//! | `data` | `DATA` and `DATA_FRAG` |
//! | [`payload`] | encapsulation: where the application's bytes start |
//! | `parameters` | parameter lists: inline `QoS`, topic names in discovery |
//! | `fragments` | samples that came in parts |
//! | `writers` | which samples of a writer were seen |
//! | [`topics`] | the topic of each writer, shared by conversations |
//! | [`connection`] | all of it together |

pub mod connection;
mod data;
mod entity;
mod fragments;
mod message;
mod parameters;
pub mod payload;
mod remedies;
mod submessage;
pub mod topics;
mod writers;

use crate::remedies::Remedies;
use crate::{Connection, Memory, Protocol, Recognition, Topology};
use std::sync::Arc;
use wirelap_events::Transport;

pub use connection::RtpsConnection;
pub use topics::Topics;

/// RTPS 2.x, the wire protocol of DDS.
#[derive(Debug)]
pub struct Rtps;

/// The one that the registry lists.
pub static PROTOCOL: Rtps = Rtps;

/// Domain 0: multicast 7400 and 7401, then two ports a participant (DDSI-RTPS 2.5 §9.6.2.3).
static PORTS: [u16; 101] = domain_0();

/// The first port of domain 0, and the ports from one domain to the next.
const PORT_BASE: u16 = 7400;
const DOMAIN_GAIN: u16 = 250;

/// Ports from here on are what Linux hands out as ephemeral ones: they tell no domain.
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
        &[Transport::Udp]
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
        if transport == Transport::Tcp {
            return Recognition::No;
        }
        message::recognise(head)
    }

    fn topology(&self) -> Topology {
        Topology::PeerToPeer
    }

    fn domain(&self, port: u16) -> Option<u32> {
        let above = port.checked_sub(PORT_BASE).filter(|_| port < EPHEMERAL)?;
        Some(u32::from(above / DOMAIN_GAIN))
    }

    fn memory(&self) -> Memory {
        Memory::of(Topics::default())
    }

    fn connection(&self, _transport: Transport) -> Box<dyn Connection> {
        Box::new(RtpsConnection::new(Arc::default()))
    }

    /// Discovery and user data travel on different ports: without a common memory a conversation
    /// hardly ever knows a topic.
    fn connection_with(&self, _transport: Transport, memory: &Memory) -> Box<dyn Connection> {
        Box::new(RtpsConnection::new(memory.get::<Topics>().unwrap_or_default()))
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
