//! Payload → the decoder of the carried protocol.

use super::layer::WebSocket;
use super::map::{CarriedPlace, Mapped, compressed, undecoded_bytes};
use crate::connection::frame_without_data;
use crate::{FrameNote, FrameSink, Side};
use wirelap_events::{ByteRange, FrameClass};

impl WebSocket {
    /// Reads carried bytes.
    pub(super) fn read(
        &mut self,
        side: Side,
        place: CarriedPlace,
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) {
        if !self.carried.as_ref().is_some_and(|carried| carried.omits_length) {
            return self.read_stream(side, place, bytes, out);
        }
        let mut text = std::mem::take(&mut self.with_length);
        let next = &mut self.ends[side as usize].next_with_length;
        let place = place.with_length(bytes, next, &mut text);
        self.read_stream(side, place, &text, out);
        self.with_length = text;
    }

    /// Reads carried bytes that follow each other as over TCP.
    fn read_stream(
        &mut self,
        side: Side,
        place: CarriedPlace,
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) {
        let Some(carried) = &mut self.carried else { return };
        let end = &mut self.ends[side as usize];
        let CarriedPlace { lead, outer, inner, .. } = place;
        if lead < outer.start {
            let header = ByteRange { start: lead, end: outer.start };
            out.frame(&frame_without_data(header, "frame header (WebSocket)", FrameClass::Data));
        }
        if outer.is_empty() && inner.is_empty() {
            return;
        }
        let (stream, connection) = carried.stream(side, end.frames.is_opened);
        let missing = inner.len().saturating_sub(bytes.len() as u64);
        if !stream.is_lost() {
            return self.feed(side, &[place], (bytes, missing), out);
        }
        let gathered = &mut end.gathered;
        while let Some(useless) = gathered.take_useless() {
            useless.lose(stream, &mut Mapped::new(connection, &end.segments), out);
        }
        gathered.push(place, bytes);
        let Some(first) = gathered.start(stream, missing, connection) else {
            if missing > 0 {
                gathered.cut();
            }
            return;
        };
        for _ in 0..first {
            let Some(before) = gathered.take_first() else { break };
            before.lose(stream, &mut Mapped::new(connection, &end.segments), out);
        }
        let (mut places, bytes) = gathered.take();
        self.feed(side, places.make_contiguous(), (&bytes, missing), out);
    }

    /// Hands the payload of successive frames to the carried protocol's decoder. Its last `missing` bytes were not captured.
    fn feed(
        &mut self,
        side: Side,
        places: &[CarriedPlace],
        (bytes, missing): (&[u8], u64),
        out: &mut dyn FrameSink,
    ) {
        let Some(carried) = &mut self.carried else { return };
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
        let end = &mut self.ends[side as usize];
        for place in places {
            end.segments.push(*place);
            if place.is_inflated {
                out.note(FrameNote::Unpacked {
                    bytes: place.outer.len(),
                    decompressed: place.inner.len(),
                });
            }
        }
        let (stream, connection) = carried.stream(side, end.frames.is_opened);
        let before = stream.undecoded_bytes();
        let mut mapped = Mapped::new(connection, &end.segments);
        stream.feed(first.inner.start, bytes, missing, &mut mapped, out);
        let mut overhead = mapped.overhead;
        let pending = stream.pending_bytes();
        end.segments.forget_before(last.inner.end - pending);
        let undecoded = stream.undecoded_bytes().saturating_sub(before);
        for place in places.iter().filter(|place| place.is_inflated) {
            let apart = (std::mem::take(&mut overhead), undecoded);
            out.frame(&compressed(place.outer, place.inner.len(), apart));
        }
        if !last.is_inflated && undecoded > 0 {
            out.frame(&undecoded_bytes(ByteRange::new(last.outer.start, undecoded)));
        }
    }

    /// Bytes are missing: how many carried ones there are among them is not known.
    pub(super) fn lose(&mut self, side: Side) {
        let Some(carried) = &mut self.carried else { return };
        let end = &mut self.ends[side as usize];
        let (stream, connection) = carried.stream(side, end.frames.is_opened);
        stream.finish(&mut Mapped::new(connection, &end.segments));
        end.gathered.cut();
    }
}
