//! The beginning of a flow, by which its protocol is recognised.

use super::head::FirstBytes;
use wirelap_events::{Nanos, Offset, Seq};

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
    /// The number of the sender's next byte, and of the reader's, of sockets that were found open; the latter as long as nothing was read.
    pub found_open: [Option<Seq>; 2],
    /// Time at which the last of them was found.
    pub found_at: Nanos,
}

impl FlowStart {
    /// Bytes that had been written and not read when both sockets were found, as long as nothing was read; 0 if that is not known.
    pub fn unread_since_found(&self) -> u64 {
        let [Some(written), Some(read)] = self.found_open else { return 0 };
        u64::try_from(written.distance_from(read)).unwrap_or_default()
    }

    /// Adds the start of a write.
    pub fn add_write(&mut self, start: Offset) {
        if self.writes.len() >= WRITES {
            self.writes.remove(0);
        }
        self.writes.push(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_unread_is_so_until_something_is_read() {
        let mut start = FlowStart::default();
        let unread = |start: &FlowStart| start.unread_since_found();
        assert_eq!(unread(&start), 0);
        start.found_open = [Some(Seq(5)), None];
        assert_eq!(unread(&start), 0);
        start.found_open = [Some(Seq(5)), Some(Seq(0xFFFF_FFFF))];
        assert_eq!(unread(&start), 6);
        // The reader's socket was looked at later.
        start.found_open = [Some(Seq(5)), Some(Seq(8))];
        assert_eq!(unread(&start), 0);
    }
}
