//! Proxies that speak TCP themselves with their clients, over a TUN device, and to whose end no socket of this host belongs.

use crate::one_side::acknowledge;
use crate::played::Played;
use wirelap_correlate::{Config, VerdictKind};
use wirelap_events::{Body, SocketId};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, World, process};

const BROKER: &str = "10.0.0.2:1883";

/// A client's connection to the proxy that goes by the broker's address, and the proxy's to the broker.
struct Relayed {
    inside: Connection,
    outside: Connection,
}

impl Relayed {
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

#[test]
fn what_a_proxy_without_a_socket_passes_on_is_one_message() {
    let mut world = World::new();
    let mut publisher = Relayed::open(&mut world, 20);
    let mut behind = Relayed::open(&mut world, 31);
    let mut near =
        world.connect_mqtt(process(32, "sub"), "10.0.0.1:40032", process(10, "mosquitto"), BROKER);
    for n in 0..60_u32 {
        let bytes = publish("t", format!("reading {n} of line 4").as_bytes());
        publisher.up(&mut world, &bytes);
        behind.down(&mut world, &bytes);
        world.message(&mut near.down, &bytes);
        world.now += 5_000_000;
    }
    world.now += 8_000_000_000;
    let none = [publisher.inside.up.to.0, behind.inside.up.to.0];
    let played = Played::new(Config::default(), &without(&world.events, &none));
    assert_eq!(played.counts(), [60, 120, 120, 0]);
    let lost = |kind| kind == VerdictKind::NeverDelivered;
    let verdicts = &played.group().why.verdicts;
    assert!(!verdicts.iter().any(|verdict| lost(verdict.kind)), "{verdicts:?}");
    assert_eq!(played.deliveries.iter().map(|one| one.legs.len()).max(), Some(4));
}
