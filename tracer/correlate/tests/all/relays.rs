//! Proxies that speak TCP themselves with their clients, over a TUN device, and to whose end no socket of this host belongs.

use crate::audience::{Fate, pass};
use crate::lost_packets::sent_again;
use crate::one_side::acknowledge;
use crate::played::Played;
use wirelap_correlate::{Clause, Config, VerdictKind};
use wirelap_events::{Body, Recovery, SocketId};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, Way, World, process};

const BROKER: &str = "10.0.0.2:1883";

/// A client's connection to the proxy that goes by the broker's address, and the proxy's to the broker.
struct Relayed {
    inside: Connection,
    outside: Connection,
}

impl Relayed {
    /// Connections that were open before anybody looked.
    fn found(world: &mut World, pid: u32) -> Relayed {
        let relay = process(50, "slirp4netns");
        let (guest, host) = (format!("10.0.2.100:4{pid:04}"), format!("10.0.0.1:5{pid:04}"));
        Relayed {
            inside: world.existing(process(pid, "client"), &guest, relay, BROKER),
            outside: world.existing(relay, &host, process(10, "mosquitto"), BROKER),
        }
    }

    fn open(world: &mut World, pid: u32) -> Relayed {
        let relay = process(50, "slirp4netns");
        let (guest, host) = (format!("10.0.2.100:4{pid:04}"), format!("10.0.0.1:5{pid:04}"));
        let mut connect = CONNECT.to_vec();
        if let Some(last) = connect.last_mut() {
            *last = b'a' + u8::try_from(pid % 26).unwrap();
        }
        let mut relayed = Relayed {
            inside: world.connect(process(pid, "client"), &guest, relay, BROKER),
            outside: world.connect(relay, &host, process(10, "mosquitto"), BROKER),
        };
        relayed.up(world, &connect);
        relayed.down(world, CONNACK);
        relayed
    }

    fn up(&mut self, world: &mut World, bytes: &[u8]) {
        world.message(&mut self.inside.up, bytes);
        acknowledge(world, &self.inside.up, &self.inside.down, 1);
        world.message(&mut self.outside.up, bytes);
    }

    fn down(&mut self, world: &mut World, bytes: &[u8]) {
        world.message(&mut self.outside.down, bytes);
        world.message(&mut self.inside.down, bytes);
    }
}

fn reading(n: u32) -> Vec<u8> {
    publish("t", format!("reading {n} of line 4").as_bytes())
}

/// Findings in the events without those of the proxy's ends that are no sockets.
fn play(mut world: World, relays: &[&Relayed]) -> Played {
    world.now += 8_000_000_000;
    let none: Vec<_> = relays.iter().map(|relayed| relayed.inside.up.to.0).collect();
    let played = Played::new(Config::default(), &without(&world.events, &none));
    let lost = |kind| kind == VerdictKind::NeverDelivered;
    let verdicts = &played.group().why.verdicts;
    assert!(!verdicts.iter().any(|verdict| lost(verdict.kind)), "{verdicts:?}");
    played
}

/// The events without those of sockets that are none.
fn without(events: &[OwnedEvent], none: &[SocketId]) -> Vec<OwnedEvent> {
    let is_kept = |told: &&OwnedEvent| match &told.event.body {
        Body::Socket(socket) => !none.contains(&socket.id),
        Body::Send(send) => !none.contains(&send.socket),
        Body::Ready(ready) => !none.contains(&ready.socket),
        Body::Read(read) => !none.contains(&read.socket),
        _ => true,
    };
    let mut kept: Vec<OwnedEvent> = events.iter().filter(is_kept).cloned().collect();
    for told in &mut kept {
        if let Body::Packet(packet) = &mut told.event.body {
            packet.socket = packet.socket.filter(|socket| !none.contains(socket));
        }
    }
    kept
}

/// Sixty messages come through the publisher's proxy, and go to a subscriber behind one and to one that is near.
fn publish_sixty(
    world: &mut World,
    (publisher, behind): (&mut Relayed, &mut Relayed),
    near: &mut Way,
) {
    for n in 0..60 {
        let bytes = reading(n);
        publisher.up(world, &bytes);
        behind.down(world, &bytes);
        world.message(near, &bytes);
        world.now += 5_000_000;
    }
}

