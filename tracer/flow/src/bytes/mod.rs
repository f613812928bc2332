//! Bytes on the device, and whose they are: the ledger, its rows, and what belongs to no row by itself.

mod framing;
mod holes;
mod ledger;
mod overhead;
mod parts;
mod probe_connections;
mod unattributed;

pub use framing::Framed;
pub use holes::{Holes, Unseen};
pub use ledger::Ledger;
pub use overhead::{Detail, Operation, OperationCost, Overhead};
pub use parts::{Part, Parts};
pub use probe_connections::ProbeConnections;
pub use unattributed::{EndedUnknown, Unknown, UnknownKey, UnknownTraffic};
