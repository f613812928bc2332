//! A conversation of a protocol that the user has named, which may stand on a WebSocket.
//!
//! ```text
//! first bytes      GET … or HTTP/1.1 101 …     a WebSocket
//!                  anything else               the protocol itself
//! in mid-stream    a frame with a PDU in it    a WebSocket
//!                  a PDU                       the protocol itself
//!                  whole compressed frames     a WebSocket, of which the text is not known
//! ```
//!
//! A WebSocket's frame is tried first: its payload has to start like a PDU, and a PDU that happens to be such a frame has
//! none in it. What is decided in mid-stream may be wrong: a frame with a PDU in it overrules, and after a gap the same is asked
//! again.

use super::handshake;
use super::layer::WebSocket;
use crate::{
    Connection, Encryption, FrameSink, KeptFor, LeftMessages, Party, Pdu, PduLen, Protocol, Side,
};
use std::cell::Cell;
use wirelap_events::Size;

/// The layers of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stack {
    /// The protocol itself.
    Plain,
    /// The protocol in a WebSocket.
    WebSocket,
}

/// A decoder of a protocol with or without a WebSocket below it.
pub struct MaybeWebSocket {
    plain: Box<dyn Connection>,
    layer: WebSocket,
    stack: Option<Stack>,
    /// True if the beginning was seen, so that nothing is asked again.
    is_settled: bool,
    /// True if a PDU was looked for.
    has_sought: Cell<bool>,
}

impl MaybeWebSocket {
    /// Two decoders of the protocol: for the conversation's own bytes, and for what a WebSocket carries.
    pub fn new(
        protocol: &dyn Protocol,
        plain: Box<dyn Connection>,
        carried: Box<dyn Connection>,
    ) -> MaybeWebSocket {
        let mut layer = WebSocket::default();
        layer.carries(protocol, carried);
        MaybeWebSocket {
            plain,
            layer,
            stack: None,
            is_settled: false,
            has_sought: Cell::new(false),
        }
    }

    /// Returns the layers of a direction that starts with `head`.
    fn stack(&self, side: Side, head: &[u8]) -> Stack {
        if let Some(stack) = self.stack.filter(|_| self.is_settled) {
            return stack;
        }
        let is_websocket = match self.stack {
            Some(Stack::WebSocket) => true,
            Some(Stack::Plain) => self.layer.has_message(side, head),
            None => {
                handshake::may_start(head)
                    || self.layer.has_message(side, head)
                    || (!self.plain.resync(side, head) && self.layer.has_frame(side, head))
            }
        };
        if is_websocket { Stack::WebSocket } else { Stack::Plain }
    }

    fn decoder(&self, stack: Stack) -> &dyn Connection {
        match stack {
            Stack::Plain => self.plain.as_ref(),
            Stack::WebSocket => &self.layer,
        }
    }

    /// The decoder that was decided on; that of the protocol itself before.
    fn decided(&self) -> &dyn Connection {
        self.decoder(self.stack.unwrap_or(Stack::Plain))
    }
}

