//! Bytes that are kept of a conversation joined in mid-stream until its protocol is known.

use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset, Saturate, Total, Transport};
use wirelap_protocols::recognise::Hints;
use wirelap_protocols::search::{
    HINTED_BITS, SURE_BITS, SearchEvidence, UNMISTAKABLE_BITS, evidence,
};
use wirelap_protocols::{Protocol, ProtocolSearch, Side};

/// Captured bytes that are kept of one direction.
const KEPT_BYTES: usize = 64 << 10;

/// Packets, of which perhaps only the length is kept.
const KEPT_PACKETS: usize = 4096;

/// Datagrams that are kept, and their bytes.
const KEPT_DATAGRAMS: usize = 64;
const DATAGRAM_BYTES: usize = 2048;

/// Acknowledgements that tell less by themselves are no evidence of a direction.
const WEAK_BITS: u32 = 10;

/// So few acknowledgements are no evidence either.
const WEAK_PDUS: u32 = 4;

/// Packets that end with a PDU, where PDUs tell little else.
const POOR_FITS: u32 = 5;

/// Packets that end with a PDU, where PDUs tell nothing but their length.
const BARE_FITS: u32 = 16;

/// Knowledge beside the bytes that are searched.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The ports, and what the server speaks elsewhere.
    pub hints: Hints,
    /// True if it has the name of a protocol that is not decoded.
    pub is_named: bool,
    /// One direction began with what no known protocol does.
    pub is_refused: bool,
}

/// Both directions of a conversation in no known protocol.
#[derive(Debug, Default)]
pub struct Pending {
    /// The search in each direction.
    pub searches: [ProtocolSearch; 2],
    /// The bytes that are kept of each direction.
    pub kept: [Kept; 2],
    /// UDP: where the datagrams were, and their first bytes.
    pub datagrams: VecDeque<(Side, ByteRange, Box<[u8]>)>,
}

/// A packet of one direction.
#[derive(Debug)]
pub struct KeptPacket {
    /// Offset of the first byte.
    pub at: Offset,
    /// The payload, as far as it was captured.
    pub bytes: Vec<u8>,
    /// Number of bytes behind those that were not captured.
    pub missing: u64,
}

impl KeptPacket {
    fn range(&self) -> ByteRange {
        ByteRange::new(self.at, (self.bytes.len() as u64).saturating_add(self.missing))
    }

    fn end(&self) -> Offset {
        self.range().end
    }
}

/// The last packets of one direction that may be part of a message.
#[derive(Debug, Default)]
pub struct Kept {
    /// The packets, in their order.
    pub packets: VecDeque<KeptPacket>,
    bytes: usize,
    /// Bytes that were not kept.
    pub lost: u64,
}

impl Kept {
    /// One past its last byte.
    pub fn end(&self) -> Offset {
        self.packets.back().map_or(Offset(0), KeptPacket::end)
    }

    /// Number of bytes from the first one that is kept on.
    pub fn len(&self) -> u64 {
        let first = self.packets.front().map_or(self.end(), |first| first.at);
        self.end().0.saturating_sub(first.0)
    }

    fn push(&mut self, packet: KeptPacket, is_body: bool) {
        if !is_body {
            self.bytes.grow(packet.bytes.len());
            return self.packets.push_back(packet);
        }
        let missing = packet.missing.saturating_add(packet.bytes.len() as u64);
        match self.packets.back_mut() {
            Some(last) if last.end() == packet.at => last.missing.grow(missing),
            _ => self.packets.push_back(KeptPacket { bytes: Vec::new(), missing, ..packet }),
        }
    }

    /// Forgets what no candidate needs, and what is too much: first the bytes that the best one does without.
    fn trim(&mut self, search: &ProtocolSearch) {
        let from = search.wanted_from();
        let excess = self.bytes.saturating_sub(KEPT_BYTES);
        let mut freed = 0;
        for packet in &mut self.packets {
            if freed >= excess {
                break;
            }
            if !search.is_head(packet.range()) {
                let bytes = std::mem::take(&mut packet.bytes).len();
                packet.missing.grow(bytes as u64);
                freed.grow(bytes);
            }
        }
        self.bytes.shrink(freed);
        while let Some(first) = self.packets.front()
            && (from.is_none_or(|from| first.end() <= from)
                || self.bytes > KEPT_BYTES
                || self.packets.len() > KEPT_PACKETS)
        {
            let Some(gone) = self.packets.pop_front() else { return };
            self.bytes.shrink(gone.bytes.len());
            self.lost.grow(gone.end().0.saturating_sub(gone.at.0));
        }
    }
}

