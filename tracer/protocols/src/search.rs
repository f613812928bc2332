//! Finds the protocol of a conversation that was joined in mid-stream, one direction at a time.
//!
//! ```text
//!        packet              packet             packet
//! |-----------------|-------------------|------------------|
//!   ·· | head · · · ·  · · · ·  body · ·  · · · | head | head ···
//!      ^ looks like the start of a PDU:           ^ the PDU's end, where the next one must start:
//!        a candidate with some bits of evidence     more evidence, or the candidate is dropped
//! ```
//!
//! Candidates may begin at the start of a packet or of a write and, within limits, at every byte of a packet. The body of
//! a long PDU is not stored, so its length does not matter.

use crate::{PduSignature, Protocol, SignatureMatch, registry};
use wirelap_events::Saturate;
use wirelap_events::{Offset, Transport};

/// How many candidates are followed at once.
const CANDIDATES: usize = 6;

/// How many bytes inside packets are searched for the start of a PDU; after them, only starts of packets and of writes are
/// tried.
const SEARCH_BYTES: usize = 4 << 20;

/// Evidence that suffices without a hint.
pub const SURE_BITS: u32 = 32;

/// Evidence that suffices if the port or the server's other conversations hint at the same protocol.
pub const HINTED_BITS: u32 = 20;

/// The most evidence that PDUs without distinctive content, such as acknowledgements, add up to.
const MOST_WEAK_BITS: u32 = 28;

/// How much evidence is subtracted from a candidate that was found inside a packet, where about a thousand positions are
/// tried.
const INSIDE_BITS: u32 = 10;

/// How many PDUs a candidate that was found inside a packet needs.
const INSIDE_PDUS: u32 = 3;

/// The evidence of a counter that is one more than in the previous PDU.
const COUNTED_BITS: u32 = 14;

/// The evidence of a PDU that ends where a packet ends.
const FIT_BITS: u32 = 8;

/// The evidence of a PDU of more than [`LONG_BYTES`] that ends where a packet ends.
const LONG_FIT_BITS: u32 = 16;
/// From this length on, a PDU spans several packets.
const LONG_BYTES: u64 = 16 << 10;

/// The evidence of a PDU that no other protocol can send.
pub const UNMISTAKABLE_BITS: u32 = 40;

/// PDUs with less evidence each, such as short frames with little more than a length, fit many protocols, see
/// [`SearchEvidence::is_poor`].
const POOR_BITS: u32 = 20;

/// PDUs with less evidence each show no more than a length.
const LENGTH_BITS: u32 = 8;

/// The most protocols in the registry.
const PROTOCOLS: usize = 16;

/// A longer packet may be in the middle of a long message; a shorter one most often begins with a message.
const SHORT_PACKET: u64 = 1024;

/// The most bytes that are kept as the head of a PDU.
const LONGEST_HEAD: usize = 8 << 10;

/// The longest plausible PDU.
const LONGEST_PDU: u64 = 256 << 20;

/// The most PDUs that are followed within one packet.
const LONGEST_CHAIN: u32 = 64;

/// A protocol that one direction may have, with the evidence for it.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Where the candidate's first PDU starts.
    pub start: Offset,
    /// Where the candidate's last known PDU starts.
    last: Offset,
    /// Where the candidate's next PDU must start.
    next: Offset,
    /// Evidence of distinctive PDUs, in bits.
    strong: u32,
    /// Evidence of other PDUs, in bits.
    weak: u32,
    /// Evidence that is subtracted because many positions were tried, in bits.
    handicap: u32,
    /// The end of the packet inside of which the candidate was found. A PDU must have started after it: PDUs that are
    /// embedded in another protocol, as in a WebSocket, end with that protocol's frame.
    inside: Option<Offset>,
    /// Whether the last known PDU is distinctive.
    is_distinctive: bool,
    /// The counter in the last known PDU.
    number: Option<(u64, u64)>,
    /// Number of known PDUs.
    pdus: u32,
    /// The evidence in the content of all known PDUs, in bits.
    content: u32,
    /// The evidence in the content of the PDU with the most, in bits.
    most: u32,
    /// Packets in which a PDU ended.
    packets: u32,
    /// Packets that ended with a PDU.
    fits: u32,
    /// PDUs whose counter was one more than in the previous PDU.
    counted: u32,
}

