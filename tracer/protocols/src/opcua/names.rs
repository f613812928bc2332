//! The nodes of values: requests name the nodes, responses and notifications have only positions or handles.

use super::node::NodeId;
use super::published::Published;
use super::walk::ValueSource;
use crate::Side;
use std::collections::{HashMap, VecDeque};
use wirelap_events::Size;

/// The most monitored items that are remembered; then the one that was learned first is forgotten.
const MAX_ITEMS: usize = 8192;

/// The most memory for monitored items, in bytes; then the one that was learned first is forgotten.
const MAX_ITEM_BYTES: usize = 1 << 20;

/// An estimate of an item's memory without its node's text.
const ITEM_BYTES: usize = 64;

/// The longest text of a node that is stored for an item.
const MAX_TEXT_BYTES: usize = 512;

/// The most read requests that wait for their responses; then the oldest is forgotten.
const MAX_READS: usize = 32;

/// The most bytes of text that are stored for one read request.
const MAX_READ_BYTES: usize = 64 << 10;

/// A subscription, and the client's handle of an item in it.
type Handle = (u32, u32);

/// The nodes that requests have named.
#[derive(Debug, Default)]
pub(super) struct NodeNames {
    monitored: Monitored,
    /// Read requests by the side that sends them.
    reads: [ReadRequests; 2],
    pub published: Published,
    scratch: Vec<u8>,
}

impl NodeNames {
    /// Bytes of memory that the names use.
    pub fn held_bytes(&self) -> Size {
        let reads = self.reads.iter().flat_map(|reads| &reads.open);
        let reads = reads.map(|read| Size(4) * read.ends.capacity() + read.text.capacity());
        Size::sum(reads) + self.monitored.bytes
    }

    /// Begins a read request.
    pub fn begin_read(&mut self, side: Side, request: u32) {
        self.reads[side as usize].begin(request);
    }

    /// Adds a node to the last read request; `None` for an attribute that is no value.
    pub fn want(&mut self, side: Side, node: Option<NodeId<'_>>) {
        self.reads[side as usize].want(node);
    }

    /// Forgets a side's read requests after a gap, because request IDs may no longer match.
    pub fn gap(&mut self, side: Side) {
        self.reads[side as usize].forget();
    }

    /// Stores the node of a monitored item.
    pub fn learn(&mut self, handle: Handle, node: NodeId<'_>) {
        self.scratch.clear();
        node.write(&mut self.scratch);
        self.monitored.learn(handle, &self.scratch);
    }

    /// Notes that an item was notified without a value.
    pub fn pass(&mut self, handle: Handle) {
        self.monitored.notify(handle);
    }

    /// A value's node, and whether the server had the value before the subscription. `None` if it is not a value of the
    /// application: another attribute, or what clients read of the server by themselves, as whether it is alive.
    pub fn of(
        &mut self,
        side: Side,
        request: u32,
        source: ValueSource<'_>,
    ) -> Option<(&[u8], bool)> {
        match source {
            ValueSource::Node(node) => {
                self.scratch.clear();
                node.write(&mut self.scratch);
                Some((&self.scratch, false))
            }
            ValueSource::Handle { subscription, handle } => {
                let known = self.monitored.notify((subscription, handle));
                Some(known.unwrap_or((&[], false)))
            }
            ValueSource::Wanted(index) => {
                let client = side.other() as usize;
                match self.reads[client].wanted(request, index) {
                    None => Some((&[], false)),
                    Some(node) if is_of_application(node) => Some((node, false)),
                    Some(_) => None,
                }
            }
        }
    }
}

/// Tells by the text of a node that is read if it has a value of the application. Clients read by themselves what the server is, what
/// it can do, and whether it is alive: these nodes are of namespace 0 (OPC 10000-6 Annex A, `NodeIds.csv`), which has little else.
fn is_of_application(node: &[u8]) -> bool {
    let number = node.strip_prefix(b"i=").and_then(|text| str::from_utf8(text).ok()?.parse().ok());
    !node.is_empty()
        && number.is_none_or(|number| number >= BEYOND_STANDARD || changes_by_itself(number))
}

