//! Bytes that do not arrive, though TCP sends them again and again.

use super::TcpMarks;
use super::kinds::{Stuck, StuckMark};
use wirelap_events::{ByteRange, DroppedPacket, Nanos, Offset};
use wirelap_limits::network::MIN_RESENDS_OF_STUCK;

impl TcpMarks {
    /// TCP sends `range` again. The first hole is what all that follows waits for.
    pub(super) fn sticks(&mut self, range: ByteRange, at: Nanos) {
        let start = range.start;
        match &mut self.stuck {
            Some(stuck) if stuck.start == start => stuck.resent = stuck.resent.saturating_add(1),
            Some(stuck) if stuck.start < start => {}
            _ => {
                let xmits = self.xmits.covering(start).map(|mark| mark.queued.unwrap_or(mark.at));
                let from = xmits.min().unwrap_or(at).min(at);
                let (dropped, drops) = (None, 0);
                self.stuck = Some(StuckMark { start, from, resent: 1, dropped, drops });
            }
        }
    }

    /// A packet with these bytes was thrown away.
    pub fn note_drop(&mut self, range: ByteRange, drop: &DroppedPacket) {
        if let Some(stuck) = &mut self.stuck
            && range.contains(stuck.start)
        {
            stuck.drops = stuck.drops.saturating_add(1);
            stuck.dropped = Some(*drop);
        }
    }

    /// The sender hears that everything before `upto` has arrived.
    pub(super) fn comes_loose(&mut self, upto: Offset) {
        self.stuck = self.stuck.filter(|stuck| stuck.start >= upto);
    }

    /// The bytes that have not arrived though TCP sent them again and again; `None` if none are known.
    pub fn stuck(&self) -> Option<Stuck> {
        let stuck = self.stuck.filter(|stuck| stuck.resent >= MIN_RESENDS_OF_STUCK)?;
        // What the receiver is seen to have is there, whatever its sender knows.
        if self.ready_to.max(self.read_to.0) > stuck.start {
            return None;
        }
        let written = self.sends.last().map_or(stuck.start, |mark| mark.range.end);
        let left = self.xmits.last().map_or(stuck.start, |mark| mark.range.end);
        Some(Stuck {
            from: stuck.from,
            resent: stuck.resent,
            bytes: written.max(left).0.saturating_sub(stuck.start.0),
            drops: stuck.drops,
            dropped: stuck.dropped,
        })
    }
}
