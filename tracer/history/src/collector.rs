//! Gathers deliveries on the tracing thread and hands them out with each snapshot.

use crate::messages::{Message, MessageFate};
use crate::slice::{RowSlice, Slice, Update};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use wirelap_correlate::{DelayCause, DeliverySink, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos, Saturate, TopicId};

/// The slowest messages that a row keeps between two snapshots.
const SLOWEST: usize = 16;
/// The messages that a row keeps between two snapshots besides the slowest: the first ones.
const LATEST: usize = 32;
/// The undelivered messages, and those that are in no latency, that are kept between two snapshots.
const OTHERS: usize = 64;
/// The most topics whose names are handed out.
const TOPICS: usize = 65_536;

/// What a row kept since the last snapshot.
#[derive(Debug, Default)]
struct Gathered {
    slice: RowSlice,
    slowest: Vec<Message>,
    latest: usize,
}

/// Whether a message is slower by enough to be kept in place of another: by 3 %. Without this, each message would be kept while latencies
/// rise.
fn is_slower(one_way: Nanos, least: Nanos) -> bool {
    one_way.0 > least.0.saturating_add(least.0 / 32)
}

/// A sink that gathers deliveries and hands them out with each published snapshot. It never waits: while nobody takes what it hands
/// out, it keeps gathering, in bounded memory, and hands out everything with a later snapshot.
#[derive(Debug)]
pub struct Collector {
    out: SyncSender<Update>,
    from: Nanos,
    rows: FxHashMap<GroupId, Gathered>,
    messages: Vec<Message>,
    others: usize,
    topics: Vec<(TopicId, Box<str>)>,
    named: FxHashSet<TopicId>,
}

impl Collector {
    /// A collector, and where its updates can be taken; at most `waiting` wait there.
    pub fn new(waiting: usize) -> (Collector, Receiver<Update>) {
        let (out, updates) = sync_channel(waiting);
        let collector = Collector {
            out,
            from: Nanos(0),
            rows: FxHashMap::default(),
            messages: Vec::new(),
            others: 0,
            topics: Vec::new(),
            named: FxHashSet::default(),
        };
        (collector, updates)
    }

    /// Keeps a message that is in no latency.
    fn keep(&mut self, delivery: &Delivery, fate: MessageFate) {
        if self.others < OTHERS {
            self.others.grow(1);
            let one_way = delivery.one_way();
            let delivery = Arc::new(delivery.clone());
            self.messages.push(Message { delivery, one_way, cause: None, fate });
        }
    }

    /// Everything gathered so far.
    fn take(&mut self, to: Nanos) -> Slice {
        let mut messages = std::mem::take(&mut self.messages);
        let mut rows = Vec::with_capacity(self.rows.len());
        self.rows.retain(|group, row| {
            messages.append(&mut row.slowest);
            row.latest = 0;
            let had = row.slice.matched() > 0;
            if had {
                rows.push(std::mem::replace(&mut row.slice, RowSlice::new(*group)));
            }
            had
        });
        rows.sort_unstable_by_key(|row| row.group);
        // Messages are added in the order in which they ended, so that the latest are the last. A slow message may be there twice.
        messages.sort_by_key(|message| (message.ended(), message.delivery.message));
        messages.dedup_by(|a, b| Arc::ptr_eq(&a.delivery, &b.delivery));
        self.others = 0;
        let from = std::mem::replace(&mut self.from, to);
        Slice { from, to, rows, messages, topics: std::mem::take(&mut self.topics) }
    }

    /// Takes back what nobody took, so that it is handed out later.
    fn restore(&mut self, slice: Slice) {
        self.from = slice.from;
        for row in slice.rows {
            let group = row.group;
            self.rows.entry(group).or_default().slice = row;
        }
        // The messages of the time in which nobody looks are bounded too.
        self.messages = slice.messages;
        self.others = self.messages.len().max(OTHERS);
        for row in self.rows.values_mut() {
            row.latest = LATEST;
        }
        self.topics = slice.topics;
    }
}

impl DeliverySink for Collector {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, cause: Option<DelayCause>) {
        let Some(one_way) = delivery.one_way() else { return };
        let row = self.rows.entry(delivery.group).or_default();
        row.slice.group = delivery.group;
        row.slice.add(delivery, one_way);
        let is_slow = row.slowest.len() < SLOWEST
            || row
                .slowest
                .last()
                .and_then(|least| least.one_way)
                .is_some_and(|least| is_slower(one_way, least));
        if !is_slow && row.latest >= LATEST {
            return;
        }
        let fate = MessageFate::Delivered;
        let delivery = Arc::new(delivery.clone());
        let message = Message { delivery, one_way: Some(one_way), cause, fate };
        if is_slow {
            crate::messages::insert_slow(&mut row.slowest, &message, SLOWEST);
        }
        if row.latest < LATEST {
            row.latest.grow(1);
            self.messages.push(message);
        }
    }

    fn aside(&mut self, delivery: &Delivery) {
        self.keep(delivery, MessageFate::Aside);
    }

    fn takes_topics(&self) -> bool {
        true
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.named.len() < TOPICS && !self.named.contains(&topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.named.len() < TOPICS && self.named.insert(topic) {
            self.topics.push((topic, String::from_utf8_lossy(name).into()));
        }
    }

    fn takes_given_up(&self) -> bool {
        true
    }

    fn undelivered(&mut self, so_far: &Delivery, at_end: bool) {
        self.keep(so_far, MessageFate::Undelivered { at_end });
    }

    fn published(&mut self, snapshot: &Arc<Snapshot>) {
        let slice = self.take(snapshot.at);
        let update = Update { snapshot: Arc::clone(snapshot), slice };
        match self.out.try_send(update) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(update)) => self.restore(update.slice),
        }
    }
}
