//! Zenoh: `peer` is two peers without anyone between them, `brokered` two clients of a router (`router`,
//! embedded, the default, or the program `zenohd`). No scouting and no gossip: addresses are given.

mod brokered;
mod link;
mod peer;
mod quality;
mod router;
mod session;
mod zenohd;

pub use brokered::ZenohBrokered;
pub use peer::ZenohPeerToPeer;

/// Larger ones are possible, but nobody waits for them.
const MAX_PAYLOAD: usize = 256 << 20;
