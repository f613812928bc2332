//! Names what wirelap does not decode: by the first bytes of a conversation, or, joined late, by its records and frames.
//!
//! | module | names |
//! |---|---|
//! | `tls` | TLS: version, and from the client's hello the server's name and the protocol inside (RFC 8446, RFC 6066, RFC 7301) |
//! | `http` | HTTP/1 and WebSocket, with what travels inside (RFC 9112, RFC 6455) |
//! | `http2` | HTTP/2, and `gRPC` by its message prefix (RFC 9113) |
//! | `amqp` | AMQP 0-9-1 and 1.0 |
//! | `redis` | Redis's RESP |
//! | `openvpn` | `OpenVPN` over TCP |
//! | `postgres` | `PostgreSQL`'s protocol 3 |
//! | `others` | SSH, `MySQL`, `MongoDB` and DNS over TCP |
//! | `datagrams` | QUIC, DTLS, DNS and STUN over UDP |
//!
//! A name is given only for bytes that nothing else sends: no name is better than a wrong one.

mod amqp;
mod datagrams;
mod http;
mod http2;
mod openvpn;
mod others;
mod postgres;
mod redis;
mod tls;

use crate::Side;
use std::fmt;
use wirelap_events::{Saturate, Total};

pub use datagrams::datagram;

/// Bytes that are kept of a direction's beginning.
const HEAD_BYTES: usize = 8 << 10;

/// Packets of a direction that are looked at; what has no name by then gets none.
const PACKETS: u32 = 4096;

/// What a conversation speaks that is not decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignName {
    /// The protocol: `TLS`, `HTTP/2`, `Redis` …
    pub protocol: &'static str,
    /// Its version, if that was seen.
    pub version: Option<&'static str>,
    /// The server's name that the client asked for (TLS's SNI, HTTP's Host).
    pub server_name: Option<Box<str>>,
    /// What travels inside, as far as that is said: TLS's ALPN, a WebSocket's subprotocol.
    pub inside: Option<Box<str>>,
    /// What the conversation began with before this: `PostgreSQL` asks for TLS first.
    pub within: Option<&'static str>,
    /// Its content cannot be read by anyone in between.
    pub is_encrypted: bool,
}

impl ForeignName {
    /// A name without more.
    pub(crate) fn of(protocol: &'static str, version: Option<&'static str>) -> ForeignName {
        ForeignName { protocol, version, ..ForeignName::default() }
    }

    /// Adds what the other direction, or a later packet, has told.
    fn learn(&mut self, more: ForeignName) {
        // An encrypted inside replaces what it was asked for with; a WebSocket the HTTP that it began as.
        let goes_on = (more.is_encrypted && !self.is_encrypted)
            || (more.protocol == http::WEBSOCKET && self.protocol == http::HTTP);
        if goes_on {
            let within = (self.protocol != http::HTTP).then_some(self.protocol);
            let server_name = self.server_name.take();
            *self = ForeignName { within: within.or(self.within), ..more };
            self.server_name = self.server_name.take().or(server_name);
        } else if more.protocol == self.protocol {
            self.version = more.version.or(self.version);
            self.server_name = self.server_name.take().or(more.server_name);
            self.inside = self.inside.take().or(more.inside);
        }
    }
}

impl fmt::Display for ForeignName {
    /// `TLS 1.3 (SNI broker.example, ALPN mqtt)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(within) = self.within {
            write!(f, "{within} over ")?;
        }
        f.write_str(self.protocol)?;
        if let Some(version) = self.version {
            write!(f, " {version}")?;
        }
        let [name_word, inside_word] =
            if self.protocol == tls::TLS { ["SNI ", "ALPN "] } else { ["host ", "carries "] };
        match (&self.server_name, &self.inside) {
            (Some(name), Some(inside)) => write!(f, " ({name_word}{name}, {inside_word}{inside})"),
            (Some(name), None) => write!(f, " ({name_word}{name})"),
            (None, Some(inside)) => write!(f, " ({inside_word}{inside})"),
            (None, None) => Ok(()),
        }
    }
}

