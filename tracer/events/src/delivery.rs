//! The delivery of a message to one reader, from its first send on.

use crate::{
    CgroupId, DropCause, FlowKey, FlowRange, Holder, Nanos, OTHERS, OffCpuReason, Permit, Recovery,
    RequestLimits, Segment, Segments, Sleep, SocketId, Stage, StageTimes, Stamp, TaskId, TxState,
};
use arrayvec::ArrayVec;
use std::ops::Add;

/// The most legs of one delivery. Of a message that is forwarded more often, the further legs are not reported.
pub const MAX_LEGS: usize = 4;

/// The most threads in a wake chain; of a longer chain, the last ones are kept.
pub const MAX_HOPS: usize = 4;

/// The number of a message, unique in one run of wirelap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// The number of a topic, subject or key expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u32);

/// The number of a row of the comparison: one middleware at one broker, or one labelled workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// One thread in a wake chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The thread.
    pub task: TaskId,
    /// When the thread was woken.
    pub woken: Nanos,
    /// When the thread ran.
    pub running: Nanos,
    /// When the thread had left the CPU before; `None` if that was not seen.
    pub left: Option<Nanos>,
    /// Why the thread had left the CPU.
    pub reason: OffCpuReason,
    /// Whether an interrupt (for received data, or of a timer) woke the thread, and not another thread.
    pub from_irq: bool,
    /// Whether the thread had run on another CPU before.
    pub migrated: bool,
    /// The thread that had the CPU the longest while this one waited for it.
    pub holder: Holder,
    /// What the thread slept on, if it slept.
    pub sleep: Sleep,
}

/// Why and how long a thread did not run in an interval. It ran for the rest of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpu {
    /// How long the thread slept or was stopped.
    pub asleep: Nanos,
    /// How long the thread was runnable and waited for a CPU.
    pub waited: Nanos,
    /// How often the thread was preempted.
    pub preemptions: u32,
    /// The thread that had the CPU the longest while this one waited.
    pub holder: Holder,
    /// The other threads that had the CPU, the longest first. Who had the CPU for the rest of `waited`, without `throttled`, is not
    /// known.
    pub others: [Holder; OTHERS],
    /// The part of `waited` in which the thread's cgroup had no CPU quota left.
    pub throttled: Nanos,
    /// The cgroup that had no quota left; 0 if `throttled` is 0.
    pub cgroup: CgroupId,
    /// The part of `asleep` in which the thread waited for another thread: it slept on a lock until a thread of its own process
    /// released it, or until another process woke it.
    pub locked: Nanos,
    /// The part of `asleep` in which no received data could have woken the thread: it was stopped, blocked in the kernel, or slept
    /// for a fixed time.
    pub deaf: Nanos,
    /// The thread that ended the longest of the sleeps of `locked`. `held` is how long that thread had a CPU meanwhile, 0 if it is not
    /// known.
    pub waker: Holder,
}

impl OffCpu {
    /// An interval in which the thread always ran.
    pub const NONE: OffCpu = OffCpu {
        asleep: Nanos(0),
        waited: Nanos(0),
        preemptions: 0,
        holder: Holder::NOBODY,
        others: [Holder::NOBODY; OTHERS],
        throttled: Nanos(0),
        cgroup: CgroupId(0),
        locked: Nanos(0),
        deaf: Nanos(0),
        waker: Holder::NOBODY,
    };

    /// The threads that had the CPU while this one waited, the longest first.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.holder).chain(&self.others).filter(|holder| holder.held > Nanos(0))
    }

    /// Adds a thread that had the CPU for a part of the wait. Those that had it the shortest are dropped if there are too many.
    pub fn add_holder(&mut self, holder: &Holder) {
        if holder.held == Nanos(0) {
            return;
        }
        let mut all = [Holder::NOBODY; OTHERS + 1];
        all[0] = self.holder;
        all[1..].copy_from_slice(&self.others);
        let same = |known: &&mut Holder| known.held > Nanos(0) && known.task == holder.task;
        if let Some(known) = all.iter_mut().find(same) {
            known.held += holder.held;
        } else if let Some(least) = all.last_mut()
            && least.held < holder.held
        {
            *least = *holder;
        }
        all.sort_by_key(|holder| std::cmp::Reverse(holder.held));
        self.holder = all[0];
        self.others.copy_from_slice(&all[1..]);
    }
}

