//! The path of a message's bytes, as far as it was seen.

use super::super::alone::PacketTimes;
use super::super::loss::Question;
use super::super::path::{Path, ReadBy};
use super::kinds::{Mark, Pass, RxMark, SendMark, XmitMark};
use super::{PASSES, TcpMarks};
use wirelap_events::{ByteRange, Circumstances, LegLosses, LegPath, Nanos, Offset, SenderSocket};
use wirelap_limits::causes::NOTICEABLE_TIME;

impl TcpMarks {
    /// The path of `extent`, as far as it was seen. It is found backwards: of several copies of the
    /// last packet, the one that arrived counts.
    pub fn path(&self, extent: ByteRange) -> Path<'_> {
        let last = extent.last();
        let read = self.reads.covering(last).min_by_key(|mark| mark.at);
        let ready = self.readies.covering(last).min_by_key(|mark| mark.at);
        let (rx, xmit) = self.copy(last, ready.map(|mark| mark.at).or(read.map(|mark| mark.at)));
        let send = self.sends.covering(extent.start).max_by_key(|mark| mark.range.start);
        let sent = self.sends.covering(last).max_by_key(|mark| mark.range.start);
        let led = self.leds.covering(extent.start).last();
        let queue = xmit.and_then(|mark| mark.queued.or(Some(mark.at)));
        let came = rx.map(|mark| mark.at + self.slack);
        let is_lost = |&first: &Nanos| match queue {
            Some(queue) => first < queue,
            None => came.is_none_or(|came| first <= came),
        };
        let lost = self.first_left(last).filter(is_lost);
        let sent_at = sent.map(|mark| mark.at);
        let after = |at: &Nanos| sent_at.is_some_and(|sent| *at > sent) && queue >= Some(*at);
        // Bytes that leave at once waited for no acknowledgement.
        let waited =
            send.zip(queue).is_some_and(|(send, queue)| send.at + NOTICEABLE_TIME <= queue);
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
            reader: read.map(|mark| ReadBy { task: mark.task, socket: None }),
            reading: read.map_or(&[], |mark| &mark.led),
            sending: led.map_or(&[], |mark| &mark.led),
            circumstances: Circumstances {
                socket: SenderSocket {
                    tx: sent.and_then(|mark| mark.state),
                    send_len: sent
                        .map_or(0, |mark| u32::try_from(mark.range.len()).unwrap_or(u32::MAX)),
                    whole_segment: xmit
                        .zip(sent)
                        .is_some_and(|(xmit, sent)| fills_segment(xmit, sent)),
                    acked: xmit.and_then(|mark| mark.acked).filter(after),
                    no_room: waited && self.had_no_room(sent_at, queue),
                    awaited_room: send
                        .zip(sent)
                        .map_or(Nanos(0), |(send, sent)| sent.awaited - send.awaited),
                    is_room_unseen: self.acks.is_empty()
                        && sent.is_some_and(|mark| mark.refused.is_some()),
                    ..SenderSocket::default()
                },
                loss: LegLosses {
                    resent: harm.own || lost.is_some(),
                    behind: harm.before,
                    overtook: !harm.own && !harm.before && self.overtook(extent, rx, ready),
                    in_write: harm.in_write,
                    in_socket: harm.in_socket,
                    shrunk_window: sent.is_some_and(|mark| mark.shrunk),
                    recovery: harm.recovery,
                    dropped: harm.dropped,
                    ..LegLosses::default()
                },
                path: LegPath {
                    distance: self.distance.map_or(Nanos(0), |way| self.round_trips.distance(way)),
                    round_trip: sent.filter(|_| waited).and_then(|mark| mark.trip),
                    deferred: rx.is_some_and(|mark| mark.deferred.is_some()),
                    deferred_since: rx.and_then(|mark| mark.deferred).unwrap_or_default(),
                    heard: self.heard_of(last, xmit.map(|mark| mark.at)),
                    ..LegPath::default()
                },
                unread: sent.and_then(|mark| self.unread(mark)),
                ..Circumstances::default()
            },
        }
    }

    /// True if the receiver was seen to have no room at some time between two moments.
    fn had_no_room(&self, from: Option<Nanos>, to: Option<Nanos>) -> bool {
        let Some(((from, to), occupied)) = from.zip(to).zip(self.occupied.as_ref()) else {
            return false;
        };
        occupied.was_closed(from, to)
    }

    /// True if bytes before `extent` that had left earlier came in later than its last byte, which was ready with them only.
    fn overtook(&self, extent: ByteRange, came: Option<&RxMark>, ready: Option<&Mark>) -> bool {
        let (Some(came), Some(ready)) = (came, ready) else { return false };
        let hole = ready.range.start;
        if hole >= extent.start {
            return false;
        }
        let (rx, xmit) = self.copy(hole, Some(ready.at));
        let left = xmit.is_some_and(|xmit| xmit.at <= came.at);
        left && rx.is_some_and(|rx| rx.at > came.at)
    }

    /// Times of the packets of `extent`, if nothing else was seen of the flow and its last byte was not sent
    /// twice.
    pub fn packets_alone(&self, extent: ByteRange) -> Option<PacketTimes> {
        let has_calls = !(self.sends.is_unused() && self.reads.is_unused());
        let is_woken = !(self.readies.is_unused() && self.leds.is_unused());
        if has_calls || is_woken || !self.losses.is_empty() {
            return None;
        }
        let last = extent.last();
        let limit = self.heard_at(last).map(|heard| heard + self.slack);
        let in_time = |at: Nanos, limit: Option<Nanos>| limit.is_none_or(|limit| at <= limit);
        let (mut rxs, mut xmits) = (self.rxs.covering(last), self.xmits.covering(last));
        let rx = rxs.next().filter(|mark| in_time(mark.at, limit));
        let left = rx.map(|mark| mark.at).or(limit);
        let xmit = xmits.next();
        let left = left.map(|left| left + self.slack);
        let is_late = xmit.is_some_and(|mark| mark.queued.is_some() || !in_time(mark.at, left));
        let has_copies = rxs.next().is_some() || xmits.next().is_some();
        if is_late || has_copies || rx.is_some_and(|mark| mark.deferred.is_some()) {
            return None;
        }
        let xmit = xmit.map(|mark| mark.at);
        let (began, rx) = (self.began_at(extent), rx.map(|mark| mark.at));
        Some(PacketTimes { began, xmit, rx, heard: self.heard_of(last, xmit) })
    }

    /// Time at which a packet with the first byte of `extent` was first seen, whatever became of
    /// it.
    pub fn began_at(&self, extent: ByteRange) -> Option<Nanos> {
        let xmits = self.xmits.covering(extent.start).map(|mark| mark.queued.unwrap_or(mark.at));
        let left = xmits.min();
        if left.is_some() && self.slack > Nanos(0) {
            // By the receiver's clock, it may have come in before.
            return left;
        }
        left.into_iter().chain(self.rxs.covering(extent.start).map(|mark| mark.at)).min()
    }

    /// The marks of the copy of the byte at `last` that arrived, where it came in and where it left: of those that were
    /// not thrown away, the last one before it was there.
    fn copy(&self, last: Offset, arrived: Option<Nanos>) -> (Option<&RxMark>, Option<&XmitMark>) {
        let in_time = |at: Nanos, limit: Option<Nanos>| limit.is_none_or(|limit| at <= limit);
        let goes_on = |at: Nanos| self.losses.is_empty() || !self.losses.ends_copy(last, at);
        let limit = arrived.or_else(|| self.heard_at(last).map(|heard| heard + self.slack));
        let rxs = self.rxs.covering(last).filter(|mark| in_time(mark.at, limit));
        let rx = rxs.filter(|mark| goes_on(mark.at)).max_by_key(|mark| mark.at);
        let left = rx.map(|mark| mark.at).or(limit);
        let xmits = || self.xmits.covering(last).filter(|mark| goes_on(mark.at));
        let xmit = xmits().filter(|mark| in_time(mark.at, left)).max_by_key(|mark| mark.at);
        // By the sender's clock, it may have left after it came in.
        let late = || {
            let left = left.filter(|_| self.slack > Nanos(0))?;
            xmits().filter(|mark| mark.at <= left + self.slack).min_by_key(|mark| mark.at)
        };
        (rx, xmit.or_else(late))
    }

    /// Time at which the copy of the last byte of `extent` that arrived came in, or else was read.
    pub fn came_at(&self, extent: ByteRange) -> Option<Nanos> {
        let read = self.read_at(extent);
        self.copy(extent.last(), read).0.map(|mark| mark.at).or(read)
    }

    /// Time at which the byte at `last` left its socket for the first time, whatever became of it.
    pub fn first_left(&self, last: Offset) -> Option<Nanos> {
        let xmits = self.xmits.covering(last).map(|mark| mark.queued.unwrap_or(mark.at)).min();
        let kept_in = self.losses.first_outward(last);
        xmits.into_iter().chain(kept_in).min()
    }

    /// Time at which the sender heard that `place` had arrived.
    pub(super) fn heard_at(&self, place: Offset) -> Option<Nanos> {
        // Each acknowledges more than the one before it.
        let index = self.acks.partition_point(|&(upto, _)| upto <= place);
        self.acks.get(index).map(|&(_, at)| at)
    }

    /// Time at which everything before `place` had been read, or had come in where no reads are seen; `None` if that was not seen, or is
    /// too long ago.
    pub fn had_read(&self, place: Offset) -> Option<Nanos> {
        self.passed(place).map(|pass| pass.at)
    }

    fn passed(&self, place: Offset) -> Option<&Pass> {
        let index = self.passes.partition_point(|pass| pass.upto < place);
        let pass = self.passes.get(index)?;
        (index > 0 || self.passes.len() < PASSES).then_some(pass)
    }

    /// From when until when the reader had not read what had left at the send of `mark`, and was in its socket. A reader without room has
    /// something to read until the end.
    pub(super) fn unread(&self, mark: &SendMark) -> Option<(Nanos, Nanos)> {
        if mark.is_unread {
            return Some((mark.at, Nanos(u64::MAX)));
        }
        let tx = mark.state.filter(|tx| tx.in_flight > 0)?;
        let under_way = Offset(mark.range.start.0.saturating_sub(u64::from(tx.unsent)));
        let pass = self.passed(under_way).filter(|pass| pass.at > mark.at)?;
        Some((pass.came.unwrap_or(mark.at).max(mark.at), pass.at))
    }
}

fn fills_segment(xmit: &XmitMark, sent: &SendMark) -> bool {
    sent.state.is_some_and(|tx| tx.mss > 0 && xmit.range.len() >= u64::from(tx.mss))
}
