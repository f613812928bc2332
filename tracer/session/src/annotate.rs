//! Writes what became of each message into the recording, beside the packets that carried it.

use std::collections::HashMap;
use std::sync::Arc;
use wirelap_correlate::{Correlator, DelayCause, DeliverySink, Nondelivery};
use wirelap_events::{
    Delivery, Event, GroupId, Leg, MAX_LEGS, Nanos, Pid, Segment, SocketId, Stage, StageTimes,
    TaskId, Tid, TopicId,
};
use wirelap_recording::PendingLimits;
use wirelap_recording::message::{
    self, LegEnd, MessageLeg, MessageRow, MessageSink, MessageStatus,
};

/// Limits while recording: a message that took longer, or that exceeds the bytes, is not described beside its packets.
pub const LIVE: PendingLimits = PendingLimits { time: Nanos::from_millis(2_000), bytes: 32 << 20 };

/// Limits while reading a file: longer than the time after which the correlator gives a message up.
pub const OFFLINE: PendingLimits =
    PendingLimits { time: Nanos::from_millis(15_000), bytes: 256 << 20 };

/// Time for which a row's name is reused before it is looked up again, because its broker may have become known since.
const RENAMED: Nanos = Nanos::from_millis(500);

/// A leg whose description still lacks the names of its row, its topic and its two ends.
#[derive(Clone, Debug)]
struct PendingLeg {
    group: GroupId,
    topic: Option<TopicId>,
    ends: [(Option<TaskId>, Option<SocketId>); 2],
    leg: MessageLeg,
}

/// Collects deliveries and hands descriptions of their legs to a recorder.
#[derive(Debug, Default)]
pub struct Annotator {
    /// The source has packets only: a message is delivered when its last packet arrives, because reads are not known.
    pub packets_only: bool,
    pending: Vec<PendingLeg>,
    /// The legs of one message, as they are handed to the recorder. Kept to reuse its memory.
    legs: Vec<MessageLeg>,
    rows: HashMap<GroupId, (Arc<MessageRow>, Nanos)>,
    /// Names of topics; the correlator bounds their number.
    topics: HashMap<TopicId, Arc<[u8]>>,
    topicless: Arc<[u8]>,
    nameless: Arc<MessageRow>,
}

/// Passes deliveries on to another sink, and to an annotator.
struct AnnotatingSink<'a> {
    annotator: &'a mut Annotator,
    sink: &'a mut dyn DeliverySink,
}

impl DeliverySink for AnnotatingSink<'_> {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, held_up: Option<DelayCause>) {
        self.annotator.add(delivery, held_up, MessageStatus::Counted);
        self.sink.judged(delivery, held_up);
    }

    fn aside(&mut self, delivery: &Delivery) {
        let warmup = delivery.stamp.is_some_and(|stamp| stamp.warmup);
        let status = if warmup { MessageStatus::WarmUp } else { MessageStatus::Partial };
        self.annotator.add(delivery, None, status);
        self.sink.aside(delivery);
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.sink.needs_topic(topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        self.sink.topic(topic, name);
    }

    fn secret_topic(&mut self, topic: TopicId, name: &[u8]) {
        self.sink.secret_topic(topic, name);
    }

    fn takes_given_up(&self, _: GroupId, _: Option<Nondelivery>) -> bool {
        true
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        let is_under_way = why == Nondelivery::UnderWay;
        let status =
            if is_under_way { MessageStatus::UnderWay } else { MessageStatus::Undelivered };
        self.annotator.add(so_far, None, status);
        if self.sink.takes_given_up(so_far.group, Some(why)) {
            self.sink.undelivered(so_far, why);
        }
    }
}

impl Annotator {
    /// An annotator of a session, or of packets alone.
    pub fn of(packets_only: bool) -> Annotator {
        Annotator { packets_only, ..Annotator::default() }
    }

    /// Gives an event to the correlator. The caller has given it to the recorder before.
    pub fn event(
        &mut self,
        event: &Event<'_>,
        correlator: &mut Correlator,
        sink: &mut dyn DeliverySink,
        recorder: &mut dyn MessageSink,
    ) {
        correlator.take(event, &mut AnnotatingSink { annotator: self, sink });
        if let Some(range) = correlator.carried() {
            recorder.carries(range);
        }
        self.flush(event.at, correlator, recorder);
    }

    /// Lets the correlator complete the deliveries up to a time, or all of them.
    pub fn tick(
        &mut self,
        until: Option<Nanos>,
        correlator: &mut Correlator,
        sink: &mut dyn DeliverySink,
        recorder: &mut dyn MessageSink,
    ) {
        let mut annotating = AnnotatingSink { annotator: self, sink };
        match until {
            Some(until) => correlator.tick(until, &mut annotating),
            None => correlator.finish(&mut annotating),
        }
        self.flush(until.unwrap_or_default(), correlator, recorder);
    }

