//! What happened to the bytes of one direction of a TCP connection.

use super::loss::{Loss, Losses, Question, Sign};
use super::{Layers, Path, Spanned, Who};
use crate::threads::Chain;
use std::collections::VecDeque;
use wirelap_events::{
    ByteRange, Circumstances, DropCause, Nanos, Offset, Recovery, TaskId, TxState,
};

#[derive(Clone, Copy, Debug)]
struct SendMark {
    range: ByteRange,
    at: Nanos,
    task: TaskId,
    state: Option<TxState>,
    /// A loss had made the congestion window smaller.
    shrunk: bool,
}

/// How a thread came to send.
#[derive(Clone, Debug)]
struct LedMark {
    range: ByteRange,
    led: Chain,
}

#[derive(Clone, Copy, Debug)]
struct XmitMark {
    range: ByteRange,
    queued: Option<Nanos>,
    at: Nanos,
    /// When the last acknowledgement of something new had come before.
    acked: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
struct RxMark {
    range: ByteRange,
    at: Nanos,
    deferred: bool,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    range: ByteRange,
    at: Nanos,
}

#[derive(Clone, Debug)]
struct ReadMark {
    range: ByteRange,
    at: Nanos,
    task: TaskId,
    led: Chain,
}

macro_rules! spanned {
    ($($mark:ty),*) => {
        $(impl Spanned for $mark {
            fn range(&self) -> ByteRange {
                self.range
            }
        })*
    };
}
spanned!(SendMark, LedMark, XmitMark, RxMark, Mark, ReadMark);

/// Sends are kept for messages of this many bytes, as far as [`SENDS`] reach.
const LONGEST_MESSAGE: u64 = 64 << 20;

/// The most sends that are kept for messages that may still begin long before they end.
const SENDS: usize = 16_384;

/// Acknowledgements that are remembered: as many as may come while a packet is in the qdisc.
const ACKS: usize = 64;

/// How far the reader was is kept so many times …
const PASSES: usize = 512;

/// … but not more often than this.
const PASS: Nanos = Nanos::from_micros(200);

/// TCP tells that it has sent something again when it has: what takes the packet in may run before that.
const TOLD_LATE: Nanos = Nanos::from_millis(2);

/// The marks of one direction.
#[derive(Debug)]
pub struct TcpMarks {
    sends: Layers<SendMark>,
    leds: Layers<LedMark>,
    xmits: Layers<XmitMark>,
    rxs: Layers<RxMark>,
    readies: Layers<Mark>,
    reads: Layers<ReadMark>,
    /// Everything before was reported ready.
    ready_to: Offset,
    /// Everything before was read, and when that was seen.
    read_to: (Offset, Nanos),
    /// Up to where, and when, the reader had read, the last times.
    passes: VecDeque<(Offset, Nanos)>,
    /// Everything before was acknowledged.
    acked_to: Offset,
    /// Up to where, and when, the sender heard of something new that had arrived, the last times.
    acks: VecDeque<(Offset, Nanos)>,
    losses: Losses,
}

impl TcpMarks {
    pub fn new(limit: usize) -> TcpMarks {
        TcpMarks {
            sends: Layers::new(limit),
            leds: Layers::new(limit),
            xmits: Layers::new(limit),
            rxs: Layers::new(limit),
            readies: Layers::new(limit),
            reads: Layers::new(limit),
            ready_to: Offset(0),
            read_to: (Offset(0), Nanos(0)),
            passes: VecDeque::new(),
            acked_to: Offset(0),
            acks: VecDeque::new(),
            losses: Losses::default(),
        }
    }

    /// A thread asks to send `range`. Where a later send starts, an earlier one really ended.
    pub fn send(&mut self, range: ByteRange, at: Nanos, task: TaskId, state: Option<TxState>) {
        while let Some(last) = self.sends.last_mut()
            && last.range.contains(range.start)
        {
            if last.range.start < range.start {
                last.range.end = range.start;
                break;
            }
            self.sends.pop_last();
        }
        let shrunk = state.is_some_and(|state| self.losses.is_shrunk(state.cwnd));
        self.sends.push(SendMark { range, at, task, state, shrunk });
    }

