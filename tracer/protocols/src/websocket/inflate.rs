//! Inflates the messages of one direction (`permessage-deflate`, RFC 7692).
//!
//! ```text
//! message 1          | message 2          | message 3
//! deflate, less TAIL | deflate, less TAIL | …             may refer to the last 32 KiB of the text before,
//!                                                         unless the handshake says no_context_takeover
//! ```
//!
//! If earlier text was not captured, a message may refer to bytes that are not known. Then two decompressors run that have
//! different bytes in their place: a text that both make is certain, and any other is none.
//!
//! Memory is bounded: a part of a message that inflates to more than [`most`] bytes is not inflated.

use flate2::{Decompress, FlushDecompress, Status};
use wirelap_events::Size;

/// Bytes that each message ends with, and is sent without (§7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// The farthest that a message may refer back, in bytes of text.
const WINDOW: usize = 32 << 10;

/// Every part may inflate to this many bytes, even a small one.
const SMALL: usize = 256 << 10;

/// A part may inflate to [`SMALL`] bytes and this many more for each of its bytes; deflate reaches about this ratio.
const RATIO: usize = 1024;

/// No part may inflate to more bytes.
const LARGEST: usize = 16 << 20;

/// The buffers' capacity between parts.
const KEPT: usize = 64 << 10;

/// Bytes that are made at once, at least.
const STEP: usize = 4 << 10;

/// Bytes of a decompressor: its window, and tables.
const STATE_BYTES: usize = 44 << 10;

/// Returns the most bytes that a part of `packed` bytes may inflate to.
fn most(packed: usize) -> usize {
    packed.saturating_mul(RATIO).saturating_add(SMALL).min(LARGEST)
}

/// The state of one direction.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Inflater {
    /// True if no message refers to an earlier one.
    forgets: bool,
    /// True if there is earlier text that is not known.
    is_late: bool,
    /// The decompressor, while there is a message to be inflated or text to refer to.
    state: Option<Decompress>,
    /// The second one, if earlier text is not known.
    shadow: Option<Decompress>,
    /// True if the rest of the message cannot be inflated.
    has_failed: bool,
    /// True if the message has had a block that is marked as the last one (§7.2.3.4).
    has_ended: bool,
}

/// Nothing is known of a direction before the handshake.
impl Default for Inflater {
    fn default() -> Inflater {
        Inflater {
            forgets: false,
            is_late: true,
            state: None,
            shadow: None,
            has_failed: false,
            has_ended: false,
        }
    }
}

impl Inflater {
    /// The handshake was seen: no text was sent before. `forgets` is `no_context_takeover` of this direction's sender.
    pub fn begin(&mut self, forgets: bool) {
        *self = Inflater { forgets, is_late: false, ..Inflater::default() };
    }

    /// A message starts.
    pub fn start(&mut self) {
        (self.has_failed, self.has_ended) = (false, false);
    }

    /// Inflates the next part of a message, or its last part if it `ends` there, into `text`. Returns whether all of the text
    /// is certain.
    pub fn part(&mut self, packed: &[u8], ends: bool, text: &mut InflatedText) -> bool {
        text.clear();
        if self.has_failed {
            return false;
        }
        // After a last block comes an empty one at most: nothing refers to text before.
        let is_over = self.has_ended && packed.iter().any(|byte| *byte != 0);
        let inflated = if is_over { None } else { self.inflate(packed, ends, text) };
        let Some(has_ended) = inflated else {
            self.gap();
            text.text.clear();
            return false;
        };
        self.has_ended |= has_ended;
        let is_certain = self.shadow.is_none() || text.text == text.other;
        if ends && (self.forgets || self.has_ended) {
            (self.state, self.shadow) = (None, None);
            self.is_late = !self.forgets;
        }
        if !is_certain {
            text.text.clear();
        }
        is_certain
    }

    /// Inflates a part with each decompressor. Returns whether a block was marked as the last one.
    fn inflate(&mut self, packed: &[u8], ends: bool, text: &mut InflatedText) -> Option<bool> {
        let most = most(packed.len());
        let tail = if ends { &TAIL[..] } else { &[] };
        let (state, shadow) = self.states();
        let mut has_ended = run(state, packed, most, &mut text.text)?;
        has_ended |= run(state, tail, most, &mut text.text)?;
        if let Some(shadow) = shadow {
            run(shadow, packed, most, &mut text.other)?;
            run(shadow, tail, most, &mut text.other)?;
        }
        Some(has_ended)
    }

