//! What became of messages, told to the recording of the packets that carried them.

use std::collections::HashMap;
use std::sync::Arc;
use wirelap_correlate::{Correlator, DelayCause, DeliverySink};
use wirelap_events::{
    Delivery, Event, GroupId, Leg, MAX_LEGS, Nanos, Pid, Segment, SocketId, Stage, StageTimes,
    TaskId, Tid, TopicId,
};
use wirelap_recording::Limits;
use wirelap_recording::message::{self, End, MessageLeg, MessageSink, MessageStatus, Row};

/// While recording: messages that took longer are not told beside their packets.
pub const LIVE: Limits = Limits { time: Nanos::from_millis(2_000), bytes: 32 << 20 };

/// From a file: longer than the correlator has patience.
pub const OFFLINE: Limits = Limits { time: Nanos::from_millis(15_000), bytes: 256 << 20 };

/// A row's name is asked for again after this time: its broker may have become known.
const RENAMED: Nanos = Nanos::from_millis(500);

/// Where a message's leg began and ended, and what is told of it.
#[derive(Clone, Debug)]
struct Pending {
    group: GroupId,
    topic: Option<TopicId>,
    ends: [(Option<TaskId>, Option<SocketId>); 2],
    leg: MessageLeg,
}

/// Hears of deliveries, and tells a recorder of them.
#[derive(Debug, Default)]
pub struct Annotator {
    /// A message arrives with its last packet: nothing is known of reads.
    pub packets_only: bool,
    pending: Vec<Pending>,
    /// Of one message, on their way to the recorder.
    legs: Vec<MessageLeg>,
    rows: HashMap<GroupId, (Arc<Row>, Nanos)>,
    /// As many as the correlator keeps.
    topics: HashMap<TopicId, Arc<[u8]>>,
    topicless: Arc<[u8]>,
    nameless: Arc<Row>,
}

/// Hands deliveries on, and tells an annotator of them.
struct Overheard<'a> {
    annotator: &'a mut Annotator,
    sink: &'a mut dyn DeliverySink,
}

impl DeliverySink for Overheard<'_> {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, held_up: Option<DelayCause>) {
        self.annotator.hear(delivery, held_up, MessageStatus::Counted);
        self.sink.judged(delivery, held_up);
    }

    fn aside(&mut self, delivery: &Delivery) {
        let warmup = delivery.stamp.is_some_and(|stamp| stamp.warmup);
        let status = if warmup { MessageStatus::WarmUp } else { MessageStatus::Partial };
        self.annotator.hear(delivery, None, status);
        self.sink.aside(delivery);
    }

    fn takes_given_up(&self) -> bool {
        true
    }

    fn undelivered(&mut self, so_far: &Delivery, at_end: bool) {
        let status = if at_end { MessageStatus::UnderWay } else { MessageStatus::Undelivered };
        self.annotator.hear(so_far, None, status);
    }
}

impl Annotator {
    /// Gives an event to the correlator, after the recorder has had it.
    pub fn event(
        &mut self,
        event: &Event<'_>,
        correlator: &mut Correlator,
        sink: &mut dyn DeliverySink,
        recorder: &mut dyn MessageSink,
    ) {
        correlator.take(event, &mut Overheard { annotator: self, sink });
        if let Some(range) = correlator.carried() {
            recorder.carries(range);
        }
        self.tell(event.at, correlator, recorder);
    }

    /// Lets the correlator complete what it can, or everything.
    pub fn tick(
        &mut self,
        until: Option<Nanos>,
        correlator: &mut Correlator,
        sink: &mut dyn DeliverySink,
        recorder: &mut dyn MessageSink,
    ) {
        let mut overheard = Overheard { annotator: self, sink };
        match until {
            Some(until) => correlator.tick(until, &mut overheard),
            None => correlator.finish(&mut overheard),
        }
        self.tell(until.unwrap_or_default(), correlator, recorder);
    }

