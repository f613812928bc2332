//! Plays datagrams to a decoder and keeps what it finds.

use wirelap_events::{ByteRange, Frame, FrameClass, GlobalKey, Offset, Transport};
use wirelap_protocols::rtps::PROTOCOL;
use wirelap_protocols::{Connection, Memory, Pdu, Protocol, Side};

/// A frame. Places count from the start of its datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub start: u64,
    pub len: u64,
    pub name: &'static str,
    pub class: FrameClass,
    pub payload_bytes: u64,
    pub data: Option<SeenData>,
}

/// The message that a frame completes. Its extent counts from the start of the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenData {
    pub extent: (u64, u64),
    pub topic: String,
    pub payload_len: u64,
    pub payload: Vec<u8>,
    pub key: GlobalKey,
    pub duplicate: bool,
}

impl Seen {
    /// Name, class and bytes.
    pub fn brief(&self) -> (&'static str, FrameClass, u64) {
        (self.name, self.class, self.len)
    }
}

/// One conversation.
pub struct Conversation {
    conn: Box<dyn Connection>,
    sent: [u64; 2],
}

impl Conversation {
    pub fn new() -> Conversation {
        Conversation { conn: PROTOCOL.connection(Transport::Udp), sent: [0; 2] }
    }

    pub fn sharing(memory: &Memory) -> Conversation {
        Conversation { conn: PROTOCOL.connection_with(Transport::Udp, memory), sent: [0; 2] }
    }

    /// Bytes sent by side A.
    pub fn sent(&self) -> u64 {
        self.sent[Side::A as usize]
    }

    /// Plays a datagram of side A.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<Seen> {
        self.send_cut(Side::A, bytes, bytes.len())
    }

    /// Plays a datagram of `len` bytes of which `bytes` were captured. Whatever is in it, its frames
    /// must lie end to end and cover it.
    pub fn send_cut(&mut self, side: Side, bytes: &[u8], len: usize) -> Vec<Seen> {
        let start = Offset::START.plus(self.sent[side as usize]);
        let range = ByteRange::new(start, len as u64);
        self.sent[side as usize] += len as u64;
        let mut seen = Vec::new();
        let mut end = start;
        self.conn.pdu(side, Pdu { range, bytes }, &mut |frame: &Frame<'_>| {
            assert_eq!(frame.range.start, end, "frames lie end to end");
            assert!(!frame.range.is_empty());
            assert!(frame.payload_bytes <= frame.range.len());
            end = frame.range.end;
            seen.push(kept(frame, start));
        });
        assert_eq!(end, range.end, "frames cover the datagram");
        seen
    }
}

fn kept(frame: &Frame<'_>, start: Offset) -> Seen {
    let data = frame.data.map(|data| {
        assert_eq!(frame.class, FrameClass::Data);
        assert!(data.payload.len() as u64 <= data.payload_len);
        assert!(data.extent.start <= frame.range.start && data.extent.end == frame.range.end);
        assert!(!data.retained);
        let place = |offset: Offset| offset.0 - Offset::START.0;
        SeenData {
            extent: (place(data.extent.start), place(data.extent.end)),
            topic: String::from_utf8_lossy(data.topic).into_owned(),
            payload_len: data.payload_len,
            payload: data.payload.to_vec(),
            key: data.key.expect("RTPS data has a key"),
            duplicate: data.duplicate,
        }
    });
    Seen {
        start: frame.range.start.0 - start.0,
        len: frame.range.len(),
        name: frame.name,
        class: frame.class,
        payload_bytes: frame.payload_bytes,
        data,
    }
}
