//! A real session of mosquitto's own tools against what tshark reads of the same packets.
//!
//! Needs root (tcpdump), mosquitto, its clients, tcpdump and tshark:
//! `cargo test -p wirelap-protocols --features e2e --test mosquitto`.

mod host;

use host::capture::Capture;
use host::{broker, run, tshark};
use std::collections::BTreeMap;
use wirelap_protocols::{Side, by_name};
use wirelap_test_support::compose::mqtt::NAMES;
use wirelap_test_support::pcap::{Packet, fresh};
use wirelap_test_support::player::{Chunk, Player};

/// One control packet, as both decoders see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// CONNECT is 1, AUTH is 15.
    pub kind: u8,
    /// PUBLISH only.
    pub topic: String,
    /// PUBLISH only.
    pub payload_bytes: u64,
}

/// The packets of each direction, by source and destination port.
pub type Messages = BTreeMap<(u16, u16), Vec<Message>>;

/// Messages of each publisher; their payloads have 0 to 5000 bytes.
const MESSAGES: usize = 40;

#[test]
fn every_packet_of_a_real_session_is_what_tshark_says() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker::start(folder.path());
    let capture = Capture::start(folder.path(), broker.port);
    for version in ["mqttv311", "mqttv5"] {
        for qos in ["0", "1", "2"] {
            exchange(broker.port, version, qos);
        }
    }
    let publish =
        ["-V", "mqttv5", "-t", "alias/topic", "-m", "x", "-D", "publish", "topic-alias", "3"];
    run("mosquitto_pub", broker.port, &publish, b"");
    let path =
        capture.finish(|| run("mosquitto_pub", broker.port, &["-t", "the/end", "-m", "end"], b""));

    let ours = decode(&fresh(&std::fs::read(&path).unwrap()), broker.port);
    let theirs = tshark::read(&path, broker.port);
    assert_eq!(ours, theirs);

    let all = || ours.values().flatten();
    let publishes = all().filter(|m| m.kind == 3).count();
    // To the broker and on from it, six times; one retained message before each of the last five;
    // the alias and the end.
    assert_eq!(publishes, 6 * (MESSAGES + 1) * 2 + 5 + 2);
    let kinds: std::collections::BTreeSet<u8> = all().map(|m| m.kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 14]);
    println!("{publishes} PUBLISH among {} packets agree", all().count());
}

/// One publisher and one subscriber.
fn exchange(port: u16, version: &str, qos: &str) {
    let mut args = vec!["-V", version, "-q", qos, "-t", "test/#"];
    if version == "mqttv5" {
        // With its default of 20, mosquitto 2.0.11's subscriber now and then takes its own broker's
        // QoS 2 pipelining for an error and leaves.
        args.extend(["-D", "connect", "receive-maximum", "1000"]);
    }
    let subscriber = broker::Subscriber::start(port, &args);
    let lines: String = (0..MESSAGES).map(|n| "x".repeat(n * 5000 / MESSAGES) + "\n").collect();
    let to = ["-V", version, "-q", qos, "-t", "test/lines", "-l"];
    run("mosquitto_pub", port, &to, lines.as_bytes());
    let to = ["-V", version, "-q", qos, "-t", "test/retained", "-r", "-m", "kept"];
    run("mosquitto_pub", port, &to, b"");
    subscriber.wait_for("test/retained");
}

/// Both directions of every connection, through the stream and the decoder.
fn decode(packets: &[Packet], server: u16) -> Messages {
    let mut players: BTreeMap<u16, Player> = BTreeMap::new();
    let mut messages = Messages::new();
    for packet in packets {
        let side = if packet.is_to(server) { Side::A } else { Side::B };
        players
            .entry(packet.client(server))
            .or_insert_with(|| {
                let mqtt = by_name("mqtt").unwrap();
                Player::new(mqtt, wirelap_events::Transport::Tcp, false)
            })
            .feed(&Chunk::whole(side, &packet.payload));
    }
    for (client, player) in players {
        let (undecoded, pending) = (player.undecoded(), player.pending());
        assert_eq!((undecoded, pending), (0, 0), "on port {client}: {:#?}", player.found);
        for found in &player.found {
            let ports = if found.side == Side::A { (client, server) } else { (server, client) };
            messages.entry(ports).or_default().push(message(&found.text));
        }
    }
    messages
}

/// A frame's words, see `describe` beside [`Player`].
fn message(text: &str) -> Message {
    let word = |prefix: &str| text.split(' ').find_map(|word| word.strip_prefix(prefix));
    let name = text.split(' ').next().unwrap_or_default();
    assert!(!text.contains(" opaque "), "{text}");
    Message {
        kind: u8::try_from(NAMES.iter().position(|n| *n == name).unwrap() + 1).unwrap(),
        topic: word("topic=").unwrap_or_default().to_owned(),
        payload_bytes: word("payload=").map_or(0, |n| n.parse().unwrap()),
    }
}