    /// Whether exactly these bytes were sent by one call.
    pub fn is_one_send(&self, range: ByteRange) -> bool {
        self.sends.covering(range.start).any(|mark| mark.range == range)
    }

    /// How the sender of `range` came to send.
    pub fn led(&mut self, range: ByteRange, led: Chain) {
        if !led.is_empty() {
            self.leds.push(LedMark { range, led });
        }
    }

    /// The sender hears that everything before `upto` has arrived.
    pub fn acknowledged(&mut self, upto: Offset, at: Nanos) {
        if upto > self.acked_to {
            self.acked_to = upto;
            if self.acks.len() >= ACKS {
                self.acks.pop_front();
            }
            self.acks.push_back((upto, at));
            self.losses.heard(upto, at);
        }
    }

    /// TCP has sent `range` again. Where the receiver has it, that was in vain (a tail loss probe, RFC 8985 §7,
    /// against a delayed ACK) and held nobody up.
    pub fn resent(&mut self, range: ByteRange, at: Nanos, recovery: Option<Recovery>) {
        let left = self.left_last(range, at).filter(|&left| left + TOLD_LATE >= at);
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
        let came_in = || {
            let rxs = self.rxs.covering(range.start).map(|mark| mark.at);
            rxs.filter(|&came| came <= at).max()
        };
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

    /// When the last copy of `range` before `at` left.
    fn left_last(&self, range: ByteRange, at: Nanos) -> Option<Nanos> {
        let xmits = self.xmits.covering(range.start).map(|mark| mark.at);
        xmits.filter(|&left| left <= at).max()
    }

    fn lost(&mut self, range: ByteRange, sign: Sign, at: Nanos, since: Nanos) -> bool {
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

    /// Whether `range` had arrived before `since`, or its sender knows that it has arrived.
    fn was_there(&self, range: ByteRange, since: Nanos) -> bool {
        if self.ready_to.max(self.read_to.0) >= range.end {
            let ready = self.readies.covering(range.last()).map(|mark| mark.at).min();
            return ready.is_none_or(|ready| ready < since);
        }
        self.acked_to >= range.end
    }

    /// Of bytes that are ready now, which losses had kept nobody waiting: another copy had come in before.
    fn decide(&mut self, from: Offset, end: Offset, at: Nanos) {
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

    pub fn xmit(&mut self, range: ByteRange, queued: Option<Nanos>, at: Nanos) {
        let limit = queued.unwrap_or(at);
        let mut acks = self.acks.iter().rev().map(|&(_, acked)| acked);
        let acked = acks.find(|&acked| acked <= limit);
        self.xmits.push(XmitMark { range, queued, at, acked });
    }

    pub fn rx(&mut self, range: ByteRange, at: Nanos, deferred: bool) {
        self.rxs.push(RxMark { range, at, deferred });
    }

    /// Everything before `end` is ready. `certain` is false when earlier reports may have been lost:
    /// then this one tells nothing about the bytes before `end`.
    pub fn ready(&mut self, end: Offset, at: Nanos, certain: bool) {
        if end > self.ready_to {
            let start = if certain { self.ready_to } else { end };
            self.readies.push(Mark { range: ByteRange { start, end }, at });
            if !self.losses.is_empty() {
                self.decide(self.ready_to, end, at);
            }
            self.ready_to = end;
        }
    }

    pub fn read(&mut self, range: ByteRange, at: Nanos, task: TaskId, led: Chain) {
        self.reads.push(ReadMark { range, at, task, led });
        if range.end > self.read_to.0 {
            self.read_to = (range.end, at);
            self.pass(range.end, at);
        }
    }

    fn pass(&mut self, upto: Offset, at: Nanos) {
        let before = self.passes.len().checked_sub(2).map(|index| self.passes[index].1);
        if let Some(last) = self.passes.back_mut()
            && before.is_some_and(|before| at < before + PASS)
        {
            *last = (upto, at);
            return;
        }
        if self.passes.len() >= PASSES {
            self.passes.pop_front();
        }
        self.passes.push_back((upto, at));
    }

    /// When everything before `place` had been read; `None` if that was not seen, or is too long ago.
    fn had_read(&self, place: Offset) -> Option<Nanos> {
        let index = self.passes.partition_point(|&(upto, _)| upto < place);
        let (_, at) = *self.passes.get(index)?;
        (index > 0 || self.passes.len() < PASSES).then_some(at)
    }

    /// When the reader had read what was under way at the send of `mark`, if that was later.
    fn unread_until(&self, mark: &SendMark) -> Option<Nanos> {
        let tx = mark.state.filter(|tx| tx.in_flight > 0)?;
        let under_way = Offset(mark.range.start.0.saturating_sub(u64::from(tx.unsent)));
        self.had_read(under_way).filter(|&at| at > mark.at)
    }

    /// When the last byte of `extent` was read.
    pub fn read_at(&self, extent: ByteRange) -> Option<Nanos> {
        self.reads.covering(extent.last()).map(|mark| mark.at).min()
    }

    /// When it was seen that the reader is past `extent`.
    pub fn passed_at(&self, extent: ByteRange) -> Option<Nanos> {
        (self.read_to.0 >= extent.end).then_some(self.read_to.1)
    }

    /// Whether the receiver was seen to read.
    pub fn has_reads(&self) -> bool {
        self.read_to.1 > Nanos(0)
    }

    /// Whether the receiving socket has all of `extent`.
    pub fn is_there(&self, extent: ByteRange) -> bool {
        self.ready_to.max(self.acked_to) >= extent.end
    }

    /// When the last byte of `extent` left, or else came in.
    pub fn left_at(&self, extent: ByteRange) -> Option<Nanos> {
        let first = self.xmits.covering(extent.last()).map(|mark| mark.at).min();
        first.or_else(|| self.rxs.covering(extent.last()).map(|mark| mark.at).min())
    }

    /// Whether a copy of `range` was seen to leave.
    pub fn has_left(&self, range: ByteRange) -> bool {
        self.xmits.covering(range.start).next().is_some()
    }

    pub fn was_received(&self, extent: ByteRange) -> bool {
        self.rxs.covering(extent.last()).next().is_some()
    }

    /// The longest time between two moments in which bytes were lost and not there: from when to when.
    pub fn missing_between(&self, since: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
        self.losses.missing_between(since, to)
    }

    /// When the sender heard that `place` had arrived.
    fn heard_at(&self, place: Offset) -> Option<Nanos> {
        self.acks.iter().find(|&&(upto, _)| upto > place).map(|&(_, at)| at)
    }

    /// What was seen of `extent` on its way. Found backwards: of several copies of the last packet,
    /// the one that made it counts.
    pub fn path(&self, extent: ByteRange) -> Path<'_> {
        let last = extent.last();
        let read = self.reads.covering(last).min_by_key(|mark| mark.at);
        let ready = self.readies.covering(last).min_by_key(|mark| mark.at);
        let (rx, xmit) = self.copy(last, ready.map(|mark| mark.at).or(read.map(|mark| mark.at)));
        let send = self.sends.covering(extent.start).max_by_key(|mark| mark.range.start);
        let sent = self.sends.covering(last).max_by_key(|mark| mark.range.start);
        let led = self.leds.covering(extent.start).last();
        let queue = xmit.and_then(|mark| mark.queued.or(Some(mark.at)));
        let lost = self.first_left(last).filter(|&first| queue.is_none_or(|queue| first < queue));
        let sent_at = sent.map(|mark| mark.at);
        let after = |at: &Nanos| sent_at.is_some_and(|sent| *at > sent) && queue >= Some(*at);
        let harm = self.losses.harm(&Question {
            extent,
            send: send.map(|mark| mark.at),
            sent: sent_at,
            left: lost.or(queue),
            came: rx.map(|mark| mark.at),
            arrived: ready.map(|mark| mark.at).or(read.map(|mark| mark.at)),
            ready_with: ready.map(|mark| mark.range),
        });
        Path {
            publish: None,
            send: send.map(|mark| mark.at),
            sent: sent.map(|mark| mark.at),
            lost,
            queue: xmit.and_then(|mark| mark.queued),
            xmit: xmit.map(|mark| mark.at),
            rx: rx.map(|mark| mark.at),
            ready: ready.map(|mark| mark.at),
            read: read.map(|mark| mark.at),
            sender: send.map(|mark| mark.task),
            reader: read.map(|mark| Who { task: mark.task, socket: None }),
            reading: read.map_or(&[], |mark| &mark.led),
            sending: led.map_or(&[], |mark| &mark.led),
            circumstances: Circumstances {
                tx: sent.and_then(|mark| mark.state),
                send_len: sent
                    .map_or(0, |mark| u32::try_from(mark.range.len()).unwrap_or(u32::MAX)),
                acked: xmit.and_then(|mark| mark.acked).filter(after),
                whole_segment: xmit.zip(sent).is_some_and(|(xmit, sent)| fills_segment(xmit, sent)),
                unread_until: sent.and_then(|mark| self.unread_until(mark)),
                resent: harm.own || lost.is_some(),
                behind_loss: harm.before,
                loss_in_write: harm.in_write,
                loss_in_socket: harm.in_socket,
                shrunk_by_loss: sent.is_some_and(|mark| mark.shrunk),
                recovery: harm.recovery,
                dropped: harm.dropped,
                deferred: rx.is_some_and(|mark| mark.deferred),
                ..Circumstances::default()
            },
        }
    }

    /// Where the copy of the byte at `last` that arrived came in, and where it left: of those that were not thrown away,
    /// the last one before it was there.
    fn copy(&self, last: Offset, arrived: Option<Nanos>) -> (Option<&RxMark>, Option<&XmitMark>) {
        let in_time = |at: Nanos, limit: Option<Nanos>| limit.is_none_or(|limit| at <= limit);
        let goes_on = |at: Nanos| self.losses.is_empty() || !self.losses.ends_copy(last, at);
        let limit = arrived.or_else(|| self.heard_at(last));
        let rxs = self.rxs.covering(last).filter(|mark| in_time(mark.at, limit));
        let rx = rxs.filter(|mark| goes_on(mark.at)).max_by_key(|mark| mark.at);
        let left = rx.map(|mark| mark.at).or(limit);
        let xmits = self.xmits.covering(last).filter(|mark| in_time(mark.at, left));
        (rx, xmits.filter(|mark| goes_on(mark.at)).max_by_key(|mark| mark.at))
    }

    /// When the byte at `last` left its socket for the first time, whatever became of it.
    fn first_left(&self, last: Offset) -> Option<Nanos> {
        let xmits = self.xmits.covering(last).map(|mark| mark.queued.unwrap_or(mark.at)).min();
        let kept_in = self.losses.first_outward(last);
        xmits.into_iter().chain(kept_in).min()
    }

    /// Nobody asks about messages that end before `floor` any more. What is asked about sends is where
    /// a message begins, which in a fragmented one is long before, but not before `long_ago`.
    pub fn prune(&mut self, floor: Offset, long_ago: Nanos) {
        self.sends.prune(Offset(floor.0.saturating_sub(LONGEST_MESSAGE)), floor);
        self.sends.forget(|mark| mark.at < long_ago);
        self.sends.trim(SENDS);
        self.leds.prune(floor, floor);
        self.xmits.prune(floor, floor);
        self.rxs.prune(floor, floor);
        self.readies.prune(floor, floor);
        self.reads.prune(floor, floor);
        self.losses.prune(floor, long_ago);
    }

    /// Frees what is kept for speed, and for messages that would have begun long ago.
    pub fn shrink(&mut self) {
        self.sends.forget(|_| true);
        self.sends.shrink();
        self.leds.shrink();
        self.losses.shrink();
        self.acks = VecDeque::new();
        self.passes = VecDeque::new();
        self.xmits.shrink();
        self.rxs.shrink();
        self.readies.shrink();
        self.reads.shrink();
    }

    pub fn take_evicted(&mut self) -> u64 {
        let first = self
            .sends
            .take_evicted()
            .saturating_add(self.xmits.take_evicted())
            .saturating_add(self.rxs.take_evicted());
        first.saturating_add(self.readies.take_evicted()).saturating_add(self.reads.take_evicted())
    }
}

fn fills_segment(xmit: &XmitMark, sent: &SendMark) -> bool {
    sent.state.is_some_and(|tx| tx.mss > 0 && xmit.range.len() >= u64::from(tx.mss))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start: Offset(start), end: Offset(end) }
    }

