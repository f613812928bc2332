//! What names a direction, an end, a message or a leg, in every room.

mod address;
mod keys;
mod node;
mod way;

pub use address::{ends, normal, scope_of};
pub use keys::{AssemblyId, LegKey};
pub use node::Node;
pub use way::Way;