/// What one direction has shown.
#[derive(Debug, Default)]
struct Direction {
    /// The first bytes, while they may still tell something.
    head: Vec<u8>,
    packets: u32,
    records: tls::Records,
    tunnel: openvpn::Tunnel,
    websocket: http::Frames,
}

/// Watches a TCP conversation that no decoder reads.
#[derive(Debug, Default)]
pub struct Observer {
    directions: [Direction; 2],
    name: Option<ForeignName>,
    /// Packets that told it.
    told: u32,
    /// The conversation's very first bytes told it.
    from_start: bool,
}

/// In mid-stream, a packet of anything may begin like something else; two hardly do.
const ENOUGH_TOLD: u32 = 2;

/// By then it is that and nothing else.
const CERTAIN_TOLD: u32 = 8;

impl Observer {
    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        self.directions.iter().map(|direction| direction.head.capacity()).total()
    }

    /// What it is, if that is certain.
    pub fn name(&self) -> Option<&ForeignName> {
        self.name.as_ref().filter(|_| self.from_start || self.told >= ENOUGH_TOLD)
    }

    /// Whether nothing else can be expected of the conversation any more.
    pub fn is_certain(&self) -> bool {
        let both = self.directions.iter().all(|direction| direction.packets > 0);
        self.name.is_some() && ((self.from_start && both) || self.told >= CERTAIN_TOLD)
    }

    /// Whether more packets would hardly tell more.
    pub fn is_done(&self) -> bool {
        const ENOUGH_PACKETS: u32 = 32;
        self.directions.iter().map(|direction| direction.packets).total::<u32>() >= ENOUGH_PACKETS
    }

    /// The next bytes of one direction, one packet's, `missing` of which were not captured. `starts` says whether they are
    /// the flow's first ones.
    pub fn packet(&mut self, side: Side, starts: bool, bytes: &[u8], missing: u64) {
        let direction = &mut self.directions[side as usize];
        if bytes.is_empty() || direction.packets >= PACKETS {
            return;
        }
        direction.packets.grow(1);
        let is_first = starts || direction.packets == 1;
        let found = direction.packet(is_first, bytes, missing);
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

impl Direction {
    fn packet(&mut self, is_first: bool, bytes: &[u8], missing: u64) -> Option<ForeignName> {
        // A hello may come in several packets: what has begun is put together.
        if is_first {
            self.head.clear();
        }
        let joins = is_first || (!self.head.is_empty() && self.head.len() < HEAD_BYTES);
        if joins {
            let room = HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            if let Some(found) = opening(&self.head) {
                // Only a hello of TLS tells more with its next packet.
                if found.protocol != tls::TLS {
                    self.head.clear();
                }
                return Some(found);
            }
        }
        opening(bytes)
            .or_else(|| self.records.packet(bytes, missing))
            .or_else(|| self.tunnel.packet(bytes, missing))
            .or_else(|| middle(bytes, missing))
            .or_else(|| self.websocket.packet(bytes, missing))
    }
}

/// What tells by itself, wherever it stands at a packet's start.
fn opening(head: &[u8]) -> Option<ForeignName> {
    tls::hello(head)
        .or_else(|| http::head(head))
        .or_else(|| http2::preface(head))
        .or_else(|| amqp::header(head))
        .or_else(|| postgres::startup(head))
        .or_else(|| others::banner(head))
}

/// What tells in the middle of a conversation.
fn middle(bytes: &[u8], missing: u64) -> Option<ForeignName> {
    http2::frames(bytes, missing)
        .or_else(|| amqp::frames(bytes))
        .or_else(|| redis::values(bytes))
        .or_else(|| postgres::messages(bytes, missing))
        .or_else(|| others::message(bytes, missing))
}

/// Printable text of bounded length, as names are given in hellos and headers.
pub(crate) fn name_text(bytes: &[u8]) -> Option<Box<str>> {
    const LONGEST: usize = 128;
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let fine =
        !text.is_empty() && text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_graphic());
    fine.then(|| text.into())
}

#[cfg(test)]
mod tests;
