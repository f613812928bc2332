//! Names protocols that wirelap does not decode: by the first bytes of a conversation or, if it was joined late, by its
//! records and frames.
//!
//! | module | protocols |
//! |---|---|
//! | `tls` | TLS: version, and from the client's hello the server's name and the protocol inside (RFC 8446, RFC 6066, RFC 7301) |
//! | `http` | HTTP/1 and WebSocket, with what travels inside (RFC 9112, RFC 6455) |
//! | `http2` | HTTP/2, and `gRPC` by its message prefix (RFC 9113) |
//! | `amqp` | AMQP 0-9 and 1.0 |
//! | `redis` | Redis's RESP |
//! | `openvpn` | `OpenVPN` over TCP |
//! | `stomp` | STOMP, with its version |
//! | `sp` | the scalability protocols of nng and nanomsg |
//! | `postgres` | `PostgreSQL`'s protocol 3 |
//! | `rabbitmq` | `RabbitMQ`'s stream protocol |
//! | `others` | SSH, `MySQL`, `MongoDB` and DNS over TCP |
//! | `datagrams` | QUIC, DTLS, DNS, STUN and names of `NetBIOS` over UDP |
//!
//! Only bytes that no other protocol sends get a name, because no name is better than a wrong one.

mod amqp;
mod datagrams;
mod http;
mod http2;
mod name;
mod openvpn;
mod others;
mod postgres;
mod rabbitmq;
mod redis;
mod sp;
mod stomp;
mod tls;

use crate::Side;
use wirelap_events::{Saturate, Size, Total};

pub use datagrams::datagram;
pub use name::ForeignName;
pub(crate) use tls::hello as tls_hello;

/// Bytes that are kept of a direction's beginning.
const HEAD_BYTES: usize = 8 << 10;

/// The most packets of a direction that are examined.
const PACKETS: u32 = 4096;

/// The state of one direction.
#[derive(Debug, Default)]
struct ForeignDirection {
    /// The first bytes, as long as more bytes may complete them.
    head: Vec<u8>,
    packets: u32,
    records: tls::LateRecords,
    tunnel: openvpn::Tunnel,
    websocket: http::LateFrames,
}

/// Examines a TCP conversation that is not decoded.
#[derive(Debug, Default)]
pub struct ForeignObserver {
    directions: [ForeignDirection; 2],
    name: Option<ForeignName>,
    /// Number of packets that showed the name.
    told: u32,
    /// True if the conversation's first bytes showed the name.
    from_start: bool,
}

/// Number of packets in mid-stream that must show the name; a single one may look like another protocol by chance.
const ENOUGH_TOLD: u32 = 2;

/// After this many packets that show it, the name is certain.
const CERTAIN_TOLD: u32 = 8;

impl ForeignObserver {
    /// Bytes of memory that the observer uses.
    pub fn held_bytes(&self) -> Size {
        Size::sum(self.directions.iter().map(|direction| direction.head.capacity()))
    }

    /// The protocol's name, if it is reliable.
    pub fn name(&self) -> Option<&ForeignName> {
        self.name.as_ref().filter(|_| self.from_start || self.told >= ENOUGH_TOLD)
    }

    /// True if the name can no longer change.
    pub fn is_certain(&self) -> bool {
        let both = self.directions.iter().all(|direction| direction.packets > 0);
        self.name.is_some() && ((self.from_start && both) || self.told >= CERTAIN_TOLD)
    }

    /// True if enough packets were examined that further ones are unlikely to show more.
    pub fn is_done(&self) -> bool {
        const ENOUGH_PACKETS: u32 = 32;
        self.directions.iter().map(|direction| direction.packets).total::<u32>() >= ENOUGH_PACKETS
    }

    /// Examines the next packet of one direction; its `missing` last bytes were not captured. `starts` says whether these
    /// are the flow's first bytes.
    pub fn packet(&mut self, side: Side, starts: bool, bytes: &[u8], missing: u64) {
        let direction = &mut self.directions[side as usize];
        if bytes.is_empty() || direction.packets >= PACKETS {
            return;
        }
        direction.packets.grow(1);
        let is_first = starts || direction.packets == 1;
        let found = direction.packet(is_first, starts, bytes, missing);
        if let Some(found) = found {
            self.told = self.told.saturating_add(1);
            self.from_start |= starts;
            match &mut self.name {
                Some(name) => name.learn(found),
                None => self.name = Some(found),
            }
        }
    }
}

impl ForeignDirection {
    fn packet(
        &mut self,
        is_first: bool,
        starts: bool,
        bytes: &[u8],
        missing: u64,
    ) -> Option<ForeignName> {
        // A hello may be in several packets, so the first bytes are collected.
        if is_first {
            self.head.clear();
        }
        let joins = is_first || (!self.head.is_empty() && self.head.len() < HEAD_BYTES);
        if joins {
            crate::reader::extend_up_to(&mut self.head, bytes, HEAD_BYTES);
            if let Some(found) = opening(&self.head) {
                // Only the next packet of a TLS hello can show more.
                if found.protocol != name::TLS {
                    self.head.clear();
                }
                return Some(found);
            }
        }
        opening(bytes)
            .or_else(|| self.records.packet(bytes, missing))
            .or_else(|| self.tunnel.packet(starts, bytes, missing))
            .or_else(|| middle(bytes, missing))
            .or_else(|| self.websocket.packet(bytes, missing))
    }
}

/// The name by bytes that start a conversation, but are distinctive at the start of any packet.
fn opening(head: &[u8]) -> Option<ForeignName> {
    tls::hello(head)
        .or_else(|| http::head(head))
        .or_else(|| http2::preface(head))
        .or_else(|| amqp::header(head))
        .or_else(|| postgres::startup(head))
        .or_else(|| rabbitmq::properties(head))
        .or_else(|| sp::greeting(head))
        .or_else(|| others::banner(head))
}

/// The name by bytes in the middle of a conversation.
fn middle(bytes: &[u8], missing: u64) -> Option<ForeignName> {
    http2::frames(bytes, missing)
        .or_else(|| amqp::frames(bytes))
        .or_else(|| redis::values(bytes))
        .or_else(|| stomp::frame(bytes))
        .or_else(|| postgres::messages(bytes, missing))
        .or_else(|| others::message(bytes, missing))
}

#[cfg(test)]
mod tests;