impl Add for OffCpu {
    type Output = OffCpu;
    fn add(self, rhs: OffCpu) -> OffCpu {
        let throttled_longer = rhs.throttled > self.throttled;
        let locked_longer = rhs.locked > self.locked;
        let mut sum = OffCpu {
            asleep: self.asleep + rhs.asleep,
            waited: self.waited + rhs.waited,
            preemptions: self.preemptions.saturating_add(rhs.preemptions),
            throttled: self.throttled + rhs.throttled,
            cgroup: if throttled_longer { rhs.cgroup } else { self.cgroup },
            locked: self.locked + rhs.locked,
            deaf: self.deaf + rhs.deaf,
            waker: if locked_longer { rhs.waker } else { self.waker },
            ..self
        };
        rhs.holders().for_each(|holder| sum.add_holder(holder));
        sum
    }
}

/// The off-CPU times of the threads of a leg while they had the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegOffCpu {
    /// Of the first thread of the wake chain, between ready and wakeup; `None` if that thread was not followed.
    pub before_wakeup: Option<OffCpu>,
    /// Of the reader, between running (or ready, if it was running then) and read; `None` if it was not followed.
    pub reader: Option<OffCpu>,
    /// Of a leg after the first: of the forwarder's thread that had read the message, during the dwell until it woke the next
    /// thread or was woken the last time; `None` if it was not followed.
    pub dwell: Option<OffCpu>,
    /// Of the sender, between the last time that it was woken during the dwell and its send; `None` if it was not followed.
    pub sender: Option<OffCpu>,
    /// Of the reader, while the forwarder had the message and the reader could have requested it but had not yet; `None` if it had
    /// requested it before, or was not followed.
    pub requester: Option<OffCpu>,
    /// Of the threads of the wake chain, while they waited for a CPU after their wakeups.
    pub chain: OffCpu,
    /// Of the threads that ran before the send, while they waited for a CPU after their wakeups.
    pub before: OffCpu,
    /// Of the threads of the wake chain except the last, from when they ran until they woke the next one.
    pub handoff: OffCpu,
    /// Of the threads that ran before the send except the last, from when they ran until they woke the next one.
    pub handoff_before: OffCpu,
    /// Between send and sent, of the thread that the rest of the message had to wait for: the reader, or the sender of a
    /// [late write](Circumstances::is_late_write).
    pub writing: OffCpu,
    /// Of the reader, between sent and [`Circumstances::unread_until`].
    pub unread: OffCpu,
}

impl LegOffCpu {
    /// All threads always ran.
    pub const NONE: LegOffCpu = LegOffCpu {
        before_wakeup: None,
        reader: Some(OffCpu::NONE),
        dwell: Some(OffCpu::NONE),
        sender: Some(OffCpu::NONE),
        requester: None,
        chain: OffCpu::NONE,
        before: OffCpu::NONE,
        handoff: OffCpu::NONE,
        handoff_before: OffCpu::NONE,
        writing: OffCpu::NONE,
        unread: OffCpu::NONE,
    };
}

