//! Takes events in, drives the other rooms, and hands deliveries and snapshots out.
//!
//! ```text
//!  correlator ──▶ conversations   flows and their sockets: bytes in order, marks, what decoders find
//!       │     ──▶ deliveries      messages that are found, until they are handed out or given up
//!       │     ──▶ host            threads, processes, CPU quotas
//!       │     ──▶ accounts        rows, and what belongs to none
//!       │     ──▶ coverage        since when events are reported, and what of them is missing
//!       └───────▶ picture         all of them → Snapshot
//! ```

mod accounts;
mod conversations;
mod correlator;
mod coverage;
mod deliveries;
mod host;
mod picture;
mod recent;
mod sink;
mod sockets;
mod totals;

pub use correlator::Correlator;
pub use sink::{DeliverySink, Nondelivery, SinkPair};
