//! Finds out what a conversation speaks that was joined in mid-stream, one direction at a time.
//!
//! ```text
//!        packet              packet             packet
//! |-----------------|-------------------|------------------|
//!   ·· | head · · · ·  · · · ·  body · ·  · · · | head | head ···
//!      ^ a place that looks like a PDU's start:   ^ its end, where the next one has to start:
//!        a candidate with some bits of evidence     more evidence, or none and it is dropped
//! ```
//!
//! Places to begin at are starts of packets and of writes, and, within limits, every byte of a packet. Of the body of
//! a long PDU nothing is kept, so its length does not matter.

use crate::{Look, Protocol, Sight, registry};
use wirelap_events::Saturate;
use wirelap_events::{Offset, Transport};

/// Candidates that are followed at once.
const CANDIDATES: usize = 6;

/// Bytes in packets that are searched for the start of a PDU; beyond, only starts of packets and of writes are tried.
const SEARCH_BYTES: usize = 4 << 20;

/// Evidence that is enough by itself: one of 2³².
pub const SURE_BITS: u32 = 32;

/// Evidence that is enough where the port or the server's other conversations say the same.
pub const HINTED_BITS: u32 = 20;

/// What short PDUs, acknowledgements and the like, can add at most.
const MOST_WEAK_BITS: u32 = 28;

/// What a candidate lacks that was found inside a packet, where there are a thousand places to find one.
const INSIDE_BITS: u32 = 10;

/// And how many PDUs of it there must be.
const INSIDE_PDUS: u32 = 3;

/// A number that is one more than the last.
const COUNTED_BITS: u32 = 14;

/// A PDU that ends where a packet ends.
const FIT_BITS: u32 = 8;

/// The same, of a PDU as long as several packets.
const LONG_FIT_BITS: u32 = 16;
const LONG_BYTES: u64 = 16 << 10;

/// A PDU that is by itself what no other protocol sends.
pub const UNMISTAKABLE_BITS: u32 = 40;

/// PDUs with less evidence each, as short frames that have little but their length, are many protocols' and need more of
/// everything: see [`Evidence::is_poor`].
const POOR_BITS: u32 = 20;

/// PDUs with less evidence each tell no more than their length.
const LENGTH_BITS: u32 = 8;

/// Protocols that are told apart.
const PROTOCOLS: usize = 16;

/// A packet that is longer may be the middle of a long message; a shorter one most often begins with one.
const SHORT_PACKET: u64 = 1024;

/// A head that is longer is no head.
const LONGEST_HEAD: usize = 8 << 10;

/// The longest PDU that is believed.
const LONGEST_PDU: u64 = 256 << 20;

/// Chains within one packet are followed so far.
const LONGEST_CHAIN: u32 = 64;

/// What one direction may be.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Where its first PDU starts.
    pub start: Offset,
    /// Where the PDU before the next one starts.
    last: Offset,
    /// Where its next PDU starts.
    next: Offset,
    /// Evidence of PDUs that tell by themselves.
    strong: u32,
    /// Evidence of others.
    weak: u32,
    /// Evidence that does not count, because there were many places to find it.
    handicap: u32,
    /// The end of the packet that it was found inside of. A PDU must have started behind that: what is embedded in
    /// something else, as in a WebSocket, ends with what it is embedded in.
    inside: Option<Offset>,
    /// Whether the PDU that was seen last tells by itself.
    is_telling: bool,
    number: Option<(u64, u64)>,
    /// PDUs that were seen to begin.
    pdus: u32,
    /// The evidence in their content, together and the most of one.
    content: u32,
    most: u32,
    /// Packets in which one of its PDUs ended, and those that ended with one.
    packets: u32,
    fits: u32,
    /// PDUs whose number was one more than the last.
    counted: u32,
}

/// What the candidates of one protocol tell together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Of PDUs that tell by themselves, in bits.
    pub strong: u32,
    /// Of others.
    pub weak: u32,
    /// PDUs that were seen to begin.
    pub pdus: u32,
    /// The evidence in the content of the PDU with the most.
    pub most: u32,
    /// The same, of the direction with less.
    pub least_most: u32,
    /// Directions with a candidate.
    pub directions: u32,
    /// Packets had ended with PDUs of a direction, and then what had to be one was none.
    pub is_broken: bool,
    /// The most evidence that the content of a direction's PDUs has on average.
    mean: u32,
    /// The most PDUs of a direction.
    chained: u32,
    packets: u32,
    fits: u32,
    counted: u32,
}