    fn hear(&mut self, delivery: &Delivery, held_up: Option<DelayCause>, status: MessageStatus) {
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let delay_cause = held_up.map(|found| message::DelayCause {
            cause: found.kind.name(),
            leg: small(found.leg),
            segment: found.segment,
            time: found.time,
        });
        let began = delivery.legs.iter().find_map(|leg| first(&leg.times)).unwrap_or_default();
        let is_whole = matches!(status, MessageStatus::Counted | MessageStatus::WarmUp);
        let is_told = |time: &Nanos| is_whole && (!self.packets_only || *time > Nanos(0));
        let one_way = delivery.one_way().filter(is_told);
        let last_seen = if status.is_delivered() { None } else { self.last_seen(delivery) };
        for (index, mut segments) in delivery.segments() {
            let leg: &Leg = &delivery.legs[index];
            let mut times = leg.times;
            if self.packets_only {
                // It stands for the last packet.
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
                range: leg.stretch,
                began,
                times,
                segments,
                sender: End::default(),
                reader: End::default(),
                one_way,
                delay_cause,
                last_seen,
                readers: u32::from(status.is_delivered()),
                frames: [0; MAX_LEGS],
            };
            let ends = [(leg.sender, leg.from), (leg.reader, leg.to)];
            self.pending.push(Pending {
                group: delivery.group,
                topic: delivery.topic,
                ends,
                leg: message_leg,
            });
        }
    }

    /// On which leg a message was seen last, and at which stage.
    fn last_seen(&self, so_far: &Delivery) -> Option<(u8, Stage)> {
        let mut times = so_far.legs.last()?.times;
        if self.packets_only {
            times.clear(Stage::Read);
        }
        let (stage, _) = times.seen().last()?;
        Some((u8::try_from(so_far.legs.len().saturating_sub(1)).ok()?, stage))
    }

    /// Tells what was heard, with the names that the correlator knows.
    fn tell(&mut self, now: Nanos, correlator: &Correlator, recorder: &mut dyn MessageSink) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        for mut heard in pending.drain(..) {
            heard.leg.row = self.row(heard.group, now, correlator);
            heard.leg.topic = self.topic(heard.topic, correlator);
            let [sender, reader] = heard.ends.map(|(task, socket)| end(task, socket, correlator));
            (heard.leg.sender, heard.leg.reader) = (sender, reader);
            let is_last = heard.leg.leg.saturating_add(1) == heard.leg.legs;
            self.legs.push(heard.leg);
            if is_last {
                recorder.message(&mut self.legs);
            }
        }
        self.pending = pending;
    }

    fn topic(&mut self, id: Option<TopicId>, correlator: &Correlator) -> Arc<[u8]> {
        let Some(id) = id else { return Arc::clone(&self.topicless) };
        let name = || Arc::from(correlator.topic(id).unwrap_or_default());
        Arc::clone(self.topics.entry(id).or_insert_with(name))
    }

    fn row(&mut self, group: GroupId, now: Nanos, correlator: &Correlator) -> Arc<Row> {
        if let Some((row, asked)) = self.rows.get(&group)
            && now - *asked < RENAMED
        {
            return Arc::clone(row);
        }
        let (middleware, broker) = correlator.row_name(group).unwrap_or_default();
        let row = Arc::new(Row { middleware: middleware.to_owned(), broker });
        self.rows.insert(group, (Arc::clone(&row), now));
        row
    }
}

fn first(times: &StageTimes) -> Option<Nanos> {
    times.seen().next().map(|(_, at)| at)
}

/// Who is at the end of a leg: the thread that was seen there, or else the socket's owner.
fn end(task: Option<TaskId>, socket: Option<SocketId>, correlator: &Correlator) -> End {
    let owner = || socket.and_then(|socket| correlator.owner(socket));
    let pid = task.map(|task| task.pid).filter(|&pid| pid != Pid(0)).or_else(owner);
    let pid = pid.unwrap_or_default();
    let tid = task.map_or(Tid(0), |task| task.tid);
    End { pid, tid, name: correlator.process_name(pid).unwrap_or_default() }
}
