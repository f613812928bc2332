//! Marks of the bytes of one direction of a TCP connection.

mod heard;
mod kinds;
mod links;
mod lost;
mod occupied;
mod queues;
mod stuck;
mod way;

use super::layers::Layers;
use super::loss::{DirectionLosses, LossGap};
use super::shrunk_window::SendInWindow;
use crate::threads::Chain;
pub use kinds::Stuck;
use kinds::{ChainMark, HeardAcks, Mark, Pass, ReadMark, RxMark, SendMark, StuckMark, XmitMark};
use occupied::Occupied;
use queues::{AckRoundTrips, Arrivals, Queues};
use std::collections::VecDeque;
use wirelap_events::{ByteRange, EarlierBytes, Nanos, Offset, TaskId, TxState};
use wirelap_limits::causes::NOTICEABLE_TIME;
use wirelap_limits::network::{LONGEST_MESSAGE, READ_MARK_GAP};

/// The most sends that are kept for messages that may still begin long before they end.
const SENDS: usize = 16_384;

/// Sends whose bytes have not left yet may be so many times as many as marks of another kind. They wait where their reader is
/// slow, and are bounded by the sender's buffer: by default 4 MiB (`net.ipv4.tcp_wmem`), each send perhaps a few bytes. What has
/// left is bounded by the messages in it.
const WAITING: usize = 4;

/// So many times are kept at which the reader had come to some byte.
const PASSES: usize = 512;

/// The marks of one direction.
#[derive(Debug)]
pub struct TcpMarks {
    sends: Layers<SendMark>,
    leds: Layers<ChainMark>,
    xmits: Layers<XmitMark>,
    rxs: Layers<RxMark>,
    readies: Layers<Mark>,
    reads: Layers<ReadMark>,
    /// Everything before was reported ready.
    ready_to: Offset,
    /// Everything before was read, and when that was seen.
    read_to: (Offset, Nanos),
    /// Up to where, and when, the reader had read, the last times.
    passes: VecDeque<Pass>,
    /// Everything before was acknowledged.
    acked_to: Offset,
    /// Up to where, and when, the sender heard of something new that had arrived, the last times.
    acks: VecDeque<(Offset, Nanos)>,
    /// Acknowledgements of a receiver that is not seen; `None` for most, which are seen.
    heard: Option<Box<HeardAcks>>,
    losses: DirectionLosses,
    /// Bytes that TCP sends again and again.
    stuck: Option<StuckMark>,
    /// Most sockets are empty at once.
    occupied: Option<Box<Occupied>>,
    round_trips: AckRoundTrips,
    /// The shortest time that bytes took from their driver to where they came in.
    distance: Option<Nanos>,
    /// The packets that the receiver's socket got last.
    arrivals: Arrivals,
    /// Most links are fast enough.
    queues: Option<Box<Queues>>,
    /// By how much times at the receiver may lie before those at the sender: the error of two hosts' clocks.
    slack: Nanos,
}

impl TcpMarks {
    /// No marks yet; a layer has `limit` at most, or several times as many sends.
    pub fn new(limit: usize) -> TcpMarks {
        TcpMarks {
            sends: Layers::new(limit.saturating_mul(WAITING)),
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
            heard: None,
            losses: DirectionLosses::default(),
            stuck: None,
            occupied: None,
            round_trips: AckRoundTrips::default(),
            distance: None,
            arrivals: Arrivals::default(),
            queues: None,
            slack: Nanos(0),
        }
    }

    /// Sets by how much times at the receiver may lie before those at the sender.
    pub fn set_slack(&mut self, slack: Nanos) {
        self.slack = slack;
    }

