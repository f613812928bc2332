//! Messages that a host shows in part: its figures are those that the whole view has for the same stages.

use crate::played::{Played, assert_all};
use crate::tls::named;
use wirelap_correlate::{Config, Group, PartialFigures, PartialView};
use wirelap_events::{Body, Nanos, PacketHook, SocketId, TcpFields, tcp_flags};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, STEP, Way, World, process};

const BROKER: &str = "10.0.0.2:1883";
const MESSAGES: u32 = 20;

fn join(world: &mut World, pid: u32) -> Connection {
    let from = format!("10.0.0.1:{}", 40_000 + pid);
    world.connect_mqtt(process(pid, "client"), &from, process(10, "mosquitto"), BROKER)
}

/// TCP acknowledges everything that `way` has carried: the packet leaves there, and comes in `after` steps later.
pub fn acknowledge(world: &mut World, way: &Way, back: &Way, after: u64) -> Nanos {
    let mut at = Nanos(0);
    for hook in [PacketHook::Xmit, PacketHook::Rx] {
        let mut packet = world.tcp_packet(back, hook, back.next, 0);
        packet.tcp =
            packet.tcp.map(|tcp| TcpFields { ack: way.next, flags: tcp_flags::ACK, ..tcp });
        at = world.tell(Body::Packet(packet), &[]);
        world.now += after * STEP;
    }
    at
}

/// The events that the probes of the host with these sockets would have told: the packets of their connections alone, of
/// which one that comes in brings its bytes.
pub fn host(events: &[OwnedEvent], is_here: impl Fn(SocketId) -> bool) -> Vec<OwnedEvent> {
    let mut flows = Vec::new();
    for told in events {
        if let Body::Socket(socket) = told.event.body
            && is_here(socket.id)
        {
            flows.extend(socket.tx_flow());
        }
    }
    let mut carried = Vec::new();
    let mut kept = Vec::new();
    for told in events {
        let mut told = told.clone();
        let here = match &told.event.body {
            Body::Packet(packet) => {
                let leaves_here = flows.contains(&packet.flow);
                let is_own = leaves_here || flows.contains(&packet.flow.reversed());
                let seen = is_own && leaves_here == (packet.hook == PacketHook::Xmit);
                if packet.hook == PacketHook::Xmit {
                    carried.clone_from(&told.payload);
                } else {
                    told.payload.clone_from(&carried);
                }
                seen
            }
            Body::Socket(socket) => is_here(socket.id),
            Body::Send(send) => is_here(send.socket),
            Body::Ready(ready) => is_here(ready.socket),
            Body::Read(read) => is_here(read.socket),
            _ => true,
        };
        if here {
            kept.push(told);
        }
    }
    kept
}

/// Messages from a publisher through a broker to two subscribers, each acknowledged at once; and the broker's sockets.
fn talk() -> (World, Vec<SocketId>) {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20);
    let mut subscribers = [join(&mut world, 30), join(&mut world, 31)];
    for n in 0..MESSAGES {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.now += u64::from(n) * STEP;
        for subscriber in &mut subscribers {
            world.message(&mut subscriber.down, &bytes);
            acknowledge(&mut world, &subscriber.down, &subscriber.up, 1);
        }
    }
    let broker = [publisher, subscribers[0], subscribers[1]].map(|one| one.down.from.0);
    (world, broker.to_vec())
}

fn partial(group: &Group) -> &PartialFigures {
    group.partial.as_deref().unwrap()
}

