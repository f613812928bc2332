//! The spans of a message: one for each process on its way, with the stages that it passed there as events.
//!
//! ```text
//!          leg 1                                   leg 2
//!  publish send … xmit ▶▶▶ rx ready … read │ send … xmit ▶▶▶ rx … read deliver
//!  └────── send ─────┘     └───────── forward ─────────┘     └─── deliver ───┘
//!       PRODUCER                    INTERNAL                     CONSUMER
//! ```
//!
//! The time between two spans is that on the network.

use crate::choice::{Choice, ChosenMessage};
use crate::ids::{MessageIds, SpanId, SpanRole, TraceId};
use crate::names::{BatchNames, ServiceProcess, address, row_attributes, shortened};
use crate::proto::{
    Attribute, REMOTE_PARENT, Span, SpanEvent, SpanKind, SpanLink, Status, StatusCode,
};
use wirelap_correlate::Nondelivery;
use wirelap_events::{Delivery, Leg, LegHosts, Nanos, Segment, Stage, TaskId};
use wirelap_history::MessageFate;

/// A span that waits to be sent.
#[derive(Clone, Debug)]
pub struct ProcessSpan {
    /// The process that it belongs to.
    pub process: ServiceProcess,
    /// The message's own number and the span's, which no other span has.
    pub id: (TraceId, SpanId),
    /// The span.
    pub span: Span,
}

/// The part of a message's way through one process: the end of the leg that came in, and the beginning of the one that went out.
struct Stay<'a> {
    role: SpanRole,
    came: Option<&'a Leg>,
    went: Option<&'a Leg>,
    stages: Vec<(Stage, Nanos)>,
}

impl<'a> Stay<'a> {
    /// The stays of a message, in order; those of which nothing was seen are missing.
    fn all(delivery: &'a Delivery) -> Vec<Stay<'a>> {
        let legs = &delivery.legs;
        let stays = (0..=legs.len()).map(|index| {
            let came = index.checked_sub(1).and_then(|before| legs.get(before));
            let went = legs.get(index);
            let role = match (came, went) {
                (None, _) => SpanRole::Producer,
                (Some(_), Some(_)) => SpanRole::Forwarder,
                (Some(_), None) => SpanRole::Consumer,
            };
            let received = came.into_iter().flat_map(|leg| leg.times.seen());
            let sent = went.into_iter().flat_map(|leg| leg.times.seen());
            let received = received.filter(|(stage, _)| *stage >= Stage::Rx);
            let stages = received.chain(sent.filter(|(stage, _)| *stage < Stage::Rx)).collect();
            Stay { role, came, went, stages }
        });
        stays.filter(|stay| !stay.stages.is_empty()).collect()
    }

    /// The first and the last moment.
    fn extent(&self) -> [Nanos; 2] {
        let times = || self.stages.iter().map(|&(_, at)| at);
        [times().min().unwrap_or_default(), times().max().unwrap_or_default()]
    }

    /// The thread that read the message here, or else the one that sent it.
    fn task(&self) -> Option<TaskId> {
        self.came.and_then(|leg| leg.reader).or(self.went.and_then(|leg| leg.sender))
    }

    /// The leg by which its number is told from those of other stays.
    fn told_by(&self) -> Option<&'a Leg> {
        match self.role {
            SpanRole::Producer => None,
            SpanRole::Forwarder => self.went,
            SpanRole::Consumer => self.came,
        }
    }
}

/// The spans of a message, in its application's trace or one of its own. The first is a child of the application's span.
pub fn spans(chosen: &ChosenMessage, ids: MessageIds, names: &BatchNames<'_>) -> Vec<ProcessSpan> {
    let delivery = &*chosen.message.delivery;
    let row = names.row(delivery.group);
    let topic =
        delivery.topic.and_then(|topic| names.topics.get(&topic)).map(|name| shortened(name));
    let shared = message_attributes(chosen, names, topic);
    let trace = ids.trace();
    let mut all: Vec<ProcessSpan> = Vec::new();
    for stay in Stay::all(delivery) {
        let (process, is_broker) = names.process(row, stay.task().map(|task| task.pid));
        let role = if is_broker { SpanRole::Forwarder } else { stay.role };
        let id = ids.own.span(stay.role, stay.told_by());
        let (parent_span_id, flags) = parent(all.last(), &ids);
        let [start, end] = stay.extent().map(|at| wall(at, names.wall_offset));
        let producer = all.first().filter(|first| first.span.kind == SpanKind::Producer as i32);
        let link = producer.filter(|_| stay.role == SpanRole::Consumer);
        let events = stay.stages.iter().map(|&(stage, at)| SpanEvent {
            time_unix_nano: wall(at, names.wall_offset),
            name: stage.name().to_owned(),
        });
        let span = Span {
            trace_id: trace.bytes(),
            span_id: id.bytes(),
            parent_span_id,
            name: match topic {
                Some(topic) => format!("{} {topic}", operation(role)),
                None => operation(role).to_owned(),
            },
            kind: kind(role) as i32,
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            attributes: shared
                .iter()
                .cloned()
                .chain(own_attributes(&stay, role, delivery))
                .collect(),
            events: events.collect(),
            links: link
                .map(|one| SpanLink { trace_id: trace.bytes(), span_id: one.span.span_id.clone() })
                .into_iter()
                .collect(),
            status: None,
            flags,
        };
        all.push(ProcessSpan { process, id: (ids.own, id), span });
    }
    if chosen.nondelivery == Some(Nondelivery::Lost)
        && let Some(last) = all.last_mut()
    {
        let message = "the message was lost: nobody read it, and somebody should have".to_owned();
        last.span.status = Some(Status { message, code: StatusCode::Error as i32 });
        last.span.attributes.push(Attribute::new("error.type", "lost"));
    }
    all
}

