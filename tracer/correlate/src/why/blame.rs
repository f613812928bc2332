//! What each part of a message's time was spent on, as far as its own circumstances tell.
//!
//! ```text
//! segment      told apart by
//! write        earlier bytes lost; the qdisc; the receiver's window, the send buffer, a sender that comes back late
//! socket_tx    earlier bytes lost; the qdisc; corked; window, congestion window (small because of a loss, or not),
//!              send buffer or Nagle, if an ACK set it free; paced
//! loss         –
//! qdisc        –
//! wire         left to ksoftirqd
//! stack_rx     earlier bytes lost
//! wakeup       the reader waited for a lock, slept elsewhere, was stopped, or was at work
//! runqueue     each thread's wait: no quota, another had the CPU, or the CPU was idle
//! busy, read   preempted, no quota, a lock; otherwise the reader's own work
//! broker_dwell waiting to be asked; each thread's wait; asleep; in both, bytes of the connection lost; the broker's
//!              own work; sending to others first
//! ```

use super::explanation::{Cause, VerdictKind as Kind};
use super::waits;
use crate::rests::has_slept;
use arrayvec::ArrayVec;
use wirelap_events::{
    Delivery, Holder, Hop, Leg, MAX_HOPS, Nagle, Nanos, Rest, Rested, Rests, Segment, Segments,
    Stage, TxState,
};

/// Less than this is what a call, a softirq or a timer's slack takes anyway.
pub const NOTICED: Nanos = Nanos::from_micros(50);

/// A packet that is in the qdisc for so long has a queue before it.
const BACKED_UP: Nanos = Nanos::from_millis(1);

/// A thread that sleeps less than this between reading and sending is not stalled, but waits for another.
const NAP: Nanos = Nanos::from_micros(200);

/// A broker's timers may be so late: they are looked at only now and then, and hand on to other threads.
const TIMERS: Nanos = Nanos::from_millis(5);

/// … and so early, where they count whole milliseconds.
const EARLY: Nanos = Nanos::from_millis(2);

/// A thread of a broker that is asked for messages may sleep so long while others work for it.
const HANDED_ON: Nanos = Nanos::from_millis(3);

/// Takes the parts of a message's time.
pub trait Parts {
    /// `time` of leg number `leg` (0 the first) in `segment` was spent on `cause`; while it waited for a
    /// CPU, `holder` had it, or it waited until `holder` let go, which had a CPU for `held` of the time.
    fn part(
        &mut self,
        leg: usize,
        segment: Segment,
        cause: Cause,
        time: Nanos,
        holder: Option<&Holder>,
    );
}

/// Hands out every part of a delivery. Together they are last stage − first stage.
pub fn blame(delivery: &Delivery, out: &mut dyn Parts) {
    let last = delivery.legs.len() - 1;
    for (index, segments) in delivery.segments() {
        let leg = &delivery.legs[index];
        let rests = delivery.rests_of(index);
        let mut leg_parts = LegParts { leg, rests, index, is_last: index == last, out };
        leg_parts.all(&segments);
        if let (Some(dwell), Some(before)) =
            (segments.get(Segment::BrokerDwell), index.checked_sub(1))
        {
            leg_parts.dwell(&delivery.legs[before], dwell);
        }
    }
}

struct LegParts<'a> {
    leg: &'a Leg,
    rests: &'a Rests,
    index: usize,
    /// Its reader is a client, not a broker.
    is_last: bool,
    out: &'a mut dyn Parts,
}