/// The standard's numbers end below.
const BEYOND_STANDARD: u32 = 40_000;

/// The numbers of the standard's nodes whose values go on changing, so that applications read them: the server's current time, and how
/// many sessions and subscriptions it has.
fn changes_by_itself(number: u32) -> bool {
    matches!(number, 2258 | 2275..=2289)
}

/// The nodes of monitored items, by subscription and client handle.
#[derive(Debug, Default)]
struct Monitored {
    items: HashMap<Handle, MonitoredItem>,
    /// The handles in the order in which they were learned.
    order: VecDeque<Handle>,
    /// Bytes of memory that the items use.
    bytes: Size,
}

#[derive(Debug)]
struct MonitoredItem {
    node: Box<[u8]>,
    /// True if no notification has arrived yet; the first one has the value that the server had before.
    fresh: bool,
}

fn cost(item: &MonitoredItem) -> usize {
    item.node.len().saturating_add(ITEM_BYTES)
}

impl Monitored {
    /// Stores the node of a monitored item.
    pub fn learn(&mut self, handle: Handle, node: &[u8]) {
        if node.len() > MAX_TEXT_BYTES {
            return;
        }
        let item = MonitoredItem { node: node.into(), fresh: true };
        self.bytes += cost(&item);
        match self.items.insert(handle, item) {
            Some(before) => self.bytes -= cost(&before),
            None => self.order.push_back(handle),
        }
        while (self.order.len() > MAX_ITEMS || self.bytes > MAX_ITEM_BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.items.remove(&oldest);
            self.bytes -= gone.as_ref().map_or(0, cost);
        }
    }

    /// The node of a notified item, and whether this is its first notification.
    pub fn notify(&mut self, handle: Handle) -> Option<(&[u8], bool)> {
        let item = self.items.get_mut(&handle)?;
        Some((&item.node, std::mem::take(&mut item.fresh)))
    }
}

/// One side's read requests.
#[derive(Debug, Default)]
struct ReadRequests {
    /// The requests, the newest at the back. The buffers of old requests are reused.
    open: VecDeque<ReadRequest>,
}

#[derive(Debug, Default)]
struct ReadRequest {
    request: u32,
    /// The nodes' texts, one after the other.
    text: Vec<u8>,
    /// The end of each node's text.
    ends: Vec<u32>,
    /// True if there were more nodes than can be stored.
    full: bool,
}

impl ReadRequests {
    /// Begins a request.
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

    /// Adds a node to the last request; `None` for an attribute that is no value.
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

    /// The node at an index of a request: empty if its attribute is no value, `None` if it is not known.
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
    use super::super::node::NodeIdentifier;
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
    fn the_first_notification_differs_from_the_others() {
        let mut items = Monitored::default();
        assert_eq!(items.notify((1, 7)), None);
        items.learn((1, 7), b"i=85");
        assert_eq!(items.notify((1, 7)), Some((&b"i=85"[..], true)));
        assert_eq!(items.notify((1, 7)), Some((&b"i=85"[..], false)));
        assert_eq!(items.notify((2, 7)), None);
    }

    #[test]
    fn namespace_0_has_values_of_the_application_beside_those_of_the_server() {
        let names = ["ns=1;i=2259", "i=2258", "i=62541", "s=the.answer", "b=AQI="];
        assert!(names.iter().all(|name| is_of_application(name.as_bytes())));
        let own = ["", "i=2259", "i=2255", "i=11705", "i=12168"];
        assert!(own.iter().all(|name| !is_of_application(name.as_bytes())));
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
        let node = |number| Some(NodeId { namespace: 1, id: NodeIdentifier::Number(number) });
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
