//! Messages that are `JetStream`'s own, and not the application's (docs.nats.io, Reference, wire API of `JetStream`).
//!
//! `JetStream` uses ordinary messages, which are recognised by their subjects:
//!
//! | message | class |
//! |---|---|
//! | to `$JS.ACK.>` (consumers), `$JS.FC.>` (flow control) | ack |
//! | to or from other `$JS.>` (API, events), `$SYS.>`, `$NRG.>` and `$JSC.>` (clusters), `$MQTT.JSA.>` and the like (sessions of MQTT) | other |
//! | on `_INBOX.>`, an ack of a publish or the empty answer to a confirmed `$JS.ACK.>` or a part of a batch (module `batches`) | ack |
//! | on a reply subject of a fast batch, how far the server has come | ack |
//! | on `_INBOX.>` (between servers `_R_.>`), an answer of the API | other |
//! | with a status in its header and no payload: heartbeat | keepalive |
//! | with a status in its header and no payload: flow control | ack |
//! | with a status in its header and no payload: no more messages, time-out, no responders | other |
//! | a stored message that the API returns (`Nats-Stream` in its header, on `_INBOX.>`) | data, retained |
//!
//! A subject that the client has given as a reply subject and that expects an answer is like `_INBOX.>` (module `replies`).
//! All other messages are the application's. A delivered message has the subject that it was published to; its reply subject
//! in `$JS.ACK.>` has the number of deliveries.

use super::line::MessageLine;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::FrameClass;

/// The longest JSON answer of the server to a publisher or consumer.
const LONGEST_ANSWER: usize = 4096;

/// Subjects behind `$` with which servers talk to their streams and to each other. Those of MQTT are for its sessions and retained messages
/// (nats-server, `server/mqtt.go`); what MQTT clients publish is in `$MQTT.msgs.`.
const SERVERS_OWN: [&[u8]; 9] = [
    b"JS.",
    b"SYS.",
    b"NRG.",
    b"JSC.",
    b"MQTT.JSA.",
    b"MQTT.sess.",
    b"MQTT.rmsgs.",
    b"MQTT.out.",
    b"MQTT.deliver.",
];

/// The class of a message whose subject shows that it is `JetStream`'s or the server's own.
pub(super) fn class_of_subject(subject: &[u8]) -> Option<FrameClass> {
    let rest = subject.strip_prefix(b"$")?;
    if rest.starts_with(b"JS.ACK.") || rest.starts_with(b"JS.FC.") {
        Some(FrameClass::Ack)
    } else if SERVERS_OWN.iter().any(|own| rest.starts_with(own)) {
        Some(FrameClass::Other)
    } else {
        None
    }
}

/// The subject that a message has in its stream. What is published to a bucket of keys or objects in another domain is an application's
/// message although its subject begins as that of the API (nats-server, `generateJSMappingTable`):
///
/// ```text
/// $JS.domain.API.$KV.bucket.key        $KV.bucket.key in the stream
/// ```
pub(super) fn stored_subject(subject: &[u8]) -> &[u8] {
    let bucket = || {
        let mut parts = subject.strip_prefix(b"$JS.")?.splitn(3, |&byte| byte == b'.');
        let rest = parts.nth(1).filter(|word| *word == b"API").and(parts.next())?;
        [&b"$KV."[..], b"$OBJ."].iter().any(|kind| rest.starts_with(kind)).then_some(rest)
    };
    bucket().unwrap_or(subject)
}

/// True if a client says of a message that it wants it again (`-NAK`, perhaps after a delay).
pub(super) fn is_refusal_of(subject: &[u8], payload: &[u8]) -> bool {
    subject.starts_with(b"$JS.ACK.") && payload.starts_with(b"-NAK")
}

/// True if a client requests an answer to its ack. The ack `+NXT` requests messages instead.
pub(super) fn is_confirmed_ack(message: &MessageLine<'_>, payload: &[u8]) -> bool {
    message.reply.is_some()
        && message.subject.starts_with(b"$JS.ACK.")
        && !payload.starts_with(b"+NXT")
}

/// True if a subject is one for answers; servers have another one for what they ask each other. A client can be
/// configured to use another prefix: see `replies`.
pub(super) fn is_inbox(subject: &[u8]) -> bool {
    subject.starts_with(b"_INBOX.") || subject.starts_with(b"_R_.")
}

