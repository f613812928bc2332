use super::*;
use crate::ids::IdOrigin;
use crate::proto::{AnyValue, AttributeValue};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wirelap_correlate::{Group, Process, Snapshot};
use wirelap_events::{ByteRange, GroupId, Offset, Pid, SocketId, Tid, TopicId, TraceContext};
use wirelap_history::KeptMessage;
use wirelap_test_support::delivered::{delivery, flow, leg};

const HOUR: i64 = 3_600_000_000_000;

fn task(pid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(pid + 1) }
}

/// A message that goes through a broker.
fn through_broker() -> Delivery {
    let mut first = leg(&[
        (Stage::Send, 100),
        (Stage::Queue, 110),
        (Stage::Xmit, 120),
        (Stage::Rx, 130),
        (Stage::Ready, 140),
        (Stage::Read, 170),
    ]);
    let mut second =
        leg(&[(Stage::Send, 200), (Stage::Xmit, 210), (Stage::Rx, 230), (Stage::Read, 260)]);
    (first.flow, second.flow) = (flow(4_000, 1_883), flow(1_883, 5_000));
    (first.sender, first.reader) = (Some(task(10)), Some(task(20)));
    (second.sender, second.reader) = (Some(task(20)), Some(task(30)));
    first.flow_range.range = ByteRange::new(Offset(1_000), 90);
    second.flow_range.range = ByteRange::new(Offset(2_000), 95);
    Delivery { topic: Some(TopicId(7)), ..delivery([first, second]) }
}

/// The fate of a message.
#[derive(Clone, Copy)]
enum Became {
    Delivered,
    SeenInPart,
    Not(Nondelivery),
}

fn spans_of(delivery: Delivery, became: Became) -> Vec<ProcessSpan> {
    let process = |pid, comm: &str, role: &str| Process {
        pid: Pid(pid),
        comm: comm.into(),
        role: role.into(),
        ..Process::default()
    };
    let row = Group {
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        endpoint: "127.0.0.1:1883".parse().ok(),
        processes: vec![
            process(10, "sensor", "publisher"),
            process(20, "mosquitto", "broker"),
            process(30, "dashboard", "subscriber"),
        ],
        ..Group::default()
    };
    let snapshot = Snapshot { groups: vec![row], ..Snapshot::default() };
    let topics = FxHashMap::from_iter([(TopicId(7), "plant/1".into())]);
    let names =
        BatchNames { snapshot: &snapshot, topics: &topics, host: "here", wall_offset: HOUR };
    let one_way = delivery.one_way();
    let ids = MessageIds::of(&delivery, IdOrigin { host: "here", wall_offset: HOUR });
    let (fate, nondelivery) = match became {
        Became::Delivered => (MessageFate::Delivered, None),
        Became::SeenInPart => (MessageFate::Aside, None),
        Became::Not(why) => (MessageFate::Undelivered { at_end: false }, Some(why)),
    };
    let message = KeptMessage { delivery: Arc::new(delivery), one_way, cause: None, fate };
    spans(&ChosenMessage { message, choice: Choice::Share, nondelivery }, ids, &names)
}

fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match attribute.value.as_ref()? {
        AnyValue { value: Some(AttributeValue::Text(text)) } => text.clone(),
        AnyValue { value: Some(AttributeValue::Integer(number)) } => number.to_string(),
        AnyValue { value: None } => return None,
    })
}

fn events(span: &ProcessSpan) -> Vec<&str> {
    span.span.events.iter().map(|event| event.name.as_str()).collect()
}

#[test]
fn a_message_has_a_span_in_each_process() {
    let all = spans_of(through_broker(), Became::Delivered);
    let names: Vec<_> = all.iter().map(|one| (one.span.name.as_str(), one.span.kind)).collect();
    let kinds =
        [SpanKind::Producer, SpanKind::Internal, SpanKind::Consumer].map(|kind| kind as i32);
    assert_eq!(
        names,
        [("send plant/1", kinds[0]), ("forward plant/1", kinds[1]), ("deliver plant/1", kinds[2])]
    );
    assert_eq!(events(&all[0]), ["send", "queue", "xmit"]);
    assert_eq!(events(&all[1]), ["rx", "ready", "read", "send", "xmit"]);
    assert_eq!(events(&all[2]), ["rx", "read"]);
    let extents: Vec<_> = all
        .iter()
        .map(|one| [one.span.start_time_unix_nano, one.span.end_time_unix_nano])
        .map(|times| times.map(|time| time - HOUR.cast_unsigned()))
        .collect();
    assert_eq!(extents, [[100, 120], [130, 210], [230, 260]]);
    let services: Vec<_> =
        all.iter().map(|one| text(&one.process.resource().attributes, "service.name")).collect();
    assert_eq!(services, ["sensor", "mosquitto", "dashboard"].map(|name| Some(name.to_owned())));
    let of = |index: usize, name| text(&all[index].span.attributes, name);
    assert_eq!(of(0, "messaging.system").as_deref(), Some("mqtt"));
    assert_eq!(of(0, "server.port").as_deref(), Some("1883"));
    assert_eq!(of(0, "network.peer.port").as_deref(), Some("1883"));
    assert_eq!(of(0, "messaging.message.envelope.size").as_deref(), Some("90"));
    assert_eq!(of(1, "wirelap.broker_dwell_ns").as_deref(), Some("30"));
    assert_eq!(of(2, "messaging.operation.type").as_deref(), Some("process"));
    assert_eq!(of(2, "thread.id").as_deref(), Some("31"));
    assert_eq!(of(2, "wirelap.one_way_ns").as_deref(), Some("160"));
}

