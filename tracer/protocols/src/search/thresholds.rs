//! Evidence that suffices for a protocol, in bits.

/// Evidence that suffices without a hint.
pub const SURE_BITS: u32 = 32;

/// Evidence that suffices if the port or the server's other conversations hint at the same protocol.
pub const HINTED_BITS: u32 = 20;

/// The evidence of a PDU that no other protocol can send.
pub const UNMISTAKABLE_BITS: u32 = 40;
