//! The stages of a leg and the segments between them.

use crate::Nanos;
use crate::all_variants;
use strum::{IntoStaticStr, VariantArray};

/// A moment that a message passes on a leg. The variants are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "snake_case")]
pub enum Stage {
    /// The application passes the message to the client library. Known for wirelap's workloads, and for messages that contain this
    /// time (DDS) if the library is known to have kept them.
    Publish,
    /// The first byte of the message enters the kernel.
    Send,
    /// The send call that brings the last byte enters the kernel.
    Sent,
    /// The packet with the last byte leaves the socket for the first time and is lost on its way; the later stages are those of the
    /// copy that arrived. Absent if the first copy arrived.
    Lost,
    /// The packet with the last byte reaches the qdisc.
    Queue,
    /// The packet with the last byte is handed to the NIC queue.
    Xmit,
    /// The packet with the last byte is received at the other end.
    Rx,
    /// The receiving socket has the complete message.
    Ready,
    /// The reading thread is woken.
    Wakeup,
    /// The reading thread runs.
    Running,
    /// The receive call that takes the last byte returns.
    Read,
    /// The callback of the application runs (wirelap's workloads only).
    Deliver,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Stage; Stage::VARIANTS.len()] = all_variants();

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The time between two neighbouring stages, or between two legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "snake_case")]
pub enum Segment {
    /// From publish to send: in the client library.
    ClientTx,
    /// From send to sent: the sender writes the message in several calls.
    Write,
    /// From sent to queue, or to lost: in the socket (Nagle, congestion window, pacing).
    SocketTx,
    /// From lost to queue: from the first transmission of the packet with the last byte to that of the copy that arrived.
    Loss,
    /// From queue to xmit: in the qdisc.
    Qdisc,
    /// From xmit to rx: on the network.
    Wire,
    /// From rx to ready: in the receiver's network stack, reordering included.
    StackRx,
    /// From ready to wakeup.
    Wakeup,
    /// From wakeup to running: the reading thread waits for a CPU.
    #[strum(serialize = "runqueue")]
    RunQueue,
    /// In a wake chain: a thread runs until it wakes the next one.
    Handoff,
    /// From ready to read, by a thread that was not asleep: the application is busy.
    Busy,
    /// To read, where it is not observed whether the reader sleeps: from the last stage that was.
    InKernel,
    /// From running to read.
    Read,
    /// From read to deliver: in the client library.
    ClientRx,
    /// From read of one leg to send of the next: in the broker.
    BrokerDwell,
}

impl Segment {
    /// All segments, in the order in which a message passes them.
    pub const ALL: [Segment; Segment::VARIANTS.len()] = all_variants();

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if the segment belongs to the scheduling gap, the time that the scheduler causes.
    pub const fn is_sched_gap(self) -> bool {
        matches!(self, Segment::Wakeup | Segment::RunQueue)
    }
}

/// The times at which a message passed the stages of a leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// 0 where the stage was not seen.
    times: [Nanos; Stage::ALL.len()],
    /// A bit for each stage that was seen.
    seen: u16,
}

impl StageTimes {
    /// Time at which the stage was passed; `None` if it was not seen.
    pub fn get(&self, stage: Stage) -> Option<Nanos> {
        (self.seen >> stage as u16 & 1 == 1).then(|| self.times[stage as usize])
    }

    /// Sets the time of a stage.
    pub fn set(&mut self, stage: Stage, at: Nanos) {
        self.times[stage as usize] = at;
        self.seen |= 1 << stage as u16;
    }

    /// Removes the time of a stage.
    pub fn clear(&mut self, stage: Stage) {
        self.times[stage as usize] = Nanos(0);
        self.seen &= !(1 << stage as u16);
    }

    /// The stages that were seen, in order, with their times.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = (Stage, Nanos)> + '_ {
        Bits(self.seen).map(|index| (Stage::ALL[index], self.times[index]))
    }

    /// True if time never runs backwards from one seen stage to the next.
    pub fn is_monotonic(&self) -> bool {
        let mut last = Nanos(0);
        self.seen().all(|(_, at)| at >= std::mem::replace(&mut last, at))
    }
}

/// The time spent in each segment of a leg. A segment that the leg did not have is different from one with time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// 0 where the leg had no such segment.
    times: [Nanos; Segment::ALL.len()],
    /// A bit for each segment that it had.
    had: u16,
}

impl Segments {
    /// The time in a segment; `None` if the leg did not have it.
    pub fn get(&self, segment: Segment) -> Option<Nanos> {
        (self.had >> segment as u16 & 1 == 1).then(|| self.times[segment as usize])
    }

    /// Adds time to a segment.
    pub fn add(&mut self, segment: Segment, time: Nanos) {
        let slot = &mut self.times[segment as usize];
        *slot += time;
        self.had |= 1 << segment as u16;
    }

    /// All segments except this one.
    #[must_use]
    pub fn without(mut self, segment: Segment) -> Segments {
        self.times[segment as usize] = Nanos(0);
        self.had &= !(1 << segment as u16);
        self
    }

    /// The segments that the leg had, in order, with their times.
    pub fn iter(&self) -> impl Iterator<Item = (Segment, Nanos)> + '_ {
        Bits(self.had).map(|index| (Segment::ALL[index], self.times[index]))
    }

    /// The sum of all segments.
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

/// The numbers of the bits that are set, the lowest first. This is faster than checking each bit, because few stages are seen and
/// they are walked many times for each message.
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
