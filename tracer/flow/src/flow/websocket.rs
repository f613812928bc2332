//! Finding out whether a conversation is a WebSocket that carries a known protocol.
//!
//! While that is not known, its bytes are read as a WebSocket beside everything else that is tried. Once the carried protocol
//! is certain, the decoder of the WebSocket goes on where it is, and what it has kept is read.

use super::collector::Collector;
use super::conversation::{Conversation, State};
use super::head::FirstBytes;
use super::output::DecoderOutput;
use super::pending::{Seen, decided};
use super::recognition::behind_proxy;
use wirelap_events::{Offset, Transport};
use wirelap_protocols::websocket::WebSocketTrial;
use wirelap_protocols::{Protocol, Side};

impl Conversation {
    /// The next packet of a direction; `begins` tells that it is the direction's first. Returns whether nothing else needs to
    /// look at it: the conversation is read now, or it has opened a WebSocket.
    pub(super) fn try_websocket(
        &mut self,
        side: Side,
        begins: bool,
        (at, bytes, missing): (Offset, &[u8], u64),
        found: &mut DecoderOutput,
    ) -> bool {
        let behind = begins.then(|| behind_proxy(bytes)).flatten().unwrap_or(bytes);
        let at = at.plus(bytes.len().saturating_sub(behind.len()) as u64);
        let is_joined = self.flow(side).start.isn.is_none();
        if self.search.websocket.is_none()
            && !is_joined
            && !(begins && WebSocketTrial::may_open(behind))
        {
            return false;
        }
        let trial = self.search.websocket.get_or_insert_default();
        let was_open = trial.is_open();
        trial.packet(side, !begins, at, behind, missing);
        if let Some(protocol) = self.carried_protocol() {
            self.read_websocket(protocol, found);
            return true;
        }
        let is_open = self.search.websocket.as_ref().is_some_and(|trial| trial.is_open());
        if was_open && !is_open {
            self.ignore();
        }
        is_open || was_open
    }

    /// The protocol that the WebSocket carries, if that is certain.
    fn carried_protocol(&self) -> Option<&'static dyn Protocol> {
        let trial = self.search.websocket.as_ref()?;
        let hints = self.hints();
        let seen = Seen { hints, is_named: false, is_refused: false };
        let in_stream = || decided(trial.searches(), Transport::Tcp, &seen);
        let in_messages = || decided(trial.message_searches(), Transport::Udp, &seen);
        trial
            .opened(hints)
            .or_else(|| trial.opened_in_messages())
            .or_else(in_stream)
            .or_else(|| in_messages().filter(|protocol| protocol.omits_length_over_websocket()))
    }

    /// The conversation carries the protocol: reads what was kept.
    fn read_websocket(&mut self, protocol: &'static dyn Protocol, found: &mut DecoderOutput) {
        let Some(trial) = self.search.websocket.take() else { return };
        self.recognised(protocol);
        self.search.pending = None;
        let (mut layer, streams) = trial.into_parts();
        layer.carries(
            protocol,
            protocol.connection_with(Transport::Tcp, &self.search.memories.of(protocol)),
        );
        for (flow, stream) in self.flows.iter_mut().zip(streams) {
            flow.start.head = FirstBytes::default();
            flow.stream = stream;
        }
        while let Some(side) = layer.next_kept() {
            let (control, ledger) = (&mut self.control, &mut self.ledger);
            layer.replay(&mut Collector::new(control, side, protocol, ledger, found));
        }
        self.state = State::Decoding(protocol, Box::new(layer));
    }
}