impl Pending {
    /// The next packet of one direction.
    pub fn packet(
        &mut self,
        side: Side,
        at: Offset,
        (bytes, missing): (&[u8], u64),
        writes: &[Offset],
        known: Option<&'static str>,
    ) {
        let search = &mut self.searches[side as usize];
        search.known = known;
        search.packet(at, bytes, missing, writes);
        let packet = KeptPacket { at, bytes: bytes.to_vec(), missing };
        let is_body = search.is_body(packet.range());
        self.kept[side as usize].push(packet, is_body);
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        let searches = self.searches.iter().map(|search| search.held_bytes().0);
        let kept = self.kept.iter().map(|kept| {
            kept.bytes.saturating_add(kept.packets.len().saturating_mul(size_of::<KeptPacket>()))
        });
        let datagrams = self.datagrams.iter().map(|(_, _, bytes)| bytes.len());
        searches.chain(kept).chain(datagrams).total()
    }

    /// Forgets what no candidate needs.
    pub fn trim(&mut self) {
        for (search, kept) in self.searches.iter().zip(&mut self.kept) {
            kept.trim(search);
        }
    }

    /// The most evidence of all for a protocol, in bits.
    pub fn most_bits(&self) -> u32 {
        let all = self.searches.iter().flat_map(ProtocolSearch::candidates);
        let [a, b] = &self.searches;
        all.map(|candidate| evidence([a, b], candidate.protocol).bits()).max().unwrap_or(0)
    }

    /// The protocol, once there is evidence enough.
    pub fn decided(&self, transport: Transport, seen: &Seen) -> Option<&'static dyn Protocol> {
        let [a, b] = &self.searches;
        decided([a, b], transport, seen)
    }

    /// Keeps a datagram that may be a message.
    pub fn datagram(&mut self, side: Side, range: ByteRange, bytes: &[u8]) {
        if self.searches.iter().all(|search| search.candidates().is_empty()) {
            return self.datagrams.clear();
        }
        if self.datagrams.len() >= KEPT_DATAGRAMS {
            self.datagrams.pop_front();
        }
        let kept = bytes.get(..DATAGRAM_BYTES).unwrap_or(bytes);
        self.datagrams.push_back((side, range, kept.into()));
    }
}

/// The protocol of a conversation, once there is evidence enough in the searches of its two
/// directions.
pub fn decided(
    searches: [&ProtocolSearch; 2],
    transport: Transport,
    seen: &Seen,
) -> Option<&'static dyn Protocol> {
    let all = searches.into_iter().flat_map(ProtocolSearch::candidates);
    let told = all.map(|one| (one.protocol, evidence(searches, one.protocol)));
    let enough =
        told.filter(|(protocol, told)| is_enough(searches, transport, seen, *protocol, told));
    enough.max_by_key(|(_, told)| told.bits()).map(|(protocol, _)| protocol)
}

/// True if there is evidence enough for the protocol: less is needed where the port or the server say the same;
/// more where each PDU tells little, or only one direction speaks. The other direction must not contradict.
fn is_enough(
    searches: [&ProtocolSearch; 2],
    transport: Transport,
    seen: &Seen,
    protocol: &dyn Protocol,
    told: &SearchEvidence,
) -> bool {
    let is_hinted = seen.hints.names(transport, protocol);
    let is_poor = told.is_poor();
    let enough = match () {
        () if seen.is_named => 2 * SURE_BITS,
        () if is_hinted => HINTED_BITS,
        () if is_poor && told.directions < 2 => 2 * SURE_BITS,
        () => SURE_BITS,
    };
    let alone = if is_hinted && told.fits() > 0 { SURE_BITS } else { UNMISTAKABLE_BITS };
    let several = told.is_confirmed() || told.most >= alone;
    // Acknowledgements alone are little, and must be of both directions.
    let is_exchange = told.directions > 1 && told.least_most >= WEAK_BITS && told.pdus >= WEAK_PDUS;
    // What is known of the server stands in for the other direction, which may have been cut.
    let is_known = seen.hints.known == Some(protocol.name()) && told.is_confirmed();
    let tells = told.strong > 0 || is_exchange || is_known;
    let fits = match () {
        () if is_hinted => 1,
        () if told.is_bare() => BARE_FITS,
        () => POOR_FITS,
    };
    // In the stream of a full socket, PDUs and packets never end together.
    let is_long_chain = is_known && !told.is_bare() && told.strong >= 2 * SURE_BITS;
    let is_rich = !is_poor
        || is_long_chain
        || (told.is_aligned()
            && told.fits() >= fits
            && !(told.is_broken || seen.is_named || seen.is_refused));
    told.bits() >= enough
        && several
        && tells
        && is_rich
        && !is_contradicted(searches, protocol, told)
}

/// True if one of the directions sends what the protocol does not. Much evidence outweighs that: some of a direction
/// may be encrypted, or missed.
fn is_contradicted(
    searches: [&ProtocolSearch; 2],
    protocol: &dyn Protocol,
    told: &SearchEvidence,
) -> bool {
    let is_poor = told.is_poor();
    let tolerated = u8::from(!is_poor);
    let is_beyond_doubt = !is_poor && told.strong >= 4 * SURE_BITS;
    !is_beyond_doubt && searches.iter().any(|one| one.unexplained(protocol) > tolerated)
}