    /// Bytes are missing: the rest of the message that is open cannot be inflated, and what later ones refer to is not known.
    pub fn gap(&mut self) {
        (self.state, self.shadow) = (None, None);
        (self.is_late, self.has_failed) = (true, true);
    }

    /// Bytes of memory that the state uses.
    pub fn held_bytes(&self) -> Size {
        Size(STATE_BYTES) * [&self.state, &self.shadow].into_iter().flatten().count()
    }

    /// The decompressors. Bytes that are not known are zeros in one of them and ones in the other.
    fn states(&mut self) -> (&mut Decompress, Option<&mut Decompress>) {
        let is_unknown = self.is_late && !self.forgets;
        if self.state.is_none() && is_unknown {
            self.shadow = Some(primed(0xFF));
        }
        let state = self
            .state
            .get_or_insert_with(|| if is_unknown { primed(0) } else { Decompress::new(false) });
        (state, self.shadow.as_mut())
    }
}

/// The text of a part of a message.
#[derive(Debug, Default)]
pub(super) struct InflatedText {
    /// The text, if it is certain.
    pub text: Vec<u8>,
    other: Vec<u8>,
}

impl InflatedText {
    fn clear(&mut self) {
        for buffer in [&mut self.text, &mut self.other] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
    }

    /// Bytes of memory that the buffers use.
    pub fn held_bytes(&self) -> Size {
        Size(self.text.capacity()) + self.other.capacity()
    }
}

/// A decompressor with a window of this byte: it has read one stored block (RFC 1951 §3.2.4).
fn primed(byte: u8) -> Decompress {
    let mut block = vec![byte; WINDOW.saturating_add(5)];
    if let Some(header) = block.first_chunk_mut() {
        *header = [0, 0x00, 0x80, 0xFF, 0x7F];
    }
    let mut state = Decompress::new(false);
    let mut text = Vec::with_capacity(WINDOW.saturating_add(STEP));
    // A stored block is always valid.
    let _ = run(&mut state, &block, WINDOW, &mut text);
    state
}

/// Inflates `packed`, of which the text may not become longer than `most` bytes. Returns whether a block was marked as the
/// last one; `None` if the bytes are invalid.
fn run(state: &mut Decompress, mut packed: &[u8], most: usize, text: &mut Vec<u8>) -> Option<bool> {
    let mut has_ended = false;
    loop {
        text.reserve(STEP);
        let (read, made) = (state.total_in(), text.len());
        let status = state.decompress_vec(packed, text, FlushDecompress::Sync).ok()?;
        let used = usize::try_from(state.total_in().saturating_sub(read)).ok()?;
        packed = packed.get(used..)?;
        if text.len() > most {
            return None;
        }
        if status == Status::StreamEnd {
            if packed.iter().any(|byte| *byte != 0) {
                return None;
            }
            (*state, has_ended) = (Decompress::new(false), true);
            continue;
        }
        let is_idle = used == 0 && text.len() == made;
        if is_idle || (packed.is_empty() && text.len() < text.capacity()) {
            return packed.is_empty().then_some(has_ended);
        }
    }
}

/// The first bytes of the text that a message starts with, if it refers to nothing before it; how many there are.
pub(super) fn peek(packed: &[u8], text: &mut [u8]) -> Option<usize> {
    let mut state = Decompress::new(false);
    state.decompress(packed, text, FlushDecompress::Sync).ok()?;
    usize::try_from(state.total_out()).ok()
}

