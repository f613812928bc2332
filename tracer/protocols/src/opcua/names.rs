//! Whose values they are: what requests say about responses.

use super::node::NodeId;
use super::walk::Source;
use crate::Side;
use std::collections::{HashMap, VecDeque};
use wirelap_events::{Saturate, Total};

/// The most monitored items remembered; then the one that was learned first goes.
const MAX_ITEMS: usize = 8192;

/// Bytes of memory that they may take; then, too.
const MAX_ITEM_BYTES: usize = 1 << 20;

/// What an item costs beside its node's text.
const ITEM_BYTES: usize = 64;

/// The longest text of a node remembered for an item.
const MAX_TEXT_BYTES: usize = 512;

/// The most read requests that wait for their responses; then the oldest goes.
const MAX_READS: usize = 32;

/// Bytes of text remembered of one read request.
const MAX_READ_BYTES: usize = 64 << 10;

/// A subscription, and the client's handle of an item in it.
type Handle = (u32, u32);

/// What tells whose values they are.
#[derive(Debug, Default)]
pub(super) struct Names {
    monitored: Monitored,
    /// By the side that reads.
    reads: [ReadRequests; 2],
    scratch: Vec<u8>,
}

impl Names {
    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        let reads = self.reads.iter().flat_map(|reads| &reads.open);
        let reads = reads.map(|read| {
            read.text.capacity().saturating_add(read.ends.capacity().saturating_mul(4))
        });
        self.monitored.bytes.saturating_add(reads.total())
    }

    /// A read request begins.
    pub fn begin_read(&mut self, side: Side, request: u32) {
        self.reads[side as usize].begin(request);
    }

    /// The read request that began last wants one more thing.
    pub fn want(&mut self, side: Side, node: Option<NodeId<'_>>) {
        self.reads[side as usize].want(node);
    }

    /// Bytes of a side were missed: its request may be another one than it seems.
    pub fn gap(&mut self, side: Side) {
        self.reads[side as usize].forget();
    }

    /// An item is monitored from now on.
    pub fn learn(&mut self, handle: Handle, node: NodeId<'_>) {
        self.scratch.clear();
        node.write(&mut self.scratch);
        self.monitored.learn(handle, &self.scratch);
    }

    /// An item was notified, without a value.
    pub fn pass(&mut self, handle: Handle) {
        self.monitored.notify(handle);
    }

    /// Whose value it is, and whether it is one that the server had before it was subscribed to.
    /// `None` if it is no application's: another attribute, or a read of the server's own state,
    /// with which clients see that it is alive.
    pub fn of(&mut self, side: Side, request: u32, source: Source<'_>) -> Option<(&[u8], bool)> {
        match source {
            Source::Node(node) => {
                self.scratch.clear();
                node.write(&mut self.scratch);
                Some((&self.scratch, false))
            }
            Source::Handle { subscription, handle } => {
                let known = self.monitored.notify((subscription, handle));
                Some(known.unwrap_or((&[], false)))
            }
            Source::Wanted(index) => {
                let client = 1_usize.saturating_sub(side as usize);
                match self.reads[client].wanted(request, index) {
                    None => Some((&[], false)),
                    Some(node) if node.starts_with(b"ns=") => Some((node, false)),
                    Some(_) => None,
                }
            }
        }
    }
}

/// The nodes of monitored items, by subscription and client handle.
#[derive(Debug, Default)]
struct Monitored {
    items: HashMap<Handle, Item>,
    /// The one learned first at the front.
    order: VecDeque<Handle>,
    /// Bytes of memory that they take.
    bytes: usize,
}

#[derive(Debug)]
struct Item {
    node: Box<[u8]>,
    /// Nothing was notified yet: what comes first is the value that the server had.
    fresh: bool,
}

fn cost(item: &Item) -> usize {
    item.node.len().saturating_add(ITEM_BYTES)
}

impl Monitored {
    /// An item is monitored from now on.
    pub fn learn(&mut self, handle: Handle, node: &[u8]) {
        if node.len() > MAX_TEXT_BYTES {
            return;
        }
        let item = Item { node: node.into(), fresh: true };
        self.bytes.grow(cost(&item));
        match self.items.insert(handle, item) {
            Some(before) => self.bytes.shrink(cost(&before)),
            None => self.order.push_back(handle),
        }
        while (self.order.len() > MAX_ITEMS || self.bytes > MAX_ITEM_BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.items.remove(&oldest);
            self.bytes.shrink(gone.as_ref().map_or(0, cost));
        }
    }

    /// The node of an item that is notified, and whether that is for the first time.
    pub fn notify(&mut self, handle: Handle) -> Option<(&[u8], bool)> {
        let item = self.items.get_mut(&handle)?;
        Some((&item.node, std::mem::take(&mut item.fresh)))
    }
}