    fn marks() -> TcpMarks {
        TcpMarks::new(100)
    }

    #[test]
    fn a_partial_write_ends_where_the_next_starts() {
        let mut marks = marks();
        marks.send(range(0, 100), Nanos(1), TaskId::default(), None);
        marks.send(range(40, 100), Nanos(5), TaskId::default(), None);
        let path = marks.path(range(0, 100));
        assert_eq!((path.send, path.sent), (Some(Nanos(1)), Some(Nanos(5))));
        assert_eq!(marks.path(range(39, 40)).sent, Some(Nanos(1)));
    }

    #[test]
    fn a_write_that_took_nothing_does_not_count() {
        let mut marks = marks();
        marks.send(range(0, 100), Nanos(1), TaskId::default(), None);
        marks.send(range(0, 100), Nanos(9), TaskId::default(), None);
        assert_eq!(marks.path(range(0, 50)).send, Some(Nanos(9)));
    }

    #[test]
    fn the_copy_that_made_it_counts() {
        let mut marks = marks();
        marks.xmit(range(0, 10), Some(Nanos(1)), Nanos(2));
        marks.xmit(range(0, 10), Some(Nanos(50)), Nanos(51));
        marks.xmit(range(0, 10), Some(Nanos(90)), Nanos(91));
        marks.rx(range(0, 10), Nanos(60), false);
        marks.rx(range(0, 10), Nanos(95), false);
        marks.ready(Offset(10), Nanos(61), true);
        let path = marks.path(range(0, 10));
        assert_eq!((path.queue, path.xmit), (Some(Nanos(50)), Some(Nanos(51))));
        assert_eq!((path.rx, path.ready), (Some(Nanos(60)), Some(Nanos(61))));
    }

