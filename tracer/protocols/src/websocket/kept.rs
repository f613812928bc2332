//! Items that are kept of a WebSocket while it is not known what it carries.

use super::map::CarriedPlace;
use crate::{ProtocolSearch, Side};
use std::collections::VecDeque;
use wirelap_events::{ByteRange, FrameClass, Size};

/// Carried bytes that are kept, and packets of them.
const KEPT_BYTES: usize = 64 << 10;
const KEPT_ITEMS: usize = 2048;

/// Bytes that are kept of a long message if there are too many.
const HEAD_BYTES: usize = 4096;

/// Something in a flow, at its place.
#[derive(Debug)]
pub(super) enum Item {
    /// Bytes that the carried protocol's decoder does not see.
    Own(ByteRange, &'static str, FrameClass),
    /// Carried bytes.
    Carried(CarriedPlace, Vec<u8>),
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

    /// Keeps no more than the first `most` bytes. Returns how many were freed.
    fn shorten(&mut self, most: usize) -> usize {
        let Item::Carried(_, bytes) = self else { return 0 };
        let freed = bytes.len().saturating_sub(most);
        bytes.truncate(most);
        if freed > 0 {
            bytes.shrink_to_fit();
        }
        freed
    }

    /// True if the item is known to lie in the part of a long PDU that nothing is read from.
    fn is_body(&self, search: &ProtocolSearch) -> bool {
        matches!(self, Item::Carried(place, _) if search.is_body(place.inner))
    }

    /// True if a PDU that was found begins here.
    fn is_head(&self, search: &ProtocolSearch) -> bool {
        matches!(self, Item::Carried(place, _) if search.is_head(place.inner))
    }
}

/// The kept items, in their order.
#[derive(Debug, Default)]
pub(super) struct KeptItems {
    items: VecDeque<(Side, Item)>,
    bytes: Size,
}

impl KeptItems {
    /// The direction of the next item.
    pub fn next_side(&self) -> Option<Side> {
        self.items.front().map(|(side, _)| *side)
    }

    /// Takes the next item.
    pub fn next(&mut self) -> Option<(Side, Item)> {
        let (side, item) = self.items.pop_front()?;
        self.bytes -= item.kept_bytes();
        Some((side, item))
    }

    /// Bytes of memory that the items use.
    pub fn held_bytes(&self) -> Size {
        self.bytes + Size::of::<(Side, Item)>(self.items.len())
    }

    /// Adds an item. If there are too many bytes, the first ones of long items stay, then those of PDUs that the `searches`
    /// of the two directions have found; then the oldest items go.
    pub fn add(&mut self, side: Side, mut item: Item, searches: [&ProtocolSearch; 2]) {
        let search = |side: Side| searches[side as usize];
        if item.is_body(search(side)) {
            item.shorten(0);
        }
        self.bytes += item.kept_bytes();
        self.items.push_back((side, item));
        if self.bytes > KEPT_BYTES {
            let all = self.items.iter_mut().map(|(_, item)| item.shorten(HEAD_BYTES));
            self.bytes -= Size::sum(all);
        }
        for (side, item) in &mut self.items {
            if self.bytes <= KEPT_BYTES {
                break;
            }
            if !item.is_head(search(*side)) {
                self.bytes -= item.shorten(0);
            }
        }
        while (self.bytes > KEPT_BYTES || self.items.len() > KEPT_ITEMS)
            && let Some((_, gone)) = self.items.pop_front()
        {
            self.bytes -= gone.kept_bytes();
        }
    }
}
