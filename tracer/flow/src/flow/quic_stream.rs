//! One stream of a QUIC connection whose keys are known.

use super::flow_start::FlowStart;
use super::pending::Pending;
use super::reassembly::Reassembly;
use super::tls::text::TlsText;
use wirelap_events::{ByteRange, Offset, Seq, Total};
use wirelap_protocols::Side;
use wirelap_protocols::foreign::ForeignObserver;
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::WebSocketTrial;

/// A stream that was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownStream {
    /// The next byte of each side, if that was known.
    pub next: [Option<Offset>; 2],
    /// True if nothing more comes.
    pub is_finished: bool,
}

/// The knowledge of a stream of which bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEntry {
    /// The stream begins.
    New,
    /// The stream was read before.
    Known(KnownStream),
    /// The stream may have been read before.
    Forgotten,
}

/// One stream of a connection.
pub struct QuicStream {
    /// The stream's number.
    pub id: u64,
    /// The bytes of both directions.
    pub bytes: [Reassembly; 2],
    /// The datagrams with bytes of both directions.
    pub carried: [CarriedBytes; 2],
    /// The ends of both directions, as far as they are known.
    pub ends: [Option<Offset>; 2],
    /// True for a direction whose next bytes come after a pause.
    pub resumes: [bool; 2],
    /// The state of the reading, while another stream is read.
    pub reading: StreamReading,
}

/// The state of the reading of one stream of bytes, which a conversation has one of.
#[derive(Default)]
pub struct StreamReading {
    pub text: Option<Box<TlsText>>,
    pub streams: [Option<Stream>; 2],
    pub starts: [FlowStart; 2],
    pub pending: Option<Box<Pending>>,
    pub websocket: Option<Box<WebSocketTrial>>,
    pub observer: Option<Box<ForeignObserver>>,
}

/// A part of a stream, and the datagram that carried it first.
#[derive(Clone, Copy, Debug)]
pub struct CarriedPart {
    /// The bytes of the stream.
    pub bytes: ByteRange,
    /// Their place in the flow.
    pub datagram: ByteRange,
    /// The number of their packet.
    pub packet: u64,
}

/// The datagrams that carried the bytes of one direction of a stream, as far as those wait behind a hole.
#[derive(Debug, Default)]
pub struct CarriedBytes {
    parts: Vec<CarriedPart>,
    /// The end of the last datagram that carried bytes since the last hole that was given up: what comes next can be used with it.
    complete_with: Offset,
}

impl CarriedBytes {
    /// Adds bytes that have come.
    pub fn add(&mut self, part: CarriedPart) {
        self.parts.push(part);
    }

    /// The place in the flow of the next bytes, and the end of the datagram with which they can be used.
    pub fn place(&mut self, at: Offset) -> (ByteRange, Offset) {
        let has = |part: &&CarriedPart| part.bytes.start <= at && at < part.bytes.end;
        let first = self.parts.iter().filter(has).min_by_key(|part| part.datagram.start);
        let datagram = first.map_or(ByteRange::new(self.complete_with, 0), |part| part.datagram);
        self.complete_with = self.complete_with.max(datagram.end);
        (datagram, self.complete_with)
    }

    /// The place in the flow of bytes that do not come: before those that come next.
    pub fn place_of_gap(&mut self, end: Offset) -> (ByteRange, Offset) {
        let behind = self.parts.iter().filter(|part| part.bytes.end > end);
        let next = behind.min_by_key(|part| part.bytes.start);
        self.complete_with = next.map_or(self.complete_with, |part| part.datagram.start);
        (ByteRange::new(self.complete_with, 0), self.complete_with)
    }

    /// Forgets the places of bytes that have been read.
    pub fn forget_before(&mut self, next: Option<Offset>) {
        self.parts.retain(|part| next.is_none_or(|next| part.bytes.end > next));
    }

    /// The start of the last bytes whose packet came before a number.
    pub fn last_before(&self, packet: Option<u64>) -> Option<Offset> {
        let before = |part: &&CarriedPart| packet.is_none_or(|packet| part.packet < packet);
        self.parts.iter().filter(before).map(|part| part.bytes.start).max()
    }

    /// The start of the oldest datagram with bytes that wait.
    pub fn oldest(&self) -> Option<Offset> {
        self.parts.iter().map(|part| part.datagram.start).min()
    }

    fn held_bytes(&self) -> usize {
        self.parts.capacity().saturating_mul(size_of::<CarriedPart>())
    }
}

impl QuicStream {
    /// A stream of which nothing is read yet. `like` has the limits of what may wait.
    pub fn new(id: u64, entry: StreamEntry, like: &Reassembly) -> QuicStream {
        let mut reading = StreamReading { text: Some(Box::default()), ..StreamReading::default() };
        let mut bytes = [like.emptied(), like.emptied()];
        match entry {
            StreamEntry::New => {
                for (start, bytes) in reading.starts.iter_mut().zip(&mut bytes) {
                    start.isn = Some(Seq(0));
                    bytes.start_at(Offset::START);
                }
            }
            StreamEntry::Known(KnownStream { next, .. }) => {
                for (next, bytes) in next.into_iter().zip(&mut bytes) {
                    if let Some(next) = next {
                        bytes.start_at(next);
                    }
                }
            }
            StreamEntry::Forgotten => {}
        }
        QuicStream {
            id,
            bytes,
            carried: Default::default(),
            ends: [None; 2],
            resumes: [false; 2],
            reading,
        }
    }

    /// True if nothing more comes in it. `client` is the end that opened the connection.
    pub fn is_finished(&self, client: Side) -> bool {
        let opener = if self.id & 1 == 0 { client } else { client.other() };
        let is_at_end = |side: Side| {
            let (end, next) = (self.ends[side as usize], self.bytes[side as usize].next());
            end.is_some_and(|end| next.is_some_and(|next| next >= end))
        };
        let is_one_way = self.id & 2 != 0;
        is_at_end(opener) && (is_one_way || is_at_end(opener.other()))
    }

    /// Bytes of one side, of a stream that is not the one that is read, that wait for more.
    pub fn waiting_bytes(&self, side: Side) -> u64 {
        let side = side as usize;
        let parked = self.bytes[side].parked_bytes() as u64;
        let open = self.reading.streams[side].as_ref().map_or(0, Stream::pending_bytes);
        let head = self.reading.starts[side].head.bytes.len() as u64;
        let kept = self.reading.pending.as_ref().map_or(0, |pending| pending.kept[side].len());
        [parked, open, head, kept].into_iter().total()
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let text = self.reading.text.as_ref().map_or(0, |text| text.held_bytes());
        let streams = self.reading.streams.iter().flatten().map(|stream| stream.held_bytes().0);
        let pending = self.reading.pending.as_ref().map_or(0, |pending| pending.held_bytes());
        let carried = self.carried.iter().map(CarriedBytes::held_bytes);
        let parts = streams.chain(self.bytes.iter().map(Reassembly::held_bytes)).chain(carried);
        parts.chain([text, pending, size_of::<QuicStream>()]).total()
    }
}