impl Evidence {
    /// The evidence in bits.
    pub fn bits(&self) -> u32 {
        self.strong.saturating_add(self.weak)
    }

    /// Whether each of its PDUs tells little, so that other protocols' look the same.
    pub fn is_poor(&self) -> bool {
        self.mean < POOR_BITS && self.counted < 2
    }

    /// Whether its PDUs tell no more than their length, as those of every protocol with two bytes before each do.
    pub fn is_bare(&self) -> bool {
        self.mean < LENGTH_BITS && self.counted < 2
    }

    /// Whether a PDU has ended where it had to: with a packet, or where another one began.
    pub fn is_confirmed(&self) -> bool {
        self.chained > 1 || (self.pdus > 1 && self.fits > 0)
    }

    /// Packets that end with a PDU.
    pub fn fits(&self) -> u32 {
        self.fits
    }

    /// Whether packets and PDUs end together: nearly always, or, of many PDUs in each packet, more often than by chance.
    pub fn is_aligned(&self) -> bool {
        let is_dense = self.pdus >= self.packets.saturating_mul(16);
        let often = self.fits.saturating_mul(4);
        often >= self.packets.saturating_mul(3) || (is_dense && often >= self.packets)
    }

    /// Adds a direction's.
    fn add(&mut self, candidate: &Candidate) {
        let strong = candidate.strong_bits();
        self.strong = self.strong.saturating_add(strong);
        self.weak = self.weak.max(candidate.bits().saturating_sub(strong));
        self.pdus = self.pdus.saturating_add(candidate.pdus);
        // A single PDU whose end nothing confirms may be no PDU.
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

/// What both directions tell of a protocol; of those in `searches` whose PDUs follow each other in the stream itself.
pub fn evidence(searches: &[Search; 2], protocol: &dyn Protocol) -> Evidence {
    let mut evidence = Evidence::default();
    let best = searches.iter().filter_map(|search| search.best_of(protocol));
    best.filter(|candidate| candidate.is_free()).for_each(|candidate| evidence.add(candidate));
    let place = place(protocol);
    evidence.is_broken = searches.iter().any(|search| search.broken.get(place) == Some(&true));
    evidence
}

/// Its place in the registry.
fn place(protocol: &dyn Protocol) -> usize {
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
        let (strong, weak, is_telling, number) = (0, 0, false, None);
        Candidate {
            protocol,
            start,
            last,
            next,
            strong,
            weak,
            handicap,
            inside,
            is_telling,
            number,
            pdus: 0,
            content: 0,
            most: 0,
            packets: 0,
            fits: 0,
            counted: 0,
        }
    }

    /// Whether its PDUs follow each other in the stream itself, as far as can be told.
    pub fn is_free(&self) -> bool {
        self.inside.is_none_or(|end| self.last >= end && self.pdus >= INSIDE_PDUS)
    }

    /// The evidence so far, in bits.
    pub fn bits(&self) -> u32 {
        self.strong_bits().saturating_add(self.weak.min(MOST_WEAK_BITS))
    }

    /// Evidence of PDUs that could not be anything else's, in bits.
    pub fn strong_bits(&self) -> u32 {
        self.strong.saturating_sub(self.handicap)
    }

    /// Where the next PDU starts.
    pub fn next(&self) -> Offset {
        self.next
    }

    /// Where the PDU that was seen last starts.
    pub fn last(&self) -> Offset {
        self.last
    }

    /// Whether its first PDU has ended before `end`, or another one began where it had to.
    pub fn is_followed_by(&self, end: Offset) -> bool {
        self.last > self.start || self.next <= end
    }

    fn add(&mut self, sight: Sight) {
        let follows = matches!((self.number, sight.number), (Some(last), Some(this))
            if last.0 == this.0 && last.1.checked_add(1) == Some(this.1));
        let counted = if follows { COUNTED_BITS } else { 0 };
        let sum = if sight.telling { &mut self.strong } else { &mut self.weak };
        *sum = sum.saturating_add(sight.bits);
        self.strong = self.strong.saturating_add(counted);
        self.counted = self.counted.saturating_add(u32::from(follows));
        self.pdus = self.pdus.saturating_add(1);
        self.content = self.content.saturating_add(sight.bits);
        self.most = self.most.max(sight.bits);
        self.number = sight.number;
        self.is_telling = sight.telling;
        self.last = self.next;
        self.next = self.next.plus(sight.len);
    }

    /// Its last PDU ends with a packet.
    fn fits(&mut self) {
        self.fits = self.fits.saturating_add(1);
        let is_long = self.next.0.saturating_sub(self.last.0) > LONG_BYTES;
        let bits = if is_long { LONG_FIT_BITS } else { FIT_BITS };
        let sum = if self.is_telling { &mut self.strong } else { &mut self.weak };
        *sum = sum.saturating_add(bits);
    }
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}: ", self.protocol.name(), self.start.0, self.next.0)?;
        write!(f, "{} bits", self.bits())
    }
}

