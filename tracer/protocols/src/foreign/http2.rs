//! HTTP/2 (RFC 9113 §3.4, §4.1), and `gRPC` by what it puts before each message.
//!
//! ```text
//! frame  | length u24 | type u8 | flags u8 | stream u32, high bit 0 | payload
//! gRPC   | 0 or 1, compressed | length u32 | message |     in DATA frames
//! ```

use super::name::ForeignName;
use crate::Reader;
use wirelap_events::Saturate;

const NAME: &str = "HTTP/2";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const SETTINGS: u8 = 4;

/// So many frames to a packet's end are no coincidence.
const ENOUGH_FRAMES: u32 = 3;

/// The preface that a client sends first.
pub(super) fn preface(head: &[u8]) -> Option<ForeignName> {
    let enough = head.get(..16)?;
    (PREFACE.starts_with(enough)).then(|| named(is_grpc(head.get(PREFACE.len()..).unwrap_or(&[]))))
}

fn named(is_grpc: bool) -> ForeignName {
    let inside = is_grpc.then(|| "grpc".into());
    ForeignName { inside, ..ForeignName::of(NAME, None) }
}

/// A packet that is made of frames, the server's SETTINGS alone or several of any.
pub(super) fn frames(bytes: &[u8], missing: u64) -> Option<ForeignName> {
    let mut rest = bytes;
    let (mut count, mut grpc, mut starts) = (0, false, false);
    while let Some(frame) = Http2Frame::read(rest) {
        count.grow(1);
        grpc |= frame.is_grpc;
        starts |= count == 1 && frame.kind == SETTINGS && frame.len < 9 + 20 * 6;
        let len = frame.len;
        match usize::try_from(len).ok().and_then(|len| rest.get(len..)) {
            Some([]) if missing == 0 => {
                let sure = count >= ENOUGH_FRAMES || grpc || (starts && bytes.len() > 9);
                return sure.then(|| named(grpc));
            }
            Some(tail) => rest = tail,
            None => break,
        }
    }
    None
}

fn is_grpc(frames: &[u8]) -> bool {
    let mut rest = frames;
    while let Some(frame) = Http2Frame::read(rest) {
        if frame.is_grpc {
            return true;
        }
        rest = usize::try_from(frame.len).ok().and_then(|len| rest.get(len..)).unwrap_or_default();
    }
    false
}

struct Http2Frame {
    kind: u8,
    len: u64,
    is_grpc: bool,
}

impl Http2Frame {
    fn read(bytes: &[u8]) -> Option<Http2Frame> {
        let mut reader = Reader::new(bytes);
        let len = u32::from(reader.u8()?) << 16 | u32::from(reader.u16_be()?);
        let (kind, flags, stream) = (reader.u8()?, reader.u8()?, reader.u32_be()?);
        // RFC 9113 §6: which frames belong to a stream, which flags and which lengths they can have.
        let fits = stream >> 31 == 0
            && match kind {
                DATA => stream != 0 && flags & !0x09 == 0,
                1 => stream != 0 && flags & !0x2D == 0 && len > 0,
                2 => stream != 0 && len == 5 && flags == 0,
                3 => stream != 0 && len == 4 && flags == 0,
                SETTINGS => stream == 0 && len % 6 == 0 && (flags == 0 || (flags == 1 && len == 0)),
                6 => stream == 0 && len == 8 && flags <= 1,
                7 => stream == 0 && len >= 8 && flags == 0,
                8 => len == 4 && flags == 0,
                9 => stream != 0 && flags & !4 == 0,
                _ => false,
            };
        let mut inner = reader;
        let prefix = (inner.u8(), inner.u32_be());
        let is_grpc = kind == DATA
            && len >= 5
            && matches!(prefix, (Some(0 | 1), Some(message)) if message == len.saturating_sub(5));
        (fits && len <= 1 << 20).then_some(Http2Frame { kind, len: 9 + u64::from(len), is_grpc })
    }
}
