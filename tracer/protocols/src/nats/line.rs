//! The control line (NATS client protocol, "Protocol conventions" and "Protocol messages").
//!
//! ```text
//! verb (any case) · arguments, each after a run of spaces and tabs · CR LF
//!
//! PUB  subject [reply-to]               #total CRLF payload CRLF        client → server
//! HPUB subject [reply-to]       #header #total CRLF header payload CRLF
//! MSG  subject sid [reply-to]           #total CRLF payload CRLF        server → client
//! HMSG subject sid [reply-to]   #header #total CRLF header payload CRLF
//! RMSG, LMSG … (module `servers`)       #total CRLF payload CRLF        server → server
//! ```
//!
//! Numbers are decimal; `#total` counts header and payload without the last CR LF.

use crate::PduLen;
use wirelap_events::FrameClass;
use wirelap_events::Saturate;

/// A longer line is considered invalid. Servers accept control lines of 4 KiB by default; the list of servers in `INFO` can
/// be longer. A line that arrives in several packets is searched again with each packet, and this limit bounds the cost.
const LONGEST_LINE: usize = 32 * 1024;

/// The shortest operation: `+OK` and a bare line feed.
const SHORTEST_LINE: usize = 4;

/// The longest verb is `CONNECT`.
const LONGEST_VERB: usize = 7;

/// The most arguments in the line of a message.
const MOST_ARGUMENTS: usize = 5;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NatsOperation {
    /// A message from a client to the server, perhaps with a header.
    Publish { header: bool },
    /// A message from the server to a client, perhaps with a header.
    Deliver { header: bool },
    /// A message between servers.
    Forward,
    /// A line without payload.
    Control(FrameClass),
    /// A line without payload that only servers send to each other.
    Internal(FrameClass),
}

/// A verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verb {
    pub name: &'static str,
    pub kind: NatsOperation,
    code: u64,
}

/// All verbs, the most frequent first.
static VERBS: [Verb; 20] = [
    verb("MSG", NatsOperation::Deliver { header: false }),
    verb("PUB", NatsOperation::Publish { header: false }),
    verb("HMSG", NatsOperation::Deliver { header: true }),
    verb("HPUB", NatsOperation::Publish { header: true }),
    verb("+OK", NatsOperation::Control(FrameClass::Ack)),
    verb("PING", NatsOperation::Control(FrameClass::KeepAlive)),
    verb("PONG", NatsOperation::Control(FrameClass::KeepAlive)),
    verb("SUB", NatsOperation::Control(FrameClass::Subscribe)),
    verb("UNSUB", NatsOperation::Control(FrameClass::Subscribe)),
    verb("INFO", NatsOperation::Control(FrameClass::Session)),
    verb("CONNECT", NatsOperation::Control(FrameClass::Session)),
    verb("-ERR", NatsOperation::Control(FrameClass::Other)),
    verb("RMSG", NatsOperation::Forward),
    verb("LMSG", NatsOperation::Forward),
    verb("RS+", NatsOperation::Internal(FrameClass::Subscribe)),
    verb("RS-", NatsOperation::Internal(FrameClass::Subscribe)),
    verb("LS+", NatsOperation::Internal(FrameClass::Subscribe)),
    verb("LS-", NatsOperation::Internal(FrameClass::Subscribe)),
    verb("A+", NatsOperation::Internal(FrameClass::Subscribe)),
    verb("A-", NatsOperation::Internal(FrameClass::Subscribe)),
];

const fn verb(name: &'static str, kind: NatsOperation) -> Verb {
    Verb { name, kind, code: code(name.as_bytes()) }
}

/// A word of at most eight bytes as a number, independent of upper and lower case.
const fn code(mut word: &[u8]) -> u64 {
    let mut code = 0;
    while let [first, rest @ ..] = word {
        code = code << 8 | first.to_ascii_uppercase() as u64;
        word = rest;
    }
    code
}

/// A control line.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlLine<'a> {
    pub verb: &'static Verb,
    /// The bytes between the verb and the line's end.
    pub args: &'a [u8],
    /// Number of bytes of the line, including its end.
    pub bytes: usize,
}

