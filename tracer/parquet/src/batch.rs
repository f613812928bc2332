//! The parts of a delivery that are kept until it is written.

use arrayvec::ArrayVec;
use wirelap_correlate::{BlameSink, BlamedPart, Cause, blame};
use wirelap_events::{
    Delivery, FlowKey, Leg, MAX_LEGS, MessageId, Nanos, SampleStatus, Segment, Segments,
    StageTimes, Stamp, TaskId, TopicId,
};

/// Successive deliveries.
#[derive(Debug, Default)]
pub struct RowBatch {
    /// A row for each delivery.
    pub rows: Vec<DeliveryRow>,
    /// Times by leg, segment and cause that the deliveries spent, those of the first row first.
    pub spent: Vec<CauseTime>,
}

/// A delivery.
#[derive(Clone, Debug)]
pub struct DeliveryRow {
    /// The index of its origin.
    pub origin: usize,
    pub status: SampleStatus,
    pub message: MessageId,
    pub stamp: Option<Stamp>,
    pub topic: Option<TopicId>,
    pub payload_len: u64,
    /// The beginning of the time of [`DeliveryRow::one_way`].
    pub begins: Option<Nanos>,
    /// Known if the delivery was followed.
    pub one_way: Option<Nanos>,
    /// The largest error of that, because the message was sent and read on two hosts; 0 on one.
    pub clock_error: Nanos,
    pub legs: ArrayVec<RowLeg, MAX_LEGS>,
    /// The number of its entries in [`RowBatch::spent`].
    pub spent: usize,
}

/// A leg of a delivery.
#[derive(Clone, Debug)]
pub struct RowLeg {
    pub flow: FlowKey,
    pub sender: Option<TaskId>,
    pub reader: Option<TaskId>,
    /// Bytes of the message in the flow.
    pub bytes: u64,
    pub resent: bool,
    pub behind_loss: bool,
    pub deferred: bool,
    /// The largest error of times between its ends; 0 on one host.
    pub clock_error: Nanos,
    pub times: StageTimes,
    /// Known if the delivery was followed.
    pub segments: Option<Segments>,
}

/// Time that a delivery spent on a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseTime {
    /// 0 for the first leg.
    pub leg: usize,
    pub segment: Segment,
    pub cause: Cause,
    pub time: Nanos,
}

/// Collects the parts of one delivery's time, with one entry for each leg, segment and cause.
struct TimeParts<'a> {
    all: &'a mut Vec<CauseTime>,
    /// The index of the delivery's first entry.
    first: usize,
}

impl BlameSink for TimeParts<'_> {
    fn part(&mut self, part: BlamedPart<'_>) {
        let BlamedPart { leg, segment, cause, time, .. } = part;
        let own = self.all.get_mut(self.first..).unwrap_or_default();
        let is_same = |spent: &&mut CauseTime| {
            (spent.leg, spent.segment, spent.cause) == (leg, segment, cause)
        };
        match own.iter_mut().find(is_same) {
            Some(spent) => spent.time += time,
            None => self.all.push(CauseTime { leg, segment, cause, time }),
        }
    }
}

impl RowBatch {
    /// An empty batch with memory for as many rows.
    pub fn with_capacity(rows: usize) -> RowBatch {
        RowBatch {
            rows: Vec::with_capacity(rows),
            spent: Vec::with_capacity(rows.saturating_mul(16)),
        }
    }

    /// Adds a delivery.
    pub fn add(&mut self, origin: usize, delivery: &Delivery, status: SampleStatus) {
        let followed = status.is_followed();
        let first = self.spent.len();
        if followed {
            blame(delivery, &mut TimeParts { all: &mut self.spent, first });
        }
        let legs = delivery
            .segments()
            .map(|(index, segments)| row_leg(&delivery.legs[index], followed.then_some(segments)));
        self.rows.push(DeliveryRow {
            origin,
            status,
            message: delivery.message,
            stamp: delivery.stamp,
            topic: delivery.topic,
            payload_len: delivery.payload_len,
            begins: delivery.begins(),
            one_way: delivery.one_way().filter(|_| followed),
            clock_error: delivery.clock_error,
            legs: legs.collect(),
            spent: self.spent.len().saturating_sub(first),
        });
    }
}

fn row_leg(leg: &Leg, segments: Option<Segments>) -> RowLeg {
    RowLeg {
        flow: leg.flow,
        sender: leg.sender,
        reader: leg.reader,
        bytes: leg.flow_range.range.len(),
        resent: leg.circumstances.loss.resent,
        behind_loss: leg.circumstances.loss.behind,
        deferred: leg.circumstances.path.deferred,
        clock_error: leg.circumstances.path.hosts.error,
        times: leg.times,
        segments,
    }
}