/// A packet's bytes in one direction.
#[derive(Clone, Copy, Debug)]
struct Span<'a> {
    at: Offset,
    bytes: &'a [u8],
    /// One past the packet's last byte, captured or not.
    end: Offset,
}

impl<'a> Span<'a> {
    /// The bytes from `place` on; `None` where none were captured.
    fn from(&self, place: Offset) -> Option<&'a [u8]> {
        let skip = usize::try_from(place.0.checked_sub(self.at.0)?).ok()?;
        self.bytes.get(skip..).filter(|rest| !rest.is_empty())
    }
}

/// One direction of a TCP flow of which nobody knows what it is.
#[derive(Debug)]
pub struct Search {
    candidates: Vec<Candidate>,
    /// The end of a packet that may be the head of a PDU, and where it starts.
    carry: (Offset, Vec<u8>),
    bytes_left: usize,
    /// For each protocol, the last short packets, or datagrams, in a row that none of its PDUs explains.
    unexplained: [u8; PROTOCOLS],
    /// For each protocol, whether packets ended with its PDUs, and then what had to be one was none.
    broken: [bool; PROTOCOLS],
}

impl Default for Search {
    fn default() -> Search {
        Search {
            candidates: Vec::new(),
            carry: (Offset(0), Vec::new()),
            bytes_left: SEARCH_BYTES,
            unexplained: [0; PROTOCOLS],
            broken: [false; PROTOCOLS],
        }
    }
}

impl Search {
    /// The candidates, in no order.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The best evidence for a protocol in this direction.
    pub fn best_of(&self, protocol: &dyn Protocol) -> Option<&Candidate> {
        let same = self.candidates.iter().filter(|c| c.protocol.name() == protocol.name());
        same.max_by_key(|candidate| candidate.bits())
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        self.carry.1.capacity()
    }

    /// The last short packets, or datagrams, in a row that cannot be the protocol's.
    pub fn unexplained(&self, protocol: &dyn Protocol) -> u8 {
        self.unexplained.get(place(protocol)).copied().unwrap_or_default()
    }

