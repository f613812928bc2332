//! OPC UA over TCP, in UA Binary (OPC 10000-6 §5.2, §6.7, §7.1).
//!
//! | module | contents |
//! |---|---|
//! | `header` | the header of a chunk |
//! | `security` | security policies: which channels are encrypted |
//! | `fields`, `node`, `value` | the binary encoding |
//! | `service` | the types of requests and responses |
//! | `walk` | the services that carry values |
//! | `assembly`, `chunk` | messages in several chunks |
//! | `names` | the nodes of values |
//! | `published` | which notifications were published before |
//! | `session` | the name of a session |
//! | `connection` | the decoder of one connection |
//!
//! A message of the application is one value: of a `WriteRequest`, of a data change in a `PublishResponse`, or of a
//! `ReadResponse`. Its topic is the node, as in `ns=1;s=the.answer`. A `PublishResponse` has only handles, which the
//! `CreateMonitoredItemsRequest` of the same connection has assigned; if that was not captured, the topic is empty. A write
//! of one client and the notification of another client are two legs of one message, with the server in between. The
//! notification of a client's own write is a separate message, because an answer on the same connection is considered an
//! echo. The first value that is notified for an item existed before; it counts as retained.
//!
//! A notification that is published again, because the client asks for it, repeats its values if it was published on this connection
//! before, by its sequence number; else it has them for the first time.
//!
//! Events, history, method calls and `PubSub` (OPC 10000-14), which has another format, are not decoded.

mod assembly;
mod chunk;
mod connection;
mod fields;
mod header;
mod names;
mod node;
mod published;
mod remedies;
mod security;
mod service;
mod session;
mod value;
mod walk;

use crate::remedies::Remedies;
use crate::{
    Connection, MessageRouting, PduLen, PduSignature, Protocol, Reader, Recognition, SignatureMatch,
};
use fields::{FieldError, OpcuaFields};
use header::{ChunkHeader, HEADER_BYTES, MESSAGE_HEADER_BYTES, MessageType};
use security::Policy;
use service::Service;
use wirelap_events::Transport;

/// The protocol OPC UA.
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
        match ChunkHeader::read(head) {
            Err(PduLen::Need(_)) => Recognition::NeedMore,
            Err(_) => Recognition::No,
            Ok(header) if !header.is_plausible() => Recognition::No,
            Ok(header) => recognise(header, head),
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        ChunkHeader::stands_out(head)
    }

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        match_signature(head)
    }

    fn numbers_topics(&self) -> bool {
        true
    }

    /// Notifications wait for the publishing interval of their subscription (OPC 10000-4 §5.14.1).
    fn passes_on_later(&self) -> bool {
        true
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Either
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::OpcUaConnection::default())
    }
}

fn recognise(header: ChunkHeader, head: &[u8]) -> Recognition {
    let size = u64::from(header.size);
    let answer = match header.kind {
        // The sizes of these are as distinctive as their names.
        MessageType::Hello | MessageType::Acknowledge => return Recognition::Yes,
        MessageType::Open => OpcuaFields::new(head, 0, size, 12)
            .and_then(|mut fields| Policy::read(&mut fields))
            .map(drop),
        MessageType::Message | MessageType::Close => {
            OpcuaFields::new(head, 0, size, MESSAGE_HEADER_BYTES)
                .and_then(|mut fields| Service::read(&mut fields))
                .map(drop)
        }
        _ => return Recognition::Maybe,
    };
    match answer {
        Ok(()) => Recognition::Yes,
        Err(FieldError::Short) => Recognition::NeedMore,
        // The body may be encrypted.
        Err(FieldError::Malformed) => Recognition::Maybe,
    }
}

/// Tells whether a chunk starts with `head`. The evidence is four letters and a plausible length; its sequence number is a counter.
fn match_signature(head: &[u8]) -> SignatureMatch {
    const BITS: u32 = 34;
    const SERVICE_BITS: u32 = 44;
    const SEQUENCE_AT: usize = HEADER_BYTES + 8;
    match ChunkHeader::read(head) {
        Err(PduLen::Need(_)) => SignatureMatch::Short,
        Err(_) => SignatureMatch::No,
        Ok(header) if !header.is_plausible() => SignatureMatch::No,
        Ok(header) => {
            let bits = match recognise(header, head) {
                Recognition::Yes => SERVICE_BITS,
                Recognition::No => return SignatureMatch::No,
                Recognition::Maybe | Recognition::NeedMore => BITS,
            };
            let sight = PduSignature::new(u64::from(header.size), bits);
            let number = head.get(SEQUENCE_AT..).and_then(|rest| Reader::new(rest).u32_le());
            SignatureMatch::Pdu(match number {
                Some(number) if header.kind == MessageType::Message => {
                    sight.numbered(0, u64::from(number))
                }
                _ => sight,
            })
        }
    }
}
