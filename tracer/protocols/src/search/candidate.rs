//! A candidate: a protocol that one direction may have, with the evidence for it.

use super::thresholds::HINTED_BITS;
use crate::{PduSignature, Protocol};
use wirelap_events::{ByteRange, Offset, SmallCount};

/// The most evidence that PDUs without distinctive content, such as acknowledgements, add up to.
const MOST_WEAK_BITS: u32 = 28;

/// Number of PDUs that a candidate that was found inside a packet needs.
const INSIDE_PDUS: u32 = 3;

/// The evidence of a counter that is one more than in the previous PDU.
const COUNTED_BITS: u32 = 14;

/// The evidence of a PDU that ends where a packet ends.
const FIT_BITS: u32 = 8;

/// The evidence of a PDU of more than [`LONG_BYTES`] that ends where a packet ends.
const LONG_FIT_BITS: u32 = 16;
/// From this length on, a PDU spans several packets.
const LONG_BYTES: u64 = 16 << 10;

/// So many first bytes of a PDU are read; of a longer one, only the length of the rest counts.
const READ_BYTES: u64 = 4 << 10;

/// A protocol that one direction may have, with the evidence for it.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Start of the candidate's first PDU.
    pub start: Offset,
    /// Start of the candidate's last known PDU.
    last: Offset,
    /// Offset at which the candidate's next PDU must start.
    pub(super) next: Offset,
    /// Evidence of distinctive PDUs, in bits.
    pub(super) strong: SmallCount,
    /// Evidence of other PDUs, in bits.
    weak: SmallCount,
    /// Evidence that is subtracted because many positions were tried, in bits.
    pub(super) handicap: u32,
    /// The end of the packet inside of which the candidate was found. A PDU must have started after it: PDUs that are
    /// embedded in another protocol, as in a WebSocket, end with that protocol's frame.
    inside: Option<Offset>,
    /// True if the last known PDU is distinctive.
    is_distinctive: bool,
    /// The counter in the last known PDU.
    pub(super) number: Option<(u64, u64)>,
    /// Number of known PDUs.
    pub(super) pdus: SmallCount,
    /// The evidence in the content of all known PDUs, in bits.
    pub(super) content: SmallCount,
    /// The evidence in the content of the PDU with the most, in bits.
    pub(super) most: u32,
    /// Packets in which a PDU ended.
    pub(super) packets: SmallCount,
    /// Packets that ended with a PDU.
    pub(super) fits: SmallCount,
    /// PDUs whose counter was one more than in the previous PDU.
    pub(super) counted: SmallCount,
}

impl Candidate {
    pub(super) fn new(
        protocol: &'static dyn Protocol,
        start: Offset,
        handicap: u32,
        inside: Option<Offset>,
    ) -> Candidate {
        let [last, next] = [start; 2];
        Candidate {
            protocol,
            start,
            last,
            next,
            strong: SmallCount(0),
            weak: SmallCount(0),
            handicap,
            inside,
            is_distinctive: false,
            number: None,
            pdus: SmallCount(0),
            content: SmallCount(0),
            most: 0,
            packets: SmallCount(0),
            fits: SmallCount(0),
            counted: SmallCount(0),
        }
    }

    /// True if the candidate's PDUs are in the stream itself and not embedded in another protocol, as far as is known.
    pub fn is_free(&self) -> bool {
        self.inside.is_none_or(|end| self.last >= end && self.pdus >= INSIDE_PDUS)
    }

    /// All evidence so far, in bits.
    pub fn bits(&self) -> u32 {
        (self.strong - self.handicap + self.weak.0.min(MOST_WEAK_BITS)).0
    }

    /// Evidence of distinctive PDUs so far, in bits.
    pub fn strong_bits(&self) -> u32 {
        (self.strong - self.handicap).0
    }

    /// Returns the offset at which the next PDU must start.
    pub fn next(&self) -> Offset {
        self.next
    }

    /// Returns the start of the last known PDU.
    pub fn last(&self) -> Offset {
        self.last
    }

    /// True if a range has some of what is read of the first or the last known PDU.
    pub fn is_head(&self, range: ByteRange) -> bool {
        let reads = |start: Offset| range.start < start.plus(READ_BYTES) && range.end > start;
        reads(self.start) || reads(self.last)
    }

    /// True if a range lies in the part of a long PDU that nothing is read from.
    pub fn is_body(&self, range: ByteRange) -> bool {
        self.bits() >= HINTED_BITS
            && range.start >= self.last.plus(READ_BYTES)
            && range.end <= self.next
    }

    /// True if the first PDU has ended before `end`, or another one has followed it.
    pub fn is_followed_by(&self, end: Offset) -> bool {
        self.last > self.start || self.next <= end
    }

    pub(super) fn add(&mut self, sight: PduSignature) {
        let follows = matches!((self.number, sight.number), (Some(last), Some(this))
            if last.0 == this.0 && last.1.checked_add(1) == Some(this.1));
        let counted = if follows { COUNTED_BITS } else { 0 };
        let sum = if sight.distinctive { &mut self.strong } else { &mut self.weak };
        *sum += sight.bits;
        self.strong += counted;
        self.counted += u32::from(follows);
        self.pdus += 1;
        self.content += sight.bits;
        self.most = self.most.max(sight.bits);
        self.number = sight.number;
        self.is_distinctive = sight.distinctive;
        self.last = self.next;
        self.next = self.next.plus(sight.len);
    }

    /// Adds the evidence that the last known PDU ends with a packet.
    pub(super) fn fits(&mut self) {
        self.fits += 1;
        let is_long = self.next - self.last > LONG_BYTES;
        let bits = if is_long { LONG_FIT_BITS } else { FIT_BITS };
        let sum = if self.is_distinctive { &mut self.strong } else { &mut self.weak };
        *sum += bits;
    }
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}: ", self.protocol.name(), self.start.0, self.next.0)?;
        write!(f, "{} bits", self.bits())
    }
}
