//! A message's life on one leg.

use std::sync::Arc;
use wirelap_events::{
    Comm, FlowRange, MAX_LEGS, MessageId, Nanos, Pid, Segment, Segments, Stage, StageTimes, Tid,
};

/// The most bytes of a topic that a packet reports.
const TOPIC: usize = 256;

/// Middleware and broker that a message travelled with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageRow {
    /// The middleware, as the report calls it.
    pub middleware: String,
    /// The broker, as the report calls it.
    pub broker: Option<String>,
}

/// One end of a leg, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegEnd {
    /// The process; 0 if it is not known.
    pub pid: Pid,
    /// The thread; 0 if it is not known.
    pub tid: Tid,
    /// The process's name.
    pub name: Comm,
}

/// Status of a message: counted in the report's figures, or the reason why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStatus {
    /// The message is in the figures.
    Counted,
    /// The message is in no figure: it was sent to warm up.
    WarmUp,
    /// The message is in no figure: one of its ends was not seen.
    Partial,
    /// The message is in no figure: it was not seen to be delivered.
    Undelivered,
    /// The message is in no figure: it was not seen to be delivered by the end.
    UnderWay,
}

impl MessageStatus {
    /// True if the message was delivered, as far as is known.
    pub fn is_delivered(self) -> bool {
        !matches!(self, MessageStatus::Undelivered | MessageStatus::UnderWay)
    }
}

/// Segment in which a message lost more time than a typical message of its row, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegDelay {
    /// The cause: the verdict's name.
    pub cause: &'static str,
    /// The leg, 0 for the first.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// Time in the segment beyond that of a typical message.
    pub time: Nanos,
}

/// A message's life on one leg. Of several readers, the last one to have it.
#[derive(Clone, Debug)]
pub struct MessageLeg {
    /// The message.
    pub message: MessageId,
    /// Middleware and broker that the message travelled with.
    pub row: Arc<MessageRow>,
    /// The message's topic; empty if it has none, or that is not known.
    pub topic: Arc<[u8]>,
    /// Bytes of the message's payload.
    pub payload_len: u64,
    /// Status of the message: counted in the report's figures, or the reason why not.
    pub status: MessageStatus,
    /// Number of this leg, 0 for the first.
    pub leg: u8,
    /// Number of legs that the message has.
    pub legs: u8,
    /// The message's bytes on this leg.
    pub range: FlowRange,
    /// The first time that is known of the message, on its first leg.
    pub began: Nanos,
    /// Times at which the message passed each stage of this leg.
    pub times: StageTimes,
    /// Time of the message in each segment of this leg; the dwell before the leg included.
    pub segments: Segments,
    /// Process and thread that sent the message on this leg.
    pub sender: LegEnd,
    /// Process and thread that read the message on this leg.
    pub reader: LegEnd,
    /// From the first leg's send to the last leg's read.
    pub one_way: Option<Nanos>,
    /// Cause of the message's delay; `None` if nothing held it up.
    pub delay_cause: Option<LegDelay>,
    /// Leg, 0 for the first, and stage at which the message was seen last; `None` if it was seen to be delivered.
    pub last_seen: Option<(u8, Stage)>,
    /// Number of deliveries that this leg is a part of.
    pub readers: u32,
    /// The number of the packet with the last byte of each leg, in the file; 0 if it is not known.
    pub frames: [u64; MAX_LEGS],
}

/// Takes what packets carry, and later what became of the messages in them.
pub trait MessageSink {
    /// The packet that was the last to be taken carries these bytes.
    fn carries(&mut self, range: FlowRange);

    /// Takes all legs of a message, in order. The message's packets report them if they are still waiting.
    fn message(&mut self, legs: &mut Vec<MessageLeg>);
}

impl MessageLeg {
    /// As much of the topic as a line can have.
    pub(super) fn shown_topic(&self) -> &[u8] {
        &self.topic[..self.topic.len().min(TOPIC)]
    }

    /// Time at which the message passed a stage, in nanoseconds after the first time that is known of the message; `None` if not seen.
    pub(super) fn since_began(&self, stage: Stage) -> Option<i64> {
        let at = self.times.get(stage)?;
        Some(at.0.wrapping_sub(self.began.0).cast_signed())
    }

    /// Adds another reader of the same message on the same leg. The slower one is kept, of those that had it delivered.
    pub(crate) fn merge(&mut self, other: MessageLeg) {
        let readers = self.readers.saturating_add(other.readers);
        let rank = |leg: &MessageLeg| (leg.one_way, leg.status.is_delivered());
        if rank(&other) > rank(self) {
            *self = other;
        }
        self.readers = readers;
    }
}