#[test]
fn spans_are_children_of_the_one_before_and_a_consumer_is_linked_to_the_producer() {
    let all = spans_of(through_broker(), Became::Delivered);
    let ids: Vec<&[u8]> = all.iter().map(|one| one.span.span_id.as_slice()).collect();
    let parents: Vec<&[u8]> = all.iter().map(|one| one.span.parent_span_id.as_slice()).collect();
    assert_eq!(parents, [&[], ids[0], ids[1]]);
    assert!(all.iter().all(|one| one.span.trace_id == all[0].span.trace_id));
    let links: Vec<usize> = all.iter().map(|one| one.span.links.len()).collect();
    assert_eq!((links, all[2].span.links[0].span_id.as_slice()), (vec![0, 0, 1], ids[0]));
}

#[test]
fn spans_are_in_the_applications_trace_and_the_first_is_a_child_of_its_span() {
    let context = TraceContext { trace: [0xA1; 16], parent: [0xB2; 8], flags: 0 };
    let mut message = through_broker();
    let own = spans_of(message.clone(), Became::Delivered);
    message.trace.context = Some(context);
    let all = spans_of(message.clone(), Became::Delivered);
    assert!(all.iter().all(|one| one.span.trace_id == [0xA1; 16]));
    assert!(all[2].span.links[0].trace_id == [0xA1; 16]);
    let parents: Vec<&[u8]> = all.iter().map(|one| one.span.parent_span_id.as_slice()).collect();
    assert_eq!(parents, [&[0xB2; 8], all[0].span.span_id.as_slice(), &all[1].span.span_id]);
    let numbers = |all: &[ProcessSpan]| all.iter().map(|one| one.id).collect::<Vec<_>>();
    assert_eq!(numbers(&all), numbers(&own), "spans have the message's own numbers");
    let flags: Vec<u32> = all.iter().map(|one| one.span.flags).collect();
    assert_eq!(flags, [REMOTE_PARENT, 0, 0], "the application has recorded nothing");
    // Where the first end is elsewhere, the first span here has the same parent.
    for stage in [Stage::Send, Stage::Queue, Stage::Xmit] {
        message.legs[0].times.clear(stage);
    }
    let rest = spans_of(message, Became::SeenInPart);
    assert_eq!((rest.len(), rest[0].span.parent_span_id.as_slice()), (2, &[0xB2; 8][..]));
}

#[test]
fn readers_of_one_message_share_what_they_have_in_common() {
    let mut to_other = through_broker();
    to_other.legs[1].flow = flow(1_883, 6_000);
    to_other.legs[1].to = Some(SocketId(3));
    let (one, other) =
        (spans_of(through_broker(), Became::Delivered), spans_of(to_other, Became::Delivered));
    let same: Vec<bool> = one.iter().zip(&other).map(|(a, b)| a.id == b.id).collect();
    assert_eq!(same, [true, false, false]);
}

#[test]
fn a_message_that_nobody_read_ends_where_it_was_seen_last() {
    let mut at_broker = through_broker();
    at_broker.legs.truncate(1);
    let all = spans_of(at_broker.clone(), Became::Not(Nondelivery::Lost));
    let kinds: Vec<i32> = all.iter().map(|one| one.span.kind).collect();
    assert_eq!(
        kinds,
        [SpanKind::Producer as i32, SpanKind::Internal as i32],
        "it is at the broker"
    );
    assert_eq!(all[1].span.status.as_ref().unwrap().code, StatusCode::Error as i32);
    assert_eq!(text(&all[1].span.attributes, "error.type").as_deref(), Some("lost"));
    assert_eq!(text(&all[1].span.attributes, "wirelap.one_way_ns"), None);
    let others = [
        (Nondelivery::Unread, "unread"),
        (Nondelivery::ForNobody, "for_nobody"),
        (Nondelivery::NotFollowed, "seen_in_part"),
        (Nondelivery::UnderWay, "under_way"),
    ];
    for (why, fate) in others {
        let all = spans_of(at_broker.clone(), Became::Not(why));
        assert!(all.iter().all(|one| one.span.status.is_none()), "{fate}");
        assert_eq!(text(&all[1].span.attributes, "wirelap.fate").as_deref(), Some(fate));
    }
}

#[test]
fn what_was_not_seen_has_no_span() {
    // The sender is on another host, and of the forwarder nothing but its read is known.
    let mut delivery = through_broker();
    for stage in [Stage::Send, Stage::Queue, Stage::Xmit] {
        delivery.legs[0].times.clear(stage);
    }
    let all = spans_of(delivery, Became::SeenInPart);
    let names: Vec<_> = all.iter().map(|one| one.span.name.as_str()).collect();
    assert_eq!(names, ["forward plant/1", "deliver plant/1"]);
    assert!(all[0].span.parent_span_id.is_empty() && all[1].span.links.is_empty());
    let empty = Delivery { group: GroupId(99), topic: None, ..delivery_of_nothing() };
    assert!(spans_of(empty, Became::SeenInPart).is_empty());
}

fn delivery_of_nothing() -> Delivery {
    delivery([leg(&[])])
}

#[test]
fn no_span_ends_before_it_begins_whatever_the_clocks_say() {
    // Times of two hosts may contradict each other, and a clock may be far off.
    let mut delivery = through_broker();
    delivery.legs[1].times.set(Stage::Send, Nanos(20));
    delivery.legs[1].times.set(Stage::Read, Nanos(u64::MAX));
    for one in spans_of(delivery, Became::Delivered) {
        let times = one.span.events.iter().map(|event| event.time_unix_nano);
        assert_eq!(times.clone().min(), Some(one.span.start_time_unix_nano));
        assert_eq!(times.max(), Some(one.span.end_time_unix_nano));
    }
}