impl Connection for MaybeWebSocket {
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        self.decoder(self.stack(side, head)).pdu_len(side, head)
    }

    fn span(&self, side: Side, head: &[u8]) -> PduLen {
        self.decoder(self.stack(side, head)).span(side, head)
    }

    fn open_bytes(&self, side: Side) -> u64 {
        self.decided().open_bytes(side)
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        self.has_sought.set(true);
        self.decoder(self.stack(side, head)).resync(side, head)
    }

    fn is_certain(&self, side: Side, head: &[u8]) -> bool {
        self.decoder(self.stack(side, head)).is_certain(side, head)
    }

    fn kept_bytes(&self, side: Side) -> usize {
        self.decided().kept_bytes(side)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        match self.stack {
            Some(stack) => self.decoder(stack).stands_out(head),
            None => self.layer.stands_out(head) || self.plain.stands_out(head),
        }
    }

    fn held_bytes(&self) -> Size {
        self.plain.held_bytes() + self.layer.held_bytes()
    }

    fn lacks_context(&self) -> bool {
        self.decided().lacks_context()
    }

    fn unfinished(&self) -> u64 {
        self.decided().unfinished()
    }

    fn encryption(&self) -> Option<Encryption> {
        self.decided().encryption()
    }

    fn keeps_for_client(&self) -> KeptFor {
        self.decided().keeps_for_client()
    }

    fn server(&self) -> Option<Side> {
        self.decided().server()
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let stack = self.stack(side, pdu.bytes);
        self.stack = Some(stack);
        self.is_settled |= !self.has_sought.get() || handshake::may_start(pdu.bytes);
        match stack {
            Stack::Plain => self.plain.pdu(side, pdu, out),
            Stack::WebSocket => self.layer.pdu(side, pdu, out),
        }
    }

    fn party(&self, side: Side) -> Option<Party> {
        self.decided().party(side)
    }

    fn joins_servers(&self) -> bool {
        self.decided().joins_servers()
    }

    fn makes_copies(&self, from: Side) -> bool {
        self.decided().makes_copies(from)
    }

    fn left(&self) -> LeftMessages {
        self.decided().left()
    }

    fn closed(&mut self) {
        self.plain.closed();
        self.layer.closed();
    }

    fn gap(&mut self, side: Side) {
        match self.stack {
            Some(Stack::WebSocket) => self.layer.gap(side),
            Some(Stack::Plain) => self.plain.gap(side),
            None => {
                self.plain.gap(side);
                self.layer.gap(side);
            }
        }
        if !self.is_settled {
            self.stack = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use crate::{Protocol, mqtt, nats};
    use wirelap_events::{Frame, Offset, Transport};
    use wirelap_test_support::compose::websocket::{REQUEST, masked, unmasked};

    const PUBLISH: &[u8] = b"\x30\x0c\0\x05a/b/chello";
    const SUBSCRIBE: &[u8] = b"\x82\x0a\0\x01\0\x05a/b/c\0";
    const CONNECT: &[u8] = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";

    fn named(protocol: &dyn Protocol) -> MaybeWebSocket {
        let [plain, carried] = [(); 2].map(|()| protocol.connection(Transport::Tcp));
        MaybeWebSocket::new(protocol, plain, carried)
    }

    /// The stack that was found in packets of one side, and how many messages.
    fn play(protocol: &dyn Protocol, packets: &[Vec<u8>], late: bool) -> (Option<Stack>, usize) {
        let mut decoder = named(protocol);
        let mut stream = Stream::new(Side::A, late);
        let (mut at, mut messages) = (0, 0);
        for packet in packets {
            stream.feed(Offset(at), packet, 0, &mut decoder, &mut |frame: &Frame<'_>| {
                messages += usize::from(frame.data.is_some());
            });
            at += packet.len() as u64;
        }
        (decoder.stack, messages)
    }

    #[test]
    fn the_opening_tells() {
        let plain = [CONNECT.to_vec(), SUBSCRIBE.to_vec(), PUBLISH.to_vec()];
        assert_eq!(play(&mqtt::PROTOCOL, &plain, false), (Some(Stack::Plain), 1));
        let carried = [REQUEST.to_vec(), masked(CONNECT), masked(SUBSCRIBE), masked(PUBLISH)];
        assert_eq!(play(&mqtt::PROTOCOL, &carried, false), (Some(Stack::WebSocket), 1));
        let bytewise: Vec<_> = carried.concat().iter().map(|byte| vec![*byte]).collect();
        assert_eq!(play(&mqtt::PROTOCOL, &bytewise, false), (Some(Stack::WebSocket), 1));
    }

    #[test]
    fn frames_in_mid_stream_tell() {
        let msg = b"MSG a.b 1 5\r\nhello\r\n";
        for (protocol, bytes) in [
            (&mqtt::PROTOCOL as &dyn Protocol, PUBLISH),
            (&nats::PROTOCOL as &dyn Protocol, &msg[..]),
        ] {
            for frame in [masked, unmasked] {
                let late = vec![frame(bytes); 5];
                assert_eq!(play(protocol, &late, true), (Some(Stack::WebSocket), 5));
                // It begins in the middle of a frame that holds two messages.
                let two = frame(&[bytes, bytes].concat());
                let late = [vec![two[9..].to_vec()], vec![frame(bytes); 5]].concat();
                let (stack, messages) = play(protocol, &late, true);
                assert_eq!(stack, Some(Stack::WebSocket), "{}", protocol.name());
                assert!(messages >= 4, "{} of {}", messages, protocol.name());
            }
            assert_eq!(play(protocol, &vec![bytes.to_vec(); 5], true), (Some(Stack::Plain), 5));
        }
        let plain = [SUBSCRIBE.to_vec(), PUBLISH.to_vec()];
        assert_eq!(play(&mqtt::PROTOCOL, &plain, true), (Some(Stack::Plain), 1));
    }
}