/// The evidence for one protocol in both directions of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchEvidence {
    /// Evidence of distinctive PDUs, in bits.
    pub strong: u32,
    /// Evidence of other PDUs, in bits.
    pub weak: u32,
    /// Number of known PDUs.
    pub pdus: u32,
    /// The evidence in the content of the PDU with the most, in bits.
    pub most: u32,
    /// `most` of the direction in which it is lower.
    pub least_most: u32,
    /// Number of directions with a candidate.
    pub directions: u32,
    /// Whether a direction's packets ended with PDUs of the protocol, and later bytes where a PDU had to start were none.
    pub is_broken: bool,
    /// The mean evidence in the content of a direction's PDUs, of the direction in which it is higher.
    mean: u32,
    /// The number of PDUs of the direction that has more.
    chained: u32,
    packets: u32,
    fits: u32,
    counted: u32,
}

impl SearchEvidence {
    /// All evidence, in bits.
    pub fn bits(&self) -> u32 {
        self.strong.saturating_add(self.weak)
    }

    /// Whether each PDU has so little evidence that PDUs of other protocols look the same.
    pub fn is_poor(&self) -> bool {
        self.mean < POOR_BITS && self.counted < 2
    }

    /// Whether the PDUs show no more than a length, as in every protocol that has a length of two bytes before each PDU.
    pub fn is_bare(&self) -> bool {
        self.mean < LENGTH_BITS && self.counted < 2
    }

    /// Whether a PDU has ended with a packet or was followed by another PDU.
    pub fn is_confirmed(&self) -> bool {
        self.chained > 1 || (self.pdus > 1 && self.fits > 0)
    }

    /// Number of packets that end with a PDU.
    pub fn fits(&self) -> u32 {
        self.fits
    }

    /// Whether packets and PDUs end together: nearly always, or, with many PDUs in each packet, more often than by chance.
    pub fn is_aligned(&self) -> bool {
        let is_dense = self.pdus >= self.packets.saturating_mul(16);
        let often = self.fits.saturating_mul(4);
        often >= self.packets.saturating_mul(3) || (is_dense && often >= self.packets)
    }

    /// Adds the candidate of one direction.
    fn add(&mut self, candidate: &Candidate) {
        let strong = candidate.strong_bits();
        self.strong = self.strong.saturating_add(strong);
        self.weak = self.weak.max(candidate.bits().saturating_sub(strong));
        self.pdus = self.pdus.saturating_add(candidate.pdus);
        // A single PDU whose end is not confirmed may be no PDU.
        if candidate.pdus > 1 || candidate.fits > 0 {
            let mean = candidate.content.checked_div(candidate.pdus).unwrap_or(0);
            self.mean = self.mean.max(mean);
        }
        self.chained = self.chained.max(candidate.pdus);
        self.packets = self.packets.saturating_add(candidate.packets);
        self.fits = self.fits.saturating_add(candidate.fits);
        self.counted = self.counted.saturating_add(candidate.counted);
        self.most = self.most.max(candidate.most);
        let others = if self.directions == 0 { u32::MAX } else { self.least_most };
        self.least_most = others.min(candidate.most);
        self.directions = self.directions.saturating_add(1);
    }
}

/// The evidence for a protocol in both directions. Candidates that may be embedded in another protocol do not count.
pub fn evidence(searches: &[ProtocolSearch; 2], protocol: &dyn Protocol) -> SearchEvidence {
    let mut evidence = SearchEvidence::default();
    let best = searches.iter().filter_map(|search| search.best_of(protocol));
    best.filter(|candidate| candidate.is_free()).for_each(|candidate| evidence.add(candidate));
    let index = registry_index(protocol);
    evidence.is_broken = searches.iter().any(|search| search.broken.get(index) == Some(&true));
    evidence
}

/// The protocol's index in the registry.
fn registry_index(protocol: &dyn Protocol) -> usize {
    registry().iter().position(|one| one.name() == protocol.name()).unwrap_or(PROTOCOLS)
}

