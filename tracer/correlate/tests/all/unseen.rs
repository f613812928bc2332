//! Packets that no probe saw: the sockets' own numbers prove them.

use crate::played::Played;
use wirelap_correlate::{Config, GroupNote, Unseen};
use wirelap_events::{Body, Nagle, PacketHook, SendKind, Stage, TxState};
use wirelap_test_support::compose::{plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u32 = 30;

fn unseen(packets: u64, bytes: u64) -> Unseen {
    Unseen { packets, bytes }
}

fn stream(begin: impl FnOnce(&mut World) -> Connection) -> World {
    let mut world = World::new();
    let mut pair = begin(&mut world);
    for n in 0..MESSAGES {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    }
    world
}

fn opened(world: &mut World) -> Connection {
    world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000")
}

fn existing(world: &mut World) -> Connection {
    world.existing(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000")
}

/// Everything but the `nth` packets with data at these hooks.
fn hide(world: &World, hooks: &[PacketHook], hidden: &[usize]) -> Vec<OwnedEvent> {
    let mut seen = [0; 2];
    let mut keep = |told: &&OwnedEvent| match told.event.body {
        Body::Packet(packet) if packet.payload_len > 0 && hooks.contains(&packet.hook) => {
            let nth = &mut seen[packet.hook as usize];
            *nth += 1;
            !hidden.contains(&(*nth - 1))
        }
        _ => true,
    };
    world.events.iter().filter(|told| keep(told)).cloned().collect()
}

const BOTH: &[PacketHook] = &[PacketHook::Xmit, PacketHook::Rx];

#[test]
fn nothing_is_unseen_where_all_was_seen() {
    for world in [stream(opened), stream(existing)] {
        let played = Played::of(&world);
        let trust = &played.snapshot.trust;
        assert_eq!((trust.unseen_sent, trust.unseen_received), (unseen(0, 0), unseen(0, 0)));
    }
}

#[test]
fn a_hidden_packet_is_counted_by_direction() {
    let world = stream(opened);
    let sent = Played::new(Config::default(), &hide(&world, &[PacketHook::Xmit], &[10]));
    assert_eq!(sent.group().holes.sent, unseen(1, 104));
    assert_eq!(sent.group().holes.received, unseen(0, 0));
    let received = Played::new(Config::default(), &hide(&world, &[PacketHook::Rx], &[10, 20]));
    assert_eq!(received.group().holes.sent, unseen(0, 0));
    assert_eq!(received.group().holes.received, unseen(2, 208));
    assert_eq!(received.counts(), [30, 30, 30, 0], "its bytes were seen when they left");
}

#[test]
fn the_first_and_the_last_of_a_connection_are_found_missing_too() {
    for world in [stream(opened), stream(existing)] {
        let played = Played::new(Config::default(), &hide(&world, BOTH, &[0, 29]));
        assert_eq!(played.snapshot.trust.unseen_sent, unseen(2, 208));
        assert_eq!(played.snapshot.trust.unseen_received, unseen(2, 208));
    }
}

#[test]
fn a_receiver_elsewhere_has_no_reception_that_could_be_missing() {
    let world = stream(opened);
    let server = |told: &&OwnedEvent| match told.event.body {
        Body::Packet(packet) => packet.hook == PacketHook::Xmit,
        Body::Ready(_) | Body::Read(_) => false,
        _ => true,
    };
    let kept: Vec<OwnedEvent> = world.events.iter().filter(server).cloned().collect();
    let played = Played::new(Config::default(), &kept);
    assert_eq!(played.snapshot.trust.unseen_received, unseen(0, 0));
    assert_eq!(played.snapshot.trust.unseen_sent, unseen(0, 0));
}

#[test]
fn what_passes_between_two_windows_is_not_asked_for() {
    let world = stream(opened);
    let sends: Vec<usize> = (0..world.events.len())
        .filter(|&index| matches!(world.events[index].event.body, Body::Send(_)))
        .collect();
    let (from, to) = (sends[10] + 1, sends[15] + 1);
    let mut told = world.events.clone();
    let [mut close, mut open] = [told[from].clone(), told[to].clone()];
    close.event.body = Body::Window(false);
    open.event.body = Body::Window(true);
    told.splice(from..to, [close, open]);
    let played = Played::new(Config::default(), &told);
    assert_eq!(played.snapshot.trust.unseen_sent, unseen(0, 0));
    assert_eq!(played.snapshot.trust.unseen_received, unseen(0, 0));
}

/// In a capture of others, the acknowledgements tell: Wireshark's "`ACKed` unseen segment".
#[test]
fn acknowledged_and_never_captured() {
    let mut world = World::new();
    let mut pair = opened(&mut world);
    for n in 0..MESSAGES {
        let bytes = plain(stamp(n), 100);
        let (start, _) = pair.up.advance(bytes.len());
        if n != 10 {
            world.xmit(&pair.up, start, &bytes);
        }
        acknowledge(&mut world, &pair);
    }
    world.events.retain(|told| matches!(told.event.body, Body::Packet(_)));
    let config = || Config { packets_only: true, ..Config::default() };
    assert_eq!(Played::new(config(), &world.events).group().holes.sent, unseen(1, 104));
    let played = Played::new(Config::default(), &world.events);
    assert_eq!(
        played.group().holes.sent,
        unseen(0, 0),
        "a claim proves nothing where sockets could"
    );
}

fn acknowledge(world: &mut World, pair: &Connection) {
    for hook in BOTH {
        let mut packet = world.tcp_packet(&pair.down, *hook, pair.down.next, 0);
        packet.tcp = packet.tcp.map(|tcp| wirelap_events::TcpFields {
            ack: pair.up.next,
            flags: wirelap_events::tcp_flags::ACK,
            ..tcp
        });
        world.tell(Body::Packet(packet), &[]);
    }
}

/// The sender's own state at its next send tells that everything was acknowledged.
#[test]
fn an_acknowledgement_that_no_packet_brought_is_a_packet() {
    let run = |hidden: u32| {
        let mut world = World::new();
        let mut pair = opened(&mut world);
        for n in 0..MESSAGES {
            world.message(&mut pair.up, &plain(stamp(n), 100));
            if n != hidden {
                acknowledge(&mut world, &pair);
            }
        }
        for told in &mut world.events {
            if let Body::Send(send) = &mut told.event.body
                && let SendKind::Stream { state, .. } = &mut send.kind
            {
                *state = Some(TxState { nagle: Nagle::Off, ..TxState::default() });
            }
        }
        let trust = Played::of(&world).snapshot.trust;
        (trust.unseen_sent, trust.unseen_received)
    };
    assert_eq!(run(MESSAGES), (unseen(0, 0), unseen(0, 0)));
    assert_eq!(run(10), (unseen(1, 0), unseen(1, 0)));
}

/// The message's neighbours have numbers 9 and 11, its bytes were sent by one call, and the reader went
/// past them.
#[test]
fn a_message_that_no_probe_saw_is_framed_by_its_neighbours() {
    let world = stream(opened);
    let played = Played::new(Config::default(), &hide(&world, BOTH, &[10]));
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    let delivery = played.deliveries.iter().find(|one| one.stamp == Some(stamp(10))).unwrap();
    let stages: Vec<Stage> = delivery.legs[0].times.seen().map(|(stage, _)| stage).collect();
    let expected =
        [Stage::Send, Stage::Sent, Stage::Ready, Stage::Wakeup, Stage::Running, Stage::Read];
    assert_eq!(stages, expected);
    assert_eq!(played.group().notes[0], GroupNote::PacketNotSeen { legs: 1 });
    assert_eq!(played.snapshot.trust.unseen_sent, unseen(1, 104), "and it is told all the same");
}

/// Two in one hole could be anything.
#[test]
fn a_hole_of_two_messages_is_not_guessed_at() {
    let world = stream(opened);
    let played = Played::new(Config::default(), &hide(&world, BOTH, &[10, 11]));
    assert_eq!(played.counts(), [28, 28, 28, 0]);
    assert_eq!(played.snapshot.trust.unseen_sent, unseen(1, 208));
}

/// Packets of a conversation that was given up are not looked at: that they passed is no proof against a hook.
#[test]
fn what_passes_while_nobody_looks_is_not_unseen() {
    const GIVEN_UP: u32 = (1 << 16) + 100;
    let mut world = World::new();
    let mut pair = existing(&mut world);
    let mut random = 1_u32;
    for n in 0..GIVEN_UP {
        let bytes: Vec<u8> = (0..24)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random.to_be_bytes()[0]
            })
            .collect();
        let (start, len) = pair.up.advance(bytes.len());
        if n % 1000 == 0 {
            world.send(&pair.up, start, len);
        }
        world.xmit(&pair.up, start, &bytes);
        if n % 1000 == 0 {
            world.ready(&pair.up, pair.up.next);
        }
    }
    world.now += 5_000_000_000;
    for n in 0..MESSAGES {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    }
    let trust = Played::of(&world).snapshot.trust;
    assert_eq!((trust.unseen_sent, trust.unseen_received), (unseen(0, 0), unseen(0, 0)));
}
