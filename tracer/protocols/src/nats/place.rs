//! The places of messages in streams of `JetStream`.
//!
//! | message | names |
//! |---|---|
//! | the answer to a publish: `{"stream":"S", "seq":7}` | the place that the message was given (wire API, `io.nats.jetstream.api.v1.pub_ack_response`) |
//! | delivered by a consumer | the place in its subject for the ack (module `jetstream`) |
//! | republished (`RePublish` of a stream) | the place in its header: `Nats-Stream`, `Nats-Sequence` (ADR-28) |
//!
//! Consumers can be given headers only (`headers_only`): then `Nats-Msg-Size` is in the header, the payload is empty, and nothing but
//! the place tells which message it is. A stream that republishes changes the subject, and can leave the payload out, too.

use super::headers::OwnHeaders;
use super::jetstream::{has, stored_message, subject_number};
use super::line::MessageLine;
use crate::{FrameNote, FrameSink, LogPlace};

/// Reports the place of a message that a client gets, if it names one.
pub(super) fn tell(
    message: &MessageLine<'_>,
    payload_len: usize,
    headers: &OwnHeaders<'_>,
    out: &mut dyn FrameSink,
) {
    if let Some(place) = republished(headers) {
        return out.note(FrameNote::IsAtPlace(place));
    }
    let Some((stream, number)) = message.reply.and_then(stored_message) else { return };
    let Some(place) = place(stream, number) else { return };
    if payload_len == 0 && headers.has_size {
        out.note(FrameNote::IsAtPlace(place));
    } else {
        out.note(FrameNote::HasPlace(place));
    }
}

/// The place that the server has given a message, by its answer to the publish; `None` if it has not stored it, or had it before.
pub(super) fn of_publish(payload: &[u8]) -> Option<LogPlace> {
    if has(payload, b"\"duplicate\":true") {
        return None;
    }
    let stream = after(payload, b"\"stream\":\"")?.split(|&byte| byte == b'"').next()?;
    let number = after(payload, b"\"seq\":")?.trim_ascii_start();
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    place(stream, number.get(..digits)?)
}

/// The place that the headers of a republished message name.
fn republished(headers: &OwnHeaders<'_>) -> Option<LogPlace> {
    place(headers.stream?, headers.sequence?)
}

fn place(stream: &[u8], number: &[u8]) -> Option<LogPlace> {
    let offset = str::from_utf8(number).ok()?.parse().ok().filter(|&number: &u64| number > 0)?;
    Some(LogPlace { log: subject_number(stream), offset })
}

/// The bytes after the first `mark`.
fn after<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    bytes.get(at.saturating_add(mark.len())..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stream: &[u8], offset: u64) -> LogPlace {
        LogPlace { log: subject_number(stream), offset }
    }

    #[test]
    fn places_that_publishes_are_given() {
        assert_eq!(of_publish(br#"{"stream":"S","seq":12}"#), Some(at(b"S", 12)));
        assert_eq!(of_publish(br#"{"stream":"S", "domain":"d", "seq": 3}"#), Some(at(b"S", 3)));
        assert_eq!(of_publish(br#"{"stream":"S","seq":12,"duplicate":true}"#), None);
        assert_eq!(
            of_publish(br#"{"error":{"code":400,"err_code":1},"stream":"S","seq":0}"#),
            None
        );
        assert_eq!(of_publish(br#"{"stream":"S","seq":"#), None);
    }

    #[test]
    fn places_in_headers() {
        let republished = |header| republished(&OwnHeaders::read(header));
        let header = b"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: a\r\nNats-Sequence: 7\r\n\r\n";
        assert_eq!(republished(header), Some(at(b"S", 7)));
        assert_eq!(republished(b"NATS/1.0\r\nNats-Stream: S\r\n\r\n"), None);
        assert_eq!(republished(b"NATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: x\r\n\r\n"), None);
    }

    #[test]
    fn the_place_in_the_subject_for_an_ack() {
        let place_of = |subject: &'static [u8]| {
            stored_message(subject).and_then(|(stream, number)| place(stream, number))
        };
        assert_eq!(place_of(b"$JS.ACK.P.dh.1.501.2.1795903215592909819.0"), Some(at(b"P", 501)));
        assert_eq!(place_of(b"$JS.ACK.d.acc.P.dh.1.9.2.17.0.token"), Some(at(b"P", 9)));
        assert_eq!(place_of(b"_INBOX.a"), None);
    }
}