    /// Bytes that have arrived, and of whose arrival their sender hears at 202 only; the next wait for that.
    fn unheard(tell: impl Fn(&mut TcpMarks)) -> Circumstances {
        let mut marks = marks();
        marks.send(range(0, 10), Nanos(1), TaskId::default(), None);
        marks.xmit(range(0, 10), None, Nanos(2));
        marks.rx(range(0, 10), Nanos(3), false);
        marks.ready(Offset(10), Nanos(4), true);
        marks.send(range(10, 20), Nanos(6), TaskId::default(), None);
        tell(&mut marks);
        marks.acknowledged(Offset(10), Nanos(202));
        marks.xmit(range(10, 20), None, Nanos(203));
        marks.rx(range(10, 20), Nanos(204), false);
        marks.ready(Offset(20), Nanos(205), true);
        let path = marks.path(range(10, 20));
        assert_eq!(path.lost, None);
        assert!(!path.circumstances.resent && !path.circumstances.behind_loss);
        path.circumstances
    }

    #[test]
    fn a_lost_acknowledgement_keeps_its_sender_waiting() {
        let dropped = unheard(|marks| marks.unheard(Offset(10), Nanos(5), DropCause::Filter));
        assert_eq!(dropped.loss_in_socket, Nanos(196));
        assert_eq!(dropped.dropped, Some(DropCause::Filter));
        let again = |recovery| {
            move |marks: &mut TcpMarks| {
                marks.xmit(range(0, 10), None, Nanos(200));
                marks.resent(range(0, 10), Nanos(200), Some(recovery));
            }
        };
        assert_eq!(unheard(again(Recovery::Timeout)).loss_in_socket, Nanos(196));
        // The receiver may delay it for so long.
        assert_eq!(unheard(again(Recovery::TailProbe)).loss_in_socket, Nanos(0));
    }

