//! What became of a message, as a packet that carried it tells: a comment of plain words that scripts can read,
//! and the same in an option for programs.
//!
//! The grammar of the comment is in docs/recording.md; `dissectors/wirelap.lua` reads it.

use crate::block::ByteOrder;
use crate::wire::{Signed, Wire, put_unsigned};
use crate::{ENTERPRISE, MESSAGE_TAG};
use std::fmt::{self, Write};
use std::sync::Arc;
use wirelap_events::{
    ByteRange, Comm, FlowRange, MAX_LEGS, MessageId, Nanos, Pid, Segment, Segments, Stage,
    StageTimes, Tid,
};

/// Bytes of a topic that are told.
const TOPIC: usize = 256;

/// Behind the number of messages that a packet has no room for: `and 5 more messages`.
pub(crate) const MORE: &str = " more messages";

/// In place of a queue's number, which has 16 bits.
const NO_QUEUE: u32 = 1 << 16;

/// What a message travelled with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The middleware, as the report calls it.
    pub middleware: String,
    /// The broker, likewise.
    pub broker: Option<String>,
}

/// One end of a leg, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The process; 0 if it is not known.
    pub pid: Pid,
    /// Its thread; 0 if it is not known.
    pub tid: Tid,
    /// The process's name.
    pub name: Comm,
}

/// Whether a message is in the report's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStatus {
    /// It is.
    Counted,
    /// Not: it was sent to warm up.
    WarmUp,
    /// Not: one of its ends was not seen.
    Partial,
    /// Not: it was not seen to be delivered.
    Undelivered,
    /// Not: it was not seen to be delivered by the end.
    UnderWay,
}

impl MessageStatus {
    /// Whether it was delivered, as far as is known.
    pub fn is_delivered(self) -> bool {
        !matches!(self, MessageStatus::Undelivered | MessageStatus::UnderWay)
    }
}

/// What a message lost more time to than a typical one of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayCause {
    /// The cause: the verdict's name.
    pub cause: &'static str,
    /// On which leg, 0 for the first.
    pub leg: u8,
    /// In which segment.
    pub segment: Segment,
    /// How much more than a typical one.
    pub time: Nanos,
}

/// What became of a message on one leg. Of several readers, the last one to have it.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The message.
    pub message: MessageId,
    /// What it travelled with.
    pub row: Arc<Row>,
    /// Its topic; empty if it has none, or it is not known.
    pub topic: Arc<[u8]>,
    /// Bytes of its payload.
    pub payload_len: u64,
    /// Whether it is in the report's figures.
    pub standing: MessageStatus,
    /// Which leg this is, 0 for the first.
    pub leg: u8,
    /// Of so many.
    pub legs: u8,
    /// Its bytes on this leg.
    pub stretch: FlowRange,
    /// The first time that is known of the message, on its first leg.
    pub began: Nanos,
    /// When it passed each stage of this leg.
    pub times: StageTimes,
    /// What its time was spent on, on this leg; the dwell before the leg included.
    pub segments: Segments,
    /// Who sent it.
    pub sender: End,
    /// Who read it.
    pub reader: End,
    /// From the first leg's send to the last leg's read.
    pub one_way: Option<Nanos>,
    /// What held it up.
    pub held_up: Option<DelayCause>,
    /// Where it was seen last, if it was not seen to be delivered: on which leg, 0 for the first, and at which stage.
    pub last_seen: Option<(u8, Stage)>,
    /// Deliveries that this leg is a part of.
    pub readers: u32,
    /// The number of the packet with the last byte of each leg, in the file; 0 if it is not known.
    pub frames: [u64; MAX_LEGS],
}

/// Is told of packets what they carry, and then of messages what became of them.
pub trait Passages {
    /// The packet that was the last to be taken carries these bytes.
    fn carries(&mut self, stretch: FlowRange);

    /// What became of a message, one passage a leg. Its packets tell it if they are still here. Takes all of them.
    fn message(&mut self, passages: &mut Vec<Passage>);
}

/// A passage beside one of its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<'a> {
    pub passage: &'a Passage,
    /// The packet's bytes.
    pub carried: ByteRange,
    /// The device's queue, if that is known.
    pub queue: Option<u16>,
}

