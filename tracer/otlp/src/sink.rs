//! Chooses messages where deliveries are made, and hands them to the thread that sends.

use crate::choice::{Choice, ChosenMessage, RowIntervals};
use crate::counts::SpanCounts;
use crate::ids::{IdOrigin, MessageIds};
use crate::spans;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_correlate::{DelayCause, DeliverySink, Nondelivery, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos, TopicId};
use wirelap_history::{Bins, KeptMessage, MessageFate};

/// The number of messages that wait for the thread from which on further ones of the share and undelivered ones are dropped, and the slowest ones,
/// too. A message takes some 12 KiB.
const MESSAGES: usize = 1_024;
const WITH_SLOWEST: usize = 2 * MESSAGES;
/// The most topics whose names are handed out.
const TOPICS: usize = 65_536;

/// The messages of which spans are made.
#[derive(Clone, Copy, Debug)]
pub struct SpanChoice {
    /// The number of slowest messages of each row in each interval.
    pub slowest: usize,
    /// The share of all messages, 0 to 1.
    pub share: f64,
    /// The interval.
    pub interval: Nanos,
}

/// Messages, names and latencies since the last time.
#[derive(Debug, Default)]
pub struct SpanBatch {
    /// Rows, processes and hosts.
    pub snapshot: Arc<Snapshot>,
    /// The nanoseconds by which the clock of the day is ahead of that of events.
    pub wall_offset: i64,
    /// The messages that were chosen.
    pub messages: Vec<ChosenMessage>,
    /// Names of topics that were not named before.
    pub topics: Vec<(TopicId, Box<str>)>,
    /// The latencies of rows.
    pub latencies: FxHashMap<GroupId, Bins>,
}

/// State that the sink and the thread share beside the channel between them.
#[derive(Clone, Debug, Default)]
pub struct Handover {
    /// The number of messages that the thread has not taken.
    waiting: Arc<AtomicUsize>,
    /// A batch that nobody took by the end, for the thread to find.
    last: Arc<Mutex<Option<SpanBatch>>>,
}

impl Handover {
    /// Notes messages that the thread has taken.
    pub fn note_taken(&self, messages: usize) {
        self.waiting.fetch_sub(messages, Ordering::Relaxed);
    }

    /// Takes the batch that was left by the end.
    pub fn take_last(&self) -> Option<SpanBatch> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn leave(&self, batch: SpanBatch) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(batch);
    }
}

/// A sink that chooses messages. It never waits: while nobody takes what it hands out, it keeps a bounded number and counts the others as dropped.
#[derive(Debug)]
pub struct SpanSink {
    out: SyncSender<SpanBatch>,
    handover: Handover,
    counts: SpanCounts,
    choice: SpanChoice,
    /// The name of this host.
    host: String,
    wall_offset: fn() -> i64,
    rows: RowIntervals,
    batch: SpanBatch,
    /// The beginning of the interval.
    began: Option<Nanos>,
    named: FxHashSet<TopicId>,
    is_closed: bool,
}

impl SpanSink {
    /// A sink that hands out batches here.
    pub(crate) fn new(
        out: SyncSender<SpanBatch>,
        handover: Handover,
        counts: SpanCounts,
        (choice, host): (SpanChoice, String),
        wall_offset: fn() -> i64,
    ) -> SpanSink {
        SpanSink {
            out,
            handover,
            counts,
            choice,
            host,
            wall_offset,
            rows: RowIntervals::default(),
            batch: SpanBatch { wall_offset: wall_offset(), ..SpanBatch::default() },
            began: None,
            named: FxHashSet::default(),
            is_closed: false,
        }
    }

    /// Keeps a message for the thread unless `most` wait for it, and counts its spans as dropped otherwise. Returns whether it was kept.
    fn keep(
        &mut self,
        most: usize,
        delivery: &Delivery,
        message: impl FnOnce() -> ChosenMessage,
    ) -> bool {
        if self.handover.waiting.load(Ordering::Relaxed) >= most {
            self.counts.add_dropped(spans::count(delivery));
            return false;
        }
        self.handover.waiting.fetch_add(1, Ordering::Relaxed);
        self.batch.messages.push(message());
        true
    }

    /// True if a message is one of the share.
    fn is_in_share(&self, delivery: &Delivery) -> bool {
        let origin = IdOrigin { host: &self.host, wall_offset: self.batch.wall_offset };
        let share = self.choice.share;
        share > 0.0 && MessageIds::of(delivery, origin).is_in(share)
    }

