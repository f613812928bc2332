//! Payload out of frames, in one direction.

use super::frame::{WebSocketHeader, unmask};
use super::handshake;
use crate::{Pdu, PduLen};
use wirelap_events::{ByteRange, FrameClass};

/// Size of the parts in which a longer frame is handed on.
const PART_BYTES: u64 = 64 << 10;

/// A frame of which only the first bytes have come.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    /// Payload bytes that come yet.
    left: u64,
    /// Payload bytes that have come.
    done: u64,
    key: Option<[u8; 4]>,
    kind: PayloadKind,
    /// True if the message ends with this frame.
    is_final: bool,
}

/// The kind of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PayloadKind {
    /// Bytes of the carried protocol.
    Carried,
    /// Bytes of a compressed message.
    Compressed,
    /// Bytes of a control frame.
    Control(&'static str, FrameClass),
}

/// Content of a PDU.
#[derive(Clone, Copy, Debug)]
pub(super) enum PduContent<'a> {
    /// A head of the handshake.
    Head(&'a [u8]),
    /// Bytes that the carried protocol's decoder does not see.
    Own(&'static str, FrameClass),
    /// Bytes of the carried protocol after a header of `lead` bytes, in a frame of `payload` bytes of them. They were unmasked into
    /// the buffer that was given.
    Carried { lead: u64, payload: u64 },
    /// Bytes of a compressed message after a header of `lead` bytes, unmasked like carried ones. The message may start and
    /// may end with them.
    Compressed { lead: u64, starts: bool, ends: bool },
}

/// The frames of one direction.
#[derive(Debug, Default)]
pub(super) struct WebSocketDeframer {
    open: Option<OpenFrame>,
    /// True if the message that is open is compressed.
    is_compressed: bool,
    /// Frames so far.
    pub frames: u64,
    /// True if a head of the handshake was seen.
    pub is_opened: bool,
    /// True if frames are masked; `None` until a frame has shown it.
    pub is_masked: Option<bool>,
    /// True if the ends have agreed to compress nothing.
    pub is_uncompressed: bool,
}

impl WebSocketDeframer {
    /// See [`crate::Connection::pdu_len`].
    pub fn pdu_len(&self, head: &[u8]) -> PduLen {
        if let Some(open) = &self.open {
            return PduLen::Known(open.left.clamp(1, PART_BYTES));
        }
        match self.span(head) {
            // Only the bytes of a frame come in parts.
            PduLen::Known(len) if len > PART_BYTES => PduLen::Known(PART_BYTES),
            len => len,
        }
    }

    /// See [`crate::Connection::span`].
    pub fn span(&self, head: &[u8]) -> PduLen {
        if self.frames == 0 && handshake::may_start(head) {
            return handshake::len(head);
        }
        match WebSocketHeader::read(head) {
            Ok(header) if header.is_compressed && self.is_uncompressed => PduLen::Invalid,
            Ok(header) => PduLen::Known(header.frame_len()),
            Err(why) => why,
        }
    }

    /// See [`crate::Connection::open_bytes`].
    pub fn open_bytes(&self) -> u64 {
        self.open.map_or(0, |open| open.left)
    }

    /// Reads a PDU. Carried bytes are put into `text`, as many as there are.
    pub fn pdu<'a>(&mut self, pdu: Pdu<'a>, text: &mut Vec<u8>) -> PduContent<'a> {
        text.clear();
        let len = pdu.range.len();
        let (mut open, lead, starts) = match self.open.take() {
            Some(open) => (open, 0, false),
            None if self.frames == 0 && handshake::may_start(pdu.bytes) => {
                self.is_opened = true;
                return PduContent::Head(pdu.bytes);
            }
            None => match self.begin(pdu.bytes) {
                Some(begun) => begun,
                None => return PduContent::Own("frame (WebSocket)", FrameClass::Opaque),
            },
        };
        let here = len.saturating_sub(lead).min(open.left);
        if !matches!(open.kind, PayloadKind::Control(..)) {
            let skip = usize::try_from(lead).unwrap_or(usize::MAX);
            text.extend_from_slice(pdu.bytes.get(skip..).unwrap_or_default());
            if let Some(key) = open.key {
                unmask(key, open.done, text);
            }
        }
        let payload = open.left.saturating_add(open.done);
        open.left = open.left.saturating_sub(here);
        open.done = open.done.saturating_add(here);
        self.open = (open.left > 0).then_some(open);
        match open.kind {
            PayloadKind::Carried => PduContent::Carried { lead, payload },
            PayloadKind::Compressed => {
                PduContent::Compressed { lead, starts, ends: open.left == 0 && open.is_final }
            }
            PayloadKind::Control(name, class) => PduContent::Own(name, class),
        }
    }

    /// Begins a frame; the bytes of its header, and whether it begins a message.
    fn begin(&mut self, bytes: &[u8]) -> Option<(OpenFrame, u64, bool)> {
        let header = WebSocketHeader::read(bytes).ok()?;
        self.frames = self.frames.saturating_add(1);
        self.is_masked = Some(header.key.is_some());
        let control = header.control();
        if control.is_none() && header.opcode != 0 {
            self.is_compressed = header.is_compressed;
        }
        let kind = match control {
            Some((name, class)) => PayloadKind::Control(name, class),
            None if self.is_compressed => PayloadKind::Compressed,
            None => PayloadKind::Carried,
        };
        let (left, key, is_final) = (header.payload, header.key, header.is_final);
        let open = OpenFrame { left, done: 0, key, kind, is_final };
        Some((open, header.bytes as u64, control.is_none() && header.opcode != 0))
    }

    /// Bytes are missing: the open frame is gone.
    pub fn gap(&mut self) {
        self.open = None;
    }
}

/// The bytes of the PDU after `lead` ones.
pub(super) fn after(range: ByteRange, lead: u64) -> ByteRange {
    ByteRange { start: (range.start + lead).min(range.end), ..range }
}
