//! Plays conversations to a decoder and checks what holds of its frames.

use std::fmt::Write as _;
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, FrameNote, FrameSink, Pdu, Protocol, Side};

/// One packet of a conversation.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Side that sent the packet.
    pub side: Side,
    /// Captured bytes of the packet.
    pub bytes: Vec<u8>,
    /// Bytes after those that were not.
    pub missing: u64,
}

impl Chunk {
    /// A packet that was captured whole.
    pub fn whole(side: Side, bytes: &[u8]) -> Chunk {
        Chunk { side, bytes: bytes.to_vec(), missing: 0 }
    }

    /// Bytes of it, captured or not.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64 + self.missing
    }

    /// True if the packet has no bytes, captured or not.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A frame that was found, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Side that sent the frame.
    pub side: Side,
    /// Place of the frame in the flow.
    pub range: ByteRange,
    /// See [`describe`].
    pub text: String,
}

/// A receiver of frames that asks for everything that a decoder looks for on demand.
struct Curious<F>(F);

impl<F: FnMut(&Frame<'_>)> FrameSink for Curious<F> {
    fn frame(&mut self, frame: &Frame<'_>) {
        (self.0)(frame);
    }

    fn note(&mut self, _note: FrameNote<'_>) {}

    fn takes_trace_contexts(&self) -> bool {
        true
    }
}

/// Feeds a conversation to a decoder and watches its output.
pub struct Player {
    transport: Transport,
    conn: Box<dyn Connection>,
    streams: [Stream; 2],
    fed: [u64; 2],
    /// Frames that were found, in the order in which they were.
    pub found: Vec<Found>,
}

impl Player {
    /// A conversation seen from its first byte, or joined in `mid_stream`.
    pub fn new(protocol: &dyn Protocol, transport: Transport, mid_stream: bool) -> Player {
        Player {
            transport,
            conn: protocol.connection(transport),
            streams: [Side::A, Side::B].map(|side| Stream::new(side, mid_stream)),
            fed: [0; 2],
            found: Vec::new(),
        }
    }

    /// Plays the chunks and checks the result.
    #[allow(clippy::return_self_not_must_use, reason = "the check alone is worth it")]
    pub fn play<'c>(mut self, chunks: impl IntoIterator<Item = &'c Chunk>) -> Player {
        for chunk in chunks {
            self.feed(chunk);
        }
        self.check();
        self
    }

    /// Feeds one packet.
    pub fn feed(&mut self, chunk: &Chunk) {
        let side = chunk.side as usize;
        let at = Offset::START.plus(self.fed[side]);
        self.fed[side] += chunk.len();
        let found = &mut self.found;
        let mut sink = Curious(|frame: &Frame<'_>| {
            check_frame(frame);
            found.push(Found { side: chunk.side, range: frame.range, text: describe(frame) });
        });
        match self.transport {
            Transport::Tcp => {
                let stream = &mut self.streams[side];
                stream.feed(at, &chunk.bytes, chunk.missing, &mut *self.conn, &mut sink);
            }
            Transport::Udp => {
                let range = ByteRange::new(at, chunk.len());
                self.conn.pdu(chunk.side, Pdu { range, bytes: &chunk.bytes }, &mut sink);
            }
        }
    }

    /// Bytes that are in no frame.
    pub fn undecoded(&self) -> u64 {
        self.streams.iter().map(Stream::undecoded_bytes).sum()
    }

    /// Bytes that wait for more.
    pub fn pending(&self) -> u64 {
        self.streams.iter().map(Stream::pending_bytes).sum()
    }

    /// True if every byte is in a frame.
    pub fn is_complete(&self) -> bool {
        self.undecoded() + self.pending() == 0
    }

    /// The frames in words.
    pub fn texts(&self) -> Vec<&str> {
        self.found.iter().map(|found| found.text.as_str()).collect()
    }

    /// Every byte is in exactly one frame, or undecoded, or pending.
    fn check(&self) {
        for side in [Side::A, Side::B] {
            let stream = &self.streams[side as usize];
            let mut end = Offset::START;
            let mut framed = 0;
            // Frames without bytes lie at the end of the frame that they were decompressed from, before it or after it.
            let found = self.found.iter().filter(|found| found.side == side);
            for found in found.filter(|found| !found.range.is_empty()) {
                assert!(found.range.start >= end, "frames overlap: {:#?}", self.found);
                end = found.range.end;
                framed += found.range.len();
            }
            let fed = self.fed[side as usize];
            assert!(end <= Offset::START.plus(fed), "a frame ends past the flow");
            let accounted = framed + stream.undecoded_bytes() + stream.pending_bytes();
            assert_eq!(accounted, fed, "bytes of {side:?} went missing: {:#?}", self.found);
        }
    }
}

/// Checks the invariants of a frame.
fn check_frame(frame: &Frame<'_>) {
    assert!(frame.payload_bytes <= frame.range.len(), "more payload than frame: {frame:?}");
    let Some(data) = frame.data else { return };
    assert!(data.payload.len() as u64 <= data.payload_len, "too much payload: {frame:?}");
    assert!(data.extent.start <= frame.range.start && data.extent.end <= frame.range.end);
}

/// A frame in the words of a transcript's `=` lines: name, class, bytes, then what applies.
pub fn describe(frame: &Frame<'_>) -> String {
    let mut text = format!("{} {} {}", frame.name, frame.class.name(), frame.range.len());
    let mut add = |word: std::fmt::Arguments<'_>| write!(text, " {word}").unwrap();
    if frame.payload_bytes > 0 {
        add(format_args!("payload={}", frame.payload_bytes));
    }
    if let Some(data) = frame.data {
        add(format_args!("topic={}", data.topic.escape_ascii()));
        if data.payload_len != frame.payload_bytes {
            add(format_args!("message={}", data.payload_len));
        }
        if (data.payload.len() as u64) < data.payload_len {
            add(format_args!("captured={}", data.payload.len()));
        }
        if data.extent != frame.range {
            add(format_args!("extent={}", data.extent.len()));
        }
        if let Some(key) = data.key.filter(|key| key.unique) {
            add(format_args!("key={:032x}:{}", u128::from_be_bytes(key.origin), key.seq));
        }
        for (flag, word) in [(data.duplicate, "dup"), (data.retained, "retained")] {
            if flag {
                add(format_args!("{word}"));
            }
        }
    }
    text
}
