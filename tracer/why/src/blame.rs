//! Blame: finds the cause of each part of a message's time, as far as the message's own
//! circumstances tell.
//!
//! ```text
//! segment      told apart by
//! client_tx    earlier messages lost: the library waits until they have arrived
//! write        of datagrams, no CPU for the sender; earlier bytes lost; the qdisc; the receiver's window, the send buffer until there is room, a sender that comes back late
//! socket_tx    earlier bytes lost; the qdisc; corked; window, congestion window (small because of a loss, or not),
//!              send buffer or Nagle, if an ACK set it free; paced
//!              in both, a queue before the device or on the path, which the bytes before are in; a reader that could not read what was under way: no quota, no CPU, asleep elsewhere
//! loss         –
//! qdisc        –
//! wire         left to ksoftirqd, until that had the CPU; in a queue on the path; the distance
//! stack_rx     earlier bytes lost, or overtaken on the way
//! wakeup       the broker said that it does not read, or did not watch the connection; the reader waited for a lock, slept elsewhere, was stopped, or was at work
//! runqueue     each thread's wait: no quota, another had the CPU, or the CPU was idle
//! handoff      the same of a thread that has to wake the next
//! busy, read   preempted, no quota, a lock; otherwise the reader's own work
//! broker_dwell waiting for its release; the broker said that it does not read the consumer's requests; earlier bytes in the same socket; waiting to be asked, or for a transaction's end; each thread's wait; asleep; in both, bytes of the
//!              connection lost; the broker's own work; sending to others first
//! ```

mod ahead;
mod clocks;
mod dwell;
mod held_back;
mod link;
mod span;
mod threads;

use super::awaited::Awaited;
use super::explanation::Cause;
use super::kind::VerdictKind;
use ahead::Ahead;
pub use clocks::{blame, error_in};
use held_back::{congestion, held_back, is_full, is_queued_behind, kept_by};
pub use span::Span;
use wirelap_events::{
    Delivery, Holder, Leg, LegOffCpu, Nanos, OffCpu, Segment, Segments, Stage, Transport,
};
use wirelap_limits::causes::{NOTICEABLE_TIME, SHORTEST_STALL};

/// A part of a message's time.
#[derive(Clone, Copy, Debug)]
pub struct BlamedPart<'a> {
    /// The leg's number, 0 for the first.
    pub leg: usize,
    /// The segment of the leg in which the time was spent.
    pub segment: Segment,
    /// The cause of the time.
    pub cause: Cause,
    /// The length of this part of the time.
    pub time: Nanos,
    /// The thread that had the CPU while the leg waited for one, or the one that had to let go of what the leg waited for. The
    /// holder of a stall was itself blocked.
    pub holder: Option<&'a Holder>,
    /// The thing that a broker waited for.
    pub awaited: Awaited,
    /// The holder slept meanwhile until a timer ended that.
    pub holder_slept: bool,
}

impl BlamedPart<'_> {
    /// A part that no other thread has a part in.
    fn new(leg: usize, segment: Segment, cause: Cause, time: Nanos) -> Self {
        let (awaited, holder, holder_slept) = (Awaited::Nothing, None, false);
        BlamedPart { leg, segment, cause, time, holder, awaited, holder_slept }
    }
}