impl LegParts<'_> {
    fn put(&mut self, segment: Segment, cause: Cause, time: Nanos) {
        if time > Nanos(0) {
            self.out.part(self.index, segment, cause, time, None);
        }
    }

    fn put_of(&mut self, segment: Segment, kind: Kind, time: Nanos) {
        self.put(segment, Cause::Of(kind), time);
    }

    fn all(&mut self, segments: &Segments) {
        for (segment, time) in segments.iter() {
            match segment {
                Segment::Write => {
                    let rest = self.lost_part(segment, time, self.leg.circumstances.loss_in_write);
                    self.put(segment, self.write(rest), rest);
                }
                Segment::SocketTx => {
                    let rest = self.lost_part(segment, time, self.leg.circumstances.loss_in_socket);
                    self.put(segment, self.socket_tx(rest), rest);
                }
                Segment::Loss => self.put_of(segment, Kind::Retransmission, time),
                Segment::Qdisc => self.put_of(segment, Kind::QdiscQueueing, time),
                Segment::Wire => {
                    let deferred = self.leg.circumstances.deferred;
                    self.put(segment, when(deferred, Kind::SoftirqDeferral), time);
                }
                Segment::StackRx => {
                    let seen = &self.leg.circumstances;
                    let lost = time >= NOTICED && (seen.resent || seen.behind_loss);
                    self.put(segment, when(lost, Kind::Retransmission), time);
                }
                Segment::Wakeup => self.wakeup(time),
                Segment::RunQueue => self.run_queue(time),
                Segment::Busy => self.own_work(segment, time, true),
                Segment::Read => self.own_work(segment, time, time >= NAP),
                Segment::ClientTx | Segment::Handoff | Segment::ClientRx => {
                    self.put(segment, Cause::Ordinary, time);
                }
                Segment::BrokerDwell => {}
            }
        }
    }

    /// What of the time passed while earlier bytes of the connection were missing. Returns the rest.
    fn lost_part(&mut self, segment: Segment, time: Nanos, lost: Nanos) -> Nanos {
        let lost = lost.min(time);
        if lost < NOTICED {
            return time;
        }
        self.put_of(segment, Kind::Retransmission, lost);
        time - lost
    }

    fn write(&self, time: Nanos) -> Cause {
        let Some(tx) = self.leg.circumstances.tx.filter(|_| time >= NOTICED) else {
            return Cause::Ordinary;
        };
        if self.is_queued_behind(tx) {
            return Cause::Of(Kind::QdiscQueueing);
        }
        // What else waits in the socket does not make the window any fuller.
        if tx.in_flight.saturating_add(tx.mss) > tx.window {
            Cause::Of(Kind::ReceiveWindow)
        } else if tx.unsent > 0 && tx.segments_out >= tx.cwnd {
            self.congestion(tx)
        } else if tx.unsent > 0 {
            Cause::Of(Kind::SendBuffer)
        } else {
            // All of it had left and had arrived, so that there was room long before.
            when(tx.in_flight == 0, Kind::LateWrite)
        }
    }

    fn socket_tx(&self, time: Nanos) -> Cause {
        let seen = &self.leg.circumstances;
        if time < NOTICED {
            return Cause::Ordinary;
        }
        // The first copy left unseen, and what followed until the second did is in this segment.
        if seen.resent && self.leg.times.get(Stage::Lost).is_none() {
            return Cause::Of(Kind::Retransmission);
        }
        let cause = match seen.tx {
            Some(tx) if self.is_queued_behind(tx) => Cause::Of(Kind::QdiscQueueing),
            Some(tx) => held_back(tx, seen.send_len, seen.acked.is_some(), time),
            None => Cause::Ordinary,
        };
        match seen.tx {
            Some(tx) if cause == Cause::Of(Kind::CongestionWindow) => self.congestion(tx),
            _ => cause,
        }
    }

    /// The congestion window is full, perhaps because a loss made it small. After a rest, TCP itself makes it small.
    fn congestion(&self, tx: TxState) -> Cause {
        let is_by_loss = self.leg.circumstances.shrunk_by_loss && tx.in_flight > 0;
        Cause::Of(if is_by_loss { Kind::Retransmission } else { Kind::CongestionWindow })
    }

    /// Whether the qdisc is so full that the socket may not add to it: TCP small queues
    /// (`tcp_small_queue_check` in `net/ipv4/tcp_output.c`).
    fn is_queued_behind(&self, tx: TxState) -> bool {
        let times = &self.leg.times;
        let queued = times.get(Stage::Queue).zip(times.get(Stage::Xmit));
        tx.in_flight > 0 && queued.is_some_and(|(queue, xmit)| xmit - queue >= BACKED_UP)
    }

    /// The data was ready, and nothing woke the reader.
    fn wakeup(&mut self, time: Nanos) {
        let segment = Segment::Wakeup;
        let (Some(hop), true) = (self.leg.chain.first(), time >= NOTICED) else {
            return self.put(segment, Cause::Ordinary, time);
        };
        let kind = self.stalled();
        let Some(rested) = self.rests.before_wakeup else {
            // All that is known is its last rest.
            let asleep = hop.left.map_or(time, |left| hop.woken - left).min(time);
            self.put(segment, Cause::Ordinary, time - asleep);
            return self.put_of(segment, kind, asleep);
        };
        let mut left = time;
        let asleep = rested.asleep.min(left);
        left = left - asleep;
        let locked = self.locked(segment, &rested, asleep);
        self.put_of(segment, kind, asleep - locked);
        self.worked(segment, &rested, left, Cause::Of(self.work()));
    }

    /// A thread that was awake worked, or had no CPU to work on.
    fn worked(&mut self, segment: Segment, rested: &Rested, time: Nanos, work: Cause) {
        let waited = rested.waited.min(time);
        self.waited(segment, rested, waited);
        self.put(segment, work, time - waited);
    }

    /// How much of its sleep a thread waited for another to let go.
    fn locked(&mut self, segment: Segment, rested: &Rested, asleep: Nanos) -> Nanos {
        let locked = rested.locked.min(asleep);
        if locked < NAP {
            return Nanos(0);
        }
        let cause = Cause::Of(Kind::LockWait);
        self.out.part(self.index, segment, cause, locked, Some(&rested.waker));
        locked
    }

    /// What it is called when the reader is at work on something else.
    fn work(&self) -> Kind {
        if self.is_last { Kind::ReaderBusy } else { Kind::BrokerCpuBound }
    }

    /// What it is called when the reader is off the CPU though there is something to read.
    fn stalled(&self) -> Kind {
        if self.is_last { Kind::ClientStalled } else { Kind::BrokerStalled }
    }

    fn run_queue(&mut self, time: Nanos) {
        let segment = Segment::RunQueue;
        let mut left = time;
        let waits: ArrayVec<_, MAX_HOPS> = self.leg.run_queue_waits().take(MAX_HOPS).collect();
        for (hop, wait) in waits {
            let wait = wait.min(left);
            left = left - wait;
            self.hop_waited(segment, hop, &self.rests.chain, wait);
        }
        self.put(segment, Cause::Ordinary, left);
    }

    /// A thread waited for a CPU, in the way that `seen` says of all in its chain, or it alone if that is not known.
    fn hop_waited(&mut self, segment: Segment, hop: &Hop, seen: &Rested, time: Nanos) {
        if seen.waited > Nanos(0) {
            return self.waited(segment, seen, time);
        }
        let mut alone = Rested { waited: hop.running - hop.woken, ..Rested::NONE };
        alone.hold(&hop.holder);
        self.waited(segment, &alone, time);
    }

    /// A thread waited for a CPU.
    fn waited(&mut self, segment: Segment, rested: &Rested, time: Nanos) {
        if time > Nanos(0) {
            waits::parts(rested, time, |cause, time, holder| {
                self.out.part(self.index, segment, cause, time, holder);
            });
        }
    }

    /// The reader had the CPU, or another had it in its place.
    fn own_work(&mut self, segment: Segment, time: Nanos, is_long: bool) {
        let Some(rested) = self.rests.reader else {
            return self.put(segment, Cause::Ordinary, time);
        };
        let asleep = rested.asleep.min(time);
        let stalled = asleep - self.locked(segment, &rested, asleep);
        self.put(segment, when(stalled >= NAP, self.stalled()), stalled);
        self.worked(segment, &rested, time - asleep, when(is_long, self.work()));
    }

    /// Between the read of the leg before and the send of this one.
    fn dwell(&mut self, before: &Leg, time: Nanos) {
        let Some((_, read)) = before.times.seen().next_back() else { return };
        let sent = read + time;
        let fan_out = self.leg.circumstances.fan_out.map_or(sent, |fan_out| fan_out.first_sent);
        let mut rest = Span { from: read, to: sent, fan_out };
        let asked = self.leg.circumstances.asked;
        let seen = &self.leg.circumstances;
        let (was_lost, taken) = (seen.asked_after_loss, seen.taken.filter(|_| seen.ask_resent));
        if let Some(asked) = asked {
            let from = rest.from;
            let waited = rest.advance(asked);
            let kind = if was_lost { Kind::Retransmission } else { Kind::FetchWait };
            self.idle_dwell(from, waited, Cause::Of(kind));
        }
        if let Some(taken) = taken {
            self.put_of(Segment::BrokerDwell, Kind::Retransmission, rest.advance(taken));
        }
        let mut is_awaited = asked.is_some();
        if let Some(until) = asked.and_then(|asked| self.may_wait_until(asked, sent)) {
            self.put_of(Segment::BrokerDwell, Kind::FetchWait, rest.advance(until));
            is_awaited = false;
        }
        let mut woken_by_own = false;
        for hop in &self.leg.before {
            if hop.running <= rest.from {
                woken_by_own = true;
                continue;
            }
            if !is_awaited && has_slept(hop, read, before.reader) {
                let work = Cause::Of(Kind::BrokerCpuBound);
                self.broker_worked(&mut rest, hop.woken, self.rests.dwell, work);
            }
            self.dwell_hop(hop, &mut rest, woken_by_own, is_awaited);
            woken_by_own = true;
        }
        let seen = !self.leg.before.is_empty();
        let rested = self.rests.sender;
        self.broker_worked(&mut rest, sent, rested, when(seen, Kind::BrokerCpuBound));
    }

    /// Until when a broker that was asked at `asked` and answered at `sent` did what the request let it do: wait for more
    /// (KIP-74). It is answered when the bytes are there that the request wants, or when its time is over. `None`: the
    /// request does not say, or not all that it was answered with was seen.
    fn may_wait_until(&self, asked: Nanos, sent: Nanos) -> Option<Nanos> {
        let seen = &self.leg.circumstances;
        let ask = seen.ask?;
        let due = seen.taken.unwrap_or(asked) + ask.longest;
        let slack = TIMERS.max(Nanos(ask.longest.0 / 4));
        let wants_more = ask.least_bytes > 1;
        if sent + EARLY >= due && (wants_more || sent <= due + slack) {
            return Some(sent.min(due + slack));
        }
        if wants_more {
            return seen.filled;
        }
        // One byte is enough for it: whatever keeps the broker, it is not the request.
        Some(asked)
    }

    /// The cause where a thread of the forwarder slept. One that is asked for messages hands them out when all is done that
    /// this takes: other threads write them down, other brokers copy them.
    fn slept(&self, asleep: Nanos) -> Cause {
        if self.leg.circumstances.asked.is_some() && asleep < HANDED_ON {
            return Cause::Of(Kind::FetchWait);
        }
        when(asleep >= NAP, Kind::BrokerStalled)
    }

    /// A thread of the forwarder was at work until some moment, and now and then was not. From the first of several sends
    /// of the message on, its work is that of sending it to the others.
    fn broker_worked(
        &mut self,
        rest: &mut Span,
        until: Nanos,
        rested: Option<Rested>,
        work: Cause,
    ) {
        let segment = Segment::BrokerDwell;
        let before = rest.advance(until.min(rest.fan_out));
        let after = rest.advance(until);
        let Some(rested) = rested else {
            // What the thread did was not followed.
            return self.put(segment, Cause::Ordinary, before + after);
        };
        let asleep = rested.asleep.min(before + after);
        let stalled = asleep - self.locked(segment, &rested, asleep);
        self.put(segment, self.slept(stalled), stalled);
        // How the rests are shared out is not known. Most of the time is where most of the rests are.
        let (first, last) = if after >= before {
            let last = after - asleep;
            (before - (asleep - after), last)
        } else {
            let first = before - asleep;
            (first, after - (asleep - before))
        };
        let waited = rested.waited.min(first + last);
        self.waited(segment, &rested, waited);
        let (first, last) = if after >= before {
            (first - (waited - last), last - waited)
        } else {
            (first - waited, last - (waited - first))
        };
        self.put(segment, work, first);
        self.put_of(segment, Kind::SerialFanOut, last);
    }

    /// The forwarder had nothing to do with the message for `time` from `from` on. What of it passed while bytes of the
    /// connection were missing, a request or an acknowledgement perhaps, is the network's.
    fn idle_dwell(&mut self, from: Nanos, time: Nanos, cause: Cause) {
        let (begin, there) = self.leg.circumstances.missing.unwrap_or_default();
        let lost = there.min(from + time) - begin.max(from).min(there);
        let rest = self.lost_part(Segment::BrokerDwell, time, lost);
        self.put(Segment::BrokerDwell, cause, rest);
    }

    /// One thread of the forwarder: asleep, or the one that woke it at work; then waiting for a CPU.
    fn dwell_hop(&mut self, hop: &Hop, rest: &mut Span, woken_by_own: bool, is_awaited: bool) {
        let segment = Segment::BrokerDwell;
        let work = Cause::Of(Kind::BrokerCpuBound);
        if woken_by_own {
            self.broker_worked(rest, hop.woken, Some(Rested::NONE), work);
        } else {
            let until = hop.left.unwrap_or(rest.from).min(hop.woken);
            self.broker_worked(rest, until, self.rests.dwell, work);
        }
        let from = rest.from;
        let asleep = rest.advance(hop.woken);
        let cause = match hop.rest {
            Rest::Asleep if is_awaited => Cause::Of(Kind::FetchWait),
            Rest::Asleep => self.slept(asleep),
            Rest::Blocked | Rest::Stopped | Rest::Preempted => Cause::Of(Kind::BrokerStalled),
        };
        match hop.rest {
            Rest::Asleep => self.idle_dwell(from, asleep, cause),
            _ => self.put(segment, cause, asleep),
        }
        let wait = rest.advance(hop.running);
        self.hop_waited(segment, hop, &self.rests.before, wait);
    }
}

