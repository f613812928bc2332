//! A message's whole life: from its first send to one reader.

use crate::{
    Ask, CgroupId, DropCause, FlowKey, FlowRange, Holder, Nanos, OTHERS, OffCpuReason, Permit,
    Recovery, Segment, Segments, Sleep, SocketId, Stage, StageTimes, Stamp, TaskId, TxState,
};
use arrayvec::ArrayVec;
use std::ops::Add;

/// The most legs that one delivery can have; a message forwarded more often is reported without the
/// legs beyond.
pub const MAX_LEGS: usize = 4;

/// The most threads in a wake chain; longer chains keep the last ones.
pub const MAX_HOPS: usize = 4;

/// A message, unique in one run of wirelap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// A topic, subject or key expression: a number for its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u32);

/// A row of the comparison: one middleware at one broker, or one labelled workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// One thread in a wake chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The thread.
    pub task: TaskId,
    /// When it was woken.
    pub woken: Nanos,
    /// When it ran.
    pub running: Nanos,
    /// When it had left the CPU before; `None` if that was not seen.
    pub left: Option<Nanos>,
    /// Why it had left it.
    pub rest: OffCpuReason,
    /// An interrupt woke it (data that came in, or a timer), not another thread.
    pub from_irq: bool,
    /// It had run on another CPU before.
    pub migrated: bool,
    /// Who had the CPU the longest while it waited for it.
    pub holder: Holder,
    /// What it slept on, if it slept.
    pub sleep: Sleep,
}

/// How a thread did not run in a stretch of time. The rest of the time it was at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpu {
    /// It slept, or was stopped.
    pub asleep: Nanos,
    /// It could have run, and had no CPU.
    pub waited: Nanos,
    /// How often it lost the CPU against its will.
    pub preemptions: u32,
    /// Who had the CPU the longest while it waited.
    pub holder: Holder,
    /// Who else had it, the longest first. What all of them and `throttled` leave of `waited` is not known.
    pub others: [Holder; OTHERS],
    /// How much of `waited` its cgroup had no CPU quota left.
    pub throttled: Nanos,
    /// The cgroup that had none left; 0 if `throttled` is.
    pub cgroup: CgroupId,
    /// How much of `asleep` it waited for another thread: slept on a lock until one of its own process let go, or
    /// until another process woke it.
    pub locked: Nanos,
    /// How much of `asleep` nothing that came in could have woken it: stopped, blocked in the kernel, or asleep for a time
    /// of its own choice.
    pub deaf: Nanos,
    /// The thread that ended the longest of these sleeps; `held`: how long that had a CPU meanwhile, 0 if it is not
    /// known.
    pub waker: Holder,
}

impl OffCpu {
    /// Not at all.
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

    /// Who had the CPU while it waited, the longest first.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.holder).chain(&self.others).filter(|holder| holder.held > Nanos(0))
    }

    /// Another had the CPU for a part of its waits. Of many, those that had it the shortest are left out.
    pub fn hold(&mut self, holder: &Holder) {
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
        rhs.holders().for_each(|holder| sum.hold(holder));
        sum
    }
}

/// How the threads of a leg rested while they had the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegOffCpu {
    /// What the first thread of the wake chain did between ready and wakeup; `None` if it was not followed.
    pub before_wakeup: Option<OffCpu>,
    /// How the reader rested between running (or ready, if it was running then) and read; `None` if it was not followed.
    pub reader: Option<OffCpu>,
    /// Of a leg after the first: how the forwarder's thread that was at work first rested during the dwell,
    /// until it led to the others; of the thread that had read the message, until it was woken the last time; `None` if it
    /// was not followed.
    pub dwell: Option<OffCpu>,
    /// How the sender rested between the last time that it was woken during the dwell, and its send; `None` if it was
    /// not followed.
    pub sender: Option<OffCpu>,
    /// How the reader rested while the forwarder had the message and it had not yet asked for it, as far as it could have
    /// asked; `None` if it asked before, or was not followed.
    pub asker: Option<OffCpu>,
    /// How the threads of the wake chain waited for a CPU after their wakeups.
    pub chain: OffCpu,
    /// The same of the threads that ran before the send.
    pub before: OffCpu,
    /// How the threads of the wake chain but the last rested from when they ran until they woke the next.
    pub handoff: OffCpu,
    /// The same of the threads that ran before the send.
    pub handing: OffCpu,
    /// What the thread did between send and sent that the rest of the message had to wait for: the reader, or the sender if
    /// it [came late](Circumstances::is_late_write) with it.
    pub writing: OffCpu,
    /// What the reader did between sent and [`Circumstances::unread_until`].
    pub unread: OffCpu,
}