/// Facts about a leg in addition to its times, from which verdicts are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Circumstances {
    /// The state of the sender's TCP at the send call that brought the last byte.
    pub tx: Option<TxState>,
    /// The bytes of that send call.
    pub send_len: u32,
    /// When the last acknowledgement of earlier bytes reached the sender after `sent` and before `queue`.
    pub acked: Option<Nanos>,
    /// Whether the last byte left in a full segment, or in several segments.
    pub whole_segment: bool,
    /// When the reader had read the bytes that were in flight at `sent`, if that was later than `sent`. Bytes that wait in the sender's
    /// socket until then would otherwise wait in the reader's socket.
    pub unread_until: Option<Nanos>,
    /// Whether some of the bytes were lost and sent again: by TCP or, in datagrams, by the protocol.
    pub resent: bool,
    /// Whether earlier bytes of the connection were lost, so that the message had to wait for them.
    pub behind_loss: bool,
    /// How long earlier bytes or their acknowledgements were missing while the message was being written.
    pub loss_in_write: Nanos,
    /// How long earlier bytes or their acknowledgements were missing while the last byte waited in the sender's socket.
    pub loss_in_socket: Nanos,
    /// The last interval before the send in which lost bytes of either direction of the connection had not arrived yet. The bytes may
    /// be a request or an acknowledgement of the receiver.
    pub missing: Option<(Nanos, Nanos)>,
    /// Whether a loss shortly before had reduced the congestion window, which had not recovered yet.
    pub shrunk_by_loss: bool,
    /// Why TCP retransmitted lost bytes; `None` if it did not, or that was not seen.
    pub recovery: Option<Recovery>,
    /// Why the kernel of this host dropped a packet of the message, if it did.
    pub dropped: Option<DropCause>,
    /// Whether the processing of the last packet was deferred to `ksoftirqd`.
    pub deferred: bool,
    /// When the receiver made the last request for messages on this connection (Kafka `Fetch`, a NATS pull) that the sender had read
    /// before `send`; `None` if messages are pushed.
    pub requested: Option<Nanos>,
    /// When the sender had read that request, if it was seen.
    pub request_read: Option<Nanos>,
    /// From when on the receiver could have made that request: it had everything that it got before.
    pub free_since: Option<Nanos>,
    /// Whether TCP had to retransmit that request.
    pub request_resent: bool,
    /// Whether TCP had to retransmit what the receiver got before that request, so that it could not make it earlier.
    pub requested_after_loss: bool,
    /// How long that request let the sender wait; `None` if it did not tell.
    pub request_limits: Option<RequestLimits>,
    /// When the sender had read the last of the messages with which it answered that request, if they were seen.
    pub filled: Option<Nanos>,
    /// Whether the message is part of a transaction and its receiver takes only committed messages.
    pub awaits_commit: bool,
    /// The permission to pass the message on, if the sender had to wait for it after it had read the message.
    pub permit: Option<Permit>,
    /// The last acknowledgement that may have been needed before the sender could send more to this receiver.
    pub credit: Option<Credit>,
    /// Whether a keep-alive or discovery frame was on the same connection while the message was under way.
    pub beside_upkeep: bool,
    /// Whether it is one of the first messages of its connection, or was sent within a second after the connection was opened.
    pub start_up: bool,
    /// The position of the leg if its sender sends the message to several readers one after the other. `None` for the first reader, and
    /// if several threads send.
    pub fan_out: Option<FanOut>,
}

impl Circumstances {
    /// Whether all earlier bytes had left the socket and were acknowledged when the sender wrote the rest of the message.
    pub fn is_late_write(&self) -> bool {
        self.tx.is_some_and(|tx| tx.in_flight == 0 && tx.unsent == 0)
    }
}

/// An acknowledgement by a receiver that had as many unacknowledged messages as ever, so that its sender may send one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// When the acknowledgement was seen.
    pub at: Nanos,
    /// From when on the receiver could have acknowledged: it had everything that it got before. 0 if it had as many unacknowledged
    /// messages all the time, so that a slow network is not the reason.
    pub free_since: Option<Nanos>,
}

impl Circumstances {
    /// When the receiver allowed its sender to send, by a request or an acknowledgement, and from when on it could have.
    pub fn allowed(&self) -> Option<(Nanos, Option<Nanos>)> {
        let by_request = self.requested.map(|requested| (requested, self.free_since));
        by_request.or(self.credit.map(|credit| (credit.at, credit.free_since)))
    }
}