/// A number for a subject for answers. Clients make such a subject for each request.
pub(super) fn inbox_number(subject: &[u8]) -> Option<u64> {
    is_inbox(subject).then(|| subject_number(subject))
}

/// A number for a subject.
pub(super) fn subject_number(subject: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(subject);
    hasher.finish()
}

/// The class of a message without payload whose header is a status, e.g. `NATS/1.0 404 No Messages`.
pub(super) fn class_of_status(header: &[u8]) -> Option<FrameClass> {
    let rest = header.strip_prefix(b"NATS/1.0")?;
    let line = rest.split(|&b| b == b'\r').next()?.trim_ascii();
    let (code, text) = line.split_first_chunk::<3>()?;
    code.iter().all(u8::is_ascii_digit).then_some(())?;
    let text = text.trim_ascii();
    Some(match (code, text) {
        (b"100", b"FlowControl Request") => FrameClass::Ack,
        (b"100", _) => FrameClass::KeepAlive,
        _ => FrameClass::Other,
    })
}

/// True if a header says that nobody listens to the subject of a request (client protocol, "no responders").
pub(super) fn is_unanswered(header: &[u8]) -> bool {
    header.starts_with(b"NATS/1.0 503")
}

/// The class of an answer on an inbox, if it is `JetStream`'s. `payload` is the captured part of it.
pub(super) fn class_of_answer(payload: &[u8], len: usize) -> Option<FrameClass> {
    let rest = payload.strip_prefix(b"{\"")?;
    if rest.starts_with(b"type\":\"io.nats.jetstream.") {
        return Some(FrameClass::Other);
    }
    if len > LONGEST_ANSWER {
        return None;
    }
    // The answer to a publish has the stream and the sequence number, or an error with NATS's own error code.
    let is_ack = (rest.starts_with(b"stream\":\"") && has(rest, b"\"seq\":"))
        || (rest.starts_with(b"error\":{") && has(rest, b"\"err_code\":"));
    is_ack.then_some(FrameClass::Ack)
}

/// The reason for which the answer to a publish says that the message was not stored, in the server's words.
pub(super) fn refusal(payload: &[u8]) -> Option<&[u8]> {
    let error = payload.strip_prefix(b"{\"error\":{")?;
    let mark = b"\"description\":\"";
    let at = error.windows(mark.len()).position(|window| window == mark)?;
    let text = error.get(at.saturating_add(mark.len())..)?;
    text.split(|&byte| byte == b'"').next().filter(|text| !text.is_empty())
}

/// True if `part` occurs in `bytes`.
pub(super) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The words of the subject for an ack, from the stream on:
///
/// ```text
/// $JS.ACK.stream.consumer.deliveries.stream-seq.consumer-seq.time.pending
/// $JS.ACK.domain.account.stream.consumer.deliveries.stream-seq.consumer-seq.time.pending[.token]
/// ```
fn ack_words(subject: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let words = subject.strip_prefix(b"$JS.ACK.")?.split(|&byte| byte == b'.');
    let before = match words.clone().count() {
        7 => 0,
        9.. => 2,
        _ => return None,
    };
    Some(words.skip(before))
}

/// The stream and the number in it of the message that the subject for an ack is for.
pub(super) fn stored_message(subject: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = ack_words(subject)?;
    Some((words.next()?, words.nth(2)?))
}

/// The numbers of a message that a consumer is sent, by the subject for its ack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentNumbers {
    /// The message's number in the stream.
    pub in_stream: u64,
    /// The number of messages that the consumer was sent, this one included.
    pub sent: u64,
    /// True if it was sent before.
    pub is_again: bool,
}

/// The numbers in the subject for an ack.
pub(super) fn sent_numbers(subject: &[u8]) -> Option<SentNumbers> {
    let mut words = ack_words(subject)?.skip(2);
    let mut next = || str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
    let (times, in_stream, sent) = (next()?, next()?, next()?);
    Some(SentNumbers { in_stream, sent, is_again: times > 1 })
}

/// A number for the stream and the consumer of the subject for an ack.
pub(super) fn consumer_of_ack(subject: &[u8]) -> Option<u64> {
    let mut words = ack_words(subject)?;
    Some(consumer_number(words.next()?, words.next()?))
}

/// A number for a consumer of a stream.
pub(super) fn consumer_number(stream: &[u8], consumer: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    (stream, consumer).hash(&mut hasher);
    hasher.finish()
}