    fn add(&mut self, delivery: &Delivery, held_up: Option<DelayCause>, status: MessageStatus) {
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let delay_cause = held_up.map(|found| message::LegDelay {
            cause: found.kind.name(),
            leg: small(found.leg),
            segment: found.segment,
            time: found.time,
        });
        let began = delivery.legs.iter().find_map(|leg| first(&leg.times)).unwrap_or_default();
        let is_whole = matches!(status, MessageStatus::Counted | MessageStatus::WarmUp);
        let is_known = |time: &Nanos| is_whole && (!self.packets_only || *time > Nanos(0));
        let one_way = delivery.one_way().filter(is_known);
        let last_seen = if status.is_delivered() { None } else { self.last_seen(delivery) };
        for (index, mut segments) in delivery.segments() {
            let leg: &Leg = &delivery.legs[index];
            let mut times = leg.times;
            if self.packets_only {
                // Without reads, `Read` is only the time of the last packet.
                times.clear(Stage::Read);
                segments = segments.without(Segment::Busy);
            }
            let message_leg = MessageLeg {
                message: delivery.message,
                row: Arc::clone(&self.nameless),
                topic: Arc::clone(&self.topicless),
                payload_len: delivery.payload_len,
                status,
                leg: small(index),
                legs: small(delivery.legs.len()),
                range: leg.flow_range,
                began,
                times,
                segments,
                sender: LegEnd::default(),
                reader: LegEnd::default(),
                one_way,
                delay_cause,
                last_seen,
                readers: u32::from(status.is_delivered()),
                frames: [0; MAX_LEGS],
            };
            let ends = [(leg.sender, leg.from), (leg.reader, leg.to)];
            self.pending.push(PendingLeg {
                group: delivery.group,
                topic: delivery.topic,
                ends,
                leg: message_leg,
            });
        }
    }

    /// The leg, counted from 0, and the stage at which an undelivered message was seen last.
    fn last_seen(&self, so_far: &Delivery) -> Option<(u8, Stage)> {
        let mut times = so_far.legs.last()?.times;
        if self.packets_only {
            times.clear(Stage::Read);
        }
        let (stage, _) = times.seen().last()?;
        Some((u8::try_from(so_far.legs.len().saturating_sub(1)).ok()?, stage))
    }

    /// Hands the pending legs to the recorder, with the names that the correlator knows.
    fn flush(&mut self, now: Nanos, correlator: &Correlator, recorder: &mut dyn MessageSink) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        for mut pending_leg in pending.drain(..) {
            pending_leg.leg.row = self.row(pending_leg.group, now, correlator);
            pending_leg.leg.topic = self.topic(pending_leg.topic, correlator);
            let [sender, reader] =
                pending_leg.ends.map(|(task, socket)| end(task, socket, correlator));
            (pending_leg.leg.sender, pending_leg.leg.reader) = (sender, reader);
            let is_last = pending_leg.leg.leg.saturating_add(1) == pending_leg.leg.legs;
            self.legs.push(pending_leg.leg);
            if is_last {
                recorder.message(&mut self.legs);
            }
        }
        self.pending = pending;
    }

    fn topic(&mut self, id: Option<TopicId>, correlator: &Correlator) -> Arc<[u8]> {
        let Some(id) = id else { return Arc::clone(&self.topicless) };
        let name = || Arc::from(correlator.public_topic(id).unwrap_or_default());
        Arc::clone(self.topics.entry(id).or_insert_with(name))
    }

    fn row(&mut self, group: GroupId, now: Nanos, correlator: &Correlator) -> Arc<MessageRow> {
        if let Some((row, asked)) = self.rows.get(&group)
            && now - *asked < RENAMED
        {
            return Arc::clone(row);
        }
        let (middleware, broker) = correlator.row_name(group).unwrap_or_default();
        let row = Arc::new(MessageRow { middleware: middleware.to_owned(), broker });
        self.rows.insert(group, (Arc::clone(&row), now));
        row
    }
}

fn first(times: &StageTimes) -> Option<Nanos> {
    times.seen().next().map(|(_, at)| at)
}

/// The process at one end of a leg: that of the thread that was seen there, otherwise the owner of the socket.
fn end(task: Option<TaskId>, socket: Option<SocketId>, correlator: &Correlator) -> LegEnd {
    let owner = || socket.and_then(|socket| correlator.owner(socket));
    let pid = task.map(|task| task.pid).filter(|&pid| pid != Pid(0)).or_else(owner);
    let pid = pid.unwrap_or_default();
    let tid = task.map_or(Tid(0), |task| task.tid);
    LegEnd { pid, tid, name: correlator.process_name(pid).unwrap_or_default() }
}