    #[test]
    fn what_was_under_way_may_be_unread_for_long() {
        let mut marks = marks();
        let state = |in_flight, unsent| Some(TxState { in_flight, unsent, ..TxState::default() });
        marks.send(range(0, 10), Nanos(1), TaskId::default(), state(0, 0));
        marks.send(range(10, 20), Nanos(5), TaskId::default(), state(10, 0));
        marks.send(range(20, 30), Nanos(6), TaskId::default(), state(10, 10));
        for (place, at) in [(0, 400_000), (10, 900_000), (20, 950_000)] {
            let bytes = range(place, place + 10);
            marks.read(bytes, Nanos(at), TaskId::default(), Chain::default());
        }
        let unread = |start| marks.path(range(start, start + 10)).circumstances.unread_until;
        assert_eq!((unread(0), unread(10)), (None, Some(Nanos(400_000))));
        // Those before it had not left either.
        assert_eq!(unread(20), Some(Nanos(400_000)));
    }

    /// Who answers a request that was lost may do so long after it was read.
    #[test]
    fn the_last_loss_is_remembered_when_its_bytes_are_not() {
        let mut marks = marks();
        for (start, at) in [(0, 100), (10, 1_000)] {
            let bytes = range(start, start + 10);
            marks.xmit(bytes, None, Nanos(at));
            marks.dropped(bytes, Nanos(at + 1), DropCause::Filter, false, None);
            marks.xmit(bytes, None, Nanos(at + 300));
            marks.rx(bytes, Nanos(at + 301), false);
            marks.ready(bytes.end, Nanos(at + 302), true);
            marks.acknowledged(bytes.end, Nanos(at + 303));
        }
        marks.prune(Offset(20), Nanos(50));
        let missing = |marks: &TcpMarks, since, to| {
            let missing = marks.missing_between(Nanos(since), Nanos(to));
            missing.map(|(from, there)| (from.0, there.0))
        };
        assert_eq!(missing(&marks, 0, 2_000), Some((1_000, 1_302)));
        assert_eq!(missing(&marks, 0, 900), Some((100, 402)));
        // Of two, the one that lasted longer in this time.
        assert_eq!(missing(&marks, 200, 1_100), Some((100, 402)));
        marks.prune(Offset(20), Nanos(900));
        assert_eq!(missing(&marks, 0, 900), None);
    }

