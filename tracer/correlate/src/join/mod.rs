//! Legs → messages.
//!
//! A message is found on one flow after the other. The first flow makes a message of it; a flow that
//! starts at a process which the message reached adds a leg; a flow from the same process to someone
//! else adds a copy.
//!
//! ```text
//!   publisher ──leg 1──▶ broker ──leg 2──▶ subscriber      a delivery: leg 1 + leg 2
//!                          └──────leg 2'─▶ subscriber      another one
//! ```

mod assemblies;
mod contents;
mod expiry;
mod given;
mod index;
mod open;
mod order;
mod sent;
mod table;

pub use assemblies::{Assemblies, Assembly, AssemblyId, Carrier, Last, Taker};
pub use expiry::LONGEST;
pub use open::{GivenUp, Joined, LegKey, LegState, Message, Sighting};
pub use table::Messages;