impl<'a> ControlLine<'a> {
    /// Reads the line at the front of `head`.
    ///
    /// # Errors
    /// [`PduLen::Need`] if there are too few bytes, [`PduLen::Invalid`] if no operation starts here.
    pub fn read(head: &'a [u8]) -> Result<ControlLine<'a>, PduLen> {
        // This quickly rejects most bytes in a search after a gap.
        if head.first().is_some_and(|first| !b"MPHSUICRLA+-".contains(&first.to_ascii_uppercase()))
        {
            return Err(PduLen::Invalid);
        }
        let Some(verb_len) = head.iter().take(LONGEST_VERB + 1).position(|&b| b <= b' ') else {
            return Err(incomplete(head));
        };
        let (word, rest) = head.split_at(verb_len);
        let code = code(word);
        let verb = VERBS.iter().find(|verb| verb.code == code).ok_or(PduLen::Invalid)?;
        if !matches!(rest.first(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            return Err(PduLen::Invalid);
        }
        let searched = rest.get(..LONGEST_LINE).unwrap_or(rest);
        let Some(end) = searched.iter().position(|&b| b == b'\n') else {
            return Err(if rest.len() < LONGEST_LINE { need_more(head) } else { PduLen::Invalid });
        };
        let (args, _) = rest.split_at(end);
        // Servers accept a line feed without a carriage return.
        let args = args.strip_suffix(b"\r").unwrap_or(args);
        Ok(ControlLine { verb, args, bytes: verb_len.saturating_add(end).saturating_add(1) })
    }

    /// Number of bytes of the whole operation, including its payload; `None` if the line has no valid size.
    pub fn pdu_len(&self) -> Option<u64> {
        let payload = match self.verb.kind {
            NatsOperation::Control(_) | NatsOperation::Internal(_) => 0,
            _ => u64::from(number(self.arguments().next_back()?)?) + 2,
        };
        Some((self.bytes as u64).saturating_add(payload))
    }

    /// The arguments one by one.
    pub fn arguments(&self) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.args.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty())
    }
}

/// Asks for more bytes if `head` can be the start of a verb; otherwise it is invalid.
fn incomplete(head: &[u8]) -> PduLen {
    let starts = |verb: &Verb| {
        verb.name.as_bytes().get(..head.len()).is_some_and(|name| name.eq_ignore_ascii_case(head))
    };
    if VERBS.iter().any(starts) { need_more(head) } else { PduLen::Invalid }
}

fn need_more(head: &[u8]) -> PduLen {
    PduLen::Need(SHORTEST_LINE.max(head.len().saturating_add(1)))
}

/// Parses a size, which has at most nine digits as in servers.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    let is_size = digits.len() <= 9 && !digits.is_empty();
    is_size.then_some(())?;
    digits.iter().try_fold(0_u32, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| value.saturating_mul(10).saturating_add(u32::from(digit & 0x0F)))
    })
}

/// The line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageLine<'a> {
    pub subject: &'a [u8],
    /// The number of the subscription that the message is delivered for.
    pub sid: Option<&'a [u8]>,
    pub reply: Option<&'a [u8]>,
    /// Subject on which a consumer of another server's client gets the message.
    pub deliver_to: Option<&'a [u8]>,
    /// Bytes of the header.
    pub header: usize,
    /// Bytes of header and payload.
    pub total: usize,
}

