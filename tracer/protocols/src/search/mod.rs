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
//!
//! | module | contents |
//! |---|---|
//! | `thresholds` | how much evidence suffices |
//! | `candidate` | a protocol that one direction may have, with the evidence for it |
//! | `packet` | the bytes of a packet, and how a candidate is followed through them |
//! | `direction` | the search in one direction of a flow |
//! | `conversation` | the evidence in both directions of a conversation |

mod candidate;
mod conversation;
mod direction;
mod packet;
mod thresholds;

pub use candidate::Candidate;
pub use conversation::{SearchEvidence, evidence};
pub use direction::ProtocolSearch;
pub use thresholds::{HINTED_BITS, SURE_BITS, UNMISTAKABLE_BITS};
