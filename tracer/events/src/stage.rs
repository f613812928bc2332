//! The stages of a leg and the segments between them.

use crate::Nanos;

/// A point in a leg's life, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// The application hands the message to the client library. Known of our workloads, and of a message that says so
    /// itself (DDS) where the library is known to have kept it.
    Publish,
    /// The message's first byte enters the kernel.
    Send,
    /// Entry of the socket send that brings its last byte.
    Sent,
    /// The packet with its last byte leaves the socket for the first time, and is lost on its way; what follows is
    /// about the copy that arrived. Not passed where the first copy did.
    Lost,
    /// The packet with its last byte reaches the qdisc.
    Queue,
    /// … and is handed to the NIC queue.
    Xmit,
    /// … and is received at the other end.
    Rx,
    /// The receiving socket has all of it.
    Ready,
    /// The reading thread is woken.
    Wakeup,
    /// The reading thread runs.
    Running,
    /// Exit of the receive call that takes its last byte.
    Read,
    /// The application's callback runs (our workloads only).
    Deliver,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: [Stage; 12] = [
        Stage::Publish,
        Stage::Send,
        Stage::Sent,
        Stage::Lost,
        Stage::Queue,
        Stage::Xmit,
        Stage::Rx,
        Stage::Ready,
        Stage::Wakeup,
        Stage::Running,
        Stage::Read,
        Stage::Deliver,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Publish => "publish",
            Stage::Send => "send",
            Stage::Sent => "sent",
            Stage::Lost => "lost",
            Stage::Queue => "queue",
            Stage::Xmit => "xmit",
            Stage::Rx => "rx",
            Stage::Ready => "ready",
            Stage::Wakeup => "wakeup",
            Stage::Running => "running",
            Stage::Read => "read",
            Stage::Deliver => "deliver",
        }
    }
}

/// The time between two neighbouring stages, or between two legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Segment {
    /// Publish → send: the client library.
    ClientTx,
    /// Send → sent: the sender writes in parts.
    Write,
    /// Sent → queue, or lost: Nagle, congestion window, pacing.
    SocketTx,
    /// Lost → queue: from the first transmission of the packet with its last byte to that of the copy that arrived.
    Loss,
    /// Queue → xmit.
    Qdisc,
    /// Xmit → rx.
    Wire,
    /// Rx → ready: the receiver's network stack, reordering included.
    StackRx,
    /// Ready → wakeup.
    Wakeup,
    /// Wakeup → running: the reading thread waits for a CPU.
    RunQueue,
    /// In a chain of threads: one runs until it wakes the next.
    Handoff,
    /// Ready → read by a thread that was not asleep: the application's own time.
    Busy,
    /// Running → read.
    Read,
    /// Read → deliver: the client library.
    ClientRx,
    /// One leg's read → the next leg's send: the broker.
    BrokerDwell,
}

impl Segment {
    /// Every segment, in the order of a message's life.
    pub const ALL: [Segment; 14] = [
        Segment::ClientTx,
        Segment::Write,
        Segment::SocketTx,
        Segment::Loss,
        Segment::Qdisc,
        Segment::Wire,
        Segment::StackRx,
        Segment::Wakeup,
        Segment::RunQueue,
        Segment::Handoff,
        Segment::Busy,
        Segment::Read,
        Segment::ClientRx,
        Segment::BrokerDwell,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Segment::ClientTx => "client_tx",
            Segment::Write => "write",
            Segment::SocketTx => "socket_tx",
            Segment::Loss => "loss",
            Segment::Qdisc => "qdisc",
            Segment::Wire => "wire",
            Segment::StackRx => "stack_rx",
            Segment::Wakeup => "wakeup",
            Segment::RunQueue => "runqueue",
            Segment::Handoff => "handoff",
            Segment::Busy => "busy",
            Segment::Read => "read",
            Segment::ClientRx => "client_rx",
            Segment::BrokerDwell => "broker_dwell",
        }
    }

    /// Whether this time is the scheduler's: together these are the scheduling gap.
    pub const fn is_sched_gap(self) -> bool {
        matches!(self, Segment::Wakeup | Segment::RunQueue)
    }
}

/// When a leg passed each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// 0 where the stage was not seen.
    times: [Nanos; Stage::ALL.len()],
    /// A bit for each stage that was seen.
    seen: u16,
}

impl StageTimes {
    /// When the stage was passed.
    pub fn get(&self, stage: Stage) -> Option<Nanos> {
        (self.seen >> stage as u16 & 1 == 1).then(|| self.times[stage as usize])
    }

    /// Records a stage; a later call replaces an earlier one.
    pub fn set(&mut self, stage: Stage, at: Nanos) {
        self.times[stage as usize] = at;
        self.seen |= 1 << stage as u16;
    }

    /// Forgets a stage.
    pub fn clear(&mut self, stage: Stage) {
        self.times[stage as usize] = Nanos(0);
        self.seen &= !(1 << stage as u16);
    }

    /// The stages that were seen, in order.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = (Stage, Nanos)> + '_ {
        Bits(self.seen).map(|index| (Stage::ALL[index], self.times[index]))
    }

    /// Whether time never runs backwards from one seen stage to the next.
    pub fn is_monotonic(&self) -> bool {
        let mut last = Nanos(0);
        self.seen().all(|(_, at)| at >= std::mem::replace(&mut last, at))
    }
}

/// Time spent in each segment of a leg. Absent is not the same as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// 0 where the leg had no such segment.
    times: [Nanos; Segment::ALL.len()],
    /// A bit for each segment that it had.
    had: u16,
}

impl Segments {
    /// The time in a segment, if the leg had it.
    pub fn get(&self, segment: Segment) -> Option<Nanos> {
        (self.had >> segment as u16 & 1 == 1).then(|| self.times[segment as usize])
    }

    /// Adds time to a segment.
    pub fn add(&mut self, segment: Segment, time: Nanos) {
        let slot = &mut self.times[segment as usize];
        *slot += time;
        self.had |= 1 << segment as u16;
    }

    /// The others.
    #[must_use]
    pub fn without(mut self, segment: Segment) -> Segments {
        self.times[segment as usize] = Nanos(0);
        self.had &= !(1 << segment as u16);
        self
    }

    /// The segments that the leg had, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Segment, Nanos)> + '_ {
        Bits(self.had).map(|index| (Segment::ALL[index], self.times[index]))
    }

    /// All of them together.
    pub fn sum(&self) -> Nanos {
        self.iter().fold(Nanos(0), |sum, (_, time)| sum + time)
    }

    /// The scheduling gap: wakeup and run queue; `None` if the reader did not sleep.
    pub fn sched_gap(&self) -> Option<Nanos> {
        self.iter()
            .filter(|(segment, _)| segment.is_sched_gap())
            .map(|(_, time)| time)
            .reduce(|a, b| a + b)
    }
}

/// The numbers of the bits that are set, the lowest first. Each message's stages are walked many times, and few of
/// them were seen.
struct Bits(u16);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let lowest = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0.saturating_sub(1);
        Some(lowest as usize)
    }

    fn last(mut self) -> Option<usize> {
        self.next_back()
    }
}

impl DoubleEndedIterator for Bits {
    fn next_back(&mut self) -> Option<usize> {
        let highest = self.0.checked_ilog2()?;
        self.0 &= !(1 << highest);
        Some(highest as usize)
    }
}
