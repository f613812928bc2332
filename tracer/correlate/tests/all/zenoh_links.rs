//! Zenoh's sessions with compressed batches, with low latency, and over a WebSocket, on any port.

use crate::played::Played;
use wirelap_correlate::{Config, DoubtReason};
use wirelap_test_support::compose::websocket::{REQUEST, masked, response, unmasked};
use wirelap_test_support::compose::zenoh;
use wirelap_test_support::compose::zenoh::{SessionOption, alone, batch, compressed, frame, push};
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u32 = 20;

/// Bytes of a message's payload: its number, and as many letters.
const PAYLOAD: usize = 200;

/// The layer that carries a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Tcp,
    WebSocket,
}

/// The session of a publisher and a subscriber, or what comes after its first messages.
fn session(option: SessionOption, link: Link, is_late: bool) -> World {
    let mut world = World::new();
    let (from, to) = (process(10, "pub"), process(20, "sub"));
    let (client, server) = ("127.0.0.1:40000", "127.0.0.1:36577");
    let mut pair = if is_late {
        world.existing(from, client, to, server)
    } else {
        world.connect(from, client, to, server)
    };
    if !is_late && link == Link::WebSocket {
        world.message(&mut pair.up, REQUEST);
        world.message(&mut pair.down, &response(""));
    }
    let Connection { up, down } = &mut pair;
    let sized = |unit: &[u8], is_open: bool| match link {
        Link::WebSocket => unit.to_vec(),
        Link::Tcp if is_open && option == SessionOption::LowLatency => alone(unit),
        Link::Tcp => batch(unit),
    };
    let sent = |unit: &[u8], is_up: bool, is_open: bool| match link {
        Link::Tcp => sized(unit, is_open),
        Link::WebSocket if is_up => masked(unit),
        Link::WebSocket => unmasked(unit),
    };
    if !is_late {
        for (n, unit) in zenoh::opening(option).iter().enumerate() {
            let is_up = n % 2 == 0;
            world.message(if is_up { up } else { down }, &sent(unit, is_up, false));
        }
    }
    let declare = b"\x9e\x21\x08\x20\x01\x00\x06demo/a";
    let declare = match option {
        SessionOption::LowLatency => declare.to_vec(),
        SessionOption::Plain => frame(0, declare),
        SessionOption::Compression => [&[0][..], &frame(0, declare)].concat(),
    };
    world.message(down, &sent(&declare, false, true));
    for n in 0..MESSAGES {
        let payload = [format!("{n:04}").as_bytes(), &[b'x'; PAYLOAD - 4]].concat();
        let put = push("demo/a", &payload);
        let unit = match option {
            SessionOption::LowLatency => put,
            SessionOption::Plain => frame(n, &put),
            SessionOption::Compression => {
                let text = frame(n, &put);
                let start = text.len() - (PAYLOAD - 5);
                compressed(&text[..start], PAYLOAD - 7, b"xx")
            }
        };
        world.message(up, &sent(&unit, true, true));
    }
    world
}

fn check(option: SessionOption, link: Link, is_late: bool) {
    let played = Played::new(Config::default(), &session(option, link, is_late).events);
    let what = format!("{option:?}, {link:?}, late: {is_late}");
    let [group] = &played.snapshot.groups[..] else {
        panic!("{what}: {:?}", played.snapshot.groups)
    };
    let messages = group.messages;
    let counts = [messages.sent, messages.delivered, messages.matched];
    assert_eq!(group.middleware, "zenoh", "{what}");
    assert_eq!(counts, [u64::from(MESSAGES); 3], "{what}");
    assert_eq!(group.doubts(&played.snapshot.trust), [], "{what}");
    let sizes: Vec<u64> = played.deliveries.iter().map(|one| one.payload_len).collect();
    assert_eq!(sizes, [PAYLOAD as u64; MESSAGES as usize], "{what}");
}

#[test]
fn sessions_are_read_from_their_first_message_on() {
    for option in [SessionOption::Plain, SessionOption::LowLatency, SessionOption::Compression] {
        for link in [Link::Tcp, Link::WebSocket] {
            check(option, link, false);
        }
    }
}

#[test]
fn sessions_are_read_that_were_joined_late() {
    for option in [SessionOption::Plain, SessionOption::LowLatency, SessionOption::Compression] {
        check(option, Link::Tcp, true);
    }
    check(SessionOption::Plain, Link::WebSocket, true);
}

/// A batch that is no LZ4 block, in a session that agreed on compression.
#[test]
fn what_cannot_be_decompressed_is_counted_and_doubted() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(10, "pub"), "127.0.0.1:40000", process(20, "sub"), "127.0.0.1:7447");
    for (n, unit) in zenoh::opening(SessionOption::Compression).iter().enumerate() {
        let way = if n % 2 == 0 { &mut pair.up } else { &mut pair.down };
        world.message(way, &batch(unit));
    }
    for n in 0..10_u8 {
        // A match that begins before the text.
        let bad = [&[1, 0x10, b'a', 0xFF, 0xFF][..], &[n; 40]].concat();
        world.message(&mut pair.up, &batch(&bad));
    }
    let played = Played::new(Config::default(), &world.events);
    let [group] = &played.snapshot.groups[..] else { panic!("{:?}", played.snapshot.groups) };
    assert_eq!([group.messages.sent, group.messages.delivered], [0, 0]);
    assert_eq!(group.holes.unread_messages, 10);
    let doubts = group.doubts(&played.snapshot.trust);
    assert_eq!(doubts[0].reason, DoubtReason::Unread { messages: 10 });
}