/// One side's read requests.
#[derive(Debug, Default)]
struct ReadRequests {
    /// The newest at the back. Buffers of old ones serve the next.
    open: VecDeque<ReadRequest>,
}

#[derive(Debug, Default)]
struct ReadRequest {
    request: u32,
    /// The nodes' texts, one after the other; and where each ends.
    text: Vec<u8>,
    ends: Vec<u32>,
    /// There were more nodes than are remembered.
    full: bool,
}

impl ReadRequests {
    /// A request begins.
    pub fn begin(&mut self, request: u32) {
        let mut read = match self.open.len() {
            MAX_READS => self.open.pop_front().unwrap_or_default(),
            _ => ReadRequest::default(),
        };
        read.text.clear();
        read.ends.clear();
        read.full = false;
        read.request = request;
        self.open.push_back(read);
    }

    /// The request wants one more thing. `None`: it is no value.
    pub fn want(&mut self, node: Option<NodeId<'_>>) {
        let Some(read) = self.open.back_mut() else { return };
        if read.full {
            return;
        }
        if let Some(node) = node {
            node.write(&mut read.text);
        }
        match u32::try_from(read.text.len()) {
            Ok(end) if read.text.len().max(read.ends.len().saturating_mul(4)) < MAX_READ_BYTES => {
                read.ends.push(end);
            }
            _ => read.full = true,
        }
    }

    /// What a request wanted at a place: empty if it is no value, `None` if that is not known.
    pub fn wanted(&self, request: u32, index: u32) -> Option<&[u8]> {
        let read = self.open.iter().rev().find(|read| read.request == request)?;
        let index = usize::try_from(index).ok()?;
        let end = usize::try_from(*read.ends.get(index)?).ok()?;
        let before = index.checked_sub(1).and_then(|before| read.ends.get(before));
        let start = usize::try_from(before.copied().unwrap_or(0)).ok()?;
        read.text.get(start..end)
    }

    pub fn forget(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Id;
    use super::*;

    #[test]
    fn long_names_take_no_more_memory_than_short_ones() {
        let mut items = Monitored::default();
        let long = [b'x'; MAX_TEXT_BYTES];
        for handle in 0..u32::try_from(MAX_ITEMS).unwrap() {
            items.learn((1, handle), &long);
            items.learn((1, handle), &long);
            assert!(items.bytes <= MAX_ITEM_BYTES);
        }
        let kept = MAX_ITEM_BYTES / (MAX_TEXT_BYTES + ITEM_BYTES);
        assert_eq!((items.items.len(), items.order.len()), (kept, kept));
        assert_eq!(items.notify((1, 0)), None);
        assert!(items.notify((1, u32::try_from(MAX_ITEMS).unwrap() - 1)).is_some());
    }

    #[test]
    fn the_first_notification_is_told_from_the_others() {
        let mut items = Monitored::default();
        assert_eq!(items.notify((1, 7)), None);
        items.learn((1, 7), b"i=85");
        assert_eq!(items.notify((1, 7)), Some((&b"i=85"[..], true)));
        assert_eq!(items.notify((1, 7)), Some((&b"i=85"[..], false)));
        assert_eq!(items.notify((2, 7)), None);
    }

    #[test]
    fn items_are_bounded() {
        let mut items = Monitored::default();
        for handle in 0..=u32::try_from(MAX_ITEMS).unwrap() {
            items.learn((1, handle), b"i=1");
            items.learn((1, handle), b"i=2");
        }
        assert_eq!((items.items.len(), items.order.len()), (MAX_ITEMS, MAX_ITEMS));
        assert_eq!(items.notify((1, 0)), None);
        assert_eq!(items.notify((1, 1)), Some((&b"i=2"[..], true)));
    }

    #[test]
    fn responses_find_what_was_wanted() {
        let node = |number| Some(NodeId { namespace: 1, id: Id::Number(number) });
        let mut reads = ReadRequests::default();
        for request in 0..40 {
            reads.begin(request);
            reads.want(node(request));
            reads.want(None);
            reads.want(node(100 + request));
        }
        assert_eq!(reads.wanted(39, 0), Some(&b"ns=1;i=39"[..]));
        assert_eq!((reads.wanted(39, 1), reads.wanted(39, 3)), (Some(&b""[..]), None));
        assert_eq!(reads.wanted(8, 2), Some(&b"ns=1;i=108"[..]));
        assert_eq!(reads.wanted(7, 2), None, "given up");
        reads.begin(40);
        for number in 0..100_000 {
            reads.want(node(number));
        }
        let read = reads.open.back().unwrap();
        assert!(read.full && read.text.len() < MAX_READ_BYTES + 20);
        assert_eq!((reads.open.len(), reads.wanted(40, 90_000)), (MAX_READS, None));
    }
}
