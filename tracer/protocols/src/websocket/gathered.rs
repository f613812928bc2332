//! Payload of successive frames, while it is not known where a PDU of the carried protocol starts.
//!
//! Some clients put each field of a PDU into a frame of its own, so that no frame has a PDU that could be recognised:
//!
//! ```text
//! |h|32|h|0e 00|h|00 05|h|a/b/c|h|00 07|h|hello|     h: header of a frame
//!    ^ MQTT's PUBLISH starts here               ^ and ends with this frame
//! ```
//!
//! A PDU is taken to start with the payload of a frame from where PDUs chain up to the end of another one.

use super::map::CarriedPlace;
use crate::Connection;
use crate::stream::Stream;
use std::collections::VecDeque;
use wirelap_events::Size;

/// The most frames that are kept: enough for PDUs of two dozen fields, of which the first may have been missed.
const MAX_FRAMES: usize = 64;

/// The most payload that is kept. Of a longer PDU, its head suffices for a guess.
const MAX_BYTES: usize = 64 << 10;

/// Payload of frames that follow each other.
#[derive(Debug, Default)]
pub(super) struct GatheredPayload {
    places: VecDeque<CarriedPlace>,
    bytes: Vec<u8>,
    /// True if bytes are missing after the last frame.
    is_cut: bool,
}

impl GatheredPayload {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        Size::of::<CarriedPlace>(self.places.capacity()) + self.bytes.capacity()
    }

    /// Adds the payload of the next frame.
    pub fn push(&mut self, place: CarriedPlace, bytes: &[u8]) {
        self.places.push_back(place);
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes after the last frame are missing.
    pub fn cut(&mut self) {
        self.is_cut = !self.places.is_empty();
    }

    /// Takes the first frame if nothing can start with it any more: what came after it is missing, or there are too many frames.
    pub fn take_useless(&mut self) -> Option<CarriedPlace> {
        let is_useless = self.is_cut
            || self.places.len() > MAX_FRAMES
            || (self.bytes.len() > MAX_BYTES && self.places.len() > 1);
        if !is_useless {
            return None;
        }
        let place = self.take_first();
        self.is_cut &= !self.places.is_empty();
        place
    }

    /// Takes the first frame.
    pub fn take_first(&mut self) -> Option<CarriedPlace> {
        let place = self.places.pop_front()?;
        let len = usize::try_from(place.inner.len()).unwrap_or(usize::MAX);
        self.bytes.drain(..len.min(self.bytes.len()));
        Some(place)
    }

    /// Takes all frames and their payload.
    pub fn take(&mut self) -> (VecDeque<CarriedPlace>, Vec<u8>) {
        self.is_cut = false;
        (std::mem::take(&mut self.places), std::mem::take(&mut self.bytes))
    }

    /// The number of the first frame that a PDU starts with. The last frame, of which `missing` bytes were not captured, may
    /// have a PDU that starts inside it.
    pub fn start(
        &self,
        stream: &mut Stream,
        missing: u64,
        connection: &dyn Connection,
    ) -> Option<usize> {
        let last = self.places.len().checked_sub(1)?;
        let chain = self.starts().position(|bytes| stream.has_chain(bytes, missing, connection));
        let found = chain.or_else(|| {
            let bytes = self.starts().last()?;
            stream.has_start(bytes, missing, connection).then_some(last)
        });
        // The PDU is longer than what is kept.
        found.or_else(|| {
            let is_full = self.bytes.len() > MAX_BYTES;
            let head = |bytes: &[u8]| stream.has_head(bytes, connection);
            is_full.then(|| self.starts().position(head)).flatten()
        })
    }

    /// The payload from each frame on.
    fn starts(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().scan(0_usize, |at, place| {
            let start = *at;
            *at = at.saturating_add(usize::try_from(place.inner.len()).unwrap_or(usize::MAX));
            self.bytes.get(start..)
        })
    }
}
