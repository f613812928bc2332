//! The report of a message's life as a sentence that people and scripts can read: a comment of the packet. Its grammar is in
//! docs/recording.md; `dissectors/wirelap.lua` reads it.

use super::in_packet::LegInPacket;
use super::leg::{LegDelay, LegEnd, MessageStatus};
use std::fmt::{self, Write};
use wirelap_events::human::is_unsafe;
use wirelap_events::{Pid, Tid};

/// Behind the number of messages that a packet has no room for: `and 5 more messages`.
const MORE: &str = " more messages";

/// The comment of a packet that has no room for so many messages.
pub fn more(messages: usize) -> String {
    format!("and {messages}{MORE}")
}

/// True if a comment is one about messages.
pub fn is_sentence(comment: &[u8]) -> bool {
    let text = str::from_utf8(comment).unwrap_or_default();
    let behind = |front| {
        let number: &str = text.strip_prefix(front)?;
        Some(number.trim_start_matches(|char: char| char.is_ascii_digit()))
    };
    behind("message ").is_some_and(|rest| rest.starts_with(", leg "))
        || behind("and ") == Some(MORE)
}

/// Writes the comment.
impl fmt::Display for LegInPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leg = self.leg;
        let (number, legs) = (u32::from(leg.leg) + 1, leg.legs);
        write!(f, "message {}, leg {number} of {legs}, ", leg.message.0)?;
        plain(f, leg.row.middleware.as_bytes(), ",;")?;
        if let Some(broker) = &leg.row.broker {
            f.write_str(" at ")?;
            plain(f, broker.as_bytes(), ",;")?;
        }
        if let Some(one_way) = leg.one_way {
            write!(f, "; one way {} ns", one_way.0)?;
        }
        self.stages(f)?;
        end(f, "sender", &leg.sender)?;
        end(f, "reader", &leg.reader)?;
        if let Some(queue) = self.queue {
            write!(f, "; queue {queue}")?;
        }
        if let Some(LegDelay { cause, leg, segment, time }) = leg.delay_cause {
            let (leg, segment) = (leg.saturating_add(1), segment.name());
            write!(f, "; held up by {cause} in leg {leg} {segment} for {} ns", time.0)?;
        }
        self.place(f)?;
        if !leg.topic.is_empty() {
            f.write_str("; topic ")?;
            plain(f, leg.shown_topic(), "")?;
        }
        Ok(())
    }
}

impl LegInPacket<'_> {
    fn stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leg = self.leg;
        let first = leg.times.seen().next();
        if let Some(began) = first.and_then(|(stage, _)| leg.since_began(stage))
            && leg.leg > 0
        {
            write!(f, "; begins at {began} ns")?;
        }
        for (index, (segment, time)) in leg.segments.iter().enumerate() {
            match index {
                0 => write!(f, "; this leg {} ns: ", leg.segments.sum().0)?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{} {}", segment.name(), time.0)?;
        }
        Ok(())
    }

    /// Writes which bytes the packet has, whether the message was delivered, and where its other legs are.
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leg = self.leg;
        let all = leg.range.range.len();
        let (from, to) = self.bytes_in_packet();
        if (from, to) != (0, all) {
            write!(f, "; bytes {from} to {to} of {all}")?;
        }
        write!(f, "; payload {} bytes", leg.payload_len)?;
        if leg.readers > 1 {
            write!(f, "; {} readers", leg.readers)?;
        }
        f.write_str(match leg.status {
            MessageStatus::Counted => "",
            MessageStatus::WarmUp => "; warm-up",
            MessageStatus::Partial => "; an end was not seen",
            MessageStatus::Undelivered => "; not seen to be delivered",
            MessageStatus::UnderWay => "; not seen to be delivered by the end",
        })?;
        if let Some((number, stage)) = leg.last_seen {
            write!(f, ", last seen in leg {} at {}", number.saturating_add(1), stage.name())?;
        }
        let frames = leg.frames.iter().take(usize::from(leg.legs)).enumerate();
        for (number, &frame) in frames.filter(|&(number, _)| number != usize::from(leg.leg)) {
            if frame > 0 {
                write!(f, "; leg {} in packet {frame}", wirelap_events::human::ordinal(number))?;
            }
        }
        Ok(())
    }
}

fn end(f: &mut fmt::Formatter<'_>, what: &str, end: &LegEnd) -> fmt::Result {
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
            let bad = is_unsafe(char) || without.contains(char);
            f.write_char(if bad { '_' } else { char })?;
        }
        if !chunk.invalid().is_empty() {
            f.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}