/// Takes the parts of a message's time.
pub trait BlameSink {
    /// Takes a part.
    fn part(&mut self, part: BlamedPart<'_>);
}

/// Hands out every part of a delivery with its cause, whatever its clocks. Together they are last stage − first stage.
fn blame_parts(delivery: &Delivery, out: &mut dyn BlameSink) {
    let last = delivery.legs.len().saturating_sub(1);
    for (index, segments) in delivery.segments() {
        let leg = &delivery.legs[index];
        let rests = delivery.off_cpu_of(index);
        let is_last = index == last;
        let (handing, throttled) = (rests.handoff_before, leg.circumstances.permission.throttled);
        let ahead = delivery.legs.get(index.saturating_add(1)).and_then(Ahead::of);
        let before = index.checked_sub(1).map(|before| &delivery.legs[before]);
        let mut leg_parts =
            LegParts { leg, before, rests, index, is_last, handing, throttled, ahead, out };
        leg_parts.charge_segments(&segments);
        if let (Some(dwell), Some(before)) = (segments.get(Segment::BrokerDwell), before) {
            leg_parts.charge_dwell(before, dwell);
        }
    }
}

/// One leg of a message, whose time is handed out.
pub struct LegParts<'a> {
    pub leg: &'a Leg,
    /// The leg before it.
    before: Option<&'a Leg>,
    pub rests: &'a LegOffCpu,
    index: usize,
    /// True if the leg's reader is a client, not a broker.
    pub is_last: bool,
    /// Times off the CPU of the forwarder's threads before they woke the next, less what was already
    /// charged to them.
    handing: OffCpu,
    /// For how long a broker said that it does not read, as far as no time was put down to it.
    pub throttled: Nanos,
    /// The state that kept the leg's reader from sending, less the time that was already charged to
    /// it.
    ahead: Option<Ahead>,
    out: &'a mut dyn BlameSink,
}

