//! What is kept of a WebSocket while it is not known what it carries.

use super::map::Place;
use crate::Side;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, FrameClass, Saturate, Total};

/// Carried bytes that are kept, and packets of them.
const KEPT_BYTES: usize = 64 << 10;
const KEPT_ITEMS: usize = 2048;

/// Of a long message, so many bytes are kept if there are too many.
const HEAD_BYTES: usize = 4096;

/// Something in a flow, at its place.
#[derive(Debug)]
pub(super) enum Item {
    /// Bytes that the carried protocol's decoder does not see.
    Own(ByteRange, &'static str, FrameClass),
    /// Carried bytes.
    Carried(Place, Vec<u8>),
    /// Missing bytes.
    Gap,
}

impl Item {
    fn kept_bytes(&self) -> usize {
        match self {
            Item::Carried(_, bytes) => bytes.len(),
            Item::Own(..) | Item::Gap => 0,
        }
    }

    /// Keeps no more than the first bytes. Returns how many were freed.
    fn shorten(&mut self) -> usize {
        let Item::Carried(_, bytes) = self else { return 0 };
        let freed = bytes.len().saturating_sub(HEAD_BYTES);
        bytes.truncate(HEAD_BYTES);
        if freed > 0 {
            bytes.shrink_to_fit();
        }
        freed
    }
}

/// What is kept, in its order.
#[derive(Debug, Default)]
pub(super) struct Kept {
    items: VecDeque<(Side, Item)>,
    bytes: usize,
}

impl Kept {
    /// The direction of the next item.
    pub fn next_side(&self) -> Option<Side> {
        self.items.front().map(|(side, _)| *side)
    }

    /// Takes the next item.
    pub fn next(&mut self) -> Option<(Side, Item)> {
        let (side, item) = self.items.pop_front()?;
        self.bytes.shrink(item.kept_bytes());
        Some((side, item))
    }

    /// Bytes of memory that the items use.
    pub fn held_bytes(&self) -> usize {
        self.bytes.saturating_add(self.items.len().saturating_mul(size_of::<(Side, Item)>()))
    }

    /// Adds an item; the oldest ones go if there are too many.
    pub fn add(&mut self, side: Side, item: Item) {
        self.bytes.grow(item.kept_bytes());
        self.items.push_back((side, item));
        if self.bytes > KEPT_BYTES {
            // Of a long message the first bytes suffice.
            let all = self.items.iter_mut().map(|(_, item)| item.shorten());
            self.bytes.shrink(all.total());
        }
        while (self.bytes > KEPT_BYTES || self.items.len() > KEPT_ITEMS)
            && let Some((_, gone)) = self.items.pop_front()
        {
            self.bytes.shrink(gone.kept_bytes());
        }
    }
}
