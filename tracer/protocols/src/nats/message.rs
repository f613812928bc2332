//! Validity of an operation and its payload.

use super::line::{ControlLine, MessageLine, NatsOperation, is_word};
use crate::Reader;
use wirelap_events::{FrameClass, TraceContext};

/// After a gap, a larger message is considered invalid; servers cannot be configured to accept more than 64 MiB.
const PLAUSIBLE_BYTES: usize = 64 << 20;

/// The end of a payload.
const CRLF: &[u8] = b"\r\n";

/// The captured bytes of a message after its line.
pub(super) struct MessageBody<'a> {
    pub header: &'a [u8],
    pub payload: &'a [u8],
    pub payload_len: usize,
}

impl<'a> MessageBody<'a> {
    /// Reads the bytes after the line; `None` if they do not end with CR LF.
    pub fn read(
        line: &ControlLine<'a>,
        message: &MessageLine<'a>,
        bytes: &'a [u8],
    ) -> Option<MessageBody<'a>> {
        let mut reader = Reader::new(bytes);
        reader.skip(line.bytes)?;
        let header = reader.take_up_to(message.header);
        let payload_len = message.total.saturating_sub(message.header);
        let payload = reader.take_up_to(payload_len);
        CRLF.starts_with(reader.take_up_to(CRLF.len())).then_some(())?;
        Some(MessageBody { header, payload, payload_len })
    }

    /// The trace that the message names in the first line of its header that is well-formed and was captured whole.
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.header.split_inclusive(|&byte| byte == b'\n').find_map(|line| {
            let line = line.strip_suffix(b"\n")?;
            let colon = line.iter().position(|&byte| byte == b':')?;
            let (name, value) = line.split_at(colon);
            TraceContext::of_header(name, value.strip_prefix(b":")?.trim_ascii())
        })
    }
}

/// True if `line`, the first line of `bytes`, is valid, and its payload, as far as it was captured, ends with CR LF.
pub(super) fn is_strict(line: &ControlLine<'_>, bytes: &[u8]) -> bool {
    match line.verb.kind {
        NatsOperation::Publish { .. } | NatsOperation::Deliver { .. } => MessageLine::read(line)
            .is_some_and(|message| {
                message.total <= PLAUSIBLE_BYTES
                    && is_word(message.subject)
                    && message.reply.is_none_or(is_word)
                    && MessageBody::read(line, &message, bytes).is_some()
            }),
        NatsOperation::Forward => line.pdu_len().is_some() && line.arguments().all(is_word),
        NatsOperation::Control(_) | NatsOperation::Internal(_) => is_strict_control(line),
    }
}

/// True if the arguments of a line without payload are valid.
pub(super) fn is_strict_control(line: &ControlLine<'_>) -> bool {
    let args = line.args.trim_ascii();
    let words = |most: usize| {
        (1..=most).contains(&line.arguments().count()) && line.arguments().all(is_word)
    };
    match line.verb.kind {
        NatsOperation::Control(FrameClass::Session) => {
            args.starts_with(b"{") && args.ends_with(b"}")
        }
        NatsOperation::Control(FrameClass::Subscribe) => words(3),
        NatsOperation::Control(FrameClass::Other) => args.starts_with(b"'") && args.ends_with(b"'"),
        NatsOperation::Control(_) => args.is_empty(),
        // On a route, `LS+` has the origin, the account, the subject, the queue group and its weight (nats-server, server/route.go).
        _ => words(5),
    }
}

/// True if a message is at the front of `head`.
pub(super) fn stands_out(head: &[u8]) -> bool {
    let is_message = |line: &ControlLine<'_>| {
        matches!(line.verb.kind, NatsOperation::Publish { .. } | NatsOperation::Deliver { .. })
    };
    ControlLine::read(head).is_ok_and(|line| is_message(&line) && is_strict(&line, head))
}