impl Candidate {
    fn new(
        protocol: &'static dyn Protocol,
        start: Offset,
        handicap: u32,
        inside: Option<Offset>,
    ) -> Candidate {
        let [last, next] = [start; 2];
        let (strong, weak, is_distinctive, number) = (0, 0, false, None);
        Candidate {
            protocol,
            start,
            last,
            next,
            strong,
            weak,
            handicap,
            inside,
            is_distinctive,
            number,
            pdus: 0,
            content: 0,
            most: 0,
            packets: 0,
            fits: 0,
            counted: 0,
        }
    }

    /// Whether the candidate's PDUs are in the stream itself and not embedded in another protocol, as far as is known.
    pub fn is_free(&self) -> bool {
        self.inside.is_none_or(|end| self.last >= end && self.pdus >= INSIDE_PDUS)
    }

    /// All evidence so far, in bits.
    pub fn bits(&self) -> u32 {
        self.strong_bits().saturating_add(self.weak.min(MOST_WEAK_BITS))
    }

    /// Evidence of distinctive PDUs so far, in bits.
    pub fn strong_bits(&self) -> u32 {
        self.strong.saturating_sub(self.handicap)
    }

    /// Where the next PDU must start.
    pub fn next(&self) -> Offset {
        self.next
    }

    /// Where the last known PDU starts.
    pub fn last(&self) -> Offset {
        self.last
    }

    /// Whether the first PDU has ended before `end`, or another one has followed it.
    pub fn is_followed_by(&self, end: Offset) -> bool {
        self.last > self.start || self.next <= end
    }

    fn add(&mut self, sight: PduSignature) {
        let follows = matches!((self.number, sight.number), (Some(last), Some(this))
            if last.0 == this.0 && last.1.checked_add(1) == Some(this.1));
        let counted = if follows { COUNTED_BITS } else { 0 };
        let sum = if sight.distinctive { &mut self.strong } else { &mut self.weak };
        *sum = sum.saturating_add(sight.bits);
        self.strong = self.strong.saturating_add(counted);
        self.counted = self.counted.saturating_add(u32::from(follows));
        self.pdus = self.pdus.saturating_add(1);
        self.content = self.content.saturating_add(sight.bits);
        self.most = self.most.max(sight.bits);
        self.number = sight.number;
        self.is_distinctive = sight.distinctive;
        self.last = self.next;
        self.next = self.next.plus(sight.len);
    }

    /// Adds the evidence that the last known PDU ends with a packet.
    fn fits(&mut self) {
        self.fits = self.fits.saturating_add(1);
        let is_long = self.next.0.saturating_sub(self.last.0) > LONG_BYTES;
        let bits = if is_long { LONG_FIT_BITS } else { FIT_BITS };
        let sum = if self.is_distinctive { &mut self.strong } else { &mut self.weak };
        *sum = sum.saturating_add(bits);
    }
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}: ", self.protocol.name(), self.start.0, self.next.0)?;
        write!(f, "{} bits", self.bits())
    }
}

/// The captured bytes of a packet, after a carried head of the packet before it.
#[derive(Clone, Copy, Debug)]
struct PacketBytes<'a> {
    at: Offset,
    bytes: &'a [u8],
    /// One past the packet's last byte, captured or not.
    end: Offset,
}

impl<'a> PacketBytes<'a> {
    /// The bytes from `place` on; `None` if none were captured.
    fn from(&self, place: Offset) -> Option<&'a [u8]> {
        let skip = usize::try_from(place.0.checked_sub(self.at.0)?).ok()?;
        self.bytes.get(skip..).filter(|rest| !rest.is_empty())
    }
}

/// The search for the protocol of one direction of a flow.
#[derive(Debug)]
pub struct ProtocolSearch {
    candidates: Vec<Candidate>,
    /// The last bytes of a packet, which may be the head of a PDU, and their offset.
    carry: (Offset, Vec<u8>),
    /// How many bytes may still be searched inside packets, see [`SEARCH_BYTES`].
    bytes_left: usize,
    /// For each protocol, the number of short packets or datagrams in a row, up to the last one, in which it has no PDU.
    unexplained: [u8; PROTOCOLS],
    /// For each protocol, whether packets ended with its PDUs, and later bytes where a PDU had to start were none.
    broken: [bool; PROTOCOLS],
}

