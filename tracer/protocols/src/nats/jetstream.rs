//! What is `JetStream`'s own and what is the application's (docs.nats.io, Reference, wire API of
//! `JetStream`).
//!
//! `JetStream` speaks through ordinary messages, so subjects tell:
//!
//! | message | class |
//! |---|---|
//! | to `$JS.ACK.>` (consumers), `$JS.FC.>` (flow control) | ack |
//! | to or from `$JS.>` otherwise (API, events), `$SYS.>` | other |
//! | on `_INBOX.>`, an ack of a publish or the empty answer to a confirmed `$JS.ACK.>` | ack |
//! | on `_INBOX.>`, an answer of the API | other |
//! | with a status in its header and no payload: heartbeats | keepalive |
//! | … flow control | ack |
//! | … no more messages, time-outs, no responders | other |
//! | a stored message that the API was asked for (`Nats-Stream` in its header, on `_INBOX.>`) | data, retained |
//!
//! Everything else is the application's. A delivered message carries the subject that it was
//! published to; a reply to `$JS.ACK.>` tells how often it was.

use super::line::Message;
use wirelap_events::Class;

/// Answers of the server to a publisher or a consumer are shorter. They are JSON.
const LONGEST_ANSWER: usize = 4096;

/// Whether a message that was seen from a client or from the server belongs to the machinery, by its
/// subject alone.
pub(super) fn class_of_subject(subject: &[u8]) -> Option<Class> {
    let rest = subject.strip_prefix(b"$")?;
    if rest.starts_with(b"JS.ACK.") || rest.starts_with(b"JS.FC.") {
        Some(Class::Ack)
    } else if rest.starts_with(b"JS.") || rest.starts_with(b"SYS.") {
        Some(Class::Other)
    } else {
        None
    }
}

/// Whether a client asks for an answer to its ack. `+NXT` asks for messages.
pub(super) fn is_confirmed_ack(message: &Message<'_>, payload: &[u8]) -> bool {
    message.reply.is_some()
        && message.subject.starts_with(b"$JS.ACK.")
        && !payload.starts_with(b"+NXT")
}

/// Whether a subject is one that answers come on. Clients can be told to use another prefix: then
/// answers count as the application's.
pub(super) fn is_inbox(subject: &[u8]) -> bool {
    subject.starts_with(b"_INBOX.")
}

/// The class of a message without payload whose header is a status, e.g. `NATS/1.0 404 No Messages`.
pub(super) fn class_of_status(header: &[u8]) -> Option<Class> {
    let rest = header.strip_prefix(b"NATS/1.0")?;
    let line = rest.split(|&b| b == b'\r').next()?.trim_ascii();
    let (code, text) = line.split_first_chunk::<3>()?;
    code.iter().all(u8::is_ascii_digit).then_some(())?;
    let text = text.trim_ascii();
    Some(match (code, text) {
        (b"100", b"FlowControl Request") => Class::Ack,
        (b"100", _) => Class::KeepAlive,
        _ => Class::Other,
    })
}

/// The class of an answer on an inbox, if it is `JetStream`'s. `payload` is as much of it as was
/// captured.
pub(super) fn class_of_answer(payload: &[u8], len: usize) -> Option<Class> {
    let rest = payload.strip_prefix(b"{\"")?;
    if rest.starts_with(b"type\":\"io.nats.jetstream.") {
        return Some(Class::Other);
    }
    if len > LONGEST_ANSWER {
        return None;
    }
    // A publisher is told the stream and the number there, or an error with NATS's own number for it.
    let told = |key: &[u8]| has(rest, key);
    let is_ack = (rest.starts_with(b"stream\":\"") && told(b"\"seq\":"))
        || (rest.starts_with(b"error\":{") && told(b"\"err_code\":"));
    is_ack.then_some(Class::Ack)
}

/// Whether a header is that of a message read back from a stream.
pub(super) fn is_stored(header: &[u8]) -> bool {
    has(header, b"\r\nNats-Stream:") && has(header, b"\r\nNats-Sequence:")
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether the subject to acknowledge a message to tells that it was delivered before.
///
/// ```text
/// $JS.ACK.stream.consumer.deliveries.stream-seq.consumer-seq.time.pending
/// $JS.ACK.domain.account.stream.consumer.deliveries.stream-seq.consumer-seq.time.pending[.token]
/// ```
pub(super) fn is_redelivered(reply: &[u8]) -> bool {
    let Some(rest) = reply.strip_prefix(b"$JS.ACK.") else { return false };
    let before = match rest.split(|&b| b == b'.').count() {
        7 => 2,
        9.. => 4,
        _ => return false,
    };
    rest.split(|&b| b == b'.').nth(before).is_some_and(|deliveries| deliveries != b"1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        for (subject, class) in [
            (&b"$JS.ACK.S.C.1.2.3.4.5"[..], Some(Class::Ack)),
            (b"$JS.FC.S.C.x", Some(Class::Ack)),
            (b"$JS.API.STREAM.CREATE.S", Some(Class::Other)),
            (b"$JS.EVENT.ADVISORY.x", Some(Class::Other)),
            (b"$SYS.REQ.USER.INFO", Some(Class::Other)),
            (b"$KV.bucket.key", None),
            (b"$JSON", None),
            (b"JS.ACK.S", None),
            (b"_INBOX.a", None),
        ] {
            assert_eq!(class_of_subject(subject), class, "{}", subject.escape_ascii());
        }
    }

    #[test]
    fn statuses() {
        for (header, class) in [
            (
                &b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 1\r\n\r\n"[..],
                Some(Class::KeepAlive),
            ),
            (b"NATS/1.0 100 FlowControl Request\r\n\r\n", Some(Class::Ack)),
            (b"NATS/1.0 503\r\n\r\n", Some(Class::Other)),
            (b"NATS/1.0\r\n100: 1\r\n\r\n", None),
            (b"NATS/1.0 OK\r\n\r\n", None),
        ] {
            assert_eq!(class_of_status(header), class, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn answers() {
        let class = |payload: &[u8]| class_of_answer(payload, payload.len());
        assert_eq!(class(br#"{"stream":"S", "seq":12}"#), Some(Class::Ack));
        assert_eq!(
            class(br#"{"stream":"S","domain":"d","seq":1,"duplicate":true}"#),
            Some(Class::Ack)
        );
        assert_eq!(
            class(br#"{"error":{"code":400,"err_code":10060,"description":"x"},"stream":"S","seq":0}"#),
            Some(Class::Ack)
        );
        assert_eq!(
            class(br#"{"type":"io.nats.jetstream.api.v1.stream_create_response"}"#),
            Some(Class::Other)
        );
        assert_eq!(class(br#"{"stream":"mine"}"#), None);
        assert_eq!(class(br#"{"error":{"code":404}}"#), None);
        assert_eq!(class_of_answer(br#"{"stream":"S", "seq":12}"#, 5000), None);
    }

    #[test]
    fn redeliveries() {
        assert!(!is_redelivered(b"$JS.ACK.S.C.1.2.3.4.5"));
        assert!(is_redelivered(b"$JS.ACK.S.C.2.2.3.4.5"));
        assert!(!is_redelivered(b"$JS.ACK._.hash.S.C.1.2.3.4.5.token"));
        assert!(is_redelivered(b"$JS.ACK._.hash.S.C.12.2.3.4.5"));
        assert!(!is_redelivered(b"$JS.ACK.S.C.2"));
        assert!(!is_redelivered(b"_INBOX.a.b.c.d.e.2.g.h.i"));
    }
}