    /// A thread asks to send `range`. Where a later send starts, an earlier one really ended.
    pub fn send(&mut self, range: ByteRange, at: Nanos, task: TaskId, state: Option<TxState>) {
        let mut refused = None;
        while let Some(last) = self.sends.last_mut()
            && last.range.contains(range.start)
        {
            if last.range.start < range.start {
                last.range.end = range.start;
                refused = refused.or(Some(last.at));
                break;
            }
            refused = last.refused.or(Some(last.at));
            self.sends.pop_last();
        }
        let awaited = self.sends.last().map_or(Nanos(0), |last| last.awaited)
            + refused.map_or(Nanos(0), |refused| self.awaited_room(refused, at));
        let last = self.sends.last().map(|last| last.at);
        let round_trip = self.round_trips.last().map(|trip| trip.time);
        let len = range.len();
        let shrunk = state.is_some_and(|state| {
            self.losses.is_shrunk(&SendInWindow { at, last, state, len, round_trip })
        });
        if let Some(min_rtt) = state.map(|state| state.min_rtt).filter(|&min_rtt| min_rtt > 0) {
            self.round_trips.measured(Nanos::from_micros(u64::from(min_rtt)));
        }
        let is_full = state.is_some_and(|state| is_full(state, range));
        if is_full {
            self.occupied.get_or_insert_default().finds_full(at);
        }
        let is_unread =
            is_full && self.has_reads() && self.ready_to.max(self.acked_to) > self.read_to.0;
        let trip = self.round_trips.last();
        self.sends.push(SendMark {
            range,
            at,
            task,
            state,
            shrunk,
            trip,
            refused,
            awaited,
            is_unread,
        });
    }

    /// Time for which there was no room in the socket for bytes that it had refused, until they were written at `at`: what it had then takes room
    /// until it is acknowledged. Room that came with an acknowledgement before the last one is not told apart.
    fn awaited_room(&self, refused: Nanos, at: Nanos) -> Nanos {
        self.acks.back().map_or(Nanos(0), |&(_, acked)| acked.min(at) - refused)
    }

    /// The receiver says whether it has any room.
    pub fn has_room(&mut self, has_room: bool, at: Nanos) {
        if !has_room && !self.sends.is_unused() {
            self.occupied.get_or_insert_default().closes(at);
        } else if let Some(occupied) = &mut self.occupied {
            occupied.opens(at);
        }
    }

    /// True if exactly these bytes were sent by one call.
    pub fn is_one_send(&self, range: ByteRange) -> bool {
        self.sends.covering(range.start).any(|mark| mark.range == range)
    }

    /// Adds the wakeups that led the sender of `range` to send.
    pub fn led(&mut self, range: ByteRange, led: Chain) {
        if !led.is_empty() {
            self.leds.push(ChainMark { range, led });
        }
    }

    /// A packet was handed to its device at `at`, and came to the qdisc at `queued`.
    pub fn xmit(&mut self, range: ByteRange, queued: Option<Nanos>, at: Nanos) {
        let limit = queued.unwrap_or(at);
        let mut acks = self.acks.iter().rev().map(|&(_, acked)| acked);
        let acked = acks.find(|&acked| acked <= limit);
        self.leaves(range, limit);
        self.left_qdisc(range, limit, at);
        self.xmits.push(XmitMark { range, queued, at, acked });
    }

    /// Bytes leave their socket. Those that left before are only sent again.
    fn leaves(&mut self, range: ByteRange, at: Nanos) {
        let sent = self.send_of(range.start).filter(|sent| sent.at + NOTICEABLE_TIME <= at);
        let Some(sent) = sent else { return };
        let (written, state, len) = (sent.at, sent.state, sent.range.len());
        if !self.has_left(range) {
            self.occupied.get_or_insert_default().leaves(written, at, state, len);
        }
    }

    /// The longest time in which earlier bytes were in their sender's socket, between when the sender had a message and sent it.
    pub fn behind(&self, had: Nanos, sent: Nanos) -> Option<EarlierBytes> {
        self.occupied.as_ref()?.between(had, sent)
    }