#[test]
fn a_broker_alone_shows_what_it_did_with_each_message() {
    let (world, broker) = talk();
    let whole = Played::of(&world);
    let played = Played::new(Config::default(), &host(&world.events, |id| broker.contains(&id)));
    assert_eq!(whole.counts(), [20, 40, 40, 0]);
    assert_eq!(played.counts(), [20, 0, 0, 0], "nobody was seen to read");
    let group = played.group();
    assert_eq!(group.partial_view(), Some(PartialView::Broker));
    let seen = partial(group);
    assert_eq!((seen.by_broker, seen.by_sender, seen.by_receiver), (40, 0, 0));
    assert_eq!((seen.ingress.count, seen.dwell.count, seen.egress.count), (20, 40, 40));
    // The whole view's dwell of the same messages.
    let dwell = |group: &Group| {
        group.segments.iter().find(|one| one.segment.name() == "broker_dwell").unwrap().p50
    };
    let whole_dwell = dwell(whole.group());
    assert!(seen.dwell.p50.0.abs_diff(whole_dwell.0) * 100 <= whole_dwell.0, "{:?}", seen.dwell);
    assert_all(seen.ingress, Nanos(4 * STEP));
    assert_all(seen.egress, Nanos(STEP));
    // Each had arrived 3 steps after its send; the acknowledgement is a bound on that.
    assert_eq!((seen.acknowledged.count, seen.delayed.count, seen.unacknowledged), (40, 0, 0));
    assert!(seen.acknowledged.min >= Nanos(3 * STEP));
    assert!(group.doubts(&played.snapshot.trust).is_empty());
    assert!(group.rate.msg_per_s > 0.0 && group.payload_bytes == 64);
    let shares: f64 = seen.segments.iter().map(|one| one.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

#[test]
fn the_topic_of_a_message_that_is_shown_in_part_is_told() {
    let (world, broker) = talk();
    let events = host(&world.events, |id| broker.contains(&id));
    assert_eq!(named(&events, false), [vec![b"t".to_vec()], vec![]]);
}

#[test]
fn a_publisher_alone_shows_what_it_sent_and_when_that_was_heard() {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20);
    for n in 0..MESSAGES {
        world.message(&mut publisher.up, &publish("t", &payload(stamp(n), 64)));
        acknowledge(&mut world, &publisher.up, &publisher.down, 1);
    }
    let own = publisher.up.from.0;
    let played = Played::new(Config::default(), &host(&world.events, |id| id == own));
    assert_eq!(played.counts(), [20, 0, 0, 0]);
    let seen = partial(played.group());
    assert_eq!((seen.by_sender, seen.by_broker), (20, 0));
    assert_eq!((seen.egress.count, seen.acknowledged.count, seen.ingress.count), (20, 20, 0));
}

#[test]
fn a_subscriber_alone_shows_how_it_read() {
    let (world, _) = talk();
    let subscriber = world
        .events
        .iter()
        .find_map(|told| match told.event.body {
            Body::Socket(socket) if socket.task == process(30, "").task => Some(socket.id),
            _ => None,
        })
        .unwrap();
    let played = Played::new(Config::default(), &host(&world.events, |id| id == subscriber));
    assert_eq!(played.counts(), [0, 20, 0, 0]);
    let seen = partial(played.group());
    assert_eq!((seen.by_receiver, seen.ingress.count, seen.egress.count), (20, 20, 0));
    assert_all(seen.here, Nanos(4 * STEP));
    assert!(played.group().doubts(&played.snapshot.trust).is_empty());
}

/// Linux delays by 40 ms or more; where the way is that long, each acknowledgement is.
#[test]
fn an_acknowledgement_that_the_peer_delays_is_told_apart() {
    let run = |first: u64, later: u64| {
        let mut world = World::new();
        let mut pair =
            world.connect(process(1, "a"), "10.0.0.1:40000", process(2, "b"), "10.0.0.2:9000");
        for n in 0..MESSAGES {
            world.message(&mut pair.up, &plain(stamp(n), 100));
            let after = if n % 2 == 0 { first } else { later };
            world.now += after * 1_000_000;
            acknowledge(&mut world, &pair.up, &pair.down, 0);
        }
        let own = pair.up.from.0;
        let played = Played::new(Config::default(), &host(&world.events, |id| id == own));
        let seen = partial(played.group());
        (seen.by_sender, seen.acknowledged.count, seen.delayed.count)
    };
    assert_eq!(run(0, 40), (20, 10, 10));
    assert_eq!(run(45, 45), (20, 20, 0), "nothing says that the way is shorter");
}

/// The way is longer than a message is held for slower probes.
#[test]
fn an_acknowledgement_from_far_away_is_waited_for_and_one_that_never_comes_is_not() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "10.0.0.1:40000", process(2, "b"), "10.0.0.2:9000");
    for n in 0..MESSAGES {
        world.message(&mut pair.up, &plain(stamp(n), 100));
        world.now += 300_000_000;
        if n + 1 < MESSAGES {
            acknowledge(&mut world, &pair.up, &pair.down, 0);
        }
    }
    let own = pair.up.from.0;
    let played = Played::new(Config::default(), &host(&world.events, |id| id == own));
    let seen = partial(played.group());
    assert_eq!((seen.by_sender, seen.acknowledged.count, seen.unacknowledged), (20, 19, 1));
    // Three digits of it are kept.
    assert!(seen.acknowledged.min >= Nanos(299_700_000));
}

#[test]
fn what_is_followed_from_end_to_end_is_in_no_partial_figure() {
    let (world, _) = talk();
    let played = Played::of(&world);
    assert_eq!((played.group().partial.as_ref(), played.group().partial_view()), (None, None));
}