/// The number of spans that a message has.
pub fn count(delivery: &Delivery) -> u64 {
    let has = |leg: Option<&Leg>, is_received: bool| {
        leg.is_some_and(|leg| {
            leg.times.seen().any(|(stage, _)| (stage >= Stage::Rx) == is_received)
        })
    };
    let legs = &delivery.legs;
    let came = |index: usize| index.checked_sub(1).and_then(|before| legs.get(before));
    let stays = (0..=legs.len()).filter(|&at| has(came(at), true) || has(legs.get(at), false));
    stays.count() as u64
}

/// The number of a span's parent, which is the span before or the application's, and the span's flags, which are those of the application.
fn parent(before: Option<&ProcessSpan>, ids: &MessageIds) -> (Vec<u8>, u32) {
    let flags = ids.context.map_or(0, |context| context.flags.into());
    match (before, ids.context) {
        (Some(before), _) => (before.span.span_id.clone(), flags),
        (None, Some(context)) => (context.parent.to_vec(), flags | REMOTE_PARENT),
        (None, None) => (Vec::new(), flags),
    }
}

/// A moment in nanoseconds since 1970.
fn wall(at: Nanos, wall_offset: i64) -> u64 {
    at.0.saturating_add_signed(wall_offset)
}

fn operation(role: SpanRole) -> &'static str {
    match role {
        SpanRole::Producer => "send",
        SpanRole::Forwarder => "forward",
        SpanRole::Consumer => "deliver",
    }
}

fn kind(role: SpanRole) -> SpanKind {
    match role {
        SpanRole::Producer => SpanKind::Producer,
        SpanRole::Forwarder => SpanKind::Internal,
        SpanRole::Consumer => SpanKind::Consumer,
    }
}

/// The attributes that all spans of a message have.
fn message_attributes(
    chosen: &ChosenMessage,
    names: &BatchNames<'_>,
    topic: Option<&str>,
) -> Vec<Attribute> {
    let message = &chosen.message;
    let delivery = &*message.delivery;
    let mut all = names.row(delivery.group).map(row_attributes).unwrap_or_default();
    if let Some(topic) = topic {
        all.push(Attribute::new("messaging.destination.name", topic));
    }
    all.push(Attribute::new("messaging.message.body.size", delivery.payload_len));
    all.push(Attribute::new(
        "wirelap.chosen",
        match chosen.choice {
            Choice::Slowest => "slowest",
            Choice::Share => "share",
            Choice::Undelivered => "undelivered",
        },
    ));
    all.push(Attribute::new(
        "wirelap.fate",
        match (message.fate, chosen.nondelivery) {
            (MessageFate::Delivered, _) => "delivered",
            (_, None | Some(Nondelivery::NotFollowed)) => "seen_in_part",
            (_, Some(Nondelivery::Lost)) => "lost",
            (_, Some(Nondelivery::Unread)) => "unread",
            (_, Some(Nondelivery::ForNobody)) => "for_nobody",
            (_, Some(Nondelivery::UnderWay)) => "under_way",
        },
    ));
    if let Some(one_way) = message.one_way.filter(|_| message.fate == MessageFate::Delivered) {
        all.push(Attribute::new("wirelap.one_way_ns", one_way.0));
    }
    if let Some(cause) = message.cause {
        all.push(Attribute::new("wirelap.cause", cause.kind.name()));
        all.push(Attribute::new("wirelap.cause_ns", cause.time.0));
    }
    if delivery.clock_error != Nanos(0) && delivery.clock_error != LegHosts::UNKNOWN {
        all.push(Attribute::new("wirelap.clock_error_ns", delivery.clock_error.0));
    }
    all
}

/// The attributes of one span alone.
fn own_attributes(stay: &Stay<'_>, role: SpanRole, delivery: &Delivery) -> Vec<Attribute> {
    let mut all = vec![Attribute::new("messaging.operation.name", operation(role))];
    let (kind, leg, peer) = match role {
        SpanRole::Producer => (Some("send"), stay.went, stay.went.map(|leg| leg.flow.dst)),
        SpanRole::Forwarder => (None, stay.came.or(stay.went), None),
        SpanRole::Consumer => (Some("process"), stay.came, stay.came.map(|leg| leg.flow.src)),
    };
    if let Some(kind) = kind {
        all.push(Attribute::new("messaging.operation.type", kind));
    }
    if let Some(peer) = peer {
        all.extend(address("network.peer", peer));
    }
    if let Some(leg) = leg {
        all.push(Attribute::new("network.transport", leg.flow.transport.to_string().as_str()));
        all.push(Attribute::new("messaging.message.envelope.size", leg.flow_range.range.len()));
    }
    if let Some(task) = stay.task().filter(|task| task.tid.0 != 0) {
        all.push(Attribute::new("thread.id", u64::from(task.tid.number())));
    }
    if let Some(dwell) = dwell(stay, delivery) {
        all.push(Attribute::new("wirelap.broker_dwell_ns", dwell.0));
    }
    all
}

/// The time between the read and the send of a forwarder.
fn dwell(stay: &Stay<'_>, delivery: &Delivery) -> Option<Nanos> {
    let went = stay.went.filter(|_| stay.role == SpanRole::Forwarder)?;
    let index = delivery.legs.iter().position(|leg| std::ptr::eq(leg, went))?;
    let (_, segments) = delivery.segments().nth(index)?;
    segments.get(Segment::BrokerDwell)
}

#[cfg(test)]
mod tests;
