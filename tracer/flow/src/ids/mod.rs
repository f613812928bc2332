//! Identities of directions, ends, messages and legs, which every folder uses.

mod address;
mod direction;
mod keys;
mod node;

pub use address::{ends, normal, scope_of};
pub use direction::{Direction, Way};
pub use keys::{AssemblyId, LegKey};
pub use node::{FlowEnds, Node};