impl LegParts<'_> {
    /// Puts `time` of a segment down to a cause.
    pub fn charge(&mut self, segment: Segment, cause: Cause, time: Nanos) {
        if time > Nanos(0) {
            self.out.part(BlamedPart::new(self.index, segment, cause, time));
        }
    }

    /// Puts `time` of a segment down to a kind of verdict.
    pub fn charge_kind(&mut self, segment: Segment, kind: VerdictKind, time: Nanos) {
        self.charge(segment, Cause::Of(kind), time);
    }

    /// Puts down a part of the dwell in which the broker waited for something.
    pub fn charge_awaited(&mut self, kind: VerdictKind, awaited: Awaited, time: Nanos) {
        if time > Nanos(0) {
            let part = BlamedPart::new(self.index, Segment::BrokerDwell, Cause::Of(kind), time);
            self.out.part(BlamedPart { awaited, ..part });
        }
    }

    /// Charges the wait to the next leg, because the forwarder's own socket was full. Returns the time that is left.
    pub fn charge_to_next_leg(&mut self, time: Nanos) -> Nanos {
        let Some(ahead) = &mut self.ahead else { return time };
        let held = ahead.left.min(time);
        if held < NOTICEABLE_TIME {
            return time;
        }
        ahead.left -= held;
        let (leg, segment) = (self.index.saturating_add(1), Segment::BrokerDwell);
        self.out.part(BlamedPart::new(leg, segment, ahead.cause, held));
        time - held
    }

    /// The forwarder passed the beginning of the message on, and left the end unread while it slept for `polled` until data of other
    /// connections came. Returns the rest of `time`.
    fn charge_unread_end(&mut self, polled: Nanos, time: Nanos) -> Nanos {
        let is_unread = |before: &&Leg| before.times.get(Stage::Read).is_none();
        let (Some(before), Some(index)) =
            (self.before.filter(is_unread), self.index.checked_sub(1))
        else {
            return time;
        };
        let unwatched = polled.min(time);
        let cause = Self::cause_of_unwatched(before);
        if unwatched > Nanos(0) {
            self.out.part(BlamedPart::new(index, Segment::Wakeup, cause, unwatched));
        }
        time - unwatched
    }

    fn charge_segments(&mut self, segments: &Segments) {
        for (segment, time) in segments.iter() {
            match segment {
                Segment::Write => {
                    let rest =
                        self.charge_lost(segment, time, self.leg.circumstances.loss.in_write);
                    if self.leg.flow.transport == Transport::Udp {
                        // No socket keeps a datagram: it is its sender who had no CPU.
                        self.charge_work(segment, &self.rests.writing, rest, Cause::Ordinary);
                    } else {
                        let rest = self.charge_held_in_write(rest);
                        let (cause, writing) = (self.cause_of_write(rest), &self.rests.writing);
                        if cause == Cause::Ordinary && self.leg.circumstances.writes_at_own_pace() {
                            self.charge_work(segment, writing, rest, cause);
                        } else {
                            self.charge_held_back(segment, cause, rest, writing);
                        }
                    }
                }
                Segment::SocketTx => {
                    let rest =
                        self.charge_lost(segment, time, self.leg.circumstances.loss.in_socket);
                    self.charge_held_back(
                        segment,
                        self.cause_in_socket(rest),
                        rest,
                        &self.rests.unread,
                    );
                }
                Segment::Loss => self.charge_kind(segment, VerdictKind::Retransmission, time),
                Segment::Qdisc => self.charge_kind(segment, VerdictKind::QdiscQueueing, time),
                Segment::Wire => self.charge_wire(time),
                Segment::StackRx => {
                    let seen = &self.leg.circumstances;
                    let is_behind = seen.loss.resent || seen.loss.behind || seen.loss.overtook;
                    let lost = time >= NOTICEABLE_TIME && is_behind;
                    self.charge(segment, Cause::when(lost, VerdictKind::Retransmission), time);
                }
                Segment::Wakeup => self.charge_wakeup(time),
                Segment::RunQueue => self.charge_run_queue(time),
                Segment::Busy => {
                    let rest = if self.is_last { time } else { self.charge_to_next_leg(time) };
                    self.charge_own_work(segment, rest, true);
                }
                Segment::Read => self.charge_own_work(segment, time, time >= SHORTEST_STALL),
                Segment::Handoff => self.charge_handoff(time),
                Segment::ClientTx => {
                    let (begin, there) = self.leg.circumstances.loss.missing.unwrap_or_default();
                    let sent = self.leg.times.get(Stage::Send).unwrap_or_default();
                    let lost = there.min(sent) - begin.max(sent - time).min(there);
                    let rest = self.charge_lost(segment, time, lost);
                    self.charge(segment, Cause::Ordinary, rest);
                }
                Segment::ClientRx | Segment::InKernel => {
                    self.charge(segment, Cause::Ordinary, time);
                }
                Segment::BrokerDwell => {}
            }
        }
    }

    /// Charges the part of `time` that passed while earlier bytes of the connection were missing.
    /// Returns the time that is left.
    fn charge_lost(&mut self, segment: Segment, time: Nanos, lost: Nanos) -> Nanos {
        let lost = lost.min(time);
        if lost < NOTICEABLE_TIME {
            return time;
        }
        self.charge_kind(segment, VerdictKind::Retransmission, lost);
        time - lost
    }

    /// Charges time in the sender's socket. A message that waits there because the reader does not get to read
    /// would wait at the reader otherwise, so that has the same cause. The same holds for a sender that does not
    /// get to write.
    fn charge_held_back(&mut self, segment: Segment, cause: Cause, time: Nanos, reader: &OffCpu) {
        let Cause::Of(kind) = cause else { return self.charge(segment, cause, time) };
        let time = self.charge_queued_in(segment, cause, time);
        let is_idle_wait =
            matches!(kind, VerdictKind::NagleDelayedAck | VerdictKind::CongestionWindow);
        // What the broker leaves unread fills its socket first, and then the client's.
        let is_held = kind == VerdictKind::ReceiveWindow && !self.is_last;
        let time = if is_held && self.throttled > Nanos(0) {
            let unread = self.leg.segments().get(Segment::Wakeup).unwrap_or_default();
            self.charge_throttled(segment, time, unread)
        } else {
            time
        };
        let time = if is_held { self.charge_to_next_leg(time) } else { time };
        let is_for_thread = is_idle_wait
            || matches!(
                kind,
                VerdictKind::ReceiveWindow | VerdictKind::SendBuffer | VerdictKind::LateWrite
            );
        if !is_for_thread {
            return self.charge(segment, cause, time);
        }
        let waited = reader.waited.min(time);
        self.charge_wait(segment, reader, waited);
        let mut left = time - waited;
        // Between two writes, it is the sender that is followed.
        let is_brokers_write = kind == VerdictKind::LateWrite && self.index > 0;
        if (is_idle_wait || is_brokers_write) && reader.asleep >= SHORTEST_STALL {
            let asleep = reader.asleep.min(left);
            if is_brokers_write {
                let locked = self.charge_lock(segment, reader, asleep);
                let left = self.charge_unread_end(reader.polled, asleep - locked);
                self.charge_kind(segment, VerdictKind::BrokerStalled, left);
            } else {
                self.charge_unread(segment, reader, asleep);
            }
            left -= asleep;
        }
        if is_idle_wait && segment == Segment::SocketTx {
            let rested = reader.asleep + reader.waited + reader.hidden;
            let worked = (self.unread_in_socket() - rested).min(left);
            let worked = if worked < SHORTEST_STALL { Nanos(0) } else { worked };
            self.charge_kind(segment, self.kind_of_work(), worked);
            left -= worked;
        }
        self.charge(segment, cause, left);
    }

    /// Time for which the reader had bytes to read that had left before, while the message was in its sender's socket.
    fn unread_in_socket(&self) -> Nanos {
        let seen = &self.leg.circumstances;
        let times = &self.leg.times;
        let held = times.get(Stage::Sent).zip(seen.unread.filter(|_| !seen.reader_unobserved));
        held.map_or(Nanos(0), |(sent, (from, until))| {
            let left = times.seen().find(|&(stage, _)| stage > Stage::Sent);
            left.map_or(sent, |(_, left)| left.min(until)) - from.max(sent)
        })
    }

    /// Of the time between the first and the last of several writes, what bytes before the last one were in the socket for want of room, or
    /// before it, where there was room at that one again. Returns the rest.
    fn charge_held_in_write(&mut self, time: Nanos) -> Nanos {
        let is_told = !matches!(
            self.cause_of_write(time),
            Cause::Ordinary | Cause::Of(VerdictKind::LateWrite)
        );
        let held = self.leg.circumstances.socket.held_in_write.filter(|_| !is_told);
        let cause = held.and_then(|held| kept_by(self.leg, &held)).filter(|&cause| is_full(cause));
        let held = held.filter(|_| cause.is_some()).map_or(Nanos(0), |held| held.time);
        let awaited = self.leg.circumstances.socket.awaited_room;
        let awaited = if is_told || awaited < NOTICEABLE_TIME { Nanos(0) } else { awaited };
        let held = held.max(awaited).min(time);
        let cause = cause.unwrap_or(Cause::Of(VerdictKind::SendBuffer));
        self.charge_held_back(Segment::Write, cause, held, &OffCpu::NONE);
        time - held
    }

    fn cause_of_write(&self, time: Nanos) -> Cause {
        let Some(tx) = self.leg.circumstances.socket.tx.filter(|_| time >= NOTICEABLE_TIME) else {
            return Cause::Ordinary;
        };
        if is_queued_behind(self.leg, tx) {
            return Cause::Of(VerdictKind::QdiscQueueing);
        }
        // What else waits in the socket does not make the window any fuller.
        if tx.in_flight.saturating_add(tx.mss) > tx.window {
            Cause::Of(VerdictKind::ReceiveWindow)
        } else if tx.unsent > 0 && tx.segments_out >= tx.cwnd {
            congestion(self.leg, tx)
        } else if tx.unsent > 0 {
            Cause::Of(VerdictKind::SendBuffer)
        } else {
            // All of it had left and had arrived, so that there was room long before.
            Cause::when(self.leg.circumstances.is_late_write(), VerdictKind::LateWrite)
        }
    }

    fn cause_in_socket(&self, time: Nanos) -> Cause {
        let seen = &self.leg.circumstances;
        if time < NOTICEABLE_TIME {
            return Cause::Ordinary;
        }
        // The first copy left unseen, and what followed until the second did is in this segment.
        if seen.loss.resent && self.leg.times.get(Stage::Lost).is_none() {
            return Cause::Of(VerdictKind::Retransmission);
        }
        let cause = match seen.socket.tx {
            Some(tx) if is_queued_behind(self.leg, tx) => Cause::Of(VerdictKind::QdiscQueueing),
            Some(tx) => match held_back(tx, &seen.socket, time) {
                // When it was sent, there was room; then there was none.
                Cause::Ordinary if seen.socket.no_room => Cause::Of(VerdictKind::ReceiveWindow),
                cause => cause,
            },
            None => Cause::Ordinary,
        };
        match seen.socket.tx {
            Some(tx) if cause == Cause::Of(VerdictKind::CongestionWindow) => {
                congestion(self.leg, tx)
            }
            _ => cause,
        }
    }
}

#[cfg(test)]
mod tests;
