//! The beginning of a flow, by which its protocol is recognised.

use super::head::FirstBytes;
use wirelap_events::{Offset, Seq};

/// Writes whose beginnings are remembered until their packet comes.
const WRITES: usize = 8;

/// The beginning of a flow.
#[derive(Debug, Default)]
pub struct FlowStart {
    /// The sequence number of the SYN.
    pub isn: Option<Seq>,
    /// The first bytes, kept until the protocol is known.
    pub head: FirstBytes,
    /// Starts of the last writes, while the protocol is not known: likely starts of PDUs.
    pub writes: Vec<Offset>,
    /// Start of the sender's next write, told when it was found open: a likely start of a PDU.
    pub boundary: Option<Offset>,
}

impl FlowStart {
    /// Adds the start of a write.
    pub fn add_write(&mut self, start: Offset) {
        if self.writes.len() >= WRITES {
            self.writes.remove(0);
        }
        self.writes.push(start);
    }
}
