//! How much evidence suffices for a protocol.

/// Evidence that suffices without a hint.
pub const SURE_BITS: u32 = 32;

/// Evidence that suffices if the port or the server's other conversations hint at the same protocol.
pub const HINTED_BITS: u32 = 20;

/// The evidence of a PDU that no other protocol can send.
pub const UNMISTAKABLE_BITS: u32 = 40;

/// Evidence that suffices where the server's other conversations have the same protocol, if PDUs tell little each but follow
/// each other. What is subtracted from a candidate that was found inside a packet is left out.
pub const CHAIN_BITS: u32 = 44;

/// The evidence of a counter that is one more than in the previous PDU.
pub(super) const COUNTED_BITS: u32 = 14;

/// The most evidence that PDUs without distinctive content, such as acknowledgements, add up to.
pub(super) const MOST_WEAK_BITS: u32 = 28;
