//! Bytes that do not arrive, though TCP sends them again and again.

use super::TcpMarks;
use wirelap_events::{ByteRange, DroppedPacket, Nanos, Offset};

/// Bytes that were sent again so often without an acknowledgement are stuck: a lost copy or two are made good within this.
const MIN_RESENDS: u32 = 2;

/// Bytes that are stuck, as far as they are known to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct StuckMark {
    /// The first byte that was sent again and not acknowledged.
    start: Offset,
    /// When it had left first.
    from: Nanos,
    /// How often it was sent again.
    resent: u32,
    /// A packet with it that this host threw away, the last one, and how many.
    dropped: Option<DroppedPacket>,
    drops: u32,
}

/// Bytes that do not arrive.
#[derive(Clone, Copy, Debug)]
pub struct Stuck {
    /// When the first of them had left first.
    pub from: Nanos,
    /// How often TCP sent it again.
    pub resent: u32,
    /// How many bytes were written from there on.
    pub bytes: u64,
    /// How many packets with it this host threw away, and the last one.
    pub drops: u32,
    pub dropped: Option<DroppedPacket>,
}

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
        let stuck = self.stuck.filter(|stuck| stuck.resent >= MIN_RESENDS)?;
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
