//! The search for the start of a PDU inside packets.

use super::candidate::Candidate;
use super::direction::{KNOWN_INSIDE_BITS, ProtocolSearch, SEARCH_BYTES};
use super::packet::{LONGEST_PDU, PacketBytes};
use super::thresholds::HINTED_BITS;
use crate::{Protocol, SignatureMatch, registry};
use wirelap_events::{Offset, Saturate, Transport};

/// How much evidence is subtracted from a candidate that was found inside a packet, where about a thousand positions are
/// tried.
const INSIDE_BITS: u32 = 10;

impl ProtocolSearch {
    /// How much evidence is subtracted from a candidate that is found inside a packet. The protocol that is known is
    /// looked for in all bytes, and needs less to be one.
    pub(super) fn handicap(&self, protocol: &dyn Protocol) -> u32 {
        let tried = SEARCH_BYTES.saturating_sub(self.bytes_left);
        let is_known = self.known == Some(protocol.name());
        let bits = tried.checked_ilog2().filter(|_| is_known).unwrap_or_default();
        bits.max(INSIDE_BITS)
    }

    /// Whether nothing more is looked for inside packets. What is found there may be in the payload of a longer PDU of the
    /// protocol that is known.
    pub(super) fn has_found(&self) -> bool {
        self.candidates.iter().any(|candidate| {
            candidate.strong >= HINTED_BITS
                && (self.known.is_none() || !candidate.is_found_inside())
        })
    }

    /// Looks for the start of a PDU inside a packet.
    pub(super) fn look_inside(&mut self, span: PacketBytes<'_>, packet: Offset) {
        let Some(bytes) = span.from(packet) else { return };
        let known = registry().iter().find(|protocol| Some(protocol.name()) == self.known).copied();
        let tries = bytes.len().min(self.bytes_left);
        self.bytes_left.shrink(tries);
        for at in 1..tries {
            let Some(head) = bytes.get(at..) else { return };
            let place = packet.plus(at as u64);
            let is_there = known.is_some_and(|known| self.look_for(known, place, head, span));
            if is_there || registry().iter().any(|protocol| protocol.stands_out(head)) {
                self.begin(place, span, true);
                if self.has_found() {
                    return;
                }
            }
        }
    }

    /// Looks for a PDU of the protocol that is known at a place inside a packet. Returns whether what stands there tells enough
    /// to be followed by itself.
    fn look_for(
        &mut self,
        known: &'static dyn Protocol,
        place: Offset,
        head: &[u8],
        span: PacketBytes<'_>,
    ) -> bool {
        let sight = match known.match_signature(Transport::Tcp, head) {
            SignatureMatch::Pdu(sight) if sight.len > 0 && sight.len <= LONGEST_PDU => sight,
            _ => return false,
        };
        let handicap = self.handicap(known);
        if let Some(chain) = self.chains.add(place, sight)
            && chain.pdus > 1
            && chain.bits() >= HINTED_BITS.saturating_add(handicap)
            && !self.is_followed(known, place)
        {
            let inside = (chain.first >= span.at).then_some(span.end);
            self.add(Candidate::of_chain(known, &chain, handicap, inside), span);
            return false;
        }
        sight.distinctive && sight.bits >= KNOWN_INSIDE_BITS
    }
}
