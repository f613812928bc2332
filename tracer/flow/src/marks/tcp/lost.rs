//! Bytes and acknowledgements that were lost, or sent again.

use super::super::loss::{Loss, Sign};
use super::TcpMarks;
use wirelap_events::{ByteRange, DropCause, Nanos, Offset, Recovery};
use wirelap_limits::network::RETRANSMIT_REPORT_DELAY;

/// Acknowledgements that are remembered: as many as may come while a packet is in the qdisc.
pub(super) const ACKS: usize = 64;

impl TcpMarks {
    /// The sender hears that everything before `upto` has arrived.
    pub fn acknowledged(&mut self, upto: Offset, at: Nanos) {
        if upto > self.acked_to {
            self.came_back(upto, at);
            self.acked_to = upto;
            if self.acks.len() >= ACKS {
                self.acks.pop_front();
            }
            self.acks.push_back((upto, at));
            self.losses.heard(upto, at);
            self.comes_loose(upto);
        }
    }

    /// TCP has sent `range` again. Where the receiver has it, that was in vain (a tail loss probe, RFC 8985 §7,
    /// against a delayed ACK) and held nobody up.
    pub fn resent(&mut self, range: ByteRange, at: Nanos, recovery: Option<Recovery>) {
        self.sticks(range, at);
        let left = self.left_last(range, at).filter(|&left| left + RETRANSMIT_REPORT_DELAY >= at);
        let left = left.filter(|&left| !self.losses.was_kept_in(range.start, left, at));
        self.lost(range, Sign::Resent(recovery), at, left.unwrap_or(at));
    }

    /// A packet with these bytes was thrown away; `queued` is when it had reached the qdisc. Returns whether bytes were lost with it.
    pub fn dropped(
        &mut self,
        range: ByteRange,
        at: Nanos,
        cause: DropCause,
        outward: bool,
        queued: Option<Nanos>,
    ) -> bool {
        let sign = Sign::Dropped { cause, outward };
        if outward {
            return self.lost(range, sign, at, queued.unwrap_or(at));
        }
        let came_in = || self.came_in_at(range.start, at);
        let since = self.left_last(range, at).or_else(came_in).unwrap_or(at);
        self.lost(range, sign, at, since)
    }

    /// An acknowledgement of everything before `upto` was thrown away. It may have been seen to come in.
    pub fn unheard(&mut self, upto: Offset, at: Nanos, cause: DropCause) {
        if let Some(&(heard, when)) = self.acks.back()
            && heard == upto
        {
            self.acks.pop_back();
            self.acked_to = self.acks.back().map_or(Offset(0), |&(before, _)| before);
            self.losses.unheard(when);
        }
        if upto > self.acked_to {
            let range = ByteRange { start: Offset(upto.0.saturating_sub(1)), end: upto };
            self.lost(range, Sign::Unheard(cause), at, at);
        }
    }

    /// Time at which the last copy of `range` before `at` left.
    pub(super) fn left_last(&self, range: ByteRange, at: Nanos) -> Option<Nanos> {
        let xmits = self.xmits.covering(range.start).map(|mark| mark.at);
        xmits.filter(|&left| left <= at).max()
    }

    pub(super) fn lost(&mut self, range: ByteRange, sign: Sign, at: Nanos, since: Nanos) -> bool {
        let is_ack = matches!(sign, Sign::Unheard(_));
        let xmits = self.xmits.covering(range.start);
        let first = xmits.map(|mark| mark.queued.unwrap_or(mark.at)).min();
        let from = first.or(self.losses.first_outward(range.start)).unwrap_or(since).min(since);
        let from = if is_ack { at } else { from };
        let is_copy = matches!(sign, Sign::Dropped { cause: DropCause::Duplicate, .. });
        let in_vain = is_copy || !is_ack && self.was_there(range, since);
        let window = self.sends.last_mut().and_then(|mark| mark.state).map(|state| state.cwnd);
        let (there, until) = (None, None);
        self.losses.add(Loss { range, sign, at, from, since, there, until, in_vain }, window);
        !in_vain
    }

    /// True if `range` had arrived before `since`, or its sender knows that it has arrived.
    fn was_there(&self, range: ByteRange, since: Nanos) -> bool {
        if self.ready_to.max(self.read_to.0) >= range.end {
            let ready = self.readies.covering(range.last()).map(|mark| mark.at).min();
            return ready.is_none_or(|ready| ready < since);
        }
        self.acked_to >= range.end
    }

    /// Marks the losses, of bytes that are ready now, that had kept nobody waiting: another copy had come
    /// in before.
    pub(super) fn decide(&mut self, from: Offset, end: Offset, at: Nanos) {
        let mut losses = std::mem::take(&mut self.losses);
        // Looked up first: what ended a copy is among the losses themselves.
        let places: Vec<Offset> = losses.open(from, end).map(|loss| loss.range.last()).collect();
        let came_in = |last: Offset| {
            let rxs = self.rxs.covering(last).map(|mark| mark.at);
            rxs.filter(|&came| came <= at && !losses.ends_copy(last, came)).max()
        };
        let came_in: Vec<Option<Nanos>> = places.into_iter().map(came_in).collect();
        for (loss, came_in) in losses.open(from, end).zip(came_in) {
            loss.there = Some(at);
            loss.in_vain = came_in.is_some_and(|came| came < loss.since);
        }
        self.losses = losses;
    }
}
