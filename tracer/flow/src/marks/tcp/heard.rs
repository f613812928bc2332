//! Acknowledgements of the other end, where it is not seen itself.

use super::super::layers::Layers;
use super::TcpMarks;
use super::kinds::{AckMark, HeardAcks};
use wirelap_events::{ByteRange, Heard, Nanos, Offset};
use wirelap_limits::network::DELAYED_ACK;

impl TcpMarks {
    /// Everything before `upto` is acknowledged by a receiver that is not seen. To be told before
    /// [`TcpMarks::acknowledged`]. `is_bare` says that the packet carried no data.
    pub fn heard(&mut self, upto: Offset, at: Nanos, is_bare: bool) {
        // Up to the first byte, there is nothing but a SYN.
        if upto <= self.acked_to || upto == Offset::START {
            return;
        }
        let range = ByteRange { start: self.acked_to, end: upto };
        let left = self.left_last(ByteRange { start: range.last(), end: upto }, at);
        let limit = self.xmits.limit();
        let heard = self.heard.get_or_insert_with(|| {
            Box::new(HeardAcks { marks: Layers::new(limit), soonest: None })
        });
        if let Some(time) = left.and_then(|left| at.since(left)) {
            heard.soonest = Some(heard.soonest.map_or(time, |soonest| soonest.min(time)));
        }
        heard.marks.push(AckMark { range, at, is_bare });
    }

    /// True if acknowledgements of a receiver that is not seen come in.
    pub fn hears(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| heard.soonest.is_some())
    }

    /// The acknowledgement of the byte at `last`, which left at `left`.
    pub(super) fn heard_of(&self, last: Offset, left: Option<Nanos>) -> Option<Heard> {
        let heard = self.heard.as_ref()?;
        let mark = heard.marks.covering(last).min_by_key(|mark| mark.at)?;
        let time = left.and_then(|left| mark.at.since(left));
        let soonest = heard.soonest.unwrap_or_default();
        let delayed = mark.is_bare && time.is_some_and(|time| time >= soonest + DELAYED_ACK);
        Some(Heard { at: mark.at, delayed })
    }

    /// Time at which the last byte of `extent`, and the news of that, had reached both ends: when it was acknowledged, or, where the
    /// acknowledgement was delayed or waits for an answer, the shortest round trip after it left.
    pub fn reached(&self, extent: ByteRange) -> Option<Nanos> {
        let last = extent.last();
        let left = self.left_last(ByteRange { start: last, end: extent.end }, Nanos(u64::MAX));
        if let Some(heard) = self.heard_of(last, left).filter(|heard| !heard.delayed) {
            return Some(heard.at);
        }
        let soonest = self.heard.as_ref()?.soonest?;
        Some(left? + self.round_trips.distance(soonest))
    }

    /// True if the acknowledgement of the byte at `last` has come.
    pub fn was_heard(&self, last: Offset) -> bool {
        self.acked_to > last
    }
}
