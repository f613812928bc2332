//! Recognising the protocol of datagrams.

use crate::flow::conversation::{Conversation, State};
use crate::flow::output::DecoderOutput;
use crate::flow::pending::Seen;
use wirelap_events::{ByteRange, Offset, Transport};
use wirelap_protocols::foreign::datagram;
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::search::{HINTED_BITS, SURE_BITS};
use wirelap_protocols::{Protocol, Side, SignatureMatch};

impl Conversation {
    pub(in crate::flow) fn recognise_datagram(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        found: &mut DecoderOutput,
    ) {
        let hints = self.hints();
        let first = self.flow(side).start.head.at == Offset(0);
        self.flow_mut(side).start.head.at = Offset::START;
        let pending = self.search.pending.get_or_insert_default();
        // A protocol that sees nothing in single datagrams has a magic number.
        let is_enough = |protocol: &dyn Protocol| {
            let is_hinted = hints.names(Transport::Udp, protocol);
            let enough = if is_hinted { HINTED_BITS } else { SURE_BITS };
            !matches!(protocol.match_signature(Transport::Udp, bytes), SignatureMatch::Pdu(sight) if sight.bits < enough)
        };
        let decided = match choose(Transport::Udp, bytes, first, hints) {
            ProtocolChoice::Protocol(protocol) if is_enough(protocol) => Some(protocol),
            _ => {
                pending.searches[side as usize].datagram(bytes);
                let seen = Seen { hints, is_named: false, is_refused: false };
                pending.decided(Transport::Udp, &seen)
            }
        };
        if let Some(protocol) = decided {
            let pending = self.search.pending.take().unwrap_or_default();
            self.recognised(protocol);
            for (side, range, bytes) in pending.datagrams {
                self.read_datagram(side, range, &bytes, found);
            }
            return;
        }
        pending.datagram(side, range, bytes);
        if let Some(name) = datagram(bytes) {
            self.search.set_name(name);
            self.ignore_named();
        } else {
            self.count_attempt();
        }
    }

    /// UDP: a datagram that only one protocol sends has named it.
    pub(in crate::flow) fn ignore_named(&mut self) {
        self.state = State::Ignored;
        self.search.pending = None;
        self.search.is_final = true;
    }
}