/// The position of a leg among those on which one thread sends one message, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanOut {
    /// The position, 1 for the first.
    pub position: u32,
    /// The number of readers that were seen.
    pub readers: u32,
    /// When the thread sent the message to the first reader.
    pub first_sent: Nanos,
}

/// An interval of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpan<'a> {
    /// The segment that the interval belongs to.
    pub segment: Segment,
    /// The beginning.
    pub from: Nanos,
    /// The end; not before the beginning.
    pub to: Nanos,
    /// The thread of the wake chain that waits for a CPU, or that runs until it wakes the next one; `None` outside the chain.
    pub hop: Option<&'a Hop>,
}

/// One socket-to-socket hop of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The flow that carried the message.
    pub flow: FlowKey,
    /// The sending socket, if it is on this host.
    pub from: Option<SocketId>,
    /// The receiving socket, if it is on this host.
    pub to: Option<SocketId>,
    /// The thread that sent the first byte.
    pub sender: Option<TaskId>,
    /// The thread that read the last byte.
    pub reader: Option<TaskId>,
    /// When the message passed each stage.
    pub times: StageTimes,
    /// The threads that were woken for the message, the reader last; empty if the reader did not sleep.
    pub chain: Vec<Hop>,
    /// The threads that ran before the send, each woken by the previous one, the sender last. Of a leg after the first, these are
    /// the forwarder's threads during the dwell.
    pub before: Vec<Hop>,
    /// Its bytes in the flow, from the first byte of its first frame to the last byte of its last.
    pub flow_range: FlowRange,
    /// Further facts about the leg.
    pub circumstances: Circumstances,
}

impl Leg {
    /// The leg's segments. They telescope: their sum is last stage − first stage to the nanosecond.
    ///
    /// A stage that was not seen merges its two segments into the one that ends at the next seen
    /// stage. With a wake chain, wakeup → running is split into the run-queue waits of all its
    /// threads and the hand-offs between them. A reader that did not sleep has `busy` in place of
    /// wakeup, run queue and read.
    pub fn segments(&self) -> Segments {
        let mut segments = Segments::default();
        self.each_span(&mut |span| segments.add(span.segment, span.to - span.from));
        segments
    }

    /// Calls `out` with each interval in order. Each begins where the previous one ended.
    pub fn each_span<'a>(&'a self, out: &mut dyn FnMut(SegmentSpan<'a>)) {
        let mut previous: Option<(Stage, Nanos)> = None;
        for (stage, at) in self.times.seen() {
            if let Some(before) = previous {
                self.between(before, (stage, at.max(before.1)), out);
            }
            previous = Some((stage, at));
        }
    }

    fn between<'a>(
        &'a self,
        (before, from): (Stage, Nanos),
        (stage, to): (Stage, Nanos),
        out: &mut dyn FnMut(SegmentSpan<'a>),
    ) {
        let segment = match stage {
            Stage::Publish => return,
            // The transmission of the copy that arrived was not seen.
            _ if before == Stage::Lost => Segment::Loss,
            Stage::Send => Segment::ClientTx,
            Stage::Sent => Segment::Write,
            Stage::Lost | Stage::Queue => Segment::SocketTx,
            Stage::Xmit => Segment::Qdisc,
            Stage::Rx => Segment::Wire,
            Stage::Ready => Segment::StackRx,
            Stage::Wakeup => Segment::Wakeup,
            Stage::Running => return self.chain_spans(from, to, out),
            Stage::Read if before == Stage::Running => Segment::Read,
            Stage::Read => Segment::Busy,
            Stage::Deliver => Segment::ClientRx,
        };
        out(SegmentSpan { segment, from, to, hop: None });
    }

