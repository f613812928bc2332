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

mod addresses;
mod assemblies;
mod assembly;
mod compact;
mod contents;
mod copying;
mod forwarders;
mod handed_out;
mod index;
pub mod kept;
pub mod leg;
mod marked;
mod messages;
mod new_leg;
mod open;
mod order;
mod proxied;
mod sent;
mod source_time;
mod stored;
mod translations;
mod turn;
mod unseen_proxies;

pub use assemblies::Assemblies;
pub use assembly::{Assembly, Carrier, Last, Taker};
pub use forwarders::Receiver;
pub use messages::{LONGEST_WAY, Messages};
pub use new_leg::{
    Joined, LegReader, MessageFacts, NamedClient, NewLeg, Permissions, Presence, Toward,
};
pub use open::{GivenUp, Leftover, LegState, Message};
pub use turn::Habit;