impl LegOffCpu {
    /// No thread was seen to rest.
    pub const NONE: LegOffCpu = LegOffCpu {
        before_wakeup: None,
        reader: Some(OffCpu::NONE),
        dwell: Some(OffCpu::NONE),
        sender: Some(OffCpu::NONE),
        asker: None,
        chain: OffCpu::NONE,
        before: OffCpu::NONE,
        handoff: OffCpu::NONE,
        handing: OffCpu::NONE,
        writing: OffCpu::NONE,
        unread: OffCpu::NONE,
    };
}

/// What was seen of a leg beside its times: what a verdict stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Circumstances {
    /// The sender's TCP at the send that brought the last byte, and how long that send was.
    pub tx: Option<TxState>,
    /// Bytes of that send.
    pub send_len: u32,
    /// The last acknowledgement of earlier bytes that reached the sender before `queue` and after `sent`.
    pub acked: Option<Nanos>,
    /// Its last byte left in a segment as large as can be, or in several.
    pub whole_segment: bool,
    /// When the reader had read the bytes that were under way at `sent`, if that was after it: what waits in the sender's
    /// socket until then would otherwise wait in the reader's.
    pub unread_until: Option<Nanos>,
    /// Some of its bytes were lost, and sent again: by TCP, or in datagrams by the protocol itself.
    pub resent: bool,
    /// Earlier bytes of the connection were lost, and it had to wait until they had arrived.
    pub behind_loss: bool,
    /// How long earlier bytes, or the news that they had arrived, were missing while it was being written.
    pub loss_in_write: Nanos,
    /// The same while its last byte waited in the sender's socket.
    pub loss_in_socket: Nanos,
    /// The last time before its send in which bytes of the connection, of either direction, were lost and not yet
    /// there, from when to when: what the receiver asked for, or acknowledged, may be among them.
    pub missing: Option<(Nanos, Nanos)>,
    /// A loss shortly before had made the congestion window smaller, and it was not as large again.
    pub shrunk_by_loss: bool,
    /// What made TCP send again what was lost; `None` if nothing was, or that was not seen.
    pub recovery: Option<Recovery>,
    /// Why it was lost, where this host's kernel threw it away.
    pub dropped: Option<DropCause>,
    /// Its last packet was left to `ksoftirqd`.
    pub deferred: bool,
    /// The last request for messages that the receiver made on this connection (Kafka `Fetch`, a NATS
    /// pull) and the sender had read before `send`; `None` where messages are pushed.
    pub asked: Option<Nanos>,
    /// When the sender had read that request, as far as it was seen.
    pub taken: Option<Nanos>,
    /// When all that the receiver got before it made that request was there: from then on it could have asked.
    pub free_since: Option<Nanos>,
    /// TCP had to send that request again.
    pub ask_resent: bool,
    /// TCP had to send again what the receiver got before it asked: it could not ask earlier.
    pub asked_after_loss: bool,
    /// How long that request let the sender wait; `None` if it did not say.
    pub ask: Option<Ask>,
    /// When the sender had read the last of the messages that it sent in answer to that request, as far as they were
    /// seen.
    pub filled: Option<Nanos>,
    /// It is a transaction's, and its receiver takes what is committed only.
    pub awaits_commit: bool,
    /// Since when the sender was allowed to pass the message on, if it had to wait for that after it had read it.
    pub permit: Option<Permit>,
    /// The last acknowledgement before which the sender may not have been allowed to send more to this receiver.
    pub room: Option<Room>,
    /// A keep-alive or discovery frame was on the same connection while the message was under way.
    pub beside_upkeep: bool,
    /// One of the first messages of its connection, or sent within a second of its opening.
    pub start_up: bool,
    /// Of a leg whose sender sends the message to several readers, one after the other: its place among them. `None` for the
    /// first, and where several threads send.
    pub fan_out: Option<FanOut>,
}

impl Circumstances {
    /// All that was written before had left and had arrived when the sender came with the rest.
    pub fn is_late_write(&self) -> bool {
        self.tx.is_some_and(|tx| tx.in_flight == 0 && tx.unsent == 0)
    }
}

/// A receiver acknowledged a message when as many were unacknowledged as ever: its sender may send one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// When the acknowledgement was found.
    pub at: Nanos,
    /// When all that the receiver got before was there: from then on it could have acknowledged it. 0 for one that had
    /// as many all the time: that the network was slow is not why.
    pub free_since: Option<Nanos>,
}

impl Circumstances {
    /// When the receiver let its sender go on, and since when it could have: by a request, or an acknowledgement.
    pub fn let_on(&self) -> Option<(Nanos, Option<Nanos>)> {
        let by_request = self.asked.map(|asked| (asked, self.free_since));
        by_request.or(self.room.map(|room| (room.at, room.free_since)))
    }
}