    /// How long each thread of the chain waited for a CPU after [`Stage::Wakeup`]. The sum is the segment [`Segment::RunQueue`].
    pub fn run_queue_waits(&self) -> impl Iterator<Item = (&Hop, Nanos)> + '_ {
        let mut at = self.times.get(Stage::Wakeup).unwrap_or_default();
        let to = self.times.get(Stage::Running).unwrap_or_default().max(at);
        self.chain.iter().enumerate().map(move |(index, hop)| {
            if index > 0 {
                at = hop.woken.clamp(at, to);
            }
            let running = hop.running.clamp(at, to);
            (hop, running - std::mem::replace(&mut at, running))
        })
    }

    /// Splits the interval `from..to` at the wakeups and switches of the chain.
    fn chain_spans<'a>(&'a self, from: Nanos, to: Nanos, out: &mut dyn FnMut(SegmentSpan<'a>)) {
        let mut at = from;
        let mut advance = |segment, until: Nanos, hop| {
            let until = until.clamp(at, to);
            let from = std::mem::replace(&mut at, until);
            out(SegmentSpan { segment, from, to: until, hop });
        };
        let mut last = None;
        for hop in &self.chain {
            if last.is_some() {
                advance(Segment::Handoff, hop.woken, last);
            }
            advance(Segment::RunQueue, hop.running, Some(hop));
            last = Some(hop);
        }
        advance(Segment::RunQueue, to, None);
    }
}

/// One message at one reader, which is the unit of every statistic.
///
/// A message with several readers has several deliveries with the same message id and the same first leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: MessageId,
    /// The row that it belongs to.
    pub group: GroupId,
    /// The stamp of a workload's message, if the payload has one.
    pub stamp: Option<Stamp>,
    /// Bytes of its payload.
    pub payload_len: u64,
    /// Its topic, if the names of topics are kept.
    pub topic: Option<TopicId>,
    /// Its legs in order; at least one.
    pub legs: ArrayVec<Leg, MAX_LEGS>,
    /// The off-CPU times of each leg, in the same order; empty if no thread is known.
    pub off_cpu: ArrayVec<LegOffCpu, MAX_LEGS>,
}

impl Delivery {
    /// The off-CPU times of a leg.
    pub fn off_cpu_of(&self, leg: usize) -> &LegOffCpu {
        self.off_cpu.get(leg).unwrap_or(&LegOffCpu::NONE)
    }

    /// The one-way latency: from `send` of the first leg to `read` of the last. It begins with `publish` if the sender's library is
    /// known to have kept the message. If sends are not observed (UDP on some kernels, a sender on another host), it begins with the
    /// first stage that was seen. `None` if `read` was not seen, or time ran backwards.
    pub fn one_way(&self) -> Option<Nanos> {
        self.legs.last()?.times.get(Stage::Read)?.since(self.begins()?)
    }

    /// The moment that [`Delivery::one_way`] begins at.
    pub fn begins(&self) -> Option<Nanos> {
        self.legs.first()?.times.seen().next().map(|(_, at)| at)
    }