impl Beside<'_> {
    /// Which of the message's bytes the packet has: from, to.
    fn part(&self) -> (u64, u64) {
        let whole = self.passage.stretch.range;
        let from = self.carried.start.max(whole.start).0.saturating_sub(whole.start.0);
        let to = self.carried.end.min(whole.end).0.saturating_sub(whole.start.0);
        (from, to.max(from))
    }

    /// Appends the value of the option.
    pub fn option(&self, order: ByteOrder, out: &mut Vec<u8>) {
        let passage = self.passage;
        out.extend(order.word(ENTERPRISE));
        out.extend(MESSAGE_TAG);
        let (from, to) = self.part();
        let whole = passage.stretch.range.len();
        passage.message.0.put(out);
        passage.leg.put(out);
        passage.legs.put(out);
        out.push(passage.standing as u8);
        for number in [u64::from(passage.readers), passage.payload_len, from, to, whole] {
            number.put(out);
        }
        passage.one_way.put(out);
        for stage in Stage::ALL {
            passage.since_began(stage).map(Signed).put(out);
        }
        for end in [passage.sender, passage.reader] {
            end.pid.put(out);
            end.tid.put(out);
            end.name.put(out);
        }
        self.queue.map_or(NO_QUEUE, u32::from).put(out);
        passage.held_up.is_some().put(out);
        if let Some(held_up) = passage.held_up {
            put_text(out, held_up.cause.as_bytes());
            held_up.leg.put(out);
            (held_up.segment as u8).put(out);
            held_up.time.put(out);
        }
        for frame in passage.frames.iter().take(usize::from(passage.legs)) {
            frame.put(out);
        }
        put_text(out, passage.row.middleware.as_bytes());
        put_text(out, passage.row.broker.as_deref().unwrap_or_default().as_bytes());
        put_text(out, passage.shown_topic());
        if let Some((leg, stage)) = passage.last_seen {
            leg.put(out);
            (stage as u8).put(out);
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_unsigned(out, text.len() as u64);
    out.extend_from_slice(text);
}

impl Passage {
    /// As much of its topic as a line can have.
    fn shown_topic(&self) -> &[u8] {
        &self.topic[..self.topic.len().min(TOPIC)]
    }

    /// When it passed a stage, after the first time that is known of the message.
    fn since_began(&self, stage: Stage) -> Option<i64> {
        let at = self.times.get(stage)?;
        Some(at.0.wrapping_sub(self.began.0).cast_signed())
    }

    /// The same message on the same leg, for another reader: the slower one is told, of those that were delivered.
    pub(crate) fn merge(&mut self, other: Passage) {
        let readers = self.readers.saturating_add(other.readers);
        let rank = |passage: &Passage| (passage.one_way, passage.standing.is_delivered());
        if rank(&other) > rank(self) {
            *self = other;
        }
        self.readers = readers;
    }
}

/// Whether a comment tells of messages.
pub(crate) fn is_sentence(comment: &[u8]) -> bool {
    let text = str::from_utf8(comment).unwrap_or_default();
    let behind = |front| {
        let number: &str = text.strip_prefix(front)?;
        Some(number.trim_start_matches(|char: char| char.is_ascii_digit()))
    };
    behind("message ").is_some_and(|rest| rest.starts_with(", leg "))
        || behind("and ") == Some(MORE)
}

/// The comment.
impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passage = self.passage;
        let (leg, legs) = (u32::from(passage.leg) + 1, passage.legs);
        write!(f, "message {}, leg {leg} of {legs}, ", passage.message.0)?;
        plain(f, passage.row.middleware.as_bytes(), ",;")?;
        if let Some(broker) = &passage.row.broker {
            f.write_str(" at ")?;
            plain(f, broker.as_bytes(), ",;")?;
        }
        if let Some(one_way) = passage.one_way {
            write!(f, "; one way {} ns", one_way.0)?;
        }
        self.stages(f)?;
        end(f, "sender", &passage.sender)?;
        end(f, "reader", &passage.reader)?;
        if let Some(queue) = self.queue {
            write!(f, "; queue {queue}")?;
        }
        if let Some(DelayCause { cause, leg, segment, time }) = passage.held_up {
            let (leg, segment) = (leg.saturating_add(1), segment.name());
            write!(f, "; held up by {cause} in leg {leg} {segment} for {} ns", time.0)?;
        }
        self.place(f)?;
        if !passage.topic.is_empty() {
            f.write_str("; topic ")?;
            plain(f, passage.shown_topic(), "")?;
        }
        Ok(())
    }
}

impl Beside<'_> {
    fn stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passage = self.passage;
        let first = passage.times.seen().next();
        if let Some(began) = first.and_then(|(stage, _)| passage.since_began(stage))
            && passage.leg > 0
        {
            write!(f, "; begins at {began} ns")?;
        }
        for (index, (segment, time)) in passage.segments.iter().enumerate() {
            match index {
                0 => write!(f, "; this leg {} ns: ", passage.segments.sum().0)?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{} {}", segment.name(), time.0)?;
        }
        Ok(())
    }

    /// Where in the recording its other parts are.
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passage = self.passage;
        let whole = passage.stretch.range.len();
        let (from, to) = self.part();
        if (from, to) != (0, whole) {
            write!(f, "; bytes {from} to {to} of {whole}")?;
        }
        write!(f, "; payload {} bytes", passage.payload_len)?;
        if passage.readers > 1 {
            write!(f, "; {} readers", passage.readers)?;
        }
        f.write_str(match passage.standing {
            MessageStatus::Counted => "",
            MessageStatus::WarmUp => "; warm-up",
            MessageStatus::Partial => "; an end was not seen",
            MessageStatus::Undelivered => "; not seen to be delivered",
            MessageStatus::UnderWay => "; not seen to be delivered by the end",
        })?;
        if let Some((leg, stage)) = passage.last_seen {
            write!(f, ", last seen in leg {} at {}", leg.saturating_add(1), stage.name())?;
        }
        let legs = passage.frames.iter().take(usize::from(passage.legs)).enumerate();
        for (leg, &frame) in legs.filter(|&(leg, _)| leg != usize::from(passage.leg)) {
            if frame > 0 {
                write!(f, "; leg {} in packet {frame}", leg.saturating_add(1))?;
            }
        }
        Ok(())
    }
}

fn end(f: &mut fmt::Formatter<'_>, what: &str, end: &End) -> fmt::Result {
    if (end.pid, end.tid) == (Pid(0), Tid(0)) {
        return Ok(());
    }
    write!(f, "; {what} ")?;
    let name = end.name.as_str();
    if !name.is_empty() {
        plain(f, name.as_bytes(), "\";")?;
        f.write_char(' ')?;
    }
    write!(f, "{}/{}", end.pid.0, end.tid.0)
}

/// Writes text on one line and without these characters, which would end it for a script.
fn plain(f: &mut fmt::Formatter<'_>, text: &[u8], without: &str) -> fmt::Result {
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            let bad = char.is_control() || without.contains(char);
            f.write_char(if bad { '_' } else { char })?;
        }
        if !chunk.invalid().is_empty() {
            f.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}
