//! HTTP/1 (RFC 9112) and WebSocket (RFC 6455).
//!
//! ```text
//! WebSocket frame  | fin, opcode | mask bit, length 7 [+ u16 | + u64] | [key, 4 bytes] | payload
//! ```
//!
//! A client's frames are masked, a server's are not (§5.3); the mask is known, so what a frame begins with can be seen.

use super::name::{COMPRESSED, ForeignName, HTTP, WEBSOCKET, name_text};
use crate::websocket::may_start_deflated;
use crate::{Protocol, Reader, SignatureMatch, mqtt, nats};
use wirelap_events::Transport;
use wirelap_events::{Count, SmallCount};

const METHODS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
];

/// So many frames that fit their packets are no coincidence.
const ENOUGH_FRAMES: u32 = 4;

/// Nothing inside shows what compressed frames are: there have to be more.
const ENOUGH_COMPRESSED: u32 = 8;

/// The head of a request or a response.
pub(super) fn head(head: &[u8]) -> Option<ForeignName> {
    let line = head.split(|b| *b == b'\n').next()?;
    let minor = if head.starts_with(b"HTTP/1.") {
        head.get(7)?
    } else {
        METHODS.iter().find(|method| head.starts_with(method))?;
        let at = line.windows(8).rposition(|word| word == b" HTTP/1.")?;
        line.get(at.saturating_add(8))?
    };
    let version = match minor {
        b'0' => "1.0",
        b'1' => "1.1",
        _ => return None,
    };
    let mut name = ForeignName::of(HTTP, Some(version));
    for line in head.split(|b| *b == b'\n').skip(1).take_while(|line| line.len() > 1) {
        header(line, &mut name);
    }
    Some(name)
}

/// One field of a head.
fn header(line: &[u8], name: &mut ForeignName) {
    let Some(colon) = line.iter().position(|b| *b == b':') else { return };
    let (field, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    if field.eq_ignore_ascii_case(b"upgrade") && value.eq_ignore_ascii_case(b"websocket") {
        name.protocol = WEBSOCKET;
        name.version = None;
    } else if field.eq_ignore_ascii_case(b"host") {
        name.server_name = name_text(value);
    } else if field.eq_ignore_ascii_case(b"sec-websocket-protocol") {
        let first = value.split(|b| *b == b',').next().unwrap_or_default();
        name.inside = name_text(first);
    }
}

/// Frames of a WebSocket that was joined late: those that fill their packets exactly.
#[derive(Debug, Default)]
pub(super) struct LateFrames {
    fitting: SmallCount,
    other: SmallCount,
    compressed: SmallCount,
    carries: Option<&'static str>,
}

impl LateFrames {
    pub fn packet(&mut self, bytes: &[u8], missing: u64) -> Option<ForeignName> {
        let total = Count(bytes.len() as u64) + missing;
        let mut at = Count(0);
        while at < total {
            let rest =
                usize::try_from(at.0).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
            let Some(frame) = LateFrame::read(rest) else { break };
            at += frame.len;
            self.carries = frame.carries.or(self.carries);
            self.compressed += u32::from(frame.is_compressed);
            // Two bytes of a short frame are too little to count.
            self.fitting += u32::from(frame.len >= 8 || frame.carries.is_some());
        }
        if at != total || total == 0 {
            self.other += 1;
            (self.fitting, self.compressed) = (SmallCount(0), SmallCount(0));
            return None;
        }
        // Binary data begins with such bytes too: what is inside, or nothing else but frames, decides.
        let compressed = (self.compressed >= ENOUGH_COMPRESSED).then_some(COMPRESSED);
        let inside = self.carries.or(compressed);
        let inside = inside.filter(|_| self.fitting >= ENOUGH_FRAMES && self.other == 0)?;
        Some(ForeignName { inside: Some(inside.into()), ..ForeignName::of(WEBSOCKET, None) })
    }
}

struct LateFrame {
    len: u64,
    is_compressed: bool,
    carries: Option<&'static str>,
}

impl LateFrame {
    fn read(bytes: &[u8]) -> Option<LateFrame> {
        let mut reader = Reader::new(bytes);
        let first = reader.u8()?;
        // A whole compressed message; or final or not, no reserved bit: continuation, text, binary, close, ping, pong.
        let is_compressed = matches!(first, 0xC1 | 0xC2);
        if !is_compressed && (first & 0x70 != 0 || !matches!(first & 0x0F, 0..=2 | 8..=10)) {
            return None;
        }
        let second = reader.u8()?;
        let payload = match second & 0x7F {
            126 => u64::from(reader.u16_be()?),
            127 => reader.u64_be().filter(|len| *len < 1 << 40)?,
            len => len.into(),
        };
        let key = if second & 0x80 == 0 { [0; 4] } else { reader.array()? };
        let len = (reader.position() as u64).saturating_add(payload);
        let mut head: Vec<u8> = reader.peek_rest().iter().copied().take(64).collect();
        for (byte, key) in head.iter_mut().zip(key.iter().cycle()) {
            *byte ^= key;
        }
        if is_compressed && !head.first().is_some_and(|first| may_start_deflated(*first)) {
            return None;
        }
        let starts = |protocol: &dyn Protocol| {
            !is_compressed
                && first & 0x0F != 0
                && matches!(protocol.match_signature(Transport::Tcp, &head), SignatureMatch::Pdu(sight)
                    if sight.len <= payload && sight.bits >= 13)
        };
        let carries = if starts(&mqtt::PROTOCOL) {
            Some("mqtt")
        } else {
            starts(&nats::PROTOCOL).then_some("nats")
        };
        Some(LateFrame { len, is_compressed, carries })
    }
}