/// The place of a leg among those that one thread sends one message on, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanOut {
    /// 1 for the first.
    pub position: u32,
    /// How many there are, as far as they were seen.
    pub readers: u32,
    /// When the thread sent the message to the first of them.
    pub first_sent: Nanos,
}

/// A stretch of a leg's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// What it is.
    pub segment: Segment,
    /// When it begins.
    pub from: Nanos,
    /// When it ends; not before it begins.
    pub to: Nanos,
    /// The thread of the wake chain that waits for a CPU, or runs until it hands on; `None` beyond the
    /// chain.
    pub hop: Option<&'a Hop>,
}

/// One socket-to-socket hop of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The flow that it travelled on.
    pub flow: FlowKey,
    /// The sending socket, if it is on this host.
    pub from: Option<SocketId>,
    /// The receiving socket, if it is on this host.
    pub to: Option<SocketId>,
    /// The thread that sent its first byte.
    pub sender: Option<TaskId>,
    /// The thread that read its last byte.
    pub reader: Option<TaskId>,
    /// When it passed each stage.
    pub times: StageTimes,
    /// The threads that were woken for it, the reader last; empty if the reader was not asleep.
    pub chain: Vec<Hop>,
    /// The threads that ran before its send, each woken by the one before it, the sender last. Of a leg
    /// after the first: what the forwarder's threads did during the dwell.
    pub before: Vec<Hop>,
    /// Its bytes, from the first of its first frame to the last of its last.
    pub stretch: FlowRange,
    /// What else was seen.
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

    /// Hands out the same times one by one, each from where the one before ended.
    pub fn each_span<'a>(&'a self, out: &mut dyn FnMut(Span<'a>)) {
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
        out: &mut dyn FnMut(Span<'a>),
    ) {
        let segment = match stage {
            Stage::Publish => return,
            // The copy that arrived left unseen.
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
        out(Span { segment, from, to, hop: None });
    }

    /// The waits of the chain's threads for a CPU, after [`Stage::Wakeup`]: together the segment
    /// [`Segment::RunQueue`].
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

    /// Splits `from..to` at the chain's wakeups and switches.
    fn chain_spans<'a>(&'a self, from: Nanos, to: Nanos, out: &mut dyn FnMut(Span<'a>)) {
        let mut at = from;
        let mut advance = |segment, until: Nanos, hop| {
            let until = until.clamp(at, to);
            let from = std::mem::replace(&mut at, until);
            out(Span { segment, from, to: until, hop });
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

/// One message at one reader: the unit of every statistic.
///
/// Fan-out is several deliveries with the same message id and the same first leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: MessageId,
    /// The row that it belongs to.
    pub group: GroupId,
    /// The workload's header, if the payload had one.
    pub stamp: Option<Stamp>,
    /// Bytes of its payload.
    pub payload_len: u64,
    /// Its topic, where whoever found it keeps the names of topics.
    pub topic: Option<TopicId>,
    /// Its legs in order; at least one.
    pub legs: ArrayVec<Leg, MAX_LEGS>,
    /// How the threads of each leg rested, in the same order; empty if no thread is known.
    pub rests: ArrayVec<LegOffCpu, MAX_LEGS>,
}

impl Delivery {
    /// How the threads of a leg rested.
    pub fn rests_of(&self, leg: usize) -> &LegOffCpu {
        self.rests.get(leg).unwrap_or(&LegOffCpu::NONE)
    }

    /// One-way latency: first leg's `send` → last leg's `read`. It begins with `publish` where the sender's library is
    /// known to have kept the message. Where no hook tells of sends (some kernels' UDP, a sender on another host), the
    /// first stage after it stands for it. `None` when an end was not seen, or time ran backwards.
    pub fn one_way(&self) -> Option<Nanos> {
        self.legs.last()?.times.get(Stage::Read)?.since(self.begins()?)
    }

    /// The moment that [`Delivery::one_way`] begins at.
    pub fn begins(&self) -> Option<Nanos> {
        self.legs.first()?.times.seen().next().map(|(_, at)| at)
    }

    /// Each leg's segments, with the dwell before it; together they sum to
    /// last stage − first stage.
    pub fn segments(&self) -> impl Iterator<Item = (usize, Segments)> + '_ {
        self.legs.iter().enumerate().map(|(index, leg)| {
            let mut segments = leg.segments();
            if let Some(dwell) = index.checked_sub(1).and_then(|before| self.dwell_after(before)) {
                segments.add(Segment::BrokerDwell, dwell);
            }
            (index, segments)
        })
    }

    /// Time from leg `index`'s last stage to the next leg's first.
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
            stretch: FlowRange::default(),
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
            rests: ArrayVec::new(),
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
            rests: ArrayVec::new(),
        };
        let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
        assert_eq!(Some(sum), delivery.one_way());
        assert_eq!(sum, Nanos(300));
    }
}
