//! The way back after a gap: where the next PDU starts, see [`super::resync`].

use super::resync::{SyncEvidence, judge};
use super::{BETWEEN_PDUS, SEARCH_BYTES, Stream, StreamState};
use crate::Connection;
use wirelap_events::{ByteRange, Saturate};

impl Stream {
    /// True if it is not known where the next PDU starts, and no start is guessed.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.state, StreamState::Lost)
    }

    /// True if PDUs chain from the first of `bytes`, which come next, to the last one.
    pub(crate) fn has_chain(&self, bytes: &[u8], missing: u64, conn: &dyn Connection) -> bool {
        matches!(judge(conn, self.side, bytes, missing), SyncEvidence::Chain(_))
    }

    /// True if a PDU that is longer than `bytes` may start with them.
    pub(crate) fn has_head(&self, bytes: &[u8], conn: &dyn Connection) -> bool {
        matches!(judge(conn, self.side, bytes, 0), SyncEvidence::Head(_))
    }

    /// True if a PDU starts somewhere in `bytes`, if these come next.
    pub(crate) fn has_start(&mut self, bytes: &[u8], missing: u64, conn: &dyn Connection) -> bool {
        self.find(bytes, missing, conn).is_some()
    }

    /// Looks for a PDU in a packet. Returns the packet from that PDU on, or all of it.
    pub(super) fn seek<'b>(
        &mut self,
        bytes: &'b [u8],
        missing: u64,
        conn: &mut dyn Connection,
    ) -> &'b [u8] {
        let Some((at, guess)) = self.find(bytes, missing, conn) else { return bytes };
        let Some((before, tail)) = bytes.split_at_checked(at) else { return bytes };
        self.skip(before);
        if let Some(len) = guess {
            let range = ByteRange::new(self.next.unwrap_or_default(), len);
            self.state = StreamState::Body { range, cut: false, guess: true };
        } else {
            self.lock(conn);
        }
        tail
    }

    /// Returns the position in a packet at which a PDU starts, and its length if the bytes after it have to confirm it.
    fn find(
        &mut self,
        bytes: &[u8],
        missing: u64,
        conn: &dyn Connection,
    ) -> Option<(usize, Option<u64>)> {
        match judge(conn, self.side, bytes, missing) {
            SyncEvidence::Chain(_) => Some((0, None)),
            _ if !self.is_lost() => None,
            SyncEvidence::Head(len) => {
                Some((0, (!conn.is_certain(self.side, bytes)).then_some(len)))
            }
            SyncEvidence::Neither => self.search(bytes, missing, conn),
        }
    }

    /// Looks for a PDU inside a packet.
    fn search(
        &mut self,
        bytes: &[u8],
        missing: u64,
        conn: &dyn Connection,
    ) -> Option<(usize, Option<u64>)> {
        let tries = bytes.len().min(self.search_left);
        self.search_left.shrink(tries);
        for at in 1..tries {
            let tail = bytes.get(at..)?;
            match judge(conn, self.side, tail, missing) {
                SyncEvidence::Chain(whole) if whole >= 2 || conn.stands_out(tail) => {
                    return Some((at, None));
                }
                // The PDU is longer than the packet: its end has to confirm it, unless it can be nothing else.
                SyncEvidence::Head(len) if conn.stands_out(tail) => {
                    return Some((at, (!conn.is_certain(self.side, tail)).then_some(len)));
                }
                _ => {}
            }
        }
        None
    }

    /// Synchronises: the next byte starts a PDU.
    pub(super) fn lock(&mut self, conn: &mut dyn Connection) {
        self.lose(conn);
        self.state = BETWEEN_PDUS;
        self.is_unproven = false;
        self.search_left = SEARCH_BYTES;
    }
}
