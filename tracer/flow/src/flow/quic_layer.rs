//! The state of a QUIC connection whose keys are known.

use super::quic_stream::QuicStream;
use super::quic_streams::QuicStreams;
use wirelap_events::Total;
use wirelap_protocols::Side;
use wirelap_tls::{QuicSession, TlsRole};

/// A QUIC connection that is read with keys.
pub struct QuicLayer {
    /// The keys, and the state of both directions.
    pub session: QuicSession,
    /// The end that opened the connection.
    pub client: Side,
    /// The streams.
    pub streams: QuicStreams,
}

impl QuicLayer {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let streams = self.streams.open.iter().map(QuicStream::held_bytes);
        let known = self.streams.known.held_bytes();
        streams.chain([known, self.session.held_bytes().0]).total()
    }

    /// The connection with `side` in place of `theirs`.
    pub fn mapped(mut self, side: Side, theirs: Side) -> QuicLayer {
        if side == theirs {
            return self;
        }
        self.client = self.client.other();
        self.streams.known.reverse();
        for stream in &mut self.streams.open {
            stream.bytes.reverse();
            stream.carried.reverse();
            stream.ends.reverse();
            stream.resumes.reverse();
            let reading = &mut stream.reading;
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