    /// Notes which protocols a packet may be of.
    fn explain(&mut self, at: Offset, end: Offset, is_cut: bool) {
        // What has only begun is nobody's yet, and what was not captured contradicts nothing.
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

    /// The first byte that may be part of a message.
    pub fn wanted_from(&self) -> Option<Offset> {
        let starts = self.candidates.iter().map(|candidate| candidate.start);
        let carry = (!self.carry.1.is_empty()).then_some(self.carry.0);
        starts.chain(carry).min()
    }

    /// Bytes were missed: what has to start among them cannot be checked.
    pub fn gap(&mut self, at: Offset, len: u64) {
        let end = at.plus(len);
        self.carry.1.clear();
        self.candidates.retain(|candidate| candidate.next < at || candidate.next >= end);
    }

    /// A packet with `missing` bytes after `bytes` that were not captured; writes started at `writes`.
    pub fn packet(&mut self, at: Offset, bytes: &[u8], missing: u64, writes: &[Offset]) {
        let end = at.plus((bytes.len() as u64).saturating_add(missing));
        let (from, mut joined) = std::mem::take(&mut self.carry);
        if joined.is_empty() || from.plus(joined.len() as u64) != at {
            joined.clear();
            self.carry.1 = joined;
            self.span(Span { at, bytes, end }, at, writes);
        } else {
            joined.extend_from_slice(bytes);
            self.span(Span { at: from, bytes: &joined, end }, at, writes);
        }
        self.explain(at, end, missing > 0);
    }

    /// A datagram: each is a PDU, and evidence of its own.
    pub fn datagram(&mut self, bytes: &[u8]) {
        for &protocol in registry().iter().filter(|p| p.transports().contains(&Transport::Udp)) {
            let index = self.candidates.iter().position(|c| c.protocol.name() == protocol.name());
            let before = index.and_then(|index| self.candidates.get(index)?.number);
            let found = match protocol.sight(Transport::Udp, bytes) {
                // What counts does not stand still.
                Look::Pdu(sight) if sight.number.is_none() || sight.number != before => Some(sight),
                _ => None,
            };
            let Some(sight) = found else {
                if let Some(index) = index {
                    self.candidates.swap_remove(index);
                }
                if let Some(count) = self.unexplained.get_mut(place(protocol)) {
                    *count = count.saturating_add(1);
                }
                continue;
            };
            if let Some(count) = self.unexplained.get_mut(place(protocol)) {
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

    fn span(&mut self, span: Span<'_>, packet: Offset, writes: &[Offset]) {
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
                        && let Some(broken) = self.broken.get_mut(place(wrong.protocol))
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

    /// Tries all protocols at one place. Returns whether some could not tell because there is too little of it.
    fn begin(&mut self, place: Offset, span: Span<'_>, strict: bool) -> bool {
        let Some(head) = span.from(place) else { return false };
        let mut short = false;
        for &protocol in registry().iter().filter(|p| p.transports().contains(&Transport::Tcp)) {
            if self.is_followed(protocol, place) {
                continue;
            }
            match protocol.sight(Transport::Tcp, head) {
                Look::No => {}
                Look::Short => short = true,
                Look::Pdu(sight) if sight.len == 0 || sight.len > LONGEST_PDU => {}
                Look::Pdu(sight) if strict && sight.bits < HINTED_BITS => {}
                Look::Pdu(_) => {
                    let handicap = if strict { INSIDE_BITS } else { 0 };
                    let inside = strict.then_some(span.end);
                    self.add(Candidate::new(protocol, place, handicap, inside), span);
                }
            }
        }
        short && !strict
    }

    /// Whether a candidate of the protocol has come past this place by PDUs that tell.
    fn is_followed(&self, protocol: &dyn Protocol, place: Offset) -> bool {
        self.candidates.iter().any(|candidate| {
            candidate.protocol.name() == protocol.name()
                && candidate.start <= place
                && (candidate.start == place || candidate.next == place)
        })
    }

    fn add(&mut self, mut candidate: Candidate, span: Span<'_>) {
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
    fn look_inside(&mut self, span: Span<'_>, packet: Offset) {
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
    fn keep_head(&mut self, short: Option<Offset>, span: Span<'_>) {
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

/// What became of a candidate in a packet.
enum Followed {
    On,
    /// Its next PDU has begun with too few bytes.
    Short,
    Wrong,
}

/// Follows a candidate through a packet.
fn follow(candidate: &mut Candidate, span: Span<'_>) -> Followed {
    if candidate.next < span.at {
        return Followed::Wrong;
    }
    let mut ends = candidate.next > span.at && candidate.next <= span.end;
    for _ in 0..LONGEST_CHAIN {
        if candidate.next >= span.end {
            break;
        }
        // A place in bytes that were not captured.
        let Some(head) = span.from(candidate.next) else { return Followed::Wrong };
        match candidate.protocol.sight(Transport::Tcp, head) {
            Look::Pdu(sight) if sight.len > 0 && sight.len <= LONGEST_PDU => {
                candidate.add(sight);
                ends |= candidate.next <= span.end;
            }
            Look::Short => {
                candidate.packets = candidate.packets.saturating_add(u32::from(ends));
                return Followed::Short;
            }
            Look::No | Look::Pdu(_) => return Followed::Wrong,
        }
    }
    candidate.packets = candidate.packets.saturating_add(u32::from(ends));
    if candidate.next == span.end {
        candidate.fits();
    }
    Followed::On
}