impl Default for ProtocolSearch {
    fn default() -> ProtocolSearch {
        ProtocolSearch {
            candidates: Vec::new(),
            carry: (Offset(0), Vec::new()),
            bytes_left: SEARCH_BYTES,
            unexplained: [0; PROTOCOLS],
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

    /// Bytes of memory that the search uses.
    pub fn held_bytes(&self) -> usize {
        self.carry.1.capacity()
    }

    /// The number of short packets or datagrams in a row, up to the last one, that cannot be of the protocol.
    pub fn unexplained(&self, protocol: &dyn Protocol) -> u8 {
        self.unexplained.get(registry_index(protocol)).copied().unwrap_or_default()
    }

    /// Counts a packet for the protocols that it cannot be of.
    fn explain(&mut self, at: Offset, end: Offset, is_cut: bool) {
        // Bytes that may be the start of a PDU, or were not captured, do not contradict a protocol.
        let is_short =
            end.0.saturating_sub(at.0) < SHORT_PACKET && self.carry.1.is_empty() && !is_cut;
        for (protocol, count) in registry().iter().zip(&mut self.unexplained) {
            let is_its = |one: &Candidate| {
                one.protocol.name() == protocol.name() && one.start < end && one.next > at
            };
            if self.candidates.iter().any(is_its) {
                *count = 0;
            } else if is_short {
                *count = count.saturating_add(1);
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
        let end = at.plus((bytes.len() as u64).saturating_add(missing));
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
                    *count = count.saturating_add(1);
                }
                continue;
            };
            if let Some(count) = self.unexplained.get_mut(registry_index(protocol)) {
                *count = 0;
            }
            let index = index.unwrap_or_else(|| {
                self.candidates.push(Candidate::new(protocol, Offset(0), 0, None));
                self.candidates.len().saturating_sub(1)
            });
            if let Some(candidate) = self.candidates.get_mut(index) {
                candidate.add(sight);
                candidate.packets = candidate.packets.saturating_add(1);
                candidate.fits = candidate.fits.saturating_add(1);
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
                SignatureMatch::Pdu(sight) if strict && sight.bits < HINTED_BITS => {}
                SignatureMatch::Pdu(_) => {
                    let handicap = if strict { INSIDE_BITS } else { 0 };
                    let inside = strict.then_some(span.end);
                    self.add(Candidate::new(protocol, place, handicap, inside), span);
                }
            }
        }
        short && !strict
    }

    /// Whether a candidate of the protocol already starts, or has its next PDU, at this position.
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
        let tries = bytes.len().min(self.bytes_left);
        self.bytes_left.shrink(tries);
        for at in 1..tries {
            let Some(head) = bytes.get(at..) else { return };
            if registry().iter().any(|protocol| protocol.stands_out(head)) {
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

/// The result of following a candidate through a packet.
enum Followed {
    /// The candidate goes on.
    On,
    /// There are too few bytes of the candidate's next PDU.
    Short,
    /// The bytes contradict the candidate.
    Wrong,
}

/// Follows a candidate through a packet.
fn follow(candidate: &mut Candidate, span: PacketBytes<'_>) -> Followed {
    if candidate.next < span.at {
        return Followed::Wrong;
    }
    let mut ends = candidate.next > span.at && candidate.next <= span.end;
    for _ in 0..LONGEST_CHAIN {
        if candidate.next >= span.end {
            break;
        }
        // If the next PDU starts in bytes that were not captured, the candidate cannot be followed.
        let Some(head) = span.from(candidate.next) else { return Followed::Wrong };
        match candidate.protocol.match_signature(Transport::Tcp, head) {
            SignatureMatch::Pdu(sight) if sight.len > 0 && sight.len <= LONGEST_PDU => {
                candidate.add(sight);
                ends |= candidate.next <= span.end;
            }
            SignatureMatch::Short => {
                candidate.packets = candidate.packets.saturating_add(u32::from(ends));
                return Followed::Short;
            }
            SignatureMatch::No | SignatureMatch::Pdu(_) => return Followed::Wrong,
        }
    }
    candidate.packets = candidate.packets.saturating_add(u32::from(ends));
    if candidate.next == span.end {
        candidate.fits();
    }
    Followed::On
}