impl<'a> MessageLine<'a> {
    /// Reads the arguments; `None` if this is not the line of a message.
    pub fn read(line: &ControlLine<'a>) -> Option<MessageLine<'a>> {
        let (has_sid, has_header) = match line.verb.kind {
            NatsOperation::Publish { header } => (false, header),
            NatsOperation::Deliver { header } => (true, header),
            _ => return None,
        };
        let mut words = [&[][..]; MOST_ARGUMENTS];
        let mut count = 0;
        for word in line.arguments() {
            *words.get_mut(count)? = word;
            count.grow(1);
        }
        let (subject, mut rest) = words.get(..count)?.split_first()?;
        let mut sid = None;
        if has_sid {
            let (first, others) = rest.split_first()?;
            (sid, rest) = (Some(*first), others);
        }
        let (total, mut rest) = rest.split_last()?;
        let total = number(total)? as usize;
        let mut header = 0;
        if has_header {
            let (size, others) = rest.split_last()?;
            header = number(size)? as usize;
            rest = others;
        }
        let reply = match rest {
            [] => None,
            [reply] => Some(*reply),
            _ => return None,
        };
        let message = MessageLine { subject, sid, reply, deliver_to: None, header, total };
        (header <= total).then_some(message)
    }
}

/// True if a word is not empty and has no control characters. Subjects are UTF-8.
pub(super) fn is_word(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(|&b| b > b' ' && b != 0x7F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> Option<(String, Option<String>, usize, usize)> {
        let line = ControlLine::read(line.as_bytes()).ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let m = MessageLine::read(&line)?;
        Some((text(m.subject), m.reply.map(text), m.header, m.total))
    }

    #[test]
    fn the_arguments_of_messages() {
        let found =
            |s: &str, r: Option<&str>, h, t| Some((s.to_owned(), r.map(str::to_owned), h, t));
        assert_eq!(message("PUB a.b 5\r\n"), found("a.b", None, 0, 5));
        assert_eq!(message("pub\ta.b \t r  05 \r\n"), found("a.b", Some("r"), 0, 5));
        assert_eq!(message("HPUB a 12 17\r\n"), found("a", None, 12, 17));
        assert_eq!(message("hPuB a r 12 17\r\n"), found("a", Some("r"), 12, 17));
        assert_eq!(message("MSG a 9 5\n"), found("a", None, 0, 5));
        assert_eq!(message("MSG a 9 r 5\r\n"), found("a", Some("r"), 0, 5));
        assert_eq!(message("HMSG a 9 r 12 12\r\n"), found("a", Some("r"), 12, 12));
        for wrong in [
            "PUB a\r\n",
            "PUB 5\r\n",
            "PUB a r q 5\r\n",
            "PUB a 5x\r\n",
            "PUB a 1234567890\r\n",
            "HPUB a 18 17\r\n",
            "MSG a 5\r\n",
            "HMSG a 9 5\r\n",
            "HMSG a 9 b c 5 6\r\n",
            "SUB a 5\r\n",
        ] {
            assert_eq!(message(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn every_verb_in_any_case_and_nothing_else() {
        for verb in &VERBS {
            for name in [verb.name.to_owned(), verb.name.to_ascii_lowercase()] {
                for end in [" x 1\r\n", "\t1\r\n", "\r\n", "\n"] {
                    let text = name.clone() + end;
                    let line = ControlLine::read(text.as_bytes()).unwrap();
                    assert_eq!((line.verb, line.bytes), (verb, text.len()), "{text:?}");
                    for cut in 1..text.len() {
                        let need = ControlLine::read(&text.as_bytes()[..cut]).unwrap_err();
                        assert_eq!(need, PduLen::Need(SHORTEST_LINE.max(cut + 1)), "{text:?}");
                    }
                }
                let glued = name + "x 1\r\n";
                assert_eq!(
                    ControlLine::read(glued.as_bytes()).unwrap_err(),
                    PduLen::Invalid,
                    "{glued:?}"
                );
            }
        }
        for wrong in
            [&b"GET / HTTP/1.1\r\n"[..], b"PUBLISH", b"\r\n", b" PUB a 1", b"PUB\0a 1", b"X"]
        {
            assert_eq!(ControlLine::read(wrong).unwrap_err(), PduLen::Invalid, "{wrong:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_none() {
        let mut line = b"INFO ".to_vec();
        line.resize(LONGEST_LINE, b'x');
        assert_eq!(ControlLine::read(&line).unwrap_err(), PduLen::Need(LONGEST_LINE + 1));
        line.resize(LONGEST_LINE + 4, b'x');
        assert_eq!(ControlLine::read(&line).unwrap_err(), PduLen::Invalid);
    }
}
