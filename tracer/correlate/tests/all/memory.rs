//! Memory is bounded in bytes, whatever a few large things there are in tables that are bounded in number.

use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_test_support::world::{World, process};

const CONNECTIONS: u16 = 40;

/// Connections with so many bytes each that wait behind a hole.
fn with_holes(len: usize) -> World {
    let mut world = World::new();
    let (client, server) = (process(10, "client"), process(20, "server"));
    for n in 0..CONNECTIONS {
        let from = format!("127.0.0.1:{}", 40_000 + n);
        let mut pair = world.connect(client, &from, server, "127.0.0.1:1883");
        pair.up.advance(7);
        let (start, _) = pair.up.advance(len);
        let way = pair.up;
        world.xmit(&way, start, &vec![n.to_le_bytes()[0]; len]);
    }
    world
}

/// Forty times 20 KB do not fit into 200 KB: the oldest have to go, and not more than have to.
#[test]
fn what_waits_in_all_conversations_together_is_bounded() {
    let world = with_holes(20_000);
    let evicted = |max_bytes| {
        let config = Config { max_bytes, ..Config::default() };
        Played::new(config, &world.events).snapshot.trust.evicted
    };
    assert_eq!(evicted(Config::default().max_bytes), 0);
    let (some, most) = (evicted(600_000), evicted(200_000));
    assert!((5..=20).contains(&some), "{some}");
    assert!((28..=36).contains(&most), "{most}");
}

/// One conversation keeps what it needs, however little room there is: its own limits hold.
#[test]
fn the_conversation_at_hand_stays() {
    let mut world = with_holes(20_000);
    let (client, server) = (process(30, "client"), process(20, "server"));
    let mut pair = world.connect(client, "127.0.0.1:50000", server, "127.0.0.1:1883");
    world.message(&mut pair.up, b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04abcd");
    for n in 0..10 {
        world.message(&mut pair.up, &[&b"\x30\x0b\0\x03a/b"[..], &[b'0' + n; 6]].concat());
    }
    let config = Config { max_bytes: 1, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(played.group().messages.sent, 10);
}