    /// Takes a message that was read, wholly or in part.
    fn take(&mut self, delivery: &Delivery, cause: Option<DelayCause>, fate: MessageFate) {
        if self.is_closed {
            return;
        }
        let one_way = delivery.one_way();
        let message = || KeptMessage { delivery: Arc::new(delivery.clone()), one_way, cause, fate };
        let chosen =
            || ChosenMessage { message: message(), choice: Choice::Share, nondelivery: None };
        let is_sent = self.is_in_share(delivery) && self.keep(MESSAGES, delivery, chosen);
        if let Some(one_way) = one_way.filter(|_| fate == MessageFate::Delivered) {
            let message = || (!is_sent).then(message);
            self.rows.add(delivery.group, one_way, self.choice.slowest, message);
        }
    }

    /// Adds what was gathered since the last snapshot to the batch. The slowest messages are known once an interval is over.
    fn gather(&mut self, at: Nanos, is_last: bool) {
        let latencies = &mut self.batch.latencies;
        self.rows.take_latencies(|group, bins| latencies.entry(group).or_default().merge(bins));
        let began = *self.began.get_or_insert(at);
        if !is_last && at < began + self.choice.interval {
            return;
        }
        self.began = Some(at);
        let mut rows = std::mem::take(&mut self.rows);
        for chosen in rows.take_slowest() {
            let delivery = Arc::clone(&chosen.message.delivery);
            self.keep(WITH_SLOWEST, &delivery, || chosen);
        }
        self.rows = rows;
    }
}

impl DeliverySink for SpanSink {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, cause: Option<DelayCause>) {
        self.take(delivery, cause, MessageFate::Delivered);
    }

    fn aside(&mut self, delivery: &Delivery) {
        if !delivery.stamp.is_some_and(|stamp| stamp.warmup) {
            self.take(delivery, None, MessageFate::Aside);
        }
    }

    fn takes_topics(&self) -> bool {
        true
    }

    fn takes_trace_contexts(&self) -> bool {
        true
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        !self.is_closed && self.named.len() < TOPICS && !self.named.contains(&topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.needs_topic(topic) {
            self.named.insert(topic);
            let name = String::from_utf8_lossy(name);
            self.batch.topics.push((topic, crate::names::shortened(&name).into()));
        }
    }

    fn takes_given_up(&self, _: GroupId, why: Option<Nondelivery>) -> bool {
        let is_sent = why.is_some_and(|why| choice_of(why) == Choice::Undelivered);
        !self.is_closed && (is_sent || self.choice.share > 0.0)
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        if self.is_closed {
            return;
        }
        let choice = choice_of(why);
        if choice == Choice::Share && !self.is_in_share(so_far) {
            return;
        }
        let fate = MessageFate::Undelivered { at_end: why == Nondelivery::UnderWay };
        let delivery = || Arc::new(so_far.clone());
        let message = || KeptMessage { delivery: delivery(), one_way: None, cause: None, fate };
        let chosen = || ChosenMessage { message: message(), choice, nondelivery: Some(why) };
        self.keep(MESSAGES, so_far, chosen);
    }

    fn published(&mut self, snapshot: &Arc<Snapshot>) {
        if self.is_closed {
            return;
        }
        self.gather(snapshot.at, false);
        self.batch.snapshot = Arc::clone(snapshot);
        let wall_offset = (self.wall_offset)();
        let next =
            SpanBatch { wall_offset, snapshot: Arc::clone(snapshot), ..SpanBatch::default() };
        match self.out.try_send(std::mem::replace(&mut self.batch, next)) {
            Ok(()) => {}
            Err(TrySendError::Full(batch)) => self.batch = SpanBatch { wall_offset, ..batch },
            Err(TrySendError::Disconnected(_)) => {
                self.is_closed = true;
                self.rows = RowIntervals::default();
            }
        }
    }
}

/// The reason to send a message that was not delivered.
fn choice_of(why: Nondelivery) -> Choice {
    match why {
        Nondelivery::Lost | Nondelivery::Unread | Nondelivery::UnderWay => Choice::Undelivered,
        Nondelivery::ForNobody | Nondelivery::NotFollowed => Choice::Share,
    }
}

impl Drop for SpanSink {
    /// Leaves what is left to the thread, which looks for it once there are no further batches.
    fn drop(&mut self) {
        self.gather(self.batch.snapshot.at, true);
        let batch = std::mem::take(&mut self.batch);
        self.handover.leave(batch);
    }
}
