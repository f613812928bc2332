//! The captured bytes of a packet, and how a candidate is followed through them.

use super::candidate::Candidate;
use crate::SignatureMatch;
use wirelap_events::{Offset, Transport};

/// The longest plausible PDU.
pub(super) const LONGEST_PDU: u64 = 256 << 20;

/// The most PDUs that are followed within one packet.
const LONGEST_CHAIN: u32 = 64;

/// The captured bytes of a packet, after a carried head of the packet before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketBytes<'a> {
    pub(super) at: Offset,
    pub(super) bytes: &'a [u8],
    /// One past the packet's last byte, captured or not.
    pub(super) end: Offset,
}

impl<'a> PacketBytes<'a> {
    /// The bytes from `place` on; `None` if none were captured.
    pub(super) fn from(&self, place: Offset) -> Option<&'a [u8]> {
        let skip = usize::try_from(place.0.checked_sub(self.at.0)?).ok()?;
        self.bytes.get(skip..).filter(|rest| !rest.is_empty())
    }
}

/// The result of following a candidate through a packet.
pub(super) enum Followed {
    /// The candidate goes on.
    On,
    /// There are too few bytes of the candidate's next PDU.
    Short,
    /// The bytes contradict the candidate.
    Wrong,
}

/// Follows a candidate through a packet.
pub(super) fn follow(candidate: &mut Candidate, span: PacketBytes<'_>) -> Followed {
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
                candidate.packets += u32::from(ends);
                return Followed::Short;
            }
            SignatureMatch::No | SignatureMatch::Pdu(_) => return Followed::Wrong,
        }
    }
    candidate.packets += u32::from(ends);
    if candidate.next == span.end {
        candidate.fits();
    }
    Followed::On
}