    #[test]
    fn what_was_sent_again_in_vain_held_nobody_up() {
        let mut marks = marks();
        marks.rx(range(0, 10), Nanos(1), false);
        marks.resent(range(0, 10), Nanos(5), None);
        assert!(!marks.path(range(0, 10)).circumstances.resent);
        marks.resent(range(10, 20), Nanos(6), None);
        assert!(marks.path(range(10, 20)).circumstances.resent);
        marks.ready(Offset(30), Nanos(7), true);
        marks.resent(range(20, 30), Nanos(8), None);
        assert!(!marks.path(range(20, 30)).circumstances.resent);
    }

    #[test]
    fn lost_observations_do_not_borrow_their_neighbours() {
        let mut marks = marks();
        marks.send(range(20, 30), Nanos(5), TaskId::default(), None);
        marks.read(range(20, 30), Nanos(9), TaskId::default(), Chain::default());
        marks.ready(Offset(10), Nanos(1), true);
        marks.ready(Offset(30), Nanos(6), false);
        let path = marks.path(range(10, 20));
        assert_eq!((path.send, path.ready, path.read), (None, None, None));
        assert_eq!(marks.passed_at(range(10, 20)), Some(Nanos(9)));
        assert_eq!(marks.path(range(5, 10)).ready, Some(Nanos(1)));
    }
}