/// A stretch of time that is cut off from its beginning.
struct Span {
    from: Nanos,
    to: Nanos,
    /// From when on its thread sent the message to others.
    fan_out: Nanos,
}

impl Span {
    /// Cuts off what lies before `until`.
    fn advance(&mut self, until: Nanos) -> Nanos {
        let until = until.clamp(self.from, self.to);
        let cut = until - self.from;
        self.from = until;
        cut
    }
}

/// The cause if it `applies`.
fn when(applies: bool, kind: Kind) -> Cause {
    if applies { Cause::Of(kind) } else { Cause::Ordinary }
}

/// A connection that has rested begins again with so many segments (`TCP_INIT_CWND`, include/net/tcp.h).
const INITIAL_WINDOW: u32 = 10;

/// What kept TCP from sending `len` bytes at once: the rules of `tcp_write_xmit`
/// (`net/ipv4/tcp_output.c`), in its order.
fn held_back(tx: TxState, len: u32, freed_by_ack: bool, time: Nanos) -> Cause {
    let mss = tx.mss.max(1);
    let waiting = tx.unsent.saturating_add(len);
    let segments = waiting.div_ceil(mss);
    if tx.nagle == Nagle::Corked {
        return Cause::Of(Kind::Corked);
    }
    if freed_by_ack {
        if let Some(kind) = full_window(tx, waiting, segments) {
            return Cause::Of(kind);
        }
        if tx.send_buffer > 0 && len > tx.send_buffer {
            return Cause::Of(Kind::SendBuffer);
        }
        let is_short = !waiting.is_multiple_of(mss);
        if tx.nagle == Nagle::On && tx.in_flight > 0 && is_short {
            return Cause::Of(Kind::NagleDelayedAck);
        }
    }
    if is_paced(tx, waiting, time) {
        return Cause::Of(Kind::Pacing);
    }
    // `tcp_cwnd_restart`: the window that was read at the send is made smaller a moment later.
    let has_rested = freed_by_ack && tx.in_flight == 0 && segments > INITIAL_WINDOW;
    when(has_rested, Kind::CongestionWindow)
}

/// Which of the two windows so many bytes do not fit into; of both, the one with less room.
fn full_window(tx: TxState, waiting: u32, segments: u32) -> Option<Kind> {
    let room = tx.window.saturating_sub(tx.in_flight);
    let room_of_segments = tx.cwnd.saturating_sub(tx.segments_out);
    let is_congested = segments > room_of_segments;
    if is_congested && room_of_segments.saturating_mul(tx.mss.max(1)) < room {
        return Some(Kind::CongestionWindow);
    }
    (waiting > room)
        .then_some(Kind::ReceiveWindow)
        .or(is_congested.then_some(Kind::CongestionWindow))
}

/// Whether most of the time is what the pacing rate makes of so many bytes.
fn is_paced(tx: TxState, waiting: u32, time: Nanos) -> bool {
    let spread = u128::from(waiting) * 1_000_000_000 / u128::from(tx.pacing.max(1));
    tx.pacing > 0 && spread >= u128::from(time.0) / 2
}

#[cfg(test)]
mod tests;