/// True if a deflated message may start with this byte: no block is the last one, and its type exists.
pub(crate) fn may_start(first: u8) -> bool {
    first & 1 == 0 && first & 0b110 != 0b110
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_test_support::compose::websocket::Deflater;

    fn texts() -> Vec<Vec<u8>> {
        (0..20)
            .map(|n: u32| format!("PUB a.b {n}\r\nhello, hello {}", n * n).into_bytes())
            .collect()
    }

    /// The texts of messages, each in parts of `size` bytes; `None` for one that is not certain.
    fn inflate(state: &mut Inflater, packed: &[Vec<u8>], size: usize) -> Vec<Option<Vec<u8>>> {
        let mut text = InflatedText::default();
        let one = |packed: &Vec<u8>| {
            state.start();
            let parts = packed.chunks(size).count();
            let mut whole = Some(Vec::new());
            for (n, part) in packed.chunks(size).enumerate() {
                let is_known = state.part(part, n + 1 == parts, &mut text);
                whole = whole.filter(|_| is_known);
                if let Some(whole) = &mut whole {
                    whole.extend_from_slice(&text.text);
                }
            }
            whole
        };
        packed.iter().map(one).collect()
    }

    fn packed(forgets: bool) -> Vec<Vec<u8>> {
        let mut deflater = Deflater::new(forgets);
        texts().iter().map(|text| deflater.message(text)).collect()
    }

    fn opened(forgets: bool) -> Inflater {
        let mut state = Inflater::default();
        state.begin(forgets);
        state
    }

    #[test]
    fn the_examples_of_the_specification_are_inflated() {
        // RFC 7692 §7.2.3.1 to §7.2.3.5: one block, a context that goes on, a stored block, a last block, two blocks.
        let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00].to_vec();
        let again = [0xf2, 0x00, 0x11, 0x00, 0x00].to_vec();
        let stored = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00].to_vec();
        let last = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00].to_vec();
        let two = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
        let all = [hello, again, stored, two.to_vec(), last.clone(), last];
        for size in [1, 3, 100] {
            for text in inflate(&mut opened(false), &all, size) {
                assert_eq!(text.as_deref(), Some(&b"Hello"[..]), "parts of {size}");
            }
        }
    }

    #[test]
    fn both_kinds_of_context_are_followed_in_any_parts() {
        for forgets in [false, true] {
            for size in [1, 7, 1000] {
                let found = inflate(&mut opened(forgets), &packed(forgets), size);
                let found: Vec<_> = found.into_iter().flatten().collect();
                assert_eq!(found, texts(), "{forgets}, parts of {size}");
            }
        }
    }

    #[test]
    fn who_joins_late_reads_what_refers_to_nothing_before() {
        let found = inflate(&mut Inflater::default(), &packed(true)[5..], 1000);
        assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), texts()[5..]);
        let found = inflate(&mut Inflater::default(), &packed(false)[5..], 1000);
        let texts = texts();
        let known = found.iter().zip(&texts[5..]).filter(|(found, _)| found.is_some());
        assert!(known.clone().all(|(found, text)| found.as_ref() == Some(text)));
        assert!(known.count() < 5, "most refer to what was not seen");
    }

    #[test]
    fn a_gap_costs_what_refers_to_it() {
        for forgets in [false, true] {
            let mut state = opened(forgets);
            let packed = packed(forgets);
            assert!(inflate(&mut state, &packed[..5], 10).iter().all(Option::is_some));
            state.gap();
            let after = inflate(&mut state, &packed[6..], 10);
            assert_eq!(after.iter().all(Option::is_some), forgets);
        }
    }

    #[test]
    fn what_swells_beyond_measure_stays_closed() {
        let bomb = Deflater::new(true).message(&vec![0; LARGEST + 1]);
        let mut text = InflatedText::default();
        let mut state = opened(true);
        assert!(!state.part(&bomb, true, &mut text));
        assert!(text.held_bytes() <= 3 * LARGEST);
        state.start();
        assert!(state.part(&Deflater::new(true).message(b"x"), true, &mut text));
        assert!(text.held_bytes() <= 2 * KEPT && state.held_bytes() == 0);
    }

    #[test]
    fn any_bytes_end_well() {
        let mut text = InflatedText::default();
        for message in packed(true) {
            for at in 0..message.len() {
                let mut broken = message.clone();
                broken[at] ^= 0x41;
                let mut state = opened(at % 2 == 0);
                let is_known = state.part(&broken, true, &mut text);
                assert!(is_known || text.text.is_empty());
            }
        }
    }
}