#[test]
fn what_a_proxy_without_a_socket_passes_on_is_one_message() {
    let mut world = World::new();
    let mut publisher = Relayed::open(&mut world, 20);
    let mut behind = Relayed::open(&mut world, 31);
    let mut near =
        world.connect_mqtt(process(32, "sub"), "10.0.0.1:40032", process(10, "mosquitto"), BROKER);
    publish_sixty(&mut world, (&mut publisher, &mut behind), &mut near.down);
    let played = play(world, &[&publisher, &behind]);
    assert_eq!(played.counts(), [60, 120, 120, 0]);
    assert_eq!(played.deliveries.iter().map(|one| one.legs.len()).max(), Some(4));
}

/// A proxy that has what its client sends in groups of four for so many nanoseconds, but for the first group, and acknowledges it at once or
/// when it passes it on.
fn passed_on_in_groups(wait: u64, acknowledges_first: bool) -> Played {
    let mut world = World::new();
    let mut publisher = Relayed::open(&mut world, 20);
    let mut near =
        world.connect_mqtt(process(32, "sub"), "10.0.0.1:40032", process(10, "mosquitto"), BROKER);
    for group in 0..10 {
        let all = [0, 1, 2, 3].map(|n| reading(4 * group + n));
        for bytes in &all {
            world.message(&mut publisher.inside.up, bytes);
        }
        if acknowledges_first {
            acknowledge(&mut world, &publisher.inside.up, &publisher.inside.down, 1);
        }
        world.now += if group == 0 { 0 } else { wait };
        if !acknowledges_first {
            acknowledge(&mut world, &publisher.inside.up, &publisher.inside.down, 1);
        }
        for bytes in &all {
            world.message(&mut publisher.outside.up, bytes);
            world.message(&mut near.down, bytes);
        }
        world.now += 5_000_000;
    }
    play(world, &[&publisher])
}

#[test]
fn what_a_proxy_has_not_acknowledged_yet_is_passed_on_by_it() {
    assert_eq!(passed_on_in_groups(200_000_000, false).counts(), [40, 40, 40, 0]);
}

#[test]
fn what_a_proxy_keeps_for_seconds_is_waited_for() {
    assert_eq!(passed_on_in_groups(2_000_000_000, true).counts(), [40, 40, 40, 0]);
}

#[test]
fn a_proxy_whose_connections_were_open_is_known_by_the_places_of_messages() {
    let mut world = World::new();
    let mut publisher = Relayed::found(&mut world, 20);
    let mut behind = Relayed::found(&mut world, 31);
    let (sub, broker) = (process(32, "sub"), process(10, "mosquitto"));
    let mut near = world.existing(sub, "10.0.0.1:40032", broker, BROKER);
    publish_sixty(&mut world, (&mut publisher, &mut behind), &mut near.down);
    let [sent, delivered, matched, _] = play(world, &[&publisher, &behind]).counts();
    // Three messages show it.
    assert!(sent <= 63 && delivered <= 123 && matched >= 117, "{sent} {delivered} {matched}");
}

#[test]
fn a_proxy_that_acknowledges_nothing_is_no_hole_in_the_path() {
    for is_known in [true, false] {
        let mut world = World::new();
        let mut publisher = Relayed::open(&mut world, 20);
        let mut near = world.connect_mqtt(
            process(32, "sub"),
            "10.0.0.1:40032",
            process(10, "mosquitto"),
            BROKER,
        );
        for n in 0..20 {
            let bytes = reading(n);
            if is_known {
                publisher.up(&mut world, &bytes);
            } else {
                world.message(&mut publisher.inside.up, &bytes);
                acknowledge(&mut world, &publisher.inside.up, &publisher.inside.down, 1);
            }
            world.message(&mut near.down, &bytes);
            world.now += 5_000_000;
        }
        let bytes = reading(20);
        let up = &mut publisher.inside.up;
        let lost = (up.next, u32::try_from(bytes.len()).unwrap());
        pass(&mut world, up, &bytes, Fate::OnTheWay);
        for _ in 0..4 {
            world.now += 400_000_000;
            sent_again(&mut world, &publisher.inside.up, lost, Recovery::Timeout);
        }
        let events = without(&world.events, &[publisher.inside.up.to.0]);
        let played = Played::new(Config::default(), &events);
        let groups = played.early.groups.iter();
        let mut clauses = groups.flat_map(|one| &one.why.verdicts).flat_map(|one| &one.evidence);
        let is_told = clauses.any(|clause| matches!(clause, Clause::Stuck(_)));
        assert_eq!(is_told, !is_known, "{is_known}");
    }
}
