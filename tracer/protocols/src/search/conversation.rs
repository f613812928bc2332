//! The evidence for a protocol in both directions of a conversation.

use super::candidate::Candidate;
use super::direction::{ProtocolSearch, registry_index};
use crate::Protocol;
use wirelap_events::SmallCount;

/// PDUs with less evidence each, such as short frames with little more than a length, fit many protocols, see
/// [`SearchEvidence::is_poor`].
const POOR_BITS: u32 = 20;

/// PDUs with less evidence each show no more than a length.
const LENGTH_BITS: u32 = 8;

/// The evidence for one protocol in both directions of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchEvidence {
    /// Evidence of distinctive PDUs, in bits.
    pub strong: SmallCount,
    /// Evidence of other PDUs, in bits.
    pub weak: u32,
    /// Number of known PDUs.
    pub pdus: SmallCount,
    /// The evidence in the content of the PDU with the most, in bits.
    pub most: u32,
    /// `most` of the direction in which it is lower.
    pub least_most: u32,
    /// Number of directions with a candidate.
    pub directions: SmallCount,
    /// True if a direction's packets ended with PDUs of the protocol, and later bytes where a PDU had to start were none.
    pub is_broken: bool,
    /// The mean evidence in the content of a direction's PDUs, of the direction in which it is higher.
    mean: u32,
    /// The number of PDUs of the direction that has more.
    chained: u32,
    packets: SmallCount,
    fits: SmallCount,
    counted: SmallCount,
}

impl SearchEvidence {
    /// All evidence, in bits.
    pub fn bits(&self) -> u32 {
        (self.strong + self.weak).0
    }

    /// True if each PDU has so little evidence that PDUs of other protocols look the same.
    pub fn is_poor(&self) -> bool {
        self.mean < POOR_BITS && self.counted < 2
    }

    /// True if the PDUs show no more than a length, as in every protocol that has a length of two bytes before each PDU.
    pub fn is_bare(&self) -> bool {
        self.mean < LENGTH_BITS && self.counted < 2
    }

    /// True if a PDU has ended with a packet or was followed by another PDU.
    pub fn is_confirmed(&self) -> bool {
        self.chained > 1 || (self.pdus > 1 && self.fits > 0)
    }

    /// Number of packets that end with a PDU.
    pub fn fits(&self) -> u32 {
        self.fits.0
    }

    /// True if packets and PDUs end together: nearly always, or, with many PDUs in each packet, more often than by chance.
    pub fn is_aligned(&self) -> bool {
        let is_dense = self.pdus >= self.packets * 16;
        let often = self.fits * 4;
        often >= self.packets * 3 || (is_dense && often >= self.packets)
    }

    /// Adds the candidate of one direction.
    fn add(&mut self, candidate: &Candidate) {
        let strong = candidate.strong_bits();
        self.strong += strong;
        self.weak = self.weak.max((SmallCount(candidate.bits()) - strong).0);
        self.pdus += candidate.pdus;
        // A single PDU whose end is not confirmed may be no PDU.
        if candidate.pdus > 1 || candidate.fits > 0 {
            let mean = candidate.content.0.checked_div(candidate.pdus.0).unwrap_or(0);
            self.mean = self.mean.max(mean);
        }
        self.chained = self.chained.max(candidate.pdus.0);
        self.packets += candidate.packets;
        self.fits += candidate.fits;
        self.counted += candidate.counted;
        self.most = self.most.max(candidate.most);
        let others = if self.directions == 0 { u32::MAX } else { self.least_most };
        self.least_most = others.min(candidate.most);
        self.directions += 1;
    }
}

/// The evidence for a protocol in both directions. Candidates that may be embedded in another protocol do not count.
pub fn evidence(searches: [&ProtocolSearch; 2], protocol: &dyn Protocol) -> SearchEvidence {
    let mut evidence = SearchEvidence::default();
    let best = searches.iter().filter_map(|search| search.best_of(protocol));
    best.filter(|candidate| candidate.is_free()).for_each(|candidate| evidence.add(candidate));
    let index = registry_index(protocol);
    evidence.is_broken = searches.iter().any(|search| search.broken.get(index) == Some(&true));
    evidence
}
