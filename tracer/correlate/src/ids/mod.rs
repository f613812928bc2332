//! What names a direction, an end, a message or a leg, in every room.

mod address;
mod direction;
mod keys;
mod node;

pub use address::{ends, normal, scope_of};
pub use direction::{Direction, Way};
pub use keys::{AssemblyId, LegKey};
pub use node::{FlowEnds, Node};
