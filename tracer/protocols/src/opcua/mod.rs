//! OPC UA over TCP, in UA Binary (OPC 10000-6 §5.2, §6.7, §7.1).
//!
//! | module | of the specification |
//! |---|---|
//! | `header` | what every chunk starts with |
//! | `security` | which channels can be read |
//! | `fields`, `node`, `value` | the binary encoding |
//! | `service` | the types of requests and responses |
//! | `walk` | the services that carry values |
//! | `assembly`, `chunk` | messages that come in chunks |
//! | `names` | whose values they are |
//! | `connection` | all of it together |
//!
//! A message of the application is one value: of a `WriteRequest`, of a data change in a `PublishResponse`,
//! or of a `ReadResponse`. Its topic is the node, as in `ns=1;s=the.answer`. A `PublishResponse` names only
//! handles, which the `CreateMonitoredItemsRequest` of the same connection gave; without that the topic is
//! empty. What one client writes and another is notified of are two legs of one message, with the
//! server in between. A client that is notified of its own writes sees a message of its own there,
//! because an answer on the same connection is taken for an echo. The first value that an item
//! notifies was there before; it counts as retained.
//!
//! Not read: events, history, method calls, what is republished, and `PubSub` (OPC 10000-14), which has
//! nothing of this format.

mod assembly;
mod chunk;
mod connection;
mod fields;
mod header;
mod names;
mod node;
mod remedies;
mod security;
mod service;
mod value;
mod walk;

use crate::remedies::Remedies;
use crate::{Connection, Look, PduLen, Protocol, Reader, Recognition, Sight, Topology};
use fields::{Fault, Fields};
use header::{HEADER_BYTES, Header, MESSAGE_HEADER_BYTES, MessageType};
use security::Policy;
use service::Service;
use wirelap_events::Transport;

/// OPC UA, as the registry lists it.
#[derive(Debug)]
pub struct OpcUa;

/// The registry's entry.
pub static PROTOCOL: OpcUa = OpcUa;

impl Protocol for OpcUa {
    fn name(&self) -> &'static str {
        "opcua"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[4840]
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], _at_start: bool) -> Recognition {
        match Header::read(head) {
            Err(PduLen::Need(_)) => Recognition::NeedMore,
            Err(_) => Recognition::No,
            Ok(header) if !header.is_plausible() => Recognition::No,
            Ok(header) => recognise(header, head),
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        head.first().is_some_and(u8::is_ascii_uppercase)
            && Header::read(head).is_ok_and(Header::is_plausible)
    }

    fn sight(&self, _: Transport, head: &[u8]) -> Look {
        sight(head)
    }

    fn numbers_topics(&self) -> bool {
        true
    }

    fn topology(&self) -> Topology {
        Topology::Either
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::OpcUa::default())
    }
}

fn recognise(header: Header, head: &[u8]) -> Recognition {
    let size = u64::from(header.size);
    let answer = match header.kind {
        // Their sizes are as telling as their names.
        MessageType::Hello | MessageType::Acknowledge => return Recognition::Yes,
        MessageType::Open => Fields::new(head, 0, size, 12)
            .and_then(|mut fields| Policy::read(&mut fields))
            .map(drop),
        MessageType::Message | MessageType::Close => {
            Fields::new(head, 0, size, MESSAGE_HEADER_BYTES)
                .and_then(|mut fields| Service::read(&mut fields))
                .map(drop)
        }
        _ => return Recognition::Maybe,
    };
    match answer {
        Ok(()) => Recognition::Yes,
        Err(Fault::Short) => Recognition::NeedMore,
        // Encrypted.
        Err(Fault::Malformed) => Recognition::Maybe,
    }
}

/// What the chunk at the front of `head` tells: four letters, and a length that makes sense. Its number counts up by one.
fn sight(head: &[u8]) -> Look {
    const BITS: u32 = 34;
    const SERVICE_BITS: u32 = 44;
    const SEQUENCE_AT: usize = HEADER_BYTES + 8;
    match Header::read(head) {
        Err(PduLen::Need(_)) => Look::Short,
        Err(_) => Look::No,
        Ok(header) if !header.is_plausible() => Look::No,
        Ok(header) => {
            let bits = match recognise(header, head) {
                Recognition::Yes => SERVICE_BITS,
                Recognition::No => return Look::No,
                Recognition::Maybe | Recognition::NeedMore => BITS,
            };
            let sight = Sight::new(u64::from(header.size), bits);
            let number = head.get(SEQUENCE_AT..).and_then(|rest| Reader::new(rest).u32_le());
            Look::Pdu(match number {
                Some(number) if header.kind == MessageType::Message => {
                    sight.numbered(0, u64::from(number))
                }
                _ => sight,
            })
        }
    }
}
