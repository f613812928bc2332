//! The state of a QUIC connection whose keys are known.

use super::flow_start::FlowStart;
use super::pending::Pending;
use super::reassembly::Reassembly;
use super::tls::text::TlsText;
use wirelap_events::{Offset, Seq, Total};
use wirelap_protocols::Side;
use wirelap_protocols::foreign::ForeignObserver;
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::WebSocketTrial;
use wirelap_tls::{QuicSession, TlsRole};

/// A QUIC connection that is read with keys.
pub struct QuicLayer {
    /// The keys, and the state of both directions.
    pub session: QuicSession,
    /// The end that opened the connection.
    pub client: Side,
    /// The streams, the one that is read now last.
    pub streams: Vec<QuicStream>,
}

/// One stream of a connection.
pub struct QuicStream {
    /// The stream's number.
    pub id: u64,
    /// The bytes of both directions.
    pub bytes: [Reassembly; 2],
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

impl QuicStream {
    /// A stream of which nothing was seen yet.
    pub fn new(id: u64) -> QuicStream {
        let mut reading = StreamReading { text: Some(Box::default()), ..StreamReading::default() };
        for start in &mut reading.starts {
            start.isn = Some(Seq(0));
        }
        let mut bytes: [Reassembly; 2] = Default::default();
        for bytes in &mut bytes {
            bytes.start_at(Offset::START);
        }
        QuicStream { id, bytes, reading }
    }

    fn held_bytes(&self) -> usize {
        let text = self.reading.text.as_ref().map_or(0, |text| text.held_bytes());
        let streams = self.reading.streams.iter().flatten().map(|stream| stream.held_bytes().0);
        let pending = self.reading.pending.as_ref().map_or(0, |pending| pending.held_bytes());
        let parts = streams.chain(self.bytes.iter().map(Reassembly::held_bytes));
        parts.chain([text, pending, size_of::<QuicStream>()]).total()
    }
}

impl QuicLayer {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let streams = self.streams.iter().map(QuicStream::held_bytes);
        streams.chain([self.session.held_bytes().0]).total()
    }

    /// The connection with `side` in place of `theirs`.
    pub fn mapped(mut self, side: Side, theirs: Side) -> QuicLayer {
        if side == theirs {
            return self;
        }
        self.client = self.client.other();
        for QuicStream { bytes, reading, .. } in &mut self.streams {
            bytes.reverse();
            reading.streams.reverse();
            reading.starts.reverse();
            reading.text = reading.text.take().map(|text| Box::new(text.mapped(side, theirs)));
        }
        self
    }

    /// The role of an end of the connection: client or server.
    pub fn role(&self, side: Side) -> TlsRole {
        if side == self.client { TlsRole::Client } else { TlsRole::Server }
    }
}
