//! The streams of a QUIC connection: those that are read, and what is remembered of others.

use super::quic_stream::{KnownStream, QuicStream, StreamEntry};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_protocols::Side;

/// Streams that are read at a time: most implementations let each end have 100 open.
pub const MAX_STREAMS: usize = 256;

/// Streams of which it is remembered how far they were read.
const MAX_KNOWN: usize = 4096;

/// The streams of a connection.
#[derive(Default)]
pub struct QuicStreams {
    /// The streams that are read, the one whose reading the conversation has last.
    pub open: Vec<QuicStream>,
    /// The streams that are not read any more, or not now.
    pub known: KnownStreams,
}

/// The streams that were read before.
#[derive(Debug, Default)]
pub struct KnownStreams {
    all: FxHashMap<u64, KnownStream>,
    order: VecDeque<u64>,
    /// The largest numbers that were forgotten, by the two bits that tell who opened a stream, and which directions it has.
    forgotten: [Option<u64>; 4],
}

impl KnownStreams {
    /// Remembers a stream that is not read any more.
    pub fn add(&mut self, id: u64, stream: KnownStream) {
        if self.all.insert(id, stream).is_none() {
            self.order.push_back(id);
        }
        if self.all.len() > MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
            let forgotten = self.forgotten_like(oldest);
            *forgotten = (*forgotten).max(Some(oldest));
        }
    }

    /// Takes what is known of a stream that is read from now on. What has finished stays.
    pub fn take(&mut self, id: u64) -> StreamEntry {
        if let Some(known) = self.all.get(&id).copied() {
            if !known.is_finished {
                self.all.remove(&id);
                self.order.retain(|other| *other != id);
            }
            return StreamEntry::Known(known);
        }
        let is_forgotten = *self.forgotten_like(id) >= Some(id);
        if is_forgotten { StreamEntry::Forgotten } else { StreamEntry::New }
    }

    /// Exchanges the sides.
    pub fn reverse(&mut self) {
        for known in self.all.values_mut() {
            known.next.reverse();
        }
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let one = size_of::<(u64, KnownStream)>().saturating_add(size_of::<u64>());
        self.all.len().saturating_mul(one)
    }

    fn forgotten_like(&mut self, id: u64) -> &mut Option<u64> {
        let [a, b, c, d] = &mut self.forgotten;
        match id & 3 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }
}

impl QuicStreams {
    /// Removes the stream that is needed least: one that has finished, or the one that carried nothing for longest.
    pub fn evict(&mut self, client: Side) -> Option<QuicStream> {
        let finished = self.open.iter().position(|stream| stream.is_finished(client));
        let index = finished.unwrap_or(0);
        if index >= self.open.len() {
            return None;
        }
        let stream = self.open.remove(index);
        let next = [stream.bytes[0].next(), stream.bytes[1].next()];
        let is_finished = finished.is_some();
        self.known.add(stream.id, KnownStream { next, is_finished });
        Some(stream)
    }

    /// The numbers of the streams that are read.
    pub fn ids(&self) -> Vec<u64> {
        self.open.iter().map(|stream| stream.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Offset;

    fn known(next: u64, is_finished: bool) -> KnownStream {
        KnownStream { next: [Some(Offset(next)), None], is_finished }
    }

    #[test]
    fn streams_are_remembered_and_what_is_forgotten_may_have_been_read() {
        let mut streams = KnownStreams::default();
        streams.add(0, known(7, false));
        streams.add(4, known(9, true));
        assert_eq!(streams.take(0), StreamEntry::Known(known(7, false)));
        assert_eq!(streams.take(0), StreamEntry::New, "it was taken");
        for _ in 0..2 {
            assert_eq!(streams.take(4), StreamEntry::Known(known(9, true)));
        }
        for id in 2..MAX_KNOWN as u64 + 100 {
            streams.add(4 * id, known(1, true));
        }
        assert_eq!(streams.all.len(), MAX_KNOWN);
        assert_eq!(streams.order.len(), MAX_KNOWN);
        assert_eq!(streams.take(4), StreamEntry::Forgotten);
        assert_eq!(streams.take(5), StreamEntry::New, "another kind");
        assert_eq!(streams.take(1 << 40), StreamEntry::New);
    }
}