    /// The segments of each leg, with the dwell before it. Their sum is last stage − first stage.
    pub fn segments(&self) -> impl Iterator<Item = (usize, Segments)> + '_ {
        self.legs.iter().enumerate().map(|(index, leg)| {
            let mut segments = leg.segments();
            if let Some(dwell) = index.checked_sub(1).and_then(|before| self.dwell_after(before)) {
                segments.add(Segment::BrokerDwell, dwell);
            }
            (index, segments)
        })
    }

    /// The time from the last stage of leg `index` to the first stage of the next leg.
    fn dwell_after(&self, index: usize) -> Option<Nanos> {
        let (_, left) = self.legs.get(index)?.times.seen().next_back()?;
        let (_, entered) = self.legs.get(index.saturating_add(1))?.times.seen().next()?;
        Some(entered - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NetNs, Transport};

    fn leg(stages: &[(Stage, u64)], chain: &[(u64, u64)]) -> Leg {
        let mut times = StageTimes::default();
        for &(stage, at) in stages {
            times.set(stage, Nanos(at));
        }
        let any = "127.0.0.1:1".parse().unwrap();
        Leg {
            flow: FlowKey::new(Transport::Tcp, any, any, NetNs(0)),
            from: None,
            to: None,
            sender: None,
            reader: None,
            times,
            chain: chain
                .iter()
                .map(|&(woken, running)| Hop {
                    woken: Nanos(woken),
                    running: Nanos(running),
                    ..Hop::default()
                })
                .collect(),
            before: Vec::new(),
            flow_range: FlowRange::default(),
            circumstances: Circumstances::default(),
        }
    }

    #[test]
    fn a_missing_stage_merges_into_the_next() {
        let leg = leg(&[(Stage::Send, 10), (Stage::Xmit, 30), (Stage::Ready, 45)], &[]);
        let segments = leg.segments();
        assert_eq!(segments.get(Segment::SocketTx), None);
        assert_eq!(segments.get(Segment::Qdisc), Some(Nanos(20)));
        assert_eq!(segments.get(Segment::StackRx), Some(Nanos(15)));
        assert_eq!(segments.sum(), Nanos(35));
    }

    #[test]
    fn a_reader_that_did_not_sleep_was_busy() {
        let segments = leg(&[(Stage::Ready, 10), (Stage::Read, 60)], &[]).segments();
        assert_eq!(segments.get(Segment::Busy), Some(Nanos(50)));
        assert_eq!(segments.sched_gap(), None);
    }

    #[test]
    fn a_wake_chain_is_split_at_every_thread() {
        let stages =
            [(Stage::Ready, 0), (Stage::Wakeup, 5), (Stage::Running, 40), (Stage::Read, 50)];
        let segments = leg(&stages, &[(5, 12), (20, 40)]).segments();
        assert_eq!(segments.get(Segment::Wakeup), Some(Nanos(5)));
        assert_eq!(segments.get(Segment::RunQueue), Some(Nanos(7 + 20)));
        assert_eq!(segments.get(Segment::Handoff), Some(Nanos(8)));
        let waits = leg(&stages, &[(5, 12), (20, 40)]);
        let waits: Vec<_> = waits.run_queue_waits().map(|(_, wait)| wait.0).collect();
        assert_eq!(waits, [7, 20]);
        assert_eq!(segments.get(Segment::Read), Some(Nanos(10)));
        assert_eq!(segments.sum(), Nanos(50));
        let mut spans = Vec::new();
        let leg = leg(&stages, &[(5, 12), (20, 40)]);
        leg.each_span(&mut |s| spans.push((s.from.0, s.to.0, s.hop.map(|hop| hop.woken.0))));
        let expected = [
            (0, 5, None),
            (5, 12, Some(5)),
            (12, 20, Some(5)),
            (20, 40, Some(20)),
            (40, 40, None),
            (40, 50, None),
        ];
        assert_eq!(spans, expected);
    }

    #[test]
    fn one_way_begins_at_the_first_stage_that_was_seen() {
        let mut delivery = Delivery {
            message: MessageId(1),
            group: GroupId(0),
            stamp: None,
            payload_len: 64,
            topic: None,
            legs: [leg(&[(Stage::Xmit, 5), (Stage::Read, 9)], &[])].into_iter().collect(),
            off_cpu: ArrayVec::new(),
        };
        assert_eq!(delivery.one_way(), Some(Nanos(4)));
        delivery.legs[0].times.set(Stage::Publish, Nanos(1));
        assert_eq!(delivery.one_way(), Some(Nanos(8)), "its sender's library kept it");
        delivery.legs[0].times.clear(Stage::Read);
        assert_eq!(delivery.one_way(), None);
    }

    #[test]
    fn legs_and_dwell_telescope() {
        let delivery = Delivery {
            message: MessageId(1),
            group: GroupId(0),
            stamp: None,
            payload_len: 64,
            topic: None,
            legs: [
                leg(&[(Stage::Send, 100), (Stage::Read, 150)], &[]),
                leg(&[(Stage::Send, 180), (Stage::Read, 400)], &[]),
            ]
            .into_iter()
            .collect(),
            off_cpu: ArrayVec::new(),
        };
        let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
        assert_eq!(Some(sum), delivery.one_way());
        assert_eq!(sum, Nanos(300));
    }
}
