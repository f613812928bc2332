//! A session in miniature: deliveries and snapshots go through a collector into a history, at times that the test chooses.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use wirelap_correlate::snapshot::{Group, Snapshot, Trust};
use wirelap_correlate::{DelayCause, DeliverySink};
use wirelap_events::{Delivery, GroupId, MessageId, Nanos, Saturate, Stage, TopicId};
use wirelap_history::{DeliveryCollector, SessionHistory, Update};
use wirelap_test_support::delivered::{delivery, flow, leg};

/// The beginning of the observation.
pub const SINCE: Nanos = Nanos::from_millis(1_000_000);

/// A message that was delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    pub group: GroupId,
    /// The time of the snapshot after it.
    pub at: Nanos,
    pub one_way: u64,
    pub dwell: u64,
}

/// A session in miniature.
pub struct Live {
    pub now: Nanos,
    pub groups: Vec<Group>,
    pub snapshot: Snapshot,
    pub collector: DeliveryCollector,
    updates: Option<Receiver<Update>>,
    pub history: SessionHistory,
    /// All that were followed, in order.
    pub delivered: Vec<Delivered>,
    unpublished: usize,
    messages: u64,
}

impl Live {
    /// With so many rows, so many bytes for the past, and room for so many updates on their way.
    pub fn new(rows: u32, bytes: usize, room: usize) -> Live {
        let (collector, updates) = DeliveryCollector::new(room);
        let group = |id| Group {
            id: GroupId(id),
            middleware: format!("row{id}"),
            coverage: 1.0,
            ..Group::default()
        };
        Live {
            now: SINCE,
            groups: (0..rows).map(group).collect(),
            snapshot: Snapshot {
                since: SINCE,
                trust: Trust { coverage: 1.0, ..Trust::default() },
                ..Snapshot::default()
            },
            collector,
            updates: Some(updates),
            history: SessionHistory::new(bytes),
            delivered: Vec::new(),
            unpublished: 0,
            messages: 0,
        }
    }

    /// The next message of a row, sent now: a leg to a broker, its dwell, and a leg to a reader.
    pub fn message(&mut self, group: u32, one_way: u64, dwell: u64) -> Delivery {
        let (sent, dwell) = (self.now.0, dwell.min(one_way));
        let half = (one_way - dwell) / 2;
        let (read, passed_on) = (sent + half, sent + half + dwell);
        let first = [(Stage::Send, sent), (Stage::Rx, sent + half / 2), (Stage::Read, read)];
        let second = [
            (Stage::Send, passed_on),
            (Stage::Ready, passed_on),
            (Stage::Wakeup, passed_on + (one_way - half - dwell) / 2),
            (Stage::Running, sent + one_way),
            (Stage::Read, sent + one_way),
        ];
        self.messages += 1;
        let mut first = leg(&first);
        first.flow = flow(u16::try_from(group).unwrap() + 1, 1883);
        Delivery {
            message: MessageId(self.messages),
            group: GroupId(group),
            payload_len: 64 + u64::from(group),
            ..delivery([first, leg(&second)])
        }
    }

    /// A message of a row is delivered.
    pub fn deliver(&mut self, group: u32, one_way: u64, dwell: u64) -> Delivery {
        let message = self.message(group, one_way, dwell);
        self.judged(&message, None);
        message
    }

    /// A message is delivered and followed from end to end.
    pub fn judged(&mut self, message: &Delivery, cause: Option<DelayCause>) {
        let row = &mut self.groups[message.group.0 as usize];
        row.messages.sent.grow(1);
        row.messages.delivered.grow(1);
        row.messages.matched.grow(1);
        row.overhead.payload.grow(message.payload_len);
        row.overhead.deliveries.grow(1);
        row.overhead.packets.grow(2);
        self.snapshot.trust.events.grow(12);
        self.collector.judged(message, cause);
        let dwell = message
            .segments()
            .filter_map(|(_, segments)| segments.get(wirelap_events::Segment::BrokerDwell));
        self.delivered.push(Delivered {
            group: message.group,
            at: Nanos(0),
            one_way: message.one_way().unwrap().0,
            dwell: dwell.sum::<Nanos>().0,
        });
    }

    /// A message is delivered and not followed.
    pub fn aside(&mut self, message: &Delivery) {
        let row = &mut self.groups[message.group.0 as usize];
        row.messages.delivered.grow(1);
        row.messages.uncovered.grow(1);
        self.collector.aside(message);
    }

    /// A topic gets its name.
    pub fn topic(&mut self, id: u32, name: &[u8]) {
        if self.collector.needs_topic(TopicId(id)) {
            self.collector.topic(TopicId(id), name);
        }
    }

    /// Publishes a snapshot so long after the last one, and does not take it out of the channel.
    pub fn publish(&mut self, after: Nanos) {
        self.now += after;
        for delivered in &mut self.delivered[self.unpublished..] {
            delivered.at = self.now;
        }
        self.unpublished = self.delivered.len();
        let snapshot =
            Snapshot { at: self.now, groups: self.groups.clone(), ..self.snapshot.clone() };
        self.collector.published(&Arc::new(snapshot));
    }

    /// Takes all updates out of the channel. Returns how many.
    pub fn take(&mut self) -> usize {
        let mut count = 0;
        while let Some(Ok(update)) = self.updates.as_ref().map(Receiver::try_recv) {
            self.history.add(update);
            count += 1;
        }
        count
    }

    /// Publishes a snapshot so long after the last one.
    pub fn tick(&mut self, after: Nanos) {
        self.publish(after);
        self.take();
    }

    /// The deliveries of a row from one snapshot to another.
    pub fn between(&self, group: u32, from: Nanos, to: Nanos) -> Vec<Delivered> {
        let inside = |one: &&Delivered| one.at > from && one.at <= to;
        let all = self.delivered.iter().filter(|one| one.group == GroupId(group));
        all.filter(inside).copied().collect()
    }

    /// Nobody takes updates any more.
    pub fn hang_up(&mut self) {
        self.updates = None;
    }
}
