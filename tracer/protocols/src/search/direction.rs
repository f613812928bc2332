//! The search for the protocol of one direction of a flow.

use super::candidate::Candidate;
use super::packet::{Followed, LONGEST_PDU, PacketBytes, follow};
use super::thresholds::HINTED_BITS;
use crate::{Protocol, SignatureMatch, registry};
use std::num::Saturating;
use wirelap_events::{ByteRange, Offset, Saturate, Size, Transport};

/// The most candidates that are followed at once.
const CANDIDATES: usize = 6;

/// Number of bytes inside packets that are searched for the start of a PDU; after them, only starts of packets and of writes are
/// tried.
const SEARCH_BYTES: usize = 4 << 20;

/// Evidence that is subtracted from a candidate that was found inside a packet, where about a thousand positions are
/// tried.
const INSIDE_BITS: u32 = 10;

/// The least evidence of a PDU inside a packet, where the server is known to speak the protocol: an MQTT PUBLISH with
/// a topic of one letter has so much.
const KNOWN_INSIDE_BITS: u32 = 14;

/// The most protocols in the registry.
const PROTOCOLS: usize = 16;

/// A longer packet may be in the middle of a long message; a shorter one most often begins with a message.
const SHORT_PACKET: u64 = 1024;

/// The most bytes that are kept as the head of a PDU.
const LONGEST_HEAD: usize = 8 << 10;

/// The search for the protocol of one direction of a flow.
#[derive(Debug)]
pub struct ProtocolSearch {
    candidates: Vec<Candidate>,
    /// The last bytes of a packet, which may be the head of a PDU, and their offset.
    carry: (Offset, Vec<u8>),
    /// Number of bytes that may still be searched inside packets, see [`SEARCH_BYTES`].
    bytes_left: usize,
    /// The protocol of other conversations with the same server.
    pub known: Option<&'static str>,
    /// For each protocol, the number of short packets or datagrams in a row, up to the last one, in which it has no PDU.
    unexplained: [Saturating<u8>; PROTOCOLS],
    /// For each protocol, whether packets ended with its PDUs, and later bytes where a PDU had to start were none.
    pub(super) broken: [bool; PROTOCOLS],
}

impl Default for ProtocolSearch {
    fn default() -> ProtocolSearch {
        ProtocolSearch {
            candidates: Vec::new(),
            carry: (Offset(0), Vec::new()),
            bytes_left: SEARCH_BYTES,
            known: None,
            unexplained: [Saturating(0); PROTOCOLS],
            broken: [false; PROTOCOLS],
        }
    }
}

impl ProtocolSearch {
    /// The candidates, in no order.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The best evidence for a protocol in this direction.
    pub fn best_of(&self, protocol: &dyn Protocol) -> Option<&Candidate> {
        let same = self.candidates.iter().filter(|c| c.protocol.name() == protocol.name());
        same.max_by_key(|candidate| candidate.bits())
    }

    /// True if a range lies in the part of a long PDU that nothing is read from, whichever candidate is right.
    pub fn is_body(&self, range: ByteRange) -> bool {
        self.candidates.iter().any(|candidate| candidate.is_body(range))
            && !self.candidates.iter().any(|candidate| candidate.is_head(range))
    }

    /// True if a range has some of what is read of the best candidate's first or last known PDU.
    pub fn is_head(&self, range: ByteRange) -> bool {
        let best = self.candidates.iter().max_by_key(|candidate| candidate.bits());
        best.is_some_and(|best| best.is_head(range))
    }

