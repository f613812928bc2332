//! Gathers deliveries on the tracing thread and hands them out with each snapshot.
//!
//! | module | what |
//! |---|---|
//! | `row` | what a row has delivered since the last snapshot |
//! | `kept` | the messages of a row that are kept whole |

mod kept;
mod row;

use crate::messages::{KeptMessage, MessageFate};
use crate::slice::{Slice, Update};
use kept::MessageQuota;
use row::RowCollector;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use wirelap_correlate::{DelayCause, DeliverySink, Nondelivery, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos, TopicId};

/// The most rows that are told apart; the correlator has fewer.
const ROWS: usize = 1_024;
/// The most messages of all rows that a slice has. A message takes some 12 KiB.
const MESSAGES: usize = 512;
/// The most topics whose names are handed out.
const TOPICS: usize = 65_536;

/// A sink that gathers deliveries and hands them out with each published snapshot. It never waits: while nobody takes what it hands
/// out, it keeps gathering, in bounded memory, and hands out everything with a later snapshot. Once nobody can take anything any more, it
/// gathers nothing.
#[derive(Debug)]
pub struct DeliveryCollector {
    out: SyncSender<Update>,
    is_closed: bool,
    from: Nanos,
    rows: FxHashMap<GroupId, RowCollector>,
    /// Number of messages that are kept since the last snapshot; `most` is the number that all rows may keep.
    messages: usize,
    most: usize,
    quota: MessageQuota,
    topics: Vec<(TopicId, Box<str>)>,
    named: FxHashSet<TopicId>,
    /// The slice that nobody took.
    waiting: Option<Slice>,
}

impl DeliveryCollector {
    /// A collector, and where its updates can be taken; at most `waiting` wait there.
    pub fn new(waiting: usize) -> (DeliveryCollector, Receiver<Update>) {
        let (out, updates) = sync_channel(waiting);
        let collector = DeliveryCollector {
            out,
            is_closed: false,
            from: Nanos(0),
            rows: FxHashMap::default(),
            messages: 0,
            most: MESSAGES,
            quota: MessageQuota::of(MESSAGES, 1),
            topics: Vec::new(),
            named: FxHashSet::default(),
            waiting: None,
        };
        (collector, updates)
    }

    /// The same collector, which hands out figures alone: no messages and no names of topics.
    #[must_use]
    pub fn of_figures(self) -> DeliveryCollector {
        DeliveryCollector { most: 0, ..self }
    }

    /// Adds a delivery to its row, and keeps it whole if there is a place for it.
    fn add(&mut self, delivery: &Delivery, cause: Option<DelayCause>, fate: MessageFate) {
        let is_known = self.rows.contains_key(&delivery.group);
        if self.is_closed || (!is_known && self.rows.len() >= ROWS) {
            return;
        }
        let row = self.rows.entry(delivery.group).or_default();
        let one_way = delivery.one_way();
        let message = || KeptMessage { delivery: Arc::new(delivery.clone()), one_way, cause, fate };
        let has_room = self.messages < self.most;
        let is_kept = match (fate, one_way) {
            (MessageFate::Delivered, Some(one_way)) => {
                row.add(delivery, one_way);
                row.kept.add(one_way, self.quota, has_room, message)
            }
            (MessageFate::Delivered, None) => false,
            _ => has_room && row.kept.add_other(fate, self.quota, message),
        };
        self.messages = self.messages.saturating_add(usize::from(is_kept));
    }

    /// Everything gathered since the last time.
    fn take(&mut self, to: Nanos) -> Slice {
        let (mut rows, mut messages) = (Vec::new(), Vec::new());
        for (group, row) in &mut self.rows {
            rows.extend(row.take(*group));
            row.kept.take(&mut messages);
        }
        rows.sort_unstable_by_key(|row| row.group);
        in_order(&mut messages);
        self.messages = 0;
        self.quota = MessageQuota::of(MESSAGES, rows.len());
        let from = std::mem::replace(&mut self.from, to);
        Slice { from, to, rows, messages, topics: std::mem::take(&mut self.topics) }
    }
}

/// Messages are added in the order in which they ended, so that the latest are the last.
fn in_order(messages: &mut [KeptMessage]) {
    messages.sort_by_key(|message| (message.ended(), message.delivery.message));
}

/// Adds a later slice to one that nobody took, with no more messages than one slice has: of those that were followed, the slowest stay.
fn wait_longer(mut older: Slice, newer: Slice) -> Slice {
    older.merge(&newer);
    older.topics.extend(newer.topics);
    older.messages.extend(newer.messages);
    if older.messages.len() > MESSAGES {
        let time = |message: &KeptMessage| message.one_way.unwrap_or(Nanos(u64::MAX));
        older.messages.sort_by_key(|message| Reverse(time(message)));
        older.messages.truncate(MESSAGES);
        in_order(&mut older.messages);
    }
    older
}

impl DeliverySink for DeliveryCollector {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, cause: Option<DelayCause>) {
        self.add(delivery, cause, MessageFate::Delivered);
    }

    fn aside(&mut self, delivery: &Delivery) {
        self.add(delivery, None, MessageFate::Aside);
    }

    fn takes_topics(&self) -> bool {
        self.most > 0
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.takes_topics()
            && !self.is_closed
            && self.named.len() < TOPICS
            && !self.named.contains(&topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.named.len() < TOPICS && self.named.insert(topic) {
            self.topics.push((topic, String::from_utf8_lossy(name).into()));
        }
    }

    /// The screen is what `--tls` is for.
    fn secret_topic(&mut self, topic: TopicId, name: &[u8]) {
        self.topic(topic, name);
    }

    fn takes_given_up(&self, group: GroupId, _: Option<Nondelivery>) -> bool {
        let row = self.rows.get(&group);
        !self.is_closed
            && self.messages < self.most
            && row.is_none_or(|row| row.kept.has_place_for_others(self.quota))
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        let at_end = why == Nondelivery::UnderWay;
        self.add(so_far, None, MessageFate::Undelivered { at_end });
    }

    fn published(&mut self, snapshot: &Arc<Snapshot>) {
        if self.is_closed {
            return;
        }
        let newer = self.take(snapshot.at);
        let slice = match self.waiting.take() {
            Some(older) => wait_longer(older, newer),
            None => newer,
        };
        match self.out.try_send(Update { snapshot: Arc::clone(snapshot), slice }) {
            Ok(()) => {}
            Err(TrySendError::Full(update)) => self.waiting = Some(update.slice),
            Err(TrySendError::Disconnected(_)) => {
                self.is_closed = true;
                self.rows = FxHashMap::default();
            }
        }
    }
}
