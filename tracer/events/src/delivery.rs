//! A message's whole life: from its first send to one reader.

use crate::{
    FlowKey, Holder, Nanos, Rest, Segment, Segments, SocketId, Stage, StageTimes, Stamp, TaskId,
    TxState,
};
use arrayvec::ArrayVec;

/// The most legs that one delivery can have; a message forwarded more often is reported without the
/// legs beyond.
pub const MAX_LEGS: usize = 4;

/// The most threads in a wake chain; longer chains keep the last ones.
pub const MAX_HOPS: usize = 4;

/// A message, unique in one run of wirelap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

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
    /// How long it had run until then, as far as that was seen.
    pub ran: Nanos,
    /// Why it had left it.
    pub rest: Rest,
    /// An interrupt woke it (data that came in, or a timer), not another thread.
    pub from_irq: bool,
    /// It had run on another CPU before.
    pub migrated: bool,
    /// Who had the CPU while it waited for it.
    pub holder: Holder,
}

/// Time in which a thread could have run, and others did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preemption {
    /// How long, all times together.
    pub time: Nanos,
    /// How often.
    pub times: u32,
    /// Who had the CPU the longest of the times.
    pub holder: Holder,
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
    /// TCP sent some of its bytes again.
    pub resent: bool,
    /// TCP sent earlier bytes again while it was under way: they were missing, and it had to wait.
    pub behind_loss: bool,
    /// Its last packet was received in `ksoftirqd`.
    pub deferred: bool,
    /// The reader was preempted between ready and read.
    pub reader_preempted: Preemption,
    /// The sender was preempted before its send: of a leg after the first, during the dwell.
    pub sender_preempted: Preemption,
    /// The last request for messages that the receiver made on this connection (Kafka `Fetch`, a NATS
    /// pull) and the sender had read before `send`; `None` where messages are pushed.
    pub asked: Option<Nanos>,
    /// A keep-alive or discovery frame was on the same connection while the message was under way.
    pub beside_upkeep: bool,
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
    pub chain: ArrayVec<Hop, MAX_HOPS>,
    /// The threads that ran before its send, each woken by the one before it, the sender last. Of a leg
    /// after the first: what the forwarder's threads did during the dwell.
    pub before: ArrayVec<Hop, MAX_HOPS>,
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
        let mut previous: Option<(Stage, Nanos)> = None;
        for (stage, at) in self.times.seen() {
            if let Some((from, since)) = previous {
                self.add_between(&mut segments, (from, since), (stage, at));
            }
            previous = Some((stage, at));
        }
        segments
    }

    fn add_between(&self, out: &mut Segments, from: (Stage, Nanos), to: (Stage, Nanos)) {
        let time = to.1 - from.1;
        match to.0 {
            Stage::Publish => {}
            Stage::Send => out.add(Segment::ClientTx, time),
            Stage::Sent => out.add(Segment::Write, time),
            Stage::Queue => out.add(Segment::SocketTx, time),
            Stage::Xmit => out.add(Segment::Qdisc, time),
            Stage::Rx => out.add(Segment::Wire, time),
            Stage::Ready => out.add(Segment::StackRx, time),
            Stage::Wakeup => out.add(Segment::Wakeup, time),
            Stage::Running => self.add_chain(out, from.1, to.1),
            Stage::Read if from.0 == Stage::Running => out.add(Segment::Read, time),
            Stage::Read => out.add(Segment::Busy, time),
            Stage::Deliver => out.add(Segment::ClientRx, time),
        }
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
    fn add_chain(&self, out: &mut Segments, from: Nanos, to: Nanos) {
        let mut at = from;
        let mut advance = |out: &mut Segments, segment, until: Nanos| {
            let until = until.clamp(at, to);
            out.add(segment, until - at);
            at = until;
        };
        for (index, hop) in self.chain.iter().enumerate() {
            if index > 0 {
                advance(out, Segment::Handoff, hop.woken);
            }
            advance(out, Segment::RunQueue, hop.running);
        }
        advance(out, Segment::RunQueue, to);
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
    /// Its legs in order; at least one.
    pub legs: ArrayVec<Leg, MAX_LEGS>,
}

impl Delivery {
    /// One-way latency on the wire: first leg's `send` → last leg's `read`. Where no hook tells of
    /// sends (some kernels' UDP, a sender on another host), the first stage after it stands for it.
    /// `None` when an end was not seen, or time ran backwards.
    pub fn one_way(&self) -> Option<Nanos> {
        let mut stages = self.legs.first()?.times.seen();
        let (_, sent) = stages.find(|&(stage, _)| stage >= Stage::Send)?;
        self.legs.last()?.times.get(Stage::Read)?.since(sent)
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
        let (_, left) = self.legs.get(index)?.times.seen().last()?;
        let (_, entered) = self.legs.get(index + 1)?.times.seen().next()?;
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
            before: ArrayVec::new(),
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
    }

    #[test]
    fn one_way_begins_at_the_first_stage_that_was_seen() {
        let mut delivery = Delivery {
            message: MessageId(1),
            group: GroupId(0),
            stamp: None,
            payload_len: 64,
            legs: [leg(&[(Stage::Publish, 1), (Stage::Xmit, 5), (Stage::Read, 9)], &[])]
                .into_iter()
                .collect(),
        };
        assert_eq!(delivery.one_way(), Some(Nanos(4)));
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
            legs: [
                leg(&[(Stage::Send, 100), (Stage::Read, 150)], &[]),
                leg(&[(Stage::Send, 180), (Stage::Read, 400)], &[]),
            ]
            .into_iter()
            .collect(),
        };
        let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
        assert_eq!(Some(sum), delivery.one_way());
        assert_eq!(sum, Nanos(300));
    }
}