    /// Bytes of memory that the search uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.carry.1.capacity())
    }

    /// The number of short packets or datagrams in a row, up to the last one, that cannot be of the protocol.
    pub fn unexplained(&self, protocol: &dyn Protocol) -> u8 {
        self.unexplained.get(registry_index(protocol)).map_or(0, |count| count.0)
    }

    /// Counts a packet for the protocols that it cannot be of.
    fn explain(&mut self, at: Offset, end: Offset, is_cut: bool) {
        // Bytes that may be the start of a PDU, or were not captured, do not contradict a protocol.
        let is_short = end - at < SHORT_PACKET && self.carry.1.is_empty() && !is_cut;
        for (protocol, count) in registry().iter().zip(&mut self.unexplained) {
            let is_its = |one: &Candidate| {
                one.protocol.name() == protocol.name() && one.start < end && one.next > at
            };
            if self.candidates.iter().any(is_its) {
                *count = Saturating(0);
            } else if is_short {
                *count += 1;
            }
        }
    }

    /// The first byte that may be part of a PDU; earlier bytes are not needed.
    pub fn wanted_from(&self) -> Option<Offset> {
        let starts = self.candidates.iter().map(|candidate| candidate.start);
        let carry = (!self.carry.1.is_empty()).then_some(self.carry.0);
        starts.chain(carry).min()
    }

    /// Handles a gap: candidates whose next PDU must start in it cannot be checked and are dropped.
    pub fn gap(&mut self, at: Offset, len: u64) {
        let end = at.plus(len);
        self.carry.1.clear();
        self.candidates.retain(|candidate| candidate.next < at || candidate.next >= end);
    }

    /// Adds a packet. `missing` is the number of its bytes after `bytes` that were not captured; writes started at `writes`.
    pub fn packet(&mut self, at: Offset, bytes: &[u8], missing: u64, writes: &[Offset]) {
        let end = at + bytes.len() as u64 + missing;
        let (from, mut joined) = std::mem::take(&mut self.carry);
        if joined.is_empty() || from.plus(joined.len() as u64) != at {
            joined.clear();
            self.carry.1 = joined;
            self.span(PacketBytes { at, bytes, end }, at, writes);
        } else {
            joined.extend_from_slice(bytes);
            self.span(PacketBytes { at: from, bytes: &joined, end }, at, writes);
        }
        self.explain(at, end, missing > 0);
    }

    /// Adds a datagram, which is one PDU.
    pub fn datagram(&mut self, bytes: &[u8]) {
        for &protocol in registry().iter().filter(|p| p.transports().contains(&Transport::Udp)) {
            let index = self.candidates.iter().position(|c| c.protocol.name() == protocol.name());
            let before = index.and_then(|index| self.candidates.get(index)?.number);
            let found = match protocol.match_signature(Transport::Udp, bytes) {
                // A counter that does not change is no evidence.
                SignatureMatch::Pdu(sight) if sight.number.is_none() || sight.number != before => {
                    Some(sight)
                }
                _ => None,
            };
            let Some(sight) = found else {
                if let Some(index) = index {
                    self.candidates.swap_remove(index);
                }
                if let Some(count) = self.unexplained.get_mut(registry_index(protocol)) {
                    *count += 1;
                }
                continue;
            };
            if let Some(count) = self.unexplained.get_mut(registry_index(protocol)) {
                *count = Saturating(0);
            }
            let index = index.unwrap_or_else(|| {
                let index = self.candidates.len();
                self.candidates.push(Candidate::new(protocol, Offset(0), 0, None));
                index
            });
            if let Some(candidate) = self.candidates.get_mut(index) {
                candidate.add(sight);
                candidate.packets += 1;
                candidate.fits += 1;
            }
        }
    }

    fn span(&mut self, span: PacketBytes<'_>, packet: Offset, writes: &[Offset]) {
        let mut short: Option<Offset> = None;
        let mut index = 0;
        while let Some(candidate) = self.candidates.get_mut(index) {
            match follow(candidate, span) {
                Followed::On => index.grow(1),
                Followed::Short => {
                    short = Some(short.map_or(candidate.next, |place| place.min(candidate.next)));
                    index.grow(1);
                }
                Followed::Wrong => {
                    let wrong = self.candidates.swap_remove(index);
                    if wrong.fits > 1
                        && wrong.handicap == 0
                        && let Some(broken) = self.broken.get_mut(registry_index(wrong.protocol))
                    {
                        *broken = true;
                    }
                }
            }
        }
        let carried = (span.at < packet).then_some(span.at);
        let places = carried.into_iter().chain([packet]).chain(writes.iter().copied());
        for place in places.filter(|place| *place >= span.at) {
            if self.begin(place, span, false) {
                short = Some(short.map_or(place, |other| place.min(other)));
            }
        }
        if self.candidates.iter().all(|candidate| candidate.strong < HINTED_BITS) {
            self.look_inside(span, packet);
        }
        self.keep_head(short, span);
    }

    /// Tries all protocols at one position. Returns whether one of them needs more bytes to decide.
    fn begin(&mut self, place: Offset, span: PacketBytes<'_>, strict: bool) -> bool {
        let Some(head) = span.from(place) else { return false };
        let mut short = false;
        for &protocol in registry().iter().filter(|p| p.transports().contains(&Transport::Tcp)) {
            if self.is_followed(protocol, place) {
                continue;
            }
            match protocol.match_signature(Transport::Tcp, head) {
                SignatureMatch::No => {}
                SignatureMatch::Short => short = true,
                SignatureMatch::Pdu(sight) if sight.len == 0 || sight.len > LONGEST_PDU => {}
                SignatureMatch::Pdu(sight)
                    if strict && sight.bits < self.least_inside(protocol) => {}
                SignatureMatch::Pdu(_) => {
                    let handicap = if strict { INSIDE_BITS } else { 0 };
                    let inside = strict.then_some(span.end);
                    self.add(Candidate::new(protocol, place, handicap, inside), span);
                }
            }
        }
        short && !strict
    }

    /// Returns the least evidence of a PDU inside a packet.
    fn least_inside(&self, protocol: &dyn Protocol) -> u32 {
        if self.known == Some(protocol.name()) { KNOWN_INSIDE_BITS } else { HINTED_BITS }
    }

    /// True if a candidate of the protocol already starts, or has its next PDU, at this position.
    fn is_followed(&self, protocol: &dyn Protocol, place: Offset) -> bool {
        self.candidates.iter().any(|candidate| {
            candidate.protocol.name() == protocol.name()
                && candidate.start <= place
                && (candidate.start == place || candidate.next == place)
        })
    }

    fn add(&mut self, mut candidate: Candidate, span: PacketBytes<'_>) {
        if matches!(follow(&mut candidate, span), Followed::Wrong) {
            return;
        }
        if self.candidates.len() < CANDIDATES {
            self.candidates.push(candidate);
        } else if let Some(weakest) = self.candidates.iter_mut().min_by_key(|c| (c.bits(), c.start))
            && weakest.bits() <= candidate.bits()
        {
            *weakest = candidate;
        }
    }

    /// Looks for the start of a PDU inside a packet.
    fn look_inside(&mut self, span: PacketBytes<'_>, packet: Offset) {
        let Some(bytes) = span.from(packet) else { return };
        let known = registry().iter().find(|protocol| Some(protocol.name()) == self.known).copied();
        let tries = bytes.len().min(self.bytes_left);
        self.bytes_left.shrink(tries);
        for at in 1..tries {
            let Some(head) = bytes.get(at..) else { return };
            if known.is_some_and(|known| stands_out_there(known, head))
                || registry().iter().any(|protocol| protocol.stands_out(head))
            {
                self.begin(packet.plus(at as u64), span, true);
                if self.candidates.iter().any(|candidate| candidate.strong >= HINTED_BITS) {
                    return;
                }
            }
        }
    }

    /// Keeps the last bytes of a packet if a PDU may begin there.
    fn keep_head(&mut self, short: Option<Offset>, span: PacketBytes<'_>) {
        self.carry.1.clear();
        let captured_end = span.at.plus(span.bytes.len() as u64);
        let Some((place, head)) = short.and_then(|place| Some((place, span.from(place)?))) else {
            return;
        };
        if captured_end == span.end && head.len() <= LONGEST_HEAD {
            self.carry.0 = place;
            self.carry.1.extend_from_slice(head);
        } else {
            self.candidates.retain(|candidate| candidate.next != place);
        }
    }
}

/// True if a PDU of the protocol that the server is known to speak may start inside a packet. What follows has to say the same.
fn stands_out_there(known: &dyn Protocol, head: &[u8]) -> bool {
    matches!(
        known.match_signature(Transport::Tcp, head),
        SignatureMatch::Pdu(sight) if sight.distinctive && sight.bits >= KNOWN_INSIDE_BITS
    )
}

/// The protocol's index in the registry.
pub(super) fn registry_index(protocol: &dyn Protocol) -> usize {
    registry().iter().position(|one| one.name() == protocol.name()).unwrap_or(PROTOCOLS)
}
