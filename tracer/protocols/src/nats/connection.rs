//! One NATS connection.

use super::jetstream;
use super::line::{Line, Message, Operation, is_word};
use crate::{Connection, FrameSink, Pdu, PduLen, Protocol, Reader, Side};
use wirelap_events::{ByteRange, Class, Data, Frame};

/// After a gap, a larger message is not believed; 64 MiB is the most that servers can be told to take.
const PLAUSIBLE_BYTES: usize = 64 << 20;

/// The end of a payload.
const CRLF: &[u8] = b"\r\n";

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct Nats {
    /// Both ends are servers: `HMSG` has other arguments there.
    is_internal: bool,
    /// Who serves, once a message has told.
    server: Option<Side>,
    /// The conversation has gone on with TLS.
    is_encrypted: bool,
    /// Confirmed acks that wait for their empty answer.
    confirmed_acks: u32,
}

/// What was captured of a message after its line.
struct Parts<'a> {
    header: &'a [u8],
    payload: &'a [u8],
    payload_len: usize,
}

impl<'a> Parts<'a> {
    /// `None` when the CR LF is not where it belongs.
    fn read(line: &Line<'a>, message: &Message<'a>, bytes: &'a [u8]) -> Option<Parts<'a>> {
        let mut reader = Reader::new(bytes);
        reader.skip(line.bytes)?;
        let header = reader.take_up_to(message.header);
        let payload_len = message.total.saturating_sub(message.header);
        let payload = reader.take_up_to(payload_len);
        CRLF.starts_with(reader.take_up_to(CRLF.len())).then_some(())?;
        Some(Parts { header, payload, payload_len })
    }
}

/// Whether `line`, the first of `bytes`, is as the reference has it, and its payload ends as it says,
/// as far as it was captured.
pub(super) fn is_strict(line: &Line<'_>, bytes: &[u8]) -> bool {
    match line.verb.kind {
        Operation::Publish { .. } | Operation::Deliver { .. } => {
            Message::read(line).is_some_and(|message| {
                message.total <= PLAUSIBLE_BYTES
                    && is_word(message.subject)
                    && message.reply.is_none_or(is_word)
                    && Parts::read(line, &message, bytes).is_some()
            })
        }
        Operation::Forward => line.pdu_len().is_some() && line.arguments().all(is_word),
        Operation::Control(_) | Operation::Internal(_) => is_strict_control(line),
    }
}

fn is_strict_control(line: &Line<'_>) -> bool {
    let args = line.args.trim_ascii();
    let words = |most: usize| {
        (1..=most).contains(&line.arguments().count()) && line.arguments().all(is_word)
    };
    match line.verb.kind {
        Operation::Control(Class::Session) => args.starts_with(b"{") && args.ends_with(b"}"),
        Operation::Control(Class::Subscribe) => words(3),
        Operation::Control(Class::Other) => args.starts_with(b"'") && args.ends_with(b"'"),
        Operation::Control(_) => args.is_empty(),
        _ => words(4),
    }
}

impl Nats {
    /// The class of a message, if it is not the application's.
    fn control_class(
        &mut self,
        kind: Operation,
        message: &Message<'_>,
        parts: &Parts<'_>,
    ) -> Option<Class> {
        if let Some(class) = jetstream::class_of_subject(message.subject) {
            let asks = matches!(kind, Operation::Publish { .. })
                && jetstream::is_confirmed_ack(message, parts.payload);
            self.confirmed_acks = self.confirmed_acks.saturating_add(u32::from(asks));
            return Some(class);
        }
        let Operation::Deliver { header } = kind else { return None };
        if header && parts.payload_len == 0 {
            return jetstream::class_of_status(parts.header);
        }
        if header || !jetstream::is_inbox(message.subject) {
            return None;
        }
        if parts.payload_len == 0 {
            self.confirmed_acks = self.confirmed_acks.checked_sub(1)?;
            return Some(Class::Ack);
        }
        jetstream::class_of_answer(parts.payload, parts.payload_len)
    }

    fn message(&mut self, line: &Line<'_>, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let name = line.verb.name;
        let parts = Message::read(line)
            .and_then(|message| Some((message, Parts::read(line, &message, pdu.bytes)?)));
        let Some((message, parts)) = parts else {
            return out.frame(&control(name, Class::Opaque, pdu.range));
        };
        if let Some(class) = self.control_class(line.verb.kind, &message, &parts) {
            return out.frame(&control(name, class, pdu.range));
        }
        let payload_len = parts.payload_len as u64;
        out.frame(&Frame {
            range: pdu.range,
            name,
            class: Class::Data,
            payload_bytes: payload_len,
            data: Some(Data {
                extent: pdu.range,
                topic: message.subject,
                payload_len,
                payload: parts.payload,
                key: None,
                duplicate: message.reply.is_some_and(jetstream::is_redelivered),
                retained: jetstream::is_inbox(message.subject)
                    && jetstream::is_stored(parts.header),
            }),
        });
    }
}

fn control(name: &'static str, class: Class, range: ByteRange) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}

/// A TLS record (RFC 8446 §5.1): type 20 to 23, version 3.x, a length.
fn tls_record(head: &[u8]) -> Option<PduLen> {
    let mut reader = Reader::new(head);
    if !(20..=23).contains(&reader.u8()?) {
        return None;
    }
    let Some(version) = reader.u8() else { return Some(PduLen::Need(5)) };
    (version == 3).then_some(())?;
    let len = reader.u8().and_then(|_| reader.u16_be());
    Some(len.map_or(PduLen::Need(5), |len| PduLen::Known(5 + u64::from(len))))
}

impl Connection for Nats {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match Line::read(head) {
            Ok(line) => line.pdu_len().map_or(PduLen::Invalid, PduLen::Known),
            Err(PduLen::Invalid) => tls_record(head).unwrap_or(PduLen::Invalid),
            Err(why) => why,
        }
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        Line::read(head).is_ok_and(|line| is_strict(&line, head))
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        Protocol::stands_out(&super::PROTOCOL, head)
    }

    fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    fn server(&self) -> Option<Side> {
        self.server.filter(|_| !self.is_internal)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let Ok(line) = Line::read(pdu.bytes) else {
            self.is_encrypted |= tls_record(pdu.bytes).is_some();
            return out.frame(&control("record", Class::Opaque, pdu.range));
        };
        match line.verb.kind {
            Operation::Publish { .. } => self.server = Some(side.other()),
            Operation::Deliver { .. } => self.server = Some(side),
            _ => {}
        }
        self.is_internal |= matches!(line.verb.kind, Operation::Forward | Operation::Internal(_));
        match line.verb.kind {
            Operation::Publish { .. } | Operation::Deliver { .. } if !self.is_internal => {
                self.message(&line, pdu, out);
            }
            Operation::Control(class) | Operation::Internal(class) => {
                let class = if is_strict_control(&line) { class } else { Class::Opaque };
                out.frame(&control(line.verb.name, class, pdu.range));
            }
            _ => out.frame(&control(line.verb.name, Class::Other, pdu.range)),
        }
    }

    fn gap(&mut self, _: Side) {
        self.confirmed_acks = 0;
    }
}
