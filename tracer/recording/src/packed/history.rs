//! Texts by those before them: bytes that stood in an earlier text are told as its place.

/// Bytes of earlier texts that are kept.
const KEPT: usize = 64 << 10;

/// The shortest match that is told as a place of its own.
const SHORTEST: usize = 6;

/// The shortest match that goes on where the last one ended.
const SHORTEST_ON: usize = 3;

/// Bits of the number by which places are found.
const HASH_BITS: u32 = 14;

/// The texts before. Places in them count from the first byte of all.
#[derive(Debug, Default)]
pub struct History {
    bytes: Vec<u8>,
    /// Bytes that are not kept any more.
    dropped: u64,
    /// The last place of each four bytes, by their hash; an encoder's.
    places: Vec<u64>,
}

/// A part of a text: bytes of its own, then bytes that stood in an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of bytes of its own.
    pub own: usize,
    /// Number of bytes that stood earlier; none at the end of a text.
    pub matched: usize,
    /// Place of those.
    pub place: u64,
}

impl History {
    /// Place behind the last byte.
    pub fn end(&self) -> u64 {
        self.dropped.wrapping_add(self.bytes.len() as u64)
    }

    /// Bytes that stand at a place; `None` if they are not all there.
    pub fn get(&self, place: u64, len: usize) -> Option<&[u8]> {
        self.from(place)?.get(..len)
    }

    fn from(&self, place: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(place.checked_sub(self.dropped)?).ok()?..)
    }

    /// The next part of a text. `on` is where the last match would go on.
    pub fn next_part(&self, text: &[u8], on: u64) -> Part {
        let mut own = 0_usize;
        while let Some(rest) = text.get(own..).filter(|rest| rest.len() >= SHORTEST_ON) {
            let on = on.wrapping_add(own as u64);
            let matched = self.common(on, rest);
            let other = hash(rest).and_then(|hash| self.places.get(hash)).copied();
            let other = other.map(|place| (place, self.common(place, rest)));
            // A place of its own takes a few bytes.
            if let Some((place, longer)) = other
                && longer >= SHORTEST
                && longer > matched.saturating_add(SHORTEST_ON)
            {
                return Part { own, matched: longer, place };
            }
            if matched >= SHORTEST_ON {
                return Part { own, matched, place: on };
            }
            // Where nothing was found for long, not every byte is looked at.
            own = own.saturating_add(1).saturating_add(own >> 6);
        }
        Part { own: text.len(), ..Part::default() }
    }

    /// Number of bytes that the text has in common with what stands at a place.
    fn common(&self, place: u64, text: &[u8]) -> usize {
        let earlier = self.from(place).unwrap_or_default();
        earlier.iter().zip(text).take_while(|(a, b)| a == b).count()
    }

    /// Appends a text. Only an encoder looks for places of its bytes.
    pub fn push(&mut self, text: &[u8], is_searched: bool) {
        if is_searched {
            self.places.resize(1 << HASH_BITS, 0);
            // The longer a text is, the longer are its matches.
            let step = (text.len() / 512).saturating_add(1);
            let mut place = self.end();
            for start in (0..text.len()).step_by(step) {
                let hash = hash(text.get(start..).unwrap_or_default());
                if let Some(found) = hash.and_then(|hash| self.places.get_mut(hash)) {
                    *found = place;
                }
                place = place.wrapping_add(step as u64);
            }
        }
        self.bytes.extend_from_slice(text);
        if self.bytes.len() > 2 * KEPT {
            let surplus = self.bytes.len().saturating_sub(KEPT);
            self.bytes.drain(..surplus);
            self.dropped = self.dropped.wrapping_add(surplus as u64);
        }
    }
}

/// Hash of the first four bytes.
fn hash(text: &[u8]) -> Option<usize> {
    let word = u32::from_le_bytes(*text.first_chunk()?);
    Some((word.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize)
}
