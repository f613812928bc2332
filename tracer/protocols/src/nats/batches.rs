//! Messages that are published to a stream of `JetStream` together (ADR-50; nats-server 2.12 and 2.14, `server/stream.go`).
//!
//! ```text
//! HPUB subject [reply]  Nats-Batch-Id: id · Nats-Batch-Sequence: n · [Nats-Batch-Commit: 1 | eob]     all of them or none
//! PUB  subject prefix.id.flow.gap.n.operation.$FI                                                     one after another
//! ```
//!
//! The server answers a part of an atomic batch with nothing, if it has a reply subject, and the last one with an ack. It answers some
//! messages of a fast batch with how far it has come. `eob`, and the operations 3 and 4, end a batch or ask for an answer: they are no
//! messages.

use super::headers::OwnHeaders;

/// End of the reply subjects of a fast batch.
const FAST: &[u8] = b".$FI";

/// The part of a batch that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchPart {
    /// A message that the server does not store before the others have come.
    Open,
    /// A message that the server answers as any other.
    Message,
    /// A word to the server, which stores nothing.
    Control,
}

impl BatchPart {
    /// The part that a message with this reply subject and these headers is; `None` if it is published alone.
    pub fn of(reply: Option<&[u8]>, headers: &OwnHeaders<'_>) -> Option<BatchPart> {
        if let Some(words) = reply.and_then(|reply| reply.strip_suffix(FAST)) {
            let operation = words.rsplit(|&byte| byte == b'.').next();
            let is_control = matches!(operation, Some(b"3" | b"4"));
            return Some(if is_control { BatchPart::Control } else { BatchPart::Message });
        }
        headers.is_in_batch.then_some(match headers.batch_commit {
            None => BatchPart::Open,
            Some(b"eob") => BatchPart::Control,
            Some(_) => BatchPart::Message,
        })
    }
}

/// True for the reply subject of a message in a fast batch.
pub(super) fn is_fast(reply: &[u8]) -> bool {
    reply.ends_with(FAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_batches() {
        let of = |reply: &[u8], header: &str| {
            let header = format!("NATS/1.0\r\n{header}\r\n\r\n");
            let headers = OwnHeaders::read(header.as_bytes());
            BatchPart::of(Some(reply).filter(|reply| !reply.is_empty()), &headers)
        };
        assert_eq!(of(b"", "Nats-Batch-Id: a\r\nNats-Batch-Sequence: 1"), Some(BatchPart::Open));
        let commit = "Nats-Batch-Id: a\r\nNats-Batch-Sequence: 9\r\nNats-Batch-Commit: ";
        assert_eq!(of(b"r", &format!("{commit}1")), Some(BatchPart::Message));
        assert_eq!(of(b"r", &format!("{commit}eob")), Some(BatchPart::Control));
        for (operation, part) in [
            ("0", BatchPart::Message),
            ("2", BatchPart::Message),
            ("3", BatchPart::Control),
            ("4", BatchPart::Control),
        ] {
            let reply = format!("_INBOX.x.id.10.ok.7.{operation}.$FI");
            assert_eq!(
                BatchPart::of(Some(reply.as_bytes()), &OwnHeaders::default()),
                Some(part),
                "{operation}"
            );
        }
        assert_eq!(of(b"_INBOX.a", "X-Batch: 1"), None);
        assert_eq!(BatchPart::of(None, &OwnHeaders::default()), None);
    }
}
