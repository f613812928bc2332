//! The delivery of a message to one reader, from its first send on.
//!
//! | module | contents |
//! |---|---|
//! | `leg` | one socket-to-socket hop of a message, its wake chain and its segments |
//! | `circumstances` | facts about a leg in addition to its times |
//! | `off_cpu` | why and how long the threads of a leg did not run |
//! | `sample_status` | whether a delivery counts |

mod circumstances;
mod leg;
mod off_cpu;
mod sample_status;

pub use circumstances::{
    AckRoundTrip, Circumstances, Credit, EarlierBytes, FanOut, Heard, LegHosts, LegLosses, LegPath,
    LinkQueue, MessageRequest, MissingBytes, ReaderArrival, ReplicaWait, SendPermission,
    SenderSocket,
};
pub use leg::{Hop, Leg, MAX_HOPS, SegmentSpan};
pub use off_cpu::{LegOffCpu, OffCpu};
pub use sample_status::SampleStatus;

use crate::{MessageTrace, Nanos, Segment, Segments, Stage, Stamp};
use arrayvec::ArrayVec;

/// The most legs of one delivery. Of a message that is forwarded more often, the further legs are not reported.
pub const MAX_LEGS: usize = 4;

/// The number of a message, unique in one run of wirelap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// The number of a topic, subject or key expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u32);

/// The number of a row of the comparison: one middleware at one broker, or one labelled workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// One message at one reader, which is the unit of every statistic.
///
/// A message with several readers has several deliveries with the same message id and the same first leg.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: MessageId,
    /// The row that it belongs to.
    pub group: GroupId,
    /// The stamp of a workload's message, if the payload has one.
    pub stamp: Option<Stamp>,
    /// Bytes of its payload.
    pub payload_len: u64,
    /// The message's topic, if the names of topics are kept.
    pub topic: Option<TopicId>,
    /// Facts by which its trace is told.
    pub trace: MessageTrace,
    /// The largest error of [`Delivery::one_way`]: 0 if the message was sent and read on one host, [`LegHosts::UNKNOWN`] if it is not
    /// known.
    pub clock_error: Nanos,
    /// The message's legs in order; at least one.
    pub legs: ArrayVec<Leg, MAX_LEGS>,
    /// The off-CPU times of each leg, in the same order; empty if no thread is known.
    pub off_cpu: ArrayVec<LegOffCpu, MAX_LEGS>,
}

impl Clone for Delivery {
    fn clone(&self) -> Delivery {
        Delivery { legs: self.legs.clone(), off_cpu: self.off_cpu.clone(), ..*self }
    }

    /// The room is used again. A delivery has room for as many legs as there can be, and only those that there are are copied.
    fn clone_from(&mut self, source: &Delivery) {
        let Delivery { message, group, stamp, payload_len, topic, trace, clock_error, .. } =
            *source;
        let Delivery { legs, off_cpu, .. } = source;
        (self.message, self.group, self.stamp) = (message, group, stamp);
        (self.payload_len, self.topic, self.trace) = (payload_len, topic, trace);
        self.clock_error = clock_error;
        self.legs.clone_from(legs);
        self.off_cpu.clone_from(off_cpu);
    }
}

impl Delivery {
    /// The off-CPU times of a leg.
    pub fn off_cpu_of(&self, leg: usize) -> &LegOffCpu {
        self.off_cpu.get(leg).unwrap_or(&LegOffCpu::NONE)
    }

    /// The one-way latency: from `send` of the first leg to `read` of the last. It begins with `publish` if the sender's library is
    /// known to have kept the message. If sends are not observed (UDP on some kernels, a sender on another host), it begins with the
    /// first stage that was seen. `None` if `read` was not seen, or time ran backwards by more than [`Delivery::clock_error`]: by less, it
    /// is 0.
    pub fn one_way(&self) -> Option<Nanos> {
        let (begins, read) = self.begin_and_read()?;
        if self.clock_error == LegHosts::UNKNOWN {
            return None;
        }
        read.since(begins).or((begins <= read + self.clock_error).then_some(Nanos(0)))
    }

    /// The least and the most that [`Delivery::one_way`] can be.
    pub fn one_way_range(&self) -> Option<[Nanos; 2]> {
        let (begins, read) = self.begin_and_read()?;
        Some(read.range_since(begins, self.clock_error))
    }

    fn begin_and_read(&self) -> Option<(Nanos, Nanos)> {
        Some((self.begins()?, self.legs.last()?.times.get(Stage::Read)?))
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
mod tests;
