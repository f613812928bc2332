//! Only sends and reads are observed, and the bytes that are sent.

use crate::audience::{Fate, pass};
use crate::brokered::{BROKER, house};
use crate::played::{Played, seen};
use wirelap_correlate::{Config, Correlator, Holes, SnapshotNote, VerdictKind, Whereabouts};
use wirelap_events::{
    Body, Delivery, Nanos, Packet, PacketHook, Pid, Segment, SendCall, SendKind, Stage,
    ThreadActivity, ThreadState, TraceDetail, WrittenBytes,
};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{World, process};

/// A message is sent and forwarded.
const MESSAGES: u32 = 30;

/// The events that are left when the probes at the ends alone are attached: the bytes of packets come with their
/// sends.
fn at_the_ends(events: &[OwnedEvent]) -> Vec<OwnedEvent> {
    let kept = events.iter().filter_map(|event| {
        let mut kept = event.clone();
        match event.event.body {
            Body::Socket(_)
            | Body::Closed(_)
            | Body::Read(_)
            | Body::Send(SendCall { kind: SendKind::Stream { .. }, .. }) => {}
            Body::Packet(Packet {
                hook: PacketHook::Xmit,
                socket: Some(socket),
                tcp: Some(tcp),
                payload_len: len @ 1..,
                ..
            }) => {
                let written = WrittenBytes { socket, start: tcp.seq, len, bytes: &[] };
                kept.event.body = Body::Written(written);
            }
            _ => return None,
        }
        Some(kept)
    });
    kept.collect()
}

fn played(world: &World) -> Played {
    let config = Config { detail: TraceDetail::Ends, ..Config::default() };
    Played::new(config, &at_the_ends(&world.events))
}

#[test]
fn messages_are_followed_from_send_to_read() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut times = Vec::new();
    for n in 0..MESSAGES {
        let bytes = publish("t", &payload(stamp(n), 64));
        let up = world.message(&mut publisher.up, &bytes);
        times.push((up, world.message(&mut subscribers[0].down, &bytes)));
    }
    let played = played(&world);
    let all = u64::from(MESSAGES);
    assert_eq!(played.counts(), [all, all, all, 0]);
    for (delivery, ((sent, taken), (forwarded, read))) in played.deliveries.iter().zip(times) {
        let stages =
            |from: u64, to: u64| vec![(Stage::Send, from), (Stage::Sent, from), (Stage::Read, to)];
        assert_eq!(seen(delivery, 0), stages(sent.0, taken.0));
        assert_eq!(seen(delivery, 1), stages(forwarded.0, read.0));
        assert_eq!(delivery.one_way(), read.since(sent));
        let second = delivery.segments().nth(1).unwrap().1;
        assert_eq!(second.get(Segment::BrokerDwell), forwarded.since(taken));
        assert_eq!(second.get(Segment::InKernel), read.since(forwarded));
        assert_eq!(second.get(Segment::Busy), None);
    }
    let group = played.group();
    // No packet was seen, which says nothing; but no bytes on the wire are known.
    assert_eq!(group.holes, Holes::default());
    assert_eq!((group.overhead.total(), group.overhead.deliveries), (0, 0));
    assert!(!group.why.is_healthy() && !group.why.has_problem(), "{:?}", group.why.verdicts);
    assert!(played.snapshot.notes.contains(&SnapshotNote::LessDetail(TraceDetail::Ends)));
}

/// A full socket takes a part of a message. The rest is sent again, with its bytes.
#[test]
fn a_partial_write_is_one_message() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 6_000));
    let (start, len) = publisher.up.advance(bytes.len());
    let way = publisher.up;
    let took = 2_500;
    let sent = world.send(&way, start, len);
    world.xmit(&way, start, &bytes);
    let rest = start.plus(took);
    world.send(&way, rest, len - took);
    world.xmit(&way, rest, &bytes[took as usize..]);
    let taken = world.read(&way, start.plus(len), len);
    let (_, read) = world.message(&mut subscribers[0].down, &bytes);
    let played = played(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let [delivery] = played.deliveries.as_slice() else { panic!("{:?}", played.deliveries) };
    assert_eq!(delivery.one_way(), read.since(sent));
    assert_eq!(delivery.legs[0].times.get(Stage::Read), Some(taken));
    assert_eq!(delivery.payload_len, 6_000);
}

/// Bytes that came from no memory of the sender's are not known, and the messages in them are not counted as followed.
#[test]
fn a_send_without_its_bytes_is_not_followed() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut message = |world: &mut World, n: u32| {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
    };
    message(&mut world, 0);
    let before = world.events.len();
    message(&mut world, 1);
    for event in &mut world.events[before..] {
        if matches!(event.event.body, Body::Packet(Packet { hook: PacketHook::Xmit, .. })) {
            event.payload.clear();
        }
    }
    message(&mut world, 2);
    let played = played(&world);
    let followed: Vec<_> = played.deliveries.iter().map(|one| one.stamp.unwrap().seq).collect();
    assert_eq!(followed, [0, 2]);
    assert!(played.snapshot.trust.uncaptured_bytes > 0);
}

/// A connection that was open before is read from its next write on.
#[test]
fn a_connection_from_before_is_followed() {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut up = world.existing(process(20, "pub"), "127.0.0.1:40020", broker, BROKER).up;
    let mut down = world.existing(process(30, "sub"), "127.0.0.1:40030", broker, BROKER).down;
    for n in 0..MESSAGES {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut up, &bytes);
        world.message(&mut down, &bytes);
    }
    let all = u64::from(MESSAGES);
    assert_eq!(played(&world).counts(), [all, all, all, 0]);
}

/// A subscriber does not read for two seconds; where its messages are while it sleeps, and while it is stopped, and what is said.
#[test]
fn what_lies_unread_is_not_on_the_network() {
    for (activity, kind) in [
        (ThreadActivity::Asleep, None),
        (ThreadActivity::Stopped, Some(VerdictKind::ClientStalled)),
    ] {
        let mut world = World::new();
        let (mut publisher, mut subscribers) = house(&mut world, 1);
        for n in 0..30 {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
            pass(
                &mut world,
                &mut subscribers[0].down,
                &bytes,
                if n < 25 { Fate::Read } else { Fate::Unread },
            );
        }
        let mut correlator =
            Correlator::new(Config { detail: TraceDetail::Ends, ..Config::default() });
        let mut ignore = |_: &Delivery| ();
        for event in at_the_ends(&world.events) {
            correlator.take(&event.event(), &mut ignore);
        }
        let mut pass_time = |correlator: &mut Correlator, world: &mut World, ms: u64| {
            for _ in 0..ms / 10 {
                world.now += 10_000_000;
                correlator.tick(Nanos(world.now), &mut ignore);
            }
        };
        pass_time(&mut correlator, &mut world, 2_000);
        assert_eq!(correlator.holding(Nanos(world.now)), [Pid(30)]);
        let told = world.events.len();
        let state = ThreadState { task: process(30, "").task, activity, ..ThreadState::default() };
        world.tell(Body::State(state), &[]);
        correlator.take(&world.events[told].event(), &mut |_: &Delivery| ());
        let why = correlator.snapshot(Nanos(world.now)).groups.remove(0).why;
        let open: Vec<_> = why.open.iter().map(|one| (one.place, one.messages)).collect();
        assert_eq!(open, [(Whereabouts::ReaderQueue, 5)]);
        let named = why.verdicts.iter().find(|one| one.open.is_some()).map(|one| one.kind);
        assert_eq!(named, kind, "{:?}", why.verdicts);
    }
}