    /// A packet came in at `at`; `deferred` is since when `ksoftirqd` had been woken, if it was left to that.
    pub fn rx(&mut self, range: ByteRange, at: Nanos, deferred: Option<Nanos>) {
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
            self.came_through(ByteRange { start: self.ready_to, end }, at);
            self.ready_to = end;
        }
    }

    /// A thread read `range`, which the wakeups in `led` led to.
    pub fn read(&mut self, range: ByteRange, at: Nanos, task: TaskId, led: Chain) {
        self.reads.push(ReadMark { range, at, task, led });
        if range.end > self.read_to.0 {
            self.read_to = (range.end, at);
            let ready = self.readies.covering(range.start).map(|mark| mark.at).min();
            let came = ready.or_else(|| self.came_in_at(range.start, at));
            self.pass(Pass { upto: range.end, at, came });
        }
    }

    /// Everything before `upto` has come in, and nobody sees when it is read.
    pub fn came_in(&mut self, upto: Offset, at: Nanos) {
        if self.passes.back().is_none_or(|pass| pass.upto < upto) {
            self.pass(Pass { upto, at, came: None });
        }
    }

    fn pass(&mut self, pass: Pass) {
        let before = self.passes.len().checked_sub(2).map(|index| self.passes[index].at);
        if let Some(last) = self.passes.back_mut()
            && before.is_some_and(|before| pass.at < before + READ_MARK_GAP)
        {
            *last = Pass { came: last.came.into_iter().chain(pass.came).min(), ..pass };
            return;
        }
        if self.passes.len() >= PASSES {
            self.passes.pop_front();
        }
        self.passes.push_back(pass);
    }

    /// Time at which the last copy of a byte came in before `at`.
    pub(super) fn came_in_at(&self, place: Offset, at: Nanos) -> Option<Nanos> {
        self.rxs.covering(place).map(|mark| mark.at).filter(|&came| came <= at).max()
    }

    /// Time at which the last byte of `extent` was reported ready.
    pub fn ready_at(&self, extent: ByteRange) -> Option<Nanos> {
        self.readies.covering(extent.last()).map(|mark| mark.at).min()
    }

    /// Time at which the last byte of `extent` was read.
    pub fn read_at(&self, extent: ByteRange) -> Option<Nanos> {
        self.reads.covering(extent.last()).map(|mark| mark.at).min()
    }

    /// Time at which it was seen that the reader is past `extent`.
    pub fn passed_at(&self, extent: ByteRange) -> Option<Nanos> {
        (self.read_to.0 >= extent.end).then_some(self.read_to.1)
    }

    /// True if bytes are known to have been lost.
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// True if the receiver was seen to read.
    pub fn has_reads(&self) -> bool {
        self.read_to.1 > Nanos(0)
    }

    /// Time at which the receiver last read something new; 0 if it never did.
    pub fn last_read(&self) -> Nanos {
        self.read_to.1
    }

    /// True if the receiving socket has all of `extent`.
    pub fn is_there(&self, extent: ByteRange) -> bool {
        self.ready_to.max(self.acked_to) >= extent.end
    }

    /// True if it is known up to where the receiving socket has all bytes.
    pub fn is_followed(&self) -> bool {
        self.ready_to.max(self.acked_to) > Offset::START
    }

    /// True if the receiving socket is known not to have the byte at `at`.
    pub fn lacks(&self, at: Offset) -> bool {
        self.is_followed() && self.ready_to.max(self.acked_to).max(self.read_to.0) <= at
    }

    /// Time of the call that wrote the first byte of `extent`.
    pub fn written_at(&self, extent: ByteRange) -> Option<Nanos> {
        self.written_by(extent).map(|(at, _)| at)
    }

    /// Time of the call that wrote the first byte of `extent`, and its thread.
    pub fn written_by(&self, extent: ByteRange) -> Option<(Nanos, TaskId)> {
        self.send_of(extent.start).map(|mark| (mark.at, mark.task))
    }

    /// The call that wrote a byte.
    fn send_of(&self, byte: Offset) -> Option<&SendMark> {
        // Where nothing waits, it is the last one, and thousands before it may be kept.
        let last = self.sends.last().filter(|mark| mark.range.contains(byte));
        last.or_else(|| self.sends.covering(byte).max_by_key(|mark| mark.range.start))
    }

    /// True if the sender wrote more, or tried to, after the byte before `end`.
    pub fn has_more(&self, end: Offset) -> bool {
        self.sends.last().is_some_and(|mark| mark.range.end > end)
    }

    /// True if bytes that the sender wrote, or tried to, are not in the receiving socket.
    pub fn is_backed_up(&self) -> bool {
        let arrived = self.ready_to.max(self.acked_to);
        self.sends.last().is_some_and(|mark| mark.range.end > arrived)
    }

    /// Time of the call that wrote the first byte which is not in the receiving socket; `None` if all are.
    pub fn backed_up_since(&self) -> Option<Nanos> {
        let arrived = self.ready_to.max(self.acked_to);
        let last = self.sends.last().filter(|mark| mark.range.end > arrived)?;
        Some(self.send_of(arrived).unwrap_or(last).at)
    }

    /// True if the receiver had no room for what was sent last.
    pub fn fills_window(&self) -> bool {
        // A reader that has read all that came is not the one that has no room.
        if self.has_reads() && self.read_to.0 >= self.ready_to {
            return false;
        }
        let last = self.sends.last();
        last.zip(last.and_then(|mark| mark.state)).is_some_and(|(mark, tx)| is_full(tx, mark.range))
    }

    /// Time at which the last byte of `extent` left, or else came in.
    pub fn left_at(&self, extent: ByteRange) -> Option<Nanos> {
        let first = self.xmits.covering(extent.last()).map(|mark| mark.at).min();
        first.or_else(|| self.rxs.covering(extent.last()).map(|mark| mark.at).min())
    }

    /// True if a copy of `range` was seen to leave.
    pub fn has_left(&self, range: ByteRange) -> bool {
        self.xmits.covering(range.start).next().is_some()
    }

    /// True if a packet with the last byte of `extent` was seen to come in.
    pub fn was_received(&self, extent: ByteRange) -> bool {
        self.rxs.covering(extent.last()).next().is_some()
    }

    /// True if packets are seen to come in. Where packets are observed, bytes that were read without any that came in show that these are
    /// not.
    pub fn sees_arrivals(&self, sees_packets: bool) -> bool {
        !self.rxs.is_unused() || sees_packets && !self.has_reads()
    }

    /// The longest time between two moments in which bytes were lost and not there.
    pub fn missing_between(&self, since: Nanos, to: Nanos) -> Option<LossGap> {
        self.losses.missing_between(since, to)
    }

    /// Time, between two moments, in which bytes before the end of `extent` were missing, or the news that they had
    /// arrived.
    pub fn missing_before(&self, extent: ByteRange, since: Nanos, to: Nanos) -> Nanos {
        self.losses.missing(extent, Some(since), Some(to))
    }

    /// Nobody asks about messages that end before `floor` any more. What is asked about sends is where
    /// a message begins, which in a fragmented one is long before, but not before `long_ago`.
    pub fn prune(&mut self, floor: Offset, long_ago: Nanos) {
        if floor != self.sends.floor() {
            self.prune_before(floor);
        }
        self.sends.forget(|mark| mark.at < long_ago);
        self.losses.prune(floor, long_ago);
    }

    fn prune_before(&mut self, floor: Offset) {
        self.sends.prune(Offset(floor.0.saturating_sub(LONGEST_MESSAGE)), floor);
        self.sends.trim(SENDS);
        self.leds.prune(floor, floor);
        self.xmits.prune(floor, floor);
        self.rxs.prune(floor, floor);
        self.readies.prune(floor, floor);
        self.reads.prune(floor, floor);
        if let Some(heard) = &mut self.heard {
            heard.prune(floor);
        }
    }

    /// Frees what is kept for speed, and for messages that would have begun long ago.
    pub fn shrink(&mut self) {
        self.sends.forget(|_| true);
        self.sends.shrink();
        self.leds.shrink();
        self.losses.shrink();
        self.acks = VecDeque::new();
        self.passes = VecDeque::new();
        self.occupied = None;
        self.queues = None;
        self.xmits.shrink();
        self.rxs.shrink();
        self.readies.shrink();
        self.reads.shrink();
        if let Some(heard) = &mut self.heard {
            heard.shrink();
        }
    }

    /// Takes the number of marks that were thrown away while their bytes were still of interest.
    pub fn take_evicted(&mut self) -> u64 {
        let first = self
            .sends
            .take_evicted()
            .saturating_add(self.xmits.take_evicted())
            .saturating_add(self.rxs.take_evicted());
        first.saturating_add(self.readies.take_evicted()).saturating_add(self.reads.take_evicted())
    }
}

/// True if the receiver had no room for the bytes of `range` when they were sent.
fn is_full(tx: TxState, range: ByteRange) -> bool {
    let waiting = u64::from(tx.unsent).saturating_add(range.len());
    u64::from(tx.in_flight).saturating_add(waiting.min(u64::from(tx.mss))) > u64::from(tx.window)
}

#[cfg(test)]
mod tests;