/// True if a message was delivered before, according to the subject for its ack.
pub(super) fn is_redelivered(reply: &[u8]) -> bool {
    ack_words(reply).and_then(|mut words| words.nth(2)).is_some_and(|times| times != b"1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        for (subject, class) in [
            (&b"$JS.ACK.S.C.1.2.3.4.5"[..], Some(FrameClass::Ack)),
            (b"$JS.FC.S.C.x", Some(FrameClass::Ack)),
            (b"$JS.API.STREAM.CREATE.S", Some(FrameClass::Other)),
            (b"$JS.EVENT.ADVISORY.x", Some(FrameClass::Other)),
            (b"$SYS.REQ.USER.INFO", Some(FrameClass::Other)),
            (b"$NRG.AE.x", Some(FrameClass::Other)),
            (b"$JSC.ARU.$G.x", Some(FrameClass::Other)),
            (b"$MQTT.JSA.node.SL.1", Some(FrameClass::Other)),
            (b"$MQTT.sess.hash", Some(FrameClass::Other)),
            (b"$MQTT.msgs.a.b", None),
            (b"$KV.bucket.key", None),
            (b"$JSON", None),
            (b"JS.ACK.S", None),
            (b"_INBOX.a", None),
        ] {
            assert_eq!(class_of_subject(subject), class, "{}", subject.escape_ascii());
        }
    }

    #[test]
    fn what_is_published_to_a_bucket_of_another_domain_is_the_applications() {
        for (subject, stored) in [
            ("$JS.hub.API.$KV.b.k.l", "$KV.b.k.l"),
            ("$JS.hub.API.$OBJ.b", "$OBJ.b"),
            ("$JS.hub.API.STREAM.CREATE.S", "$JS.hub.API.STREAM.CREATE.S"),
            ("$JS.API.DIRECT.GET.S.$KV.b.k", "$JS.API.DIRECT.GET.S.$KV.b.k"),
            ("$JS.hub", "$JS.hub"),
            ("$KV.b.k", "$KV.b.k"),
        ] {
            assert_eq!(stored_subject(subject.as_bytes()), stored.as_bytes());
        }
    }

    #[test]
    fn statuses() {
        for (header, class) in [
            (
                &b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 1\r\n\r\n"[..],
                Some(FrameClass::KeepAlive),
            ),
            (b"NATS/1.0 100 FlowControl Request\r\n\r\n", Some(FrameClass::Ack)),
            (b"NATS/1.0 503\r\n\r\n", Some(FrameClass::Other)),
            (b"NATS/1.0\r\n100: 1\r\n\r\n", None),
            (b"NATS/1.0 OK\r\n\r\n", None),
        ] {
            assert_eq!(class_of_status(header), class, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn answers() {
        let class = |payload: &[u8]| class_of_answer(payload, payload.len());
        assert_eq!(class(br#"{"stream":"S", "seq":12}"#), Some(FrameClass::Ack));
        assert_eq!(
            class(br#"{"stream":"S","domain":"d","seq":1,"duplicate":true}"#),
            Some(FrameClass::Ack)
        );
        assert_eq!(
            class(br#"{"error":{"code":400,"err_code":10060,"description":"x"},"stream":"S","seq":0}"#),
            Some(FrameClass::Ack)
        );
        assert_eq!(
            class(br#"{"type":"io.nats.jetstream.api.v1.stream_create_response"}"#),
            Some(FrameClass::Other)
        );
        let full = br#"{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"S","seq":0}"#;
        assert_eq!(refusal(full), Some(&b"maximum messages exceeded"[..]));
        assert_eq!(refusal(br#"{"stream":"S","seq":12}"#), None);
        assert_eq!(class(br#"{"stream":"mine"}"#), None);
        assert_eq!(class(br#"{"error":{"code":404}}"#), None);
        assert_eq!(class_of_answer(br#"{"stream":"S", "seq":12}"#, 5000), None);
    }

    #[test]
    fn numbers_of_what_a_consumer_is_sent() {
        let of = |in_stream, sent, is_again| Some(SentNumbers { in_stream, sent, is_again });
        assert_eq!(sent_numbers(b"$JS.ACK.S.C.1.12.3.4.5"), of(12, 3, false));
        assert_eq!(sent_numbers(b"$JS.ACK._.hash.S.C.2.12.9.4.5.token"), of(12, 9, true));
        assert_eq!(sent_numbers(b"$JS.ACK.S.C.1.x.3.4.5"), None);
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
