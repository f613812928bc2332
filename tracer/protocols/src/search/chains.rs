//! PDUs that follow each other inside packets, each where the one before it ends.
//!
//! ```text
//! ··· | head · · · ·  body  · · · · | head · · · ·  body · · · · | head ···
//!       looks like a PDU of 8000 B    so does this: a chain of 2    … of 3
//! ```
//!
//! The head of a long PDU may tell little: in random bytes, what looks like one stands at every few hundredth position, and
//! it takes up to megabytes until the place where the next one must start. All of them are remembered by that place, in a
//! table of fixed size. Of two that need the same slot, the one with more evidence stays.

use super::thresholds::{COUNTED_BITS, MOST_WEAK_BITS};
use crate::PduSignature;
use wirelap_events::Offset;

/// How many PDUs are remembered whose end was not reached.
const SLOTS: usize = 1024;

/// Shorter PDUs are found otherwise: a packet has several, or begins with one. A periodic pattern has many that look like one.
const SHORTEST: u64 = 512;

/// The last PDU of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    /// Where the first PDU starts.
    pub(super) first: Offset,
    /// Where the last PDU starts.
    pub(super) last: Offset,
    /// Where the next PDU must start.
    pub(super) next: Offset,
    /// The counter in the last PDU.
    pub(super) number: Option<(u64, u64)>,
    /// Evidence of distinctive PDUs and of counters, in bits.
    pub(super) strong: u32,
    /// Evidence of other PDUs, in bits.
    pub(super) weak: u32,
    /// The evidence in the content of all PDUs, in bits.
    pub(super) content: u32,
    /// PDUs whose counter was one more than in the PDU before.
    pub(super) counted: u32,
    /// The evidence in the content of the PDU with the most, in bits.
    pub(super) most: u32,
    /// Number of PDUs.
    pub(super) pdus: u32,
}

impl Chain {
    fn new(place: Offset, sight: PduSignature) -> Chain {
        Chain {
            first: place,
            last: place,
            next: place.plus(sight.len),
            number: sight.number,
            strong: if sight.distinctive { sight.bits } else { 0 },
            weak: if sight.distinctive { 0 } else { sight.bits },
            content: sight.bits,
            counted: 0,
            most: sight.bits,
            pdus: 1,
        }
    }

    /// The chain with one more PDU, where it must start.
    fn and(&self, sight: PduSignature) -> Chain {
        let counts = matches!((self.number, sight.number), (Some(last), Some(this))
            if last.0 == this.0 && last.1.checked_add(1) == Some(this.1));
        let last = Chain::new(self.next, sight);
        let counted = if counts { COUNTED_BITS } else { 0 };
        Chain {
            first: self.first,
            strong: self.strong.saturating_add(last.strong).saturating_add(counted),
            weak: self.weak.saturating_add(last.weak),
            content: self.content.saturating_add(sight.bits),
            counted: self.counted.saturating_add(u32::from(counts)),
            most: self.most.max(sight.bits),
            pdus: self.pdus.saturating_add(1),
            ..last
        }
    }

    /// All evidence, in bits.
    pub(super) fn bits(&self) -> u32 {
        self.strong.saturating_add(self.weak.min(MOST_WEAK_BITS))
    }
}

/// The chains of one protocol in one direction of a flow.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// By the place where the next PDU must start; empty until there is a chain.
    slots: Vec<Option<Chain>>,
}

impl Chains {
    /// A PDU may start at `place`. Returns the chain that it is the last PDU of; `None` if it is too short to be remembered.
    pub(super) fn add(&mut self, place: Offset, sight: PduSignature) -> Option<Chain> {
        if sight.len < SHORTEST {
            return None;
        }
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        let before = self.slots.get(slot(place)).copied().flatten();
        let chain = before
            .filter(|before| before.next == place)
            .map_or_else(|| Chain::new(place, sight), |before| before.and(sight));
        let kept = self.slots.get_mut(slot(chain.next))?;
        let is_free = kept.is_none_or(|kept| kept.next <= place || kept.bits() < chain.bits());
        if is_free {
            *kept = Some(chain);
        }
        Some(chain)
    }

    /// Whether a PDU of at most `longest` bytes that has at least `bits` of evidence may lie around a range.
    pub(super) fn enclose(&self, range: (Offset, Offset), longest: u64, bits: u32) -> bool {
        self.slots.iter().flatten().any(|chain| {
            chain.last < range.0
                && chain.next >= range.1
                && chain.next.0.saturating_sub(chain.last.0) <= longest
                && chain.bits() >= bits
        })
    }

    /// Bytes of memory that it uses.
    pub(super) fn held_bytes(&self) -> usize {
        self.slots.capacity().saturating_mul(size_of::<Option<Chain>>())
    }
}

/// Where in the table a chain is whose next PDU must start at `next`.
fn slot(next: Offset) -> usize {
    // Fibonacci hashing: all bits of the place bear on the upper bits of the product.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    const SHIFT: u32 = u64::BITS - SLOTS.trailing_zeros();
    usize::try_from(next.0.wrapping_mul(FACTOR) >> SHIFT).unwrap_or_default()
}
