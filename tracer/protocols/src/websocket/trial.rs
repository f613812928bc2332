//! Trial of whether a conversation is a WebSocket that carries a known protocol.

use super::handshake;
use super::layer::WebSocket;
use crate::recognise::{Hints, ProtocolChoice, choose};
use crate::search::Candidate;
use crate::stream::Stream;
use crate::{Connection, Protocol, ProtocolSearch, Recognition, Side, registry};
use wirelap_events::{Frame, Offset, Size, Transport};

/// After so many carried bytes that are of no known protocol, an opened WebSocket is given up.
const ENOUGH_BYTES: u64 = 64 << 10;

/// The evidence of a message that opens a session: its kind, the protocol's version, and lengths that end with it.
const OPENING_BITS: u32 = 16;

/// A conversation that is read as a WebSocket until it is known whether it is one.
#[derive(Default)]
pub struct WebSocketTrial {
    layer: WebSocket,
    streams: [Option<Stream>; 2],
}

impl WebSocketTrial {
    /// True if a conversation that starts with `head` may open a WebSocket.
    pub fn may_open(head: &[u8]) -> bool {
        handshake::may_start(head)
    }

    /// The bytes of one packet, of which the last `missing` were not captured. With `mid_stream`, the direction's first
    /// packet need not start a frame.
    pub fn packet(&mut self, side: Side, mid_stream: bool, at: Offset, bytes: &[u8], missing: u64) {
        let stream =
            self.streams[side as usize].get_or_insert_with(|| Stream::new(side, mid_stream));
        stream.feed(at, bytes, missing, &mut self.layer, &mut |_: &Frame<'_>| {});
    }

    /// Missing bytes.
    pub fn gap(&mut self, side: Side, at: Offset, len: u64) {
        if let Some(stream) = &mut self.streams[side as usize] {
            stream.gap(at, len, &mut self.layer, &mut |_: &Frame<'_>| {});
        }
    }

    /// The searches for the carried protocol, of which the caller judges the evidence.
    pub fn searches(&self) -> [&ProtocolSearch; 2] {
        [self.layer.search(Side::A), self.layer.search(Side::B)]
    }

    /// The searches for a carried protocol of which each message is a PDU ([`Protocol::omits_length_over_websocket`]).
    pub fn message_searches(&self) -> [&ProtocolSearch; 2] {
        [self.layer.message_search(Side::A), self.layer.message_search(Side::B)]
    }

    /// The protocol of which the first messages of both directions are PDUs, if the opening was seen.
    pub fn opened_in_messages(&self) -> Option<&'static dyn Protocol> {
        let begins = |protocol: &&&'static dyn Protocol| {
            let best = self.message_searches().map(|search| search.best_of(**protocol));
            let is_opening = |best: &Candidate| best.strong_bits() >= OPENING_BITS;
            best.iter().all(|best| best.is_some_and(is_opening))
        };
        let mut known = registry().iter().filter(|one| one.omits_length_over_websocket());
        if self.layer.is_opened() { known.find(begins).copied() } else { None }
    }

    /// The protocol with which the carried bytes begin, if the opening was seen.
    pub fn opened(&self, hints: Hints) -> Option<&'static dyn Protocol> {
        [Side::A, Side::B].into_iter().find_map(|side| {
            let head = self.layer.head(side);
            let choice = choose(Transport::Tcp, head, true, hints);
            let ProtocolChoice::Protocol(protocol) = choice else { return None };
            let is_certain = protocol.recognise(Transport::Tcp, head, true) == Recognition::Yes;
            let is_believed = protocol.has_magic()
                || self.layer.names(protocol)
                || hints.names(Transport::Tcp, protocol);
            (is_certain && is_believed).then_some(protocol)
        })
    }

    /// True if the conversation has opened a WebSocket, and what it carries may yet be found out.
    pub fn is_open(&self) -> bool {
        self.layer.is_opened() && self.layer.unknown_bytes() < ENOUGH_BYTES
    }

    /// Bytes of memory that the trial uses.
    pub fn held_bytes(&self) -> Size {
        let streams = self.streams.iter().flatten().map(Stream::held_bytes);
        self.layer.held_bytes() + Size::sum(streams)
    }

    /// The decoder and the streams, to go on with.
    pub fn into_parts(self) -> (WebSocket, [Option<Stream>; 2]) {
        (self.layer, self.streams)
    }
}
